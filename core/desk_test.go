package core_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/core"
	"countersign/keys"
	"countersign/pfsense"
)

// desk is a rig with an off-host authority: a console that pins its keys, a
// fixed inbox, and the authority's own key, as on another machine.
type desk struct {
	*rig
	signer  *keys.SigningKey
	pinned  *keys.Pinned
	dir     string // the inbox
	out     string // where requests are exported to
	console *core.Engine
	files   int
	shown   string // what the signer saw last
}

func newDesk(t testing.TB, opts rigOptions) *desk {
	t.Helper()
	d := &desk{rig: newRig(t, opts)}
	d.dir, d.out = filepath.Join(d.rig.dir, "inbox"), t.TempDir()
	d.signer = d.authority("owner-1")
	pins, err := d.signer.PublicKeys()
	d.must(err)
	d.pinned, err = keys.NewPinned(pins...)
	d.must(err)
	d.console = d.consoleFor(rigOperator, d.pinned, d.lock)
	return d
}

func (d *desk) authority(name string) *keys.SigningKey {
	d.t.Helper()
	key, err := keys.CreateSigningKey(context.Background(), d.ring, rand.Reader, cheap, name, []byte(rigPass))
	d.must(err)
	return key
}

// consoleFor is an engine over the rig's parts, with an inbox.
func (d *desk) consoleFor(operator string, offHost core.Verifier, lock core.Lock) *core.Engine {
	d.t.Helper()
	inbox, err := keys.InitInbox(d.dir)
	d.must(err)
	e := core.NewEngine(core.Ports{Store: d.store, Reader: d.reader, Sender: d.sender, Anchor: d.anchor, Sealer: d.sealer,
		Operators: d.operators(d.store), OffHost: offHost, Inbox: inbox, Requests: keys.RequestFiles{}, Lock: lock,
		Clock: d.clock, Random: rand.Reader, Capabilities: pfsense.Capabilities(),
		Sleep: func(ctx context.Context, _ time.Duration) { <-ctx.Done() }},
		core.Settings{Operator: operator, Appliance: "fw1.example.net",
			Windows: core.Windows{Contract: 10 * time.Minute, Settle: d.settle()}})
	_, err = e.Start(context.Background())
	d.must(err)
	d.t.Cleanup(e.Wait)
	return e
}

func (d *desk) path() string {
	d.files++
	return filepath.Join(d.out, fmt.Sprint(d.files))
}

// sign shows and signs a request file as `countersign sign` does, and brings
// the evidence to the inbox.
func (d *desk) sign(path string, key *keys.SigningKey) keys.Evidence {
	d.t.Helper()
	raw, err := keys.ReadRequest(path)
	d.must(err)
	d.shown, err = keys.RenderRequest(raw, pfsense.Capabilities())
	d.must(err)
	for _, want := range []string{d.site.URL, "before", "after"} {
		if !strings.Contains(d.shown, want) {
			d.t.Fatalf("the signer is not shown %q:\n%s", want, d.shown)
		}
	}
	evidence, err := keys.SignRequest(context.Background(), key, raw, pfsense.Capabilities(), d.clock.Now())
	d.must(err)
	d.must(keys.WriteEvidence(filepath.Join(d.dir, filepath.Base(path)+"-"+key.ID()), evidence))
	signed, err := keys.DecodeEvidence(evidence)
	d.must(err)
	return signed
}

func (d *desk) signedAuthorization(draft core.Draft, key *keys.SigningKey) core.Authorization {
	d.t.Helper()
	path := d.path()
	d.must(d.console.ExportAuthorizationRequest(context.Background(), draft, path))
	return *d.sign(path, key).Authorization
}

func (d *desk) signedConfirmation(id string) core.ConfirmationEvidence {
	d.t.Helper()
	path := d.path()
	d.must(d.console.ExportConfirmationRequest(context.Background(), id, path))
	return *d.sign(path, d.signer).Confirmation
}

func (d *desk) signedConclusion(id string, o core.Outcome, seen core.Comparison) core.ReconciliationEvidence {
	d.t.Helper()
	path := d.path()
	d.must(d.console.ExportReconciliationRequest(context.Background(), id, o, seen, path))
	return *d.sign(path, d.signer).Reconciliation
}

func (d *desk) draftOf(text string) core.Draft {
	d.t.Helper()
	draft, err := d.console.Prepare(context.Background(), "FIREWALL_ALIAS_DESCRIPTION",
		core.Object{"alias_name": rigAlias, "description": text}, "")
	d.must(err)
	return draft
}

// waiting lists the inbox by the contract that each file belongs to.
func (d *desk) waiting() []core.InboxFile {
	d.t.Helper()
	files, err := d.console.Inbox(context.Background())
	d.must(err)
	for _, f := range files {
		if f.Problem != "" {
			d.t.Fatalf("%+v", f)
		}
	}
	return files
}

// nothingInPlain looks for a value in everything but the exported requests.
func (d *desk) nothingInPlain(value string) {
	d.t.Helper()
	d.must(filepath.WalkDir(d.rig.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(value)) {
			d.t.Errorf("%s holds the value", filepath.Base(path))
		}
		return err
	}))
}

// editAlias is another administrator at work.
func (d *desk) editAlias(name, text string) {
	d.sim.Admin().SetAliasDescription(name, text)
}

func together(n int, f func(int)) {
	var all sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		all.Add(1)
		go func() {
			defer all.Done()
			<-gate
			f(i)
		}()
	}
	close(gate)
	all.Wait()
}

// oneWon returns which of two went through; the other must be of a class.
func oneWon(t *testing.T, errs []error, classes ...error) int {
	t.Helper()
	winner := 0
	if errs[0] != nil {
		winner = 1
	}
	loser := errs[1-winner]
	for _, class := range classes {
		if errs[winner] == nil && errors.Is(loser, class) {
			return winner
		}
	}
	t.Fatalf("got %v and %v", errs[0], errs[1])
	return 0
}
