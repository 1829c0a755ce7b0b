package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/core"
)

const (
	raceRounds = 20
	raceTurn   = 15 * time.Millisecond
)

// playRaceChild is one of two consoles that want the same things: in each
// round to create a contract for the same operation, then to acquire the same
// target with contracts that were made for each.
func playRaceChild(args []string) int {
	path, name := args[0], args[1]
	r, err := crashRig(path, nil)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer r.Close()
	r.limits.MaxInFlight = -1
	start, _ := strconv.ParseInt(args[2], 10, 64)
	// Both begin each round at the same moment, or the faster one would be
	// through before the other starts.
	turn := func(round int) { time.Sleep(time.Until(time.UnixMicro(start).Add(time.Duration(round) * raceTurn))) }
	var won []string
	for round := range raceRounds {
		turn(round)
		id := fmt.Sprintf("%s-%d", name, round)
		_, err := r.AuthorizeAndCreate(r.ctx, r.creation(testContract(id, fmt.Sprint("key-", round), "same", testStart, testValidity)))
		won = append(won, outcome(err, core.ErrBlocked))
	}
	for round := range raceRounds {
		turn(raceRounds + round)
		won = append(won, outcome(r.raceAcquire(fmt.Sprintf("target-%s-%d", name, round)), core.ErrConflict))
	}
	fmt.Print(strings.Join(won, " "))
	return 0
}

func outcome(err, lost error) string {
	switch {
	case err == nil:
		return "won"
	case errors.Is(err, lost):
		return "lost"
	}
	return strconv.Quote(err.Error())
}

// raceAcquire tries until the other's planned advance of the anchor is out of
// the way.
func (r *rig) raceAcquire(id string) error {
	c, err := r.Load(r.ctx, id)
	if err != nil {
		return err
	}
	for {
		_, err := r.PlanAcquisition(r.ctx, c.ID, c.StateVersion)
		if errors.Is(err, core.ErrAnchor) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = r.Acquire(r.ctx, c.ID, c.StateVersion)
		return err
	}
}

// Two processes want the same idempotency key and the same target, over and
// over: each time exactly one gets it, the other is told so, and nothing of
// the loser's is spent.
func TestTwoProcessesOneWinner(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Limits.MaxInFlight = -1 })
	for round := range raceRounds {
		for _, name := range []string{"a", "b"} {
			id := fmt.Sprintf("target-%s-%d", name, round)
			r.confirm(r.create(id, fmt.Sprint("target-", round), id))
		}
	}
	outcomes := raceChildren(t, r.opts.Path, "a", "b")
	a, b := outcomes[0], outcomes[1]
	wins := map[string]int{}
	for round := range 2 * raceRounds {
		switch a[round] + " " + b[round] {
		case "won lost":
			wins["a"]++
		case "lost won":
			wins["b"]++
		default:
			t.Errorf("round %d: a %s, b %s", round, a[round], b[round])
		}
	}
	if n := r.count("SELECT count(*) FROM cs_consumed"); n != 3*raceRounds {
		t.Errorf("%d authorizations were consumed, want %d", n, 3*raceRounds)
	}
	report := r.check()
	if report.States[core.Executing] != raceRounds {
		t.Errorf("%d contracts are executing, want %d", report.States[core.Executing], raceRounds)
	}
	t.Logf("%d rounds for a key and %d for a target: one winner each, %v", raceRounds, raceRounds, wins)
}

// raceChildren runs both processes at once and returns the outcomes of each.
func raceChildren(t *testing.T, path string, names ...string) [][]string {
	t.Helper()
	texts := make([]string, len(names))
	start := strconv.FormatInt(time.Now().Add(400*time.Millisecond).UnixMicro(), 10)
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Add(1)
		go func() {
			defer wait.Done()
			out, err := child("race", path, name, start).CombinedOutput()
			if err != nil {
				out = append(out, err.Error()...)
			}
			texts[i] = string(out)
		}()
	}
	wait.Wait()
	outcomes := make([][]string, len(names))
	for i, text := range texts {
		if outcomes[i] = strings.Fields(text); len(outcomes[i]) != 2*raceRounds {
			t.Fatalf("%s: %s", names[i], text)
		}
	}
	return outcomes
}
