package core_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense"
	"countersign/pfsense/sim"
)

// TestCapabilityFaults carries every capability through the engine into every
// fault that the simulator knows for a send, in both directions: it ends as
// the fault table says for that fault, whatever is changed.
func TestCapabilityFaults(t *testing.T) {
	rows := rowsOfASend(t)
	const atOnce = 4 // most of the time is waiting: for the disk, and for silence to be long enough
	var ran atomic.Int64
	var stages sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for _, c := range pfsense.Capabilities() {
		for _, dir := range []core.Direction{core.Forward, core.Backward} {
			stages.Go(func() {
				turns <- struct{}{}
				defer func() { <-turns }()
				t.Run(string(dir)+"/"+c.Spec().EndpointSymbol, func(t *testing.T) {
					s := newSendStage(t, c.Spec(), dir)
					for _, row := range rows {
						t.Run(row.name, func(t *testing.T) {
							s.play(t, row)
							ran.Add(1)
						})
					}
				})
			})
		}
	}
	stages.Wait()
	t.Logf("capability faults: %d capabilities x %d faults x 2 directions through the engine: %d cases",
		len(pfsense.Capabilities()), len(rows), ran.Load())
}

// rowsOfASend are the rows of the fault table for a send, one for each fault:
// the faults of a connection strike between the re-read and the send.
func rowsOfASend(t *testing.T) []faultRow {
	var rows []faultRow
	for _, row := range rowsOfTheFaultTable() {
		moment := atSend
		if slices.Contains(connectionKinds, row.fault.Kind) {
			moment = beforeSend
		}
		known := slices.ContainsFunc(rows, func(r faultRow) bool { return r.fault.Kind == row.fault.Kind })
		if row.fault.Kind != "" && row.when == moment && !known {
			rows = append(rows, row)
		}
	}
	mustNameEveryFault(t, rows)
	return rows
}

// single are the capabilities whose target has no position: "there is no
// object at this position" cannot be about it, and so proves nothing.
var single = []string{"NTP_SETTINGS_OBSERVABILITY_TOGGLES", "LOG_DISPLAY_PREFERENCES", "LOG_RETENTION_SETTINGS", "SYSTEM_TIMEZONE"}

// endFor is where the fault table says that a send ends. Two faults depend on
// the target: half of a single yes or no is nothing at all.
func (row faultRow) endFor(symbol string, dir core.Direction) core.State {
	switch {
	case row.fault.Kind == sim.Partial && slices.Contains(oneFlag, symbol):
		row.state = core.Failed
	case row.fault.Kind == sim.Status404 && slices.Contains(single, symbol):
		row.state = core.Reconciliation
	}
	return row.expected(dir)
}

// sendStage is a contract that is about to be sent, on disk, with the
// appliance as it then was. Each fault gets a copy of both.
type sendStage struct {
	spec    core.Spec
	dir     core.Direction
	fields  core.Object
	id      string
	sim     *sim.Server
	before  sim.Snapshot
	folder  string
	secrets []string // the request's texts, which no record may repeat
}

func newSendStage(t *testing.T, spec core.Spec, dir core.Direction) *sendStage {
	t.Helper()
	fields := changes()[spec.EndpointSymbol].fields
	if spec.EndpointSymbol == "FIREWALL_RULE_DESCRIPTION" { // of a rule that has one: half of none is none
		fields = core.Object{"tracker": int64(1700000002), "description": "Half of this will be stored"}
	}
	r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
	d, err := r.engine.Prepare(ctx(), spec.EndpointSymbol, fields, "")
	r.must(err)
	s := &sendStage{spec: spec, dir: dir, fields: fields, sim: r.sim, folder: r.dir, secrets: textsOf(fields)}
	s.id = r.confirmedChange(change{spec.EndpointSymbol, d.Observation.Label, fields})
	if dir == core.Backward {
		r.execute(s.id)
		r.mustBe(s.id, core.Verified)
	}
	r.close()
	s.before = r.sim.Admin().Snapshot()
	return s
}

// open copies what is on disk and puts the appliance back.
func (s *sendStage) open(t *testing.T, opts rigOptions) *rig {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(s.folder)); err != nil {
		t.Fatal(err)
	}
	s.ownerOnly(t, dir)
	s.sim.Admin().SetConditions(func(c *sim.Conditions) { *c = sim.Conditions{} })
	s.sim.Admin().Synchronise(s.before)
	r := joinRig(t, dir, site{URL: s.sim.URL(), Pin: s.sim.Fingerprint(), Key: s.sim.APIKey()}, opts)
	r.sim = s.sim
	r.open()
	t.Cleanup(r.close)
	return r
}

// ownerOnly gives a copy the modes that the console insists on.
func (s *sendStage) ownerOnly(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *sendStage) play(t *testing.T, row faultRow) {
	var r *rig
	r = s.open(t, rigOptions{wrapSender: func(core.Sender) core.Sender {
		return sendsInto{t: t, at: s.site(), row: row, arm: func() { s.arm(r, row) }}
	}})
	defer func() { r.must(s.sim.ClearFaults()) }()
	before := r.sim.Wire()
	run := r.execute
	if s.dir == core.Backward {
		run = r.rollback
	}
	p := run(s.id)
	r.must(s.sim.ClearFaults())
	r.must(s.sim.Wait(ctx()))
	if got, want := r.load(s.id).State, row.endFor(s.spec.EndpointSymbol, s.dir); got != want {
		t.Errorf("ended in %s, want %s (%v)", got, want, p.Err)
	}
	if sent := r.sim.Wire().Since(before).Mutations; sent != row.sends {
		t.Errorf("%d requests reached the appliance, want %d", sent, row.sends)
	}
	r.mustBeReserved(s.id)
	r.mustBeValueFree(s.id, p, s.secrets...)
}

func (s *sendStage) site() site {
	return site{URL: s.sim.URL(), Pin: s.sim.Fingerprint(), Key: s.sim.APIKey()}
}

func (s *sendStage) arm(r *rig, row faultRow) {
	f := row.fault
	if slices.Contains(connectionKinds, f.Kind) {
		r.reader.Close() // an open connection would not meet the fault
		f.Times = -1
	} else {
		f = matching(f, s.spec.Method, strings.TrimPrefix(s.spec.WritePath, "/api/v2"))
	}
	s.sim.Inject(f)
}

// sendsInto is the real sender, with the fault armed after the last reading.
// Where the appliance is silent it waits only shortly: silence stays silence.
type sendsInto struct {
	t   *testing.T
	at  site
	row faultRow
	arm func()
}

func (s sendsInto) Send(ctx context.Context, m core.Mutation) core.Exchange {
	s.arm()
	trust, err := pfsense.PinnedKey(s.at.Pin)
	if err != nil {
		s.t.Error(err)
	}
	key, err := pfsense.NewAPIKey(s.at.Key)
	if err != nil {
		s.t.Error(err)
	}
	deadlines := pfsense.Deadlines{}
	switch s.row.fault.Kind {
	case sim.AcceptHang:
		deadlines.TLS = 50 * time.Millisecond
	case sim.CommitThenHang:
		deadlines.Header = 500 * time.Millisecond
	case sim.Trickle:
		deadlines.Whole = 700 * time.Millisecond
	}
	sender, err := pfsense.NewSender(pfsense.Config{BaseURL: s.at.URL, TLS: trust, Key: key, Deadlines: deadlines, Clock: &movedClock{}})
	if err != nil {
		s.t.Error(err)
	}
	return sender.Send(ctx, m)
}

// textsOf are the texts of a request that are long enough to be looked for.
func textsOf(v any) []string {
	const shortest = 8
	var out []string
	switch v := v.(type) {
	case string:
		if len(v) >= shortest {
			out = append(out, v)
		}
	case []any:
		for _, x := range v {
			out = append(out, textsOf(x)...)
		}
	case core.Object:
		for _, x := range v {
			out = append(out, textsOf(x)...)
		}
	}
	return out
}

// mustBeValueFree looks for values in all that is told and recorded about a
// run (seed 003, Audit contract): the error, the sentence, the note and the
// exported lines.
func (r *rig) mustBeValueFree(id string, p core.Progress, values ...string) {
	r.t.Helper()
	var told strings.Builder
	r.must(core.ExportAudit(ctx(), r.store, &told))
	if !strings.Contains(told.String(), id) {
		r.t.Errorf("the export has no line about the contract")
	}
	for _, e := range r.timeline(id) {
		fmt.Fprintf(&told, "%+v %+v\n", e, e.Note)
	}
	told.WriteString(p.Sentence + "\n" + p.Warning + "\n")
	if p.Err != nil {
		told.WriteString(p.Err.Error())
	}
	for _, v := range values {
		if strings.Contains(told.String(), v) {
			r.t.Errorf("what is told repeats the value %q", v)
		}
	}
}
