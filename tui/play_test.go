package tui

import (
	"context"
	"os"
	"testing"
	"time"

	"countersign/core"
)

// TestPlay shows the console on the fake engine in a real terminal, to be
// looked at: build it with `go test -c` and run it with COUNTERSIGN_PLAY=1 and
// -test.run TestPlay.
func TestPlay(t *testing.T) {
	if os.Getenv("COUNTERSIGN_PLAY") == "" {
		t.Skip("it needs a person at a terminal: set COUNTERSIGN_PLAY=1")
	}
	f := newFake(core.SystemClock{})
	f.add("route-5555000000000000000000000000dddd", core.RolledBack, "198.51.100.0/24").Row.Noun = "route"
	v := f.add("aliasdescr-9a3b0000000000000000000000000003", core.Verified, "office_nets")
	v.Row.Loads, v.Row.Load = core.Firewall, core.LoadClaimed
	f.settle(v)
	f.add("hostovr-4444000000000000000000000000dddd", core.Executing, "db.example.net").Row.Noun = "host"
	f.add("aliasdescr-7c1e0000000000000000000000000009", core.Prepared, "blocklist")
	f.add("rule-3333000000000000000000000000cccc", core.RollbackFailed, "1700000042").Row.Noun = "rule"
	r := f.add("aliasdescr-11110000000000000000000000000001", core.Reconciliation, "web_servers")
	r.Row.SettleUntil = f.clock.Now().Add(161 * time.Second)
	f.compared = sampleComparison(f.clock.Now())
	f.header.SettleUntil = r.Row.SettleUntil
	f.history = 1278
	f.count()
	go f.selfRun()
	err := Run(context.Background(), Options{Engine: f, Operator: testOperator, NoColor: os.Getenv("NO_COLOR") != "",
		ASCII: os.Getenv("PLAY_ASCII") != "", Banner: os.Getenv("PLAY_BANNER")})
	if err != nil {
		t.Fatal(err)
	}
}

// selfRun lets every run go on at a visible pace.
func (f *fake) selfRun() {
	for {
		time.Sleep(50 * time.Millisecond)
		f.mu.Lock()
		var ids []string
		for id, r := range f.runs {
			if !r.progress.Done {
				ids = append(ids, id)
			}
		}
		f.mu.Unlock()
		for _, id := range ids {
			for _, name := range core.Steps() {
				f.step(id, name)
				time.Sleep(150 * time.Millisecond)
				if name == core.StepSend {
					time.Sleep(4 * time.Second)
				}
			}
			final := f.runs[id].final
			f.finish(id, final, map[core.State]string{core.Verified: "sent once, read back and verified", core.RolledBack: "rolled back: the old value was read back"}[final])
		}
	}
}

func sampleComparison(now time.Time) core.Comparison {
	c := newFake(core.SystemClock{}).compared
	c.Origin, c.Boundary, c.Failure = core.Executing, core.AfterSend, core.FailureReset
	c.NowIntended, c.NowSnapshot = false, true
	c.SettleUntil, c.SettleWindow = now.Add(161*time.Second), 180*time.Second
	for i := range c.Fields {
		c.Fields[i].Now = c.Fields[i].Snapshot
		c.Fields[i].Differs = c.Fields[i].Now != c.Fields[i].Intended
	}
	c.Offers = []core.OutcomeOffer{
		{Outcome: core.ConfirmedApplied, Reason: "NOW is not the intended state"},
		{Outcome: core.ConfirmedNotApplied, Reason: "a late write is still possible", At: c.SettleUntil},
	}
	return c
}
