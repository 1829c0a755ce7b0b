package core_test

import (
	"testing"

	"countersign/core"
)

// A real process is killed at every commit and send between VERIFIED and the
// recorded answer about loading. What was agreed to is never asked for by a
// start, and what may have been asked is never asked again by itself.
func TestAgreedLoadingSurvivesAKill(t *testing.T) {
	asked := []core.LoadClaim{core.LoadAgreed, core.LoadAsked}
	points := []struct {
		at    string
		state core.State
		known []core.LoadClaim
		sends int
	}{
		{"send/before", core.Reconciliation, asked[:1], 0},
		{"seal/before commit", core.Reconciliation, asked[:1], 1},
		{"seal/after commit", core.Verified, asked[:1], 1},
		{"load/before commit", core.Verified, asked[:1], 1},
		{"load/after commit", core.Verified, asked, 1},
		{"load request/before", core.Verified, asked, 1},
		{"load request/after", core.Verified, asked, 2},
		{"load/before commit#2", core.Verified, asked, 2},
		{"load/after commit#2", core.Verified, append(asked[:2:2], core.LoadClaimed), 2},
	}
	for _, c := range points {
		t.Run(c.at, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{})
			id := r.preparedEntries()
			r.must(r.engine.ConfirmAndLoad(ctx(), id, rigAlias, rigOperator, pass(), core.Waiting{}))
			r.close()
			if !r.start(childJob{Do: "execute", Contract: id, DieAt: c.at}).wait() {
				t.Fatal("the process did not come to its end")
			}
			for range 2 {
				r.open()
				r.mustBe(id, c.state)
				r.mustKnow(id, c.known...)
				if r.sends() != c.sends {
					t.Fatalf("%d requests, want %d", r.sends(), c.sends)
				}
				r.close()
			}
			r.open()
			if c.state == core.Verified {
				r.run(id, func() error { return r.askToLoad(id) })
				r.mustKnow(id, append(c.known[:len(c.known):len(c.known)], core.LoadAsked, core.LoadClaimed)...)
			}
		})
	}
	t.Logf("agreed loading: killed at %d points", len(points))
}
