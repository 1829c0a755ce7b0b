package core_test

import (
	"fmt"
	"os"
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

// checkFaultDoc compares the published tables with those that were run.
func checkFaultDoc(t *testing.T, lines, loading []string) {
	t.Helper()
	sort.Strings(lines)
	sort.Strings(loading)
	text := faultIntro + strings.Join(lines, "\n") + "\n" + loadingIntro + strings.Join(loading, "\n") + "\n"
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
