package core_test

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"countersign/core"
)

// faultLine is a row as it was run.
type faultLine struct {
	dir             core.Direction
	row             faultRow
	state           core.State
	bytes, reserved string
	last, failure   string // the event that was added, and the class it names
}

// read takes from the chain how a run ended.
func (l *faultLine) read(r *rig, id string) {
	r.t.Helper()
	events := r.timeline(id)
	l.last = string(events[len(events)-1].Type)
	if f := lastNote(r.t, r, id).Failure; f != "" {
		l.failure = string(f)
	}
}

func (l faultLine) String() string {
	state := strings.ToUpper(string(l.state))
	restart := "stays " + state + ", sends 0"
	if l.row.refused() {
		restart += "; can then be sent"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d | %s | %s | %s | %s | %s |", l.dir, l.row.when, l.row.name,
		state, l.row.sends, l.bytes, l.reserved, l.last, l.failure, restart)
}

const faultDoc = "../docs/faults.md"

const faultIntro = `# The fault table, as it was run

Written by ` + "`go test ./core -run FaultTable -update`" + `. Every line was carried out against the simulator over HTTPS:
the state is read back from disk, *sends* are counted by the simulator, and after each line the console was
restarted and changed nothing and sent nothing.

%s
- *bytes*: whether any byte of a request arrived at the simulator, as it counts them.
- *reservation*: *kept* where the target stays the contract's own, *free* where another one may have it.
- *last event* and *failure class* are what the authenticated chain holds; *-* where nothing failed.

| direction | when | what happens | state | sends | bytes | reservation | last event | failure class | a restart |
|---|---|---|---|---|---|---|---|---|---|
`

const loadingIntro = `
## Loading

Loading what is stored is a step of its own. Every line below asked once, for a change that was VERIFIED or
ROLLED_BACK and stayed so; what was recorded is what the appliance claimed, and *in force* is what the simulator had
really loaded. A restart asked nothing. Then a person asked again, once, and it was loaded.

| direction | what happens | recorded | requests | in force | a restart |
|---|---|---|---|---|---|
`

// moments are in the order in which a run comes to them.
var moments = []moment{beforeAcquisition, beforeReread, beforeSend, atSend, beforeReadBack, atReadBack}

// chronological sorts a line by direction, moment and the rest of it.
func chronological(line string) string {
	cells := strings.Split(line, " | ")
	return fmt.Sprintf("%s %d %s", cells[0], slices.Index(moments, moment(cells[1])), line)
}

// faultSummary counts where the lines of each moment ended.
func faultSummary(lines []string) string {
	counts := map[string]map[string]int{}
	var order []string
	for _, line := range lines {
		cells := strings.Split(line, " | ")
		key := cells[0] + " | " + cells[1]
		if counts[key] == nil {
			counts[key] = map[string]int{}
			order = append(order, key)
		}
		counts[key][cells[3]]++
	}
	var out strings.Builder
	out.WriteString("| direction | when | it ended in |\n|---|---|---|\n")
	for _, key := range order {
		var ends []string
		for state, n := range counts[key] {
			ends = append(ends, fmt.Sprintf("%s %d", state, n))
		}
		sort.Strings(ends)
		fmt.Fprintf(&out, "%s | %s |\n", key, strings.Join(ends, ", "))
	}
	return out.String()
}

// checkFaultDoc compares the published tables with those that were run.
func checkFaultDoc(t *testing.T, lines, loading []string) {
	t.Helper()
	sort.Slice(lines, func(i, j int) bool { return chronological(lines[i]) < chronological(lines[j]) })
	sort.Strings(loading)
	text := fmt.Sprintf(faultIntro, faultSummary(lines)) + strings.Join(lines, "\n") + "\n" + loadingIntro + strings.Join(loading, "\n") + "\n"
	if *update {
		if err := os.WriteFile(faultDoc, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	published, err := os.ReadFile(faultDoc)
	if err != nil || string(published) != text {
		t.Errorf("%s is not the table that was run; run with -update", faultDoc)
	}
}
