package core_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"countersign/core"
	"countersign/core/canarytest"
	"countersign/pfsense"
	"countersign/pfsense/sim"
)

// TestNoValueLeaves plants a unique canary in every place where a value can
// live, lives a whole life with it, and then searches everything that the
// program wrote or could log, in every likely encoding (seed 003, Audit
// contract; design section 4, rule 11).
//
// The keyring's folder is searched for everything but the API key: a keyring
// is the place where that is kept. TestCanariesAreFound proves that the search
// can fail, TestCrashOutput searches what a crash prints.
func TestNoValueLeaves(t *testing.T) {
	t.Parallel()
	l := newLeakTest(t)
	l.firstGate()
	l.secondGate()
	l.forthAndBack()
	l.strangeAnswers()
	l.strangeReadings()
	l.loading()
	l.everyCapability()
	l.refusedKeys()
	l.must(l.store.Backup(context.Background(), filepath.Join(l.dir, "store", "backup.sqlite3")))
	l.quarantine()

	l.searchLogged()
	l.searchExport()
	l.close()
	clear(l.files) // all of them once more
	l.searchFolder(filepath.Join(l.dir, "store"), l.all)
	l.searchFolder(filepath.Join(l.dir, "keyring"), l.all.Without("API key"))
	l.searchTables()
	l.searchVerification()
	l.report()
}

// report says how much was searched, and what with.
func (l *leakTest) report() {
	var lines []string
	for class, n := range l.searched {
		lines = append(lines, fmt.Sprintf("%s: %d", class, n))
		if n == 0 {
			l.t.Errorf("nothing of class %q was searched", class)
		}
	}
	sort.Strings(lines)
	l.t.Logf("%d canaries in %d encodings; searched %s", len(l.all.Canaries()), len(canarytest.Encodings()), strings.Join(lines, ", "))
}

// firstGate: drafts and authorizations, and everything that refuses them.
func (l *leakTest) firstGate() {
	ctx, e := context.Background(), l.engine
	request := func(name, value string) core.Object { return core.Object{"alias_name": name, "description": value} }
	unknown := request(targetCanary, planted(newCanary))
	unknown[requestNameCanary] = planted(requestCanary)
	for where, bad := range map[string]core.Object{
		"an unknown member":       unknown,
		"an impossible name":      request(targetCanary+" "+requestCanary, planted(newCanary)),
		"a control character":     request(targetCanary, "\x01"+planted(requestCanary)),
		"no text":                 request(targetCanary, string([]byte{0xff})+requestCanary),
		"a description too long":  request(targetCanary, strings.Repeat(requestCanary, 100)),
		"a value of another type": {"alias_name": targetCanary, "description": []any{requestCanary}},
	} {
		_, err := e.Prepare(ctx, "FIREWALL_ALIAS_DESCRIPTION", bad, "")
		l.refused(where, err, core.ErrRequest)
	}
	_, err := e.Prepare(ctx, requestCanary, unknown, "")
	l.refused("an unknown capability", err, core.ErrPolicy)
	_, err = e.Prepare(ctx, "FIREWALL_ALIAS_DESCRIPTION", request(typedCanary, planted(newCanary)), "")
	l.refused("a missing target", err, core.ErrTargetMissing)
	_, err = e.Prepare(ctx, "FIREWALL_ALIAS_DESCRIPTION", request(targetCanary, planted(oldCanary)), "")
	l.refused("no change", err, core.ErrNoChange)

	targets, err := e.Targets(ctx, "FIREWALL_ALIAS_DESCRIPTION")
	l.must(err)
	l.shown("the picker", targets)
	d := l.draftOf(planted(newCanary))
	_, err = e.Authorize(ctx, d, canaryOperator, wrongCanaryPass())
	l.refused("a wrong passphrase", err, core.ErrWrongPassphrase)
	_, err = e.Authorize(ctx, d, requestCanary, canaryPass())
	l.refused("an unknown operator", err, core.ErrUnknownOperator)

	l.sim.Admin().SetAliasDescription(targetCanary, planted(foreignCanary))
	_, err = e.Authorize(ctx, d, canaryOperator, canaryPass())
	l.refused("a drifted target", err, core.ErrDrift)
	l.sim.Admin().SetAliasDescription(targetCanary, planted(oldCanary))

	id, err := e.Authorize(ctx, d, canaryOperator, canaryPass())
	l.must(err)
	_, err = e.Authorize(ctx, l.draftOf(planted(newCanary)), canaryOperator, canaryPass())
	l.refused("a blocked request", err, core.ErrBlocked)
	_, err = e.Authorize(ctx, l.draftOf(planted(newCanary)+"2"), canaryOperator, canaryPass())
	l.refused("a second outstanding contract", err, core.ErrLimit)
	changed := l.draftOf(planted(newCanary) + "3")
	changed.RequestKey = d.RequestKey
	_, err = e.Authorize(ctx, changed, canaryOperator, canaryPass())
	l.refused("a changed retry", err, core.ErrRetryChanged)

	l.refused("a decline with a wrong passphrase", e.Decline(ctx, id, canaryOperator, wrongCanaryPass()), core.ErrWrongPassphrase)
	l.must(e.Decline(ctx, id, canaryOperator, canaryPass()))
	l.refused("a second decline", e.Decline(ctx, id, canaryOperator, canaryPass()), core.ErrConflict)
}

// secondGate: the review, the typed name and the confirmation.
func (l *leakTest) secondGate() {
	ctx, e := context.Background(), l.engine
	l.clock.move(past)
	id, err := e.Authorize(ctx, l.draftOf(planted(newCanary)), canaryOperator, canaryPass())
	l.must(err)
	review, err := e.Review(ctx, id)
	l.must(err)
	l.shown("a review", review)
	l.refused("a wrongly typed name", e.Confirm(ctx, id, typedCanary, canaryOperator, canaryPass()), core.ErrTypedTarget)
	l.refused("a confirmation with a wrong passphrase", e.Confirm(ctx, id, targetCanary, canaryOperator, wrongCanaryPass()), core.ErrWrongPassphrase)
	p := l.sent(id)
	l.refused("an unconfirmed execution", p.Err, core.ErrUnconfirmed)
	l.must(e.Confirm(ctx, id, targetCanary, canaryOperator, canaryPass()))
	l.refused("a second confirmation", e.Confirm(ctx, id, targetCanary, canaryOperator, canaryPass()), core.ErrConflict)
	l.clock.move(core.DefaultWindows().Contract)
	l.refused("an expired confirmation", e.Confirm(ctx, id, targetCanary, canaryOperator, canaryPass()), core.ErrExpired)
	p = l.sent(id)
	l.refused("an expired execution", p.Err, core.ErrExpired)
}

// forthAndBack: a change that works, its rollback, and what can prevent it.
// The expired contract of the second gate blocks its own value and its target
// for ever, so another limit is in force from here on.
func (l *leakTest) forthAndBack() {
	limits := core.DefaultLimits()
	limits.MaxPreparedPerTarget = 2
	l.opts.limits = &limits
	l.restart()
	ctx, e := context.Background(), l.engine
	id := l.ready(planted(newCanary) + "4")
	l.sent(id)
	l.mustBe(id, core.Verified)
	l.refused("a rollback with a wrong passphrase", e.Rollback(ctx, id, canaryOperator, wrongCanaryPass()), core.ErrWrongPassphrase)
	l.sim.Admin().SetAliasDescription(targetCanary, planted(foreignCanary))
	l.refused("a rollback over another admin's value", e.Rollback(ctx, id, canaryOperator, canaryPass()), core.ErrDrift)
	l.sim.Admin().SetAliasDescription(targetCanary, planted(newCanary)+"4")

	// A neighbour that changes meanwhile is named to the operator, by digest
	// alone in the store.
	l.sim.Inject(writes(sim.Fault{Kind: sim.Call, At: sim.AfterAnswer, Func: func(a *sim.Admin) {
		a.SetAliasDescription(neighbourCanary, planted(neighbourValue)+"x")
	}}))
	p := l.rolledBack(id)
	l.mustBe(id, core.RolledBack)
	if !strings.Contains(p.Warning, neighbourCanary) {
		l.t.Errorf("the changed neighbour is not named: %q", p.Warning)
	}
	detail, err := e.Detail(ctx, id)
	l.must(err)
	l.shown("a detail", detail)
}

// strangeAnswers: everything that an answer to a send can say, forward and,
// once, for a rollback.
func (l *leakTest) strangeAnswers() {
	data := map[string]any{"descr": planted(dataCanary), dataCanary: 1}
	echo := map[string]any{"id": 1, "name": targetCanary, "descr": planted(dataCanary)}
	for i, a := range []struct {
		name   string
		answer http.HandlerFunc
		state  core.State
	}{
		{"a refusal with a message", envelope(400, "FIELD_INVALID_TYPE", data), core.Failed},
		{"a refusal that proves nothing", envelope(409, "FIELD_MUST_BE_UNIQUE", data), core.Reconciliation},
		{"an impossible response_id", envelope(400, responseIDCanary, data), core.Reconciliation},
		{"a server error with a message", envelope(500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", data), core.Reconciliation},
		{"a server error with a page", page(500, "text/html", "<b>Fatal error</b>: "+planted(pageCanary)), core.Reconciliation},
		{"a redirect", page(302, "text/html", pageCanary), core.Reconciliation},
		{"another object", envelope(200, "SUCCESS", data), core.Reconciliation},
		{"the values of nothing", envelope(200, "SUCCESS", echo), core.Failed},
		{"a login page", page(200, "text/html", planted(pageCanary)), core.Reconciliation},
		{"broken JSON", page(200, "application/json", `{"`+pageCanary+`": 1, "`+pageCanary+`": "`+pageCanary), core.Reconciliation},
		{"no HTTP", garbage(pageCanary + " " + headerCanary + "\r\n\r\n"), core.Reconciliation},
		{"a broken header", garbage("HTTP/1.1 200 OK\r\n" + headerCanary + " broken\r\n\r\n" + pageCanary), core.Reconciliation},
	} {
		id := l.ready(planted(newCanary) + fmt.Sprint("strange", i))
		l.relay.instead(http.MethodPatch, "/firewall/alias", a.answer)
		l.sent(id)
		if got := l.load(id).State; got != a.state {
			l.t.Errorf("%s: the contract is %s, want %s", a.name, got, a.state)
		}
		if l.load(id).State == core.Reconciliation {
			cmp := l.observe(id)
			l.refused("a conclusion before the settle window is over",
				l.engine.Reconcile(context.Background(), id, core.ConfirmedNotApplied, cmp, canaryOperator, canaryPass()), core.ErrSettling)
			l.refused("a conclusion that the reading denies",
				l.engine.Reconcile(context.Background(), id, core.ConfirmedApplied, cmp, canaryOperator, canaryPass()), core.ErrOutcome)
			l.conclude(id, core.ConfirmedNotApplied)
		}
	}
	id := l.ready(planted(newCanary) + "lost")
	l.sim.Inject(writes(sim.Fault{Kind: sim.CommitThenDrop}))
	l.sent(id)
	l.mustBe(id, core.Reconciliation)
	_, err := l.engine.Authorize(context.Background(), l.draftOf(planted(newCanary)+"5"), canaryOperator, canaryPass())
	l.refused("a change while settling", err, core.ErrSettling)
	l.conclude(id, core.ConfirmedApplied)
	l.relay.instead(http.MethodPatch, "/firewall/alias", page(504, "text/html", planted(pageCanary)))
	l.rolledBack(id)
	l.mustBe(id, core.Reconciliation)
	l.clock.move(past)
	l.watched(id, func() error {
		return l.engine.Reconcile(context.Background(), id, core.ResumeRollback, l.observe(id), canaryOperator, canaryPass())
	})
	l.mustBe(id, core.RolledBack)
}

// strangeReadings: everything that an answer to a reading can say, wherever
// the engine reads.
func (l *leakTest) strangeReadings() {
	ctx, id := context.Background(), l.ready(planted(newCanary)+"read")
	stored, _ := l.sim.Alias(targetCanary)
	row := func(change map[string]any) map[string]any {
		r := map[string]any{"id": stored.ID, "name": targetCanary, "type": "host", "descr": stored.Descr,
			"address": stored.Addresses, "detail": stored.Details}
		for k, v := range change {
			r[k] = v
		}
		return r
	}
	rows := func(list ...any) http.HandlerFunc { return envelope(200, "SUCCESS", list) }
	const list = "/firewall/aliases"
	for _, a := range []struct {
		name, path string
		answer     http.HandlerFunc
	}{
		{"no privilege", list, envelope(403, "AUTH_AUTHORIZATION_FAILED", readCanary)},
		{"an unknown refusal", list, envelope(418, "TEAPOT", readCanary)},
		{"an impossible response_id", list, envelope(403, responseIDCanary, readCanary)},
		{"a server error", list, envelope(500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", readCanary)},
		{"a page", list, page(200, "text/html", planted(readCanary))},
		{"a redirect", list, page(302, "text/html", planted(readCanary))},
		{"a proxy", list, page(407, "text/plain", planted(readCanary))},
		{"another content type", list, page(200, "application/"+readCanary, "{}")},
		{"broken JSON", list, page(200, "application/json", `{"`+readCanary+`": 1, "`+readCanary+`": "`+readCanary)},
		{"no HTTP", list, garbage(readCanary + "\r\n\r\n")},
		{"a broken header", list, garbage("HTTP/1.1 200 OK\r\n" + readCanary + " broken\r\n\r\n")},
		{"a broken length", list, garbage("HTTP/1.1 200 OK\r\nContent-Length: " + readCanary + "\r\n\r\n")},
		{"a broken chunk", list, garbage("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + readCanary + "\r\n")},
		{"a broken encoding", list, garbage("HTTP/1.1 200 OK\r\nTransfer-Encoding: " + readCanary + "\r\n\r\n")},
		{"no list", list, envelope(200, "SUCCESS", map[string]any{readNameCanary: readCanary})},
		{"a list of texts", list, rows(readCanary)},
		{"a row without a name", list, rows(map[string]any{"id": 1, readNameCanary: readCanary})},
		{"an unknown type", list, rows(row(map[string]any{"type": readNameCanary}))},
		{"a strange position", list, rows(row(map[string]any{"id": readNameCanary}))},
		{"strange entries", list, rows(row(map[string]any{"address": []any{readCanary + " " + readCanary}, "detail": []any{"a||" + readCanary}}))},
		{"fewer details than entries", list, rows(row(map[string]any{"detail": []any{}, "address": []any{readCanary, readCanary}}))},
		{"a strange description", list, rows(row(map[string]any{"descr": "\x01" + readCanary}))},
		{"a description that is no text", list, rows(row(map[string]any{"descr": map[string]any{readNameCanary: readCanary}}))},
		{"two targets", list, rows(row(nil), row(map[string]any{"id": 9, "descr": readCanary}))},
		{"another firewall", "/status/system", envelope(200, "SUCCESS", map[string]any{"netgate_id": identityCanary})},
		{"a firewall without a name", "/status/system", envelope(200, "SUCCESS", map[string]any{"netgate_id": "", "x": identityCanary})},
		{"strange settings", "/system/restapi/settings", envelope(200, "SUCCESS", map[string]any{"read_only": readCanary})},
		{"strange pending changes", "/firewall/apply", envelope(200, "SUCCESS", map[string]any{"applied": false, "pending_subsystems": []any{readNameCanary}})},
	} {
		l.relay.reads(a.path, a.answer)
		failures := 0
		note := func(what string, err error) {
			if err != nil {
				failures++
				l.screenError(a.name+", "+what, err)
			}
		}
		_, err := l.engine.Prepare(ctx, "FIREWALL_ALIAS_DESCRIPTION", core.Object{"alias_name": targetCanary, "description": planted(newCanary) + "6"}, "")
		note("preparing", err)
		targets, err := l.engine.Targets(ctx, "FIREWALL_ALIAS_DESCRIPTION")
		note("the picker", err)
		for _, target := range targets {
			if target.Refused != "" {
				failures++
				l.screenError(a.name+", why a target is refused", errors.New(target.Refused))
			}
		}
		_, err = l.engine.Review(ctx, id)
		note("the review", err)
		cmp, err := l.engine.Observe(ctx, id)
		note("the observation", err)
		if cmp.Problem != "" {
			failures++
			l.screenError(a.name+", the comparison's problem", errors.New(cmp.Problem))
		}
		note("a rollback", l.engine.Rollback(ctx, id, canaryOperator, canaryPass()))
		header, err := l.engine.Refresh(ctx)
		note("the header", err)
		l.shown("the header", header)
		if failures == 0 {
			l.t.Errorf("%s: nothing was refused, so nothing was searched", a.name)
		}
	}
	// The same where a run meets it: the contract FAILS before its send.
	l.relay.reads(list, envelope(403, "AUTH_AUTHORIZATION_FAILED", readCanary))
	l.sent(id)
	l.mustBe(id, core.Failed)
	l.relay.clear()
}

// loading: a change of entries, whose values are in lists, and an answer to
// the request to load it.
func (l *leakTest) loading() {
	ctx, e := context.Background(), l.engine
	l.clock.move(past)
	d, err := e.Prepare(ctx, "FIREWALL_ALIAS_ENTRIES", core.Object{"alias_name": targetCanary,
		"add": []any{addressCanary + "2.example.net " + newCanary}, "remove": []any{}}, "")
	l.must(err)
	id, err := e.Authorize(ctx, d, canaryOperator, canaryPass())
	l.must(err)
	l.must(e.Confirm(ctx, id, targetCanary, canaryOperator, canaryPass()))
	l.sent(id)
	l.mustBe(id, core.Verified)
	l.refused("loading with a wrong passphrase", e.Load(ctx, id, canaryOperator, wrongCanaryPass(), l.rig.shown(id)), core.ErrWrongPassphrase)
	for _, answer := range []http.HandlerFunc{envelope(200, "SUCCESS", map[string]any{"applied": false, "pending_subsystems": []any{dataCanary}}),
		envelope(503, "DISPATCHER_TOO_MANY_QUEUED_PROCESSES", planted(dataCanary)), page(502, "text/html", pageCanary)} {
		l.relay.instead(http.MethodPost, "/firewall/apply", answer)
		l.watched(id, func() error { return e.Load(ctx, id, canaryOperator, canaryPass(), l.rig.shown(id)) })
	}
	detail, err := e.Detail(ctx, id)
	l.must(err)
	l.shown("a detail with loads", detail)
	l.written("loads", detail.Loads)
}

// everyCapability: readings in which every text is another one, and requests
// with strange members, for each kind of change.
func (l *leakTest) everyCapability() {
	ctx, refusals := context.Background(), 0
	note := func(where string, err error) {
		if err != nil {
			refusals++
			l.screenError(where, err)
		}
	}
	for symbol, change := range changes() {
		capability, _ := pfsense.Capabilities().ByEndpoint(symbol)
		for _, path := range capability.Spec().Reads() {
			l.relay.reads(strings.TrimPrefix(path, "/api/v2"), l.relay.mangled)
			targets, err := l.engine.Targets(ctx, symbol)
			note(symbol+", the picker", err)
			for _, target := range targets {
				if target.Refused != "" {
					note(symbol+", why a target is refused", errors.New(target.Refused))
				}
				_, err := l.engine.Form(ctx, symbol, target)
				note(symbol+", the form", err)
				_, err = l.engine.Prepare(ctx, symbol, with(change.fields, target.Fields), "")
				note(symbol+", preparing", err)
			}
			_, err = l.engine.Prepare(ctx, symbol, change.fields, "")
			note(symbol+", preparing", err)
			l.relay.clear()
		}
		for member := range change.fields {
			for _, strange := range []any{planted(requestCanary), requestCanary, []any{requestCanary}, []any{map[string]any{requestNameCanary: requestCanary}},
				map[string]any{requestNameCanary: requestCanary}, nil, int64(1 << 40)} {
				_, err := l.engine.Prepare(ctx, symbol, with(change.fields, core.Object{member: strange}), "")
				note(fmt.Sprintf("%s, a strange %s", symbol, member), err)
			}
		}
	}
	if refusals < 200 {
		l.t.Errorf("only %d refusals were searched", refusals)
	}
}

func with(o, change core.Object) core.Object {
	out := core.Object{}
	for _, from := range []core.Object{o, change} {
		for k, v := range from {
			out[k] = v
		}
	}
	return out
}

// refusedKeys: API keys that the firewall refuses, and that cannot be sent.
func (l *leakTest) refusedKeys() {
	ctx := context.Background()
	_, err := pfsense.NewAPIKey(wrongKeyCanary + "\n")
	l.written("an impossible API key", err)
	right := l.site.Key
	l.site.Key = wrongKeyCanary
	l.restart()
	for range 2 {
		_, err = l.engine.Refresh(ctx)
		l.refused("a refused API key", err, core.ErrAppliance)
	}
	l.site.Key = right
	l.restart()
	l.relay.reads("/system/version", envelope(401, "AUTH_AUTHENTICATION_FAILED", readCanary))
	for range 2 {
		_, err = l.engine.Refresh(ctx)
		l.refused("an API key refused with a message", err, core.ErrAppliance)
	}
	l.relay.clear()
	l.site.URL = "https://127.0.0.1:1"
	l.restart()
	_, err = l.engine.Refresh(ctx)
	l.refused("no connection", err, core.ErrAppliance)
	l.site.URL = l.relay.url
	l.site.Pin = strings.Repeat("0f", 32)
	l.restart()
	_, err = l.engine.Refresh(ctx)
	l.refused("another certificate", err, core.ErrAppliance)
	l.site.Pin = l.relay.pin
	l.restart()
}

// quarantine damages one record and meets it everywhere.
func (l *leakTest) quarantine() {
	ctx := context.Background()
	id := l.ready(planted(newCanary) + "damaged")
	l.close()
	db, err := sql.Open("sqlite", "file:"+l.path())
	l.must(err)
	_, err = db.Exec("UPDATE contracts SET mac = replace(replace(mac, 'a', 'b'), '0', '1') WHERE contract_id = ?", id)
	l.must(err)
	l.must(db.Close())
	l.open()
	if len(l.quarantined()) != 1 {
		l.t.Fatal("the damaged record is not quarantined")
	}
	_, err = l.engine.Detail(ctx, id)
	l.refused("a quarantined record", err, core.ErrQuarantined)
	l.refused("confirming a quarantined record", l.engine.Confirm(ctx, id, targetCanary, canaryOperator, canaryPass()), core.ErrQuarantined)
	l.refused("executing a quarantined record", l.engine.Execute(ctx, id), core.ErrQuarantined)
	_, err = l.engine.Authorize(ctx, l.draftOf(planted(newCanary)+"7"), canaryOperator, canaryPass())
	l.refused("a change of a target that a quarantined record claims", err, core.ErrQuarantined)
	page, err := l.engine.List(ctx, core.ListHistory, "", 100)
	l.must(err)
	l.shown("the list", page)
}

// quarantined is what the last start reported, searched.
func (l *leakTest) quarantined() []core.QuarantinedRecord {
	l.written("what a start quarantined", l.rig.report.Quarantined)
	l.shown("the report of a start", l.rig.report)
	return l.rig.report.Quarantined
}

// TestCanariesAreFound is the positive control: each canary is planted in
// each encoding in a copy of a real store, and in an error, and must be found
// there. A search that finds nothing anywhere would pass every other test.
func TestCanariesAreFound(t *testing.T) {
	l := newLeakTest(t)
	l.ready(planted(newCanary))
	l.close()
	data, err := os.ReadFile(l.path())
	l.must(err)
	if hits := l.all.Find(data); len(hits) != 0 {
		t.Fatalf("the store holds canaries before any was planted: %v", hits)
	}
	copied := filepath.Join(t.TempDir(), "copy.sqlite3")
	l.must(os.WriteFile(copied, data, 0o600))
	db, err := sql.Open("sqlite", "file:"+copied)
	l.must(err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec("BEGIN; CREATE TABLE planted (what ANY)")
	l.must(err)
	want := map[canarytest.Hit]bool{}
	for _, c := range l.all.Canaries() {
		for _, e := range canarytest.Encodings() {
			for _, form := range e.Encode(c.Text) {
				_, err = db.Exec("INSERT INTO planted VALUES (?)", append([]byte("x"), form...))
				l.must(err)
			}
			want[canarytest.Hit{Canary: c.Name, Encoding: e.Name}] = true
		}
	}
	_, err = db.Exec("COMMIT")
	l.must(err)
	l.must(db.Close())
	data, err = os.ReadFile(copied)
	l.must(err)
	for _, hit := range l.all.Find(data) {
		delete(want, hit)
	}
	for hit := range want {
		t.Errorf("planted in the store and not found: %s", hit)
	}
	t.Logf("%d canaries in %d encodings were planted in a store and found", len(l.all.Canaries()), len(canarytest.Encodings()))

	inner := fmt.Errorf("refused: %w", errors.Join(core.ErrRequest, errors.New(planted(newCanary))))
	for what, v := range map[string]any{"an error": inner, "a struct": struct{ secret []byte }{[]byte(newCanary)},
		"a pointer": &core.Draft{Operator: newCanary}, "a note": core.Note{Response: newCanary}} {
		if len(l.all.Find(spelled(v))) == 0 {
			t.Errorf("planted in %s and not found", what)
		}
	}
}
