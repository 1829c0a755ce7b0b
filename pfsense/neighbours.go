package pfsense

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"countersign/core"
)

// rowsAt returns the objects of a plural endpoint as they were read. A list of
// most or more rows is refused, as the reference does: it may be cut off. 0
// stands for no limit.
func rowsAt(r core.Reading, path string, most int) ([]core.Object, error) {
	items, ok := r.Data[path].([]any)
	if !ok {
		return nil, refuse(core.ErrTargetUnsupported, "the firewall gave no list where one was expected")
	}
	if most > 0 && len(items) >= most {
		return nil, refuse(core.ErrTargetUnsupported, fmt.Sprintf("the list has %d or more objects; changes are guarded in shorter lists only", most))
	}
	rows := make([]core.Object, len(items))
	for i, item := range items {
		if rows[i], ok = item.(core.Object); !ok {
			return nil, refuse(core.ErrTargetUnsupported, "the firewall's list holds something that is not an object")
		}
	}
	return rows, nil
}

// objectsIn returns the objects of a plural endpoint that a rule looks things
// up in, or nil if it was not read.
func objectsIn(r core.Reading, path string) []core.Object {
	items, _ := r.Data[path].([]any)
	out := make([]core.Object, 0, len(items))
	for _, item := range items {
		if row, ok := item.(core.Object); ok {
			out = append(out, row)
		}
	}
	if items == nil {
		return nil
	}
	return out
}

// onlyMatch finds the one row that matches: its identity must be unique in
// the list (design section 4, rule 5).
func onlyMatch(rows []core.Object, match func(core.Object) bool) (int, error) {
	found := -1
	for i, row := range rows {
		if !match(row) {
			continue
		}
		if found >= 0 {
			return 0, refuse(core.ErrTargetDuplicate, "nothing can be prepared until only one of them is left")
		}
		found = i
	}
	if found < 0 {
		return 0, refuse(core.ErrTargetMissing, "it was removed or renamed; choose the target again")
	}
	return found, nil
}

// locatorOf returns a row's positional id, which is never an identity.
func locatorOf(row core.Object) (int64, error) {
	id, ok := row["id"].(int64)
	if !ok || id < 0 || id > core.MaxLocator {
		return 0, refuse(core.ErrTargetUnsupported, "its position in the list is not a number the API can use")
	}
	return id, nil
}

// neighboursOf digests every other row, in order, without its positional id:
// a changed, added, removed or moved neighbour shows (design section 4, rule 5).
func neighboursOf(rows []core.Object, target int, name func(core.Object) string) []core.Neighbour {
	out := make([]core.Neighbour, 0, max(len(rows)-1, 0))
	for i, row := range rows {
		if i != target {
			out = append(out, core.Neighbour{Name: name(row), Digest: neighbourDigest(row)})
		}
	}
	return out
}

// volatile members say nothing about an object: a position, and times that
// the API invents on every read where none are stored.
func volatile(name string) bool {
	return name == "id" || name == "created_time" || name == "updated_time"
}

// neighbourDigest is for comparing two readings of one appliance only. It has
// no bounds and does not normalise, so that broken neighbours do not matter.
func neighbourDigest(row core.Object) string {
	kept := make(core.Object, len(row))
	for k, v := range row {
		if !volatile(k) && !blank(v) {
			kept[k] = v
		}
	}
	text, err := json.Marshal(kept)
	if err != nil { // not a value that JSON can have given
		return ""
	}
	sum := sha256.Sum256(append([]byte("countersign-neighbour\x00"), text...))
	return hex.EncodeToString(sum[:])
}

// blank reports what the API uses for "no value": null, "" and [] are equal,
// because one object shows different ones at different times.
func blank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}

// textOf is a member for people: its text, or "" if it is none.
func textOf(row core.Object, name string) string {
	s, _ := row[name].(string)
	return s
}
