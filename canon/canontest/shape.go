package canontest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// manifestName is the file that lists the store files.
const manifestName = "stores/manifest.json"

// section is a list or object of a case file that must not be empty. In its
// path, * stands for every item of a list.
type section struct {
	path      string
	announced string // the member that says how many there are, "" without
}

// shapes are the case files that tests read, with their sections.
func shapes() map[string][]section {
	return map[string][]section{
		"anchor.json": {{"high_water_mark", ""}, {"provisioning", ""}, {"reads", ""}, {"before_executing", ""}},
		"artifacts.json": {
			{"cases", "count"}, {"rejects", "reject_count"}, {"nonce_rejects", ""}},
		"audit_events.json": {
			{"event_types", ""}, {"event_types_of_the_later_two_tier_model", ""}, {"chains", ""}, {"chains.*.events", ""},
			{"single", ""}, {"invalid", ""}, {"invalid.*.rows", ""}, {"log_lines", ""}},
		"canonical_accept.json": {{"cases", "count"}},
		"canonical_reject.json": {{"cases", "count"}},
		"capabilities.json": {
			{"intent_common_fields", ""}, {"execution_intent", ""}, {"http", ""}, {"log_settings_types", ""},
			{"appliance_digest", ""}, {"appliance_digest.cases", ""}, {"appliance_digest.targets", ""},
			{"capabilities", ""}, {"capabilities.*.facts", ""}, {"capabilities.*.examples", ""}, {"capabilities.*.refused", ""}},
		"confirmation.json": {
			{"authorities", ""}, {"stranger", ""}, {"cases", "count"}, {"rejects", "reject_count"},
			{"malformed", "malformed_count"}, {"notes", ""}},
		"contracts.json": {
			{"stores", ""}, {"cases", "count"}, {"invalid", "invalid_count"}, {"lenient", "lenient_count"}},
		"digests.json":     {{"cases", "count"}, {"rejects", "reject_count"}, {"pairs", ""}},
		"idempotency.json": {{"cases", "count"}},
		"rate_policy.json": {{"scenarios", "count"}, {"scenarios.*.steps", ""}},
		"reconciliation.json": {
			{"authorities", ""}, {"stranger", ""}, {"outcome_target_state", ""}, {"cases", "count"},
			{"rejects", "reject_count"}, {"malformed", "malformed_count"}, {"notes", ""}},
		"store_ops.json": {{"scenarios", "count"}, {"scenarios.*.steps", ""}},
		manifestName: {
			{"tables", ""}, {"unique", ""}, {"foreign_keys", ""}, {"valid", ""}, {"corrupted", "corrupted_count"}},
		"transitions.json": {
			{"states", ""}, {"matrix", ""}, {"fault_classification", ""}, {"send_observations", ""}, {"store_rules", ""},
			{"rate", ""}, {"rate.limits_in_ADR_015", ""}, {"rate.checks", ""}, {"reconciliation_outcome_target", ""}},
	}
}

// sections are those of one file.
func sections(name string) []section { return shapes()[name] }

// errUnread is the class of what no test reads.
var errUnread = errors.New("no test knows")

// measure returns how many items each section of a case file holds. It refuses
// a section that is missing, empty or of another length than the file
// announces.
func measure(name string, data []byte) (map[string]int, error) {
	known := sections(name)
	if known == nil {
		return nil, fmt.Errorf("conformance %s: %w this file", name, errUnread)
	}
	var file map[string]any
	if err := decode(data, &file); err != nil {
		return nil, fmt.Errorf("conformance %s: %w", name, err)
	}
	sizes := map[string]int{}
	var wrong []error
	for _, s := range known {
		found := find(file, strings.Split(s.path, "."))
		for _, value := range found {
			sizes[s.path] += max(size(value), 0)
		}
		if len(found) == 0 || slices.ContainsFunc(found, func(v any) bool { return size(v) < 1 }) {
			wrong = append(wrong, fmt.Errorf("conformance %s: %s is missing or empty", name, s.path))
		}
		if s.announced != "" && file[s.announced] != json.Number(fmt.Sprint(sizes[s.path])) {
			wrong = append(wrong, fmt.Errorf("conformance %s: %d %s, but %s is %v", name, sizes[s.path], s.path, s.announced, file[s.announced]))
		}
	}
	return sizes, errors.Join(wrong...)
}

// unread names the sections of a case file that no test reads.
func unread(name string, data []byte) (wrong []error) {
	members := map[string]bool{}
	for _, s := range sections(name) {
		members[strings.Split(s.path, ".")[0]], members[s.announced] = true, true
	}
	var file map[string]any
	if err := decode(data, &file); err != nil {
		return nil // measure says so
	}
	for _, member := range slices.Sorted(maps.Keys(file)) {
		if (size(file[member]) >= 0 || strings.HasSuffix(member, "count")) && !members[member] {
			wrong = append(wrong, fmt.Errorf("conformance %s: %w its member %s", name, errUnread, member))
		}
	}
	return wrong
}

// find returns every value at a path.
func find(value any, path []string) (found []any) {
	if len(path) == 0 {
		return []any{value}
	}
	switch v := value.(type) {
	case map[string]any:
		return find(v[path[0]], path[1:])
	case []any:
		for _, item := range v {
			found = append(found, find(item, path[1:])...)
		}
	}
	return found
}

// size is the number of items of a list or object, and -1 of anything else.
func size(value any) int {
	switch v := value.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return -1
}

// Check holds the directory of the cases to what the tests read: every known
// file is there with all its sections, and there is no other file, so that no
// case can be lost or added unseen. What another directory has besides is
// printed instead: it may serve other programs too.
func Check(t testing.TB) {
	t.Helper()
	for _, err := range checkDir(os.DirFS(Dir(t))) {
		if errors.Is(err, errUnread) && os.Getenv(DirVariable) != "" {
			t.Log(err)
			continue
		}
		t.Error(err)
	}
}

func checkDir(dir fs.FS) (wrong []error) {
	wanted := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(shapes())) {
		wanted[name] = true
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			continue // reported below as missing
		}
		if _, err = measure(name, data); err == nil && name == manifestName {
			err = addStores(wanted, data)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
		wrong = append(wrong, unread(name, data)...)
	}
	err := fs.WalkDir(dir, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
			return err
		case !wanted[name]:
			wrong = append(wrong, fmt.Errorf("conformance %s: %w this file", name, errUnread))
		}
		delete(wanted, name)
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		wrong = append(wrong, fmt.Errorf("conformance %s: the file is missing", name))
	}
	if err != nil {
		wrong = append(wrong, err)
	}
	return wrong
}

// addStores adds the store files that the manifest lists, each once.
func addStores(wanted map[string]bool, data []byte) error {
	type store struct{ File string }
	var manifest struct{ Valid, Corrupted []store }
	if err := decode(data, &manifest); err != nil {
		return err
	}
	for _, s := range slices.Concat(manifest.Valid, manifest.Corrupted) {
		name := path.Join(path.Dir(manifestName), s.File)
		if wanted[name] {
			return fmt.Errorf("conformance %s: %s is listed twice", manifestName, s.File)
		}
		wanted[name] = true
	}
	return nil
}
