package core_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"

	"pgregory.net/rapid"

	"countersign/core"
	"countersign/keys"
	"countersign/store"
)

// check holds the invariants after each step.
func (m *machine) check(t *rapid.T) {
	m.seen.add("steps")
	m.checkFirewall(t)
	m.checkWire(t)
	keys := map[string][]*pact{}
	for _, p := range m.w.pacts {
		m.checkContract(t, p)
		keys[p.key()] = append(keys[p.key()], p)
	}
	m.checkBlocking(t, keys)
	m.checkReservations(t)
	m.checkStore(t)
}

// stored is what the firewall keeps, as a reading would show it.
func (m *machine) stored() []object {
	rows, _ := m.r.sim.Stored("aliases/alias").([]any)
	out := make([]object, len(rows))
	for i, row := range rows {
		text := func(name string) string { s, _ := row.(map[string]any)[name].(string); return s }
		out[i] = object{text("name"), text("descr"), text("address"), text("detail")}
	}
	return out
}

// checkFirewall: every value on the firewall is explained by the initial
// configuration, by another administrator, or by a request of a contract.
func (m *machine) checkFirewall(t *rapid.T) {
	now := m.stored()
	if len(now) != len(m.w.live.objects) {
		t.Fatalf("the firewall has %d aliases, the model %d", len(now), len(m.w.live.objects))
	}
	for i := range now {
		if now[i] != m.w.live.objects[i] {
			t.Fatalf("alias %d is %q, and history explains %q", i, now[i], m.w.live.objects[i])
		}
	}
}

// checkWire: the simulator counted exactly the sends of the model, at most
// one for each direction and one more for each resumed rollback, each with
// the body of its contract.
func (m *machine) checkWire(t *rapid.T) {
	wire := m.r.sim.Wire()
	if wire.Mutations != len(m.w.sent) {
		t.Fatalf("%d requests reached the firewall, and the model sent %d", wire.Mutations, len(m.w.sent))
	}
	for _, p := range m.w.pacts {
		if p.sends[core.Forward] > 1 || p.sends[core.Backward] > 1+p.resumes {
			t.Fatalf("%s was sent %d times forward and %d times back, with %d resumed", p.id,
				p.sends[core.Forward], p.sends[core.Backward], p.resumes)
		}
	}
	n := 0
	for _, request := range wire.Log {
		if request.Method == http.MethodGet {
			continue
		}
		if n++; n > m.bodies && request.Body != nil {
			m.checkBody(t, request.Body, m.w.sent[n-1])
		}
	}
	m.bodies = n
}

func (m *machine) checkBody(t *rapid.T, body []byte, want object) {
	var got struct {
		ID    *int
		Name  string
		Descr string
		Apply *bool
	}
	if err := json.Unmarshal(body, &got); err != nil || got.Name != want.name || got.Descr != want.descr || got.ID == nil || got.Apply == nil || *got.Apply {
		t.Fatalf("a request says %s, want %q (%v)", body, want, err)
	}
}

// checkContract: record and chain are as the model says, and every step of
// the chain is an edge of the seeds.
func (m *machine) checkContract(t *rapid.T, p *pact) {
	ctx := context.Background()
	c, err := m.r.store.Load(ctx, p.id)
	m.r.must(err)
	if c.State != p.state || c.StateVersion != p.version() || c.Confirmed() != p.confirmed || (c.VerifiedTargetFingerprint != nil) != p.sealed {
		t.Fatalf("%s is %s, version %d, confirmed %v, sealed %v; the model says %s, %d, %v, %v", p.id, c.State, c.StateVersion,
			c.Confirmed(), c.VerifiedTargetFingerprint != nil, p.state, p.version(), p.confirmed, p.sealed)
	}
	events, err := m.r.store.Timeline(ctx, p.id)
	m.r.must(err)
	if len(events) != len(p.chain) {
		t.Fatalf("%s has %d events, the model %d", p.id, len(events), len(p.chain))
	}
	for i, e := range events {
		m.checkEvent(t, p, i, e)
	}
}

func (m *machine) checkEvent(t *rapid.T, p *pact, i int, e core.AuditEvent) {
	if e.Current != p.chain[i] || e.Version != int64(i) {
		t.Fatalf("event %d of %s is %s (version %d), the model says %s", i, p.id, e.Current, e.Version, p.chain[i])
	}
	if i == 0 {
		if e.Type != core.EventCreated || e.Previous != "" {
			t.Fatalf("%s begins with %s", p.id, e.Type)
		}
		return
	}
	legal := among(legalEdges[e.Previous], e.Current) && e.Type == core.EventTransition
	switch {
	case p.resolved[i]:
		legal = e.Previous == core.Reconciliation && among(manualEdges, e.Current) && e.Type == core.EventResolved
	case e.Type == core.EventConfirmed:
		legal = e.Previous == core.Prepared && e.Current == core.Prepared
	}
	if !legal || e.Previous != p.chain[i-1] {
		t.Fatalf("event %d of %s leads from %s to %s as %s", i, p.id, e.Previous, e.Current, e.Type)
	}
}

// checkBlocking: at most one contract of a key blocks, and it is found.
func (m *machine) checkBlocking(t *rapid.T, keys map[string][]*pact) {
	ctx := context.Background()
	for _, same := range keys {
		blocking := ""
		for _, p := range same {
			if !among(blockedBy, p.state) {
				continue
			}
			if blocking != "" {
				t.Fatalf("%s and %s block the same key", blocking, p.id)
			}
			blocking = p.id
		}
		c, err := m.r.store.Load(ctx, same[0].id)
		m.r.must(err)
		found, err := m.r.store.FindByIdempotencyKey(ctx, c.IdempotencyKey)
		m.r.must(err)
		if found == nil != (blocking == "") || found != nil && found.ID != blocking {
			t.Fatalf("the blocking contract is %v, the model says %q", found, blocking)
		}
		history, err := m.r.store.FindHistoricalByIdempotencyKey(ctx, c.IdempotencyKey)
		m.r.must(err)
		if len(history) != len(same) {
			t.Fatalf("%d attempts at one key are found, the model has %d", len(history), len(same))
		}
	}
}

// checkReservations looks into the table itself: exactly the contracts whose
// state holds a target have it, and no target has two.
func (m *machine) checkReservations(t *rapid.T) {
	db, err := sql.Open("sqlite", "file:"+m.r.path()+"?mode=ro")
	m.r.must(err)
	defer db.Close()
	rows, err := db.Query("SELECT contract_id FROM target_reservations")
	m.r.must(err)
	defer rows.Close()
	held := map[string]bool{}
	for rows.Next() {
		var id string
		m.r.must(rows.Scan(&id))
		held[id] = true
	}
	m.r.must(rows.Err())
	targets := map[string]string{}
	for _, p := range m.w.pacts {
		holds := among(reservedBy, p.state)
		if held[p.id] != holds {
			t.Fatalf("%s is %s and its reservation is there: %v", p.id, p.state, held[p.id])
		}
		if other := targets[p.target]; holds && other != "" {
			t.Fatalf("%s is reserved by %s and %s", p.target, other, p.id)
		}
		if holds {
			targets[p.target] = p.id
		}
		delete(held, p.id)
	}
	if len(held) != 0 {
		t.Fatalf("reservations of nobody: %v", held)
	}
}

// checkStore: anchor equals mark, the settle window is the newest doubtful
// send's, and the lists count right.
func (m *machine) checkStore(t *rapid.T) {
	ctx := context.Background()
	health, err := m.r.store.Health(ctx)
	m.r.must(err)
	anchor, err := m.r.anchor.Read(ctx)
	m.r.must(err)
	if anchor != health.Mark || anchor != uint64(m.w.mark) || !health.AnchorOK {
		t.Fatalf("anchor %d, mark %d, the model says %d (%s)", anchor, health.Mark, m.w.mark, health.AnchorNote)
	}
	at, _, err := m.r.store.LastAmbiguous(ctx)
	m.r.must(err)
	if !at.Equal(m.w.unsure) {
		t.Fatalf("the newest doubtful send was at %s, the model says %s", at, m.w.unsure)
	}
	want := core.Counts{History: len(m.w.pacts)}
	for _, p := range m.w.pacts {
		left := p.expires.Sub(m.w.now)
		if !among(finalStates, p.state) {
			want.Active++
		}
		if p.state == core.Reconciliation || p.state == core.RollbackFailed || p.state == core.Prepared && left > 0 && left <= modelSoon {
			want.NeedsYou++
		}
	}
	if got, err := m.r.store.Counts(ctx); err != nil || got != want {
		t.Fatalf("the lists count %+v, the model %+v (%v)", got, want, err)
	}
}

// finish verifies the closed file as `countersign verify` does.
func (m *machine) finish(t *rapid.T) {
	m.r.close()
	ctx := context.Background()
	k, err := keys.LoadStoreKeys(ctx, m.r.ring)
	m.r.must(err)
	report, err := store.Verify(ctx, store.Options{Path: m.r.path(), StoreID: rigStoreID, IntegrityKey: k.Integrity.Bytes(), Clock: m.r.clock}, nil)
	m.r.must(err)
	states := map[core.State]int64{}
	events := int64(0)
	for _, p := range m.w.pacts {
		states[p.state]++
		events += int64(len(p.chain))
	}
	if report.Contracts != int64(len(m.w.pacts)) || report.Events != events {
		t.Fatalf("the closed store has %d contracts and %d events, the model %d and %d", report.Contracts, report.Events, len(m.w.pacts), events)
	}
	for s, n := range states {
		if report.States[s] != n {
			t.Fatalf("the closed store has %d contracts in %s, the model %d", report.States[s], s, n)
		}
	}
}
