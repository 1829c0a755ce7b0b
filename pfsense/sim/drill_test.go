package sim_test

import (
	"net/http"
	"slices"
	"testing"

	"countersign/pfsense/sim"
)

func practice(t *testing.T) (sim.Practice, *rig) {
	t.Helper()
	p, err := sim.NewPractice(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p, rigFor(t, p.Server)
}

// Every kind of fault can be armed by name, each with one line that says what
// happens, and a name means one thing.
func TestEveryFaultCanBePractised(t *testing.T) {
	p, _ := practice(t)
	names := p.Troubles()
	for _, kind := range sim.Kinds() {
		if !slices.Contains(names, string(kind)) {
			t.Errorf("%s cannot be armed", kind)
		}
	}
	seen := map[string]bool{}
	for _, name := range names {
		if text := p.Explain(name); seen[name] || text == "" || len(text) > 90 {
			t.Errorf("%s: explained as %q, twice %v", name, text, seen[name])
		}
		seen[name] = true
	}
	if err := p.Arm("no-such-thing"); err == nil || p.Explain("no-such-thing") != "" {
		t.Error("an unknown fault was armed")
	}
	t.Logf("%d troubles, %d kinds of fault", len(names), len(sim.Kinds()))
}

// What is armed hits the next change and nothing before it, once.
func TestArmedFaultHitsTheNextChange(t *testing.T) {
	p, r := practice(t)
	for _, name := range []string{"commit-then-drop", "commit-then-drop", "refuse"} {
		if err := p.Arm(name); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.Armed(); !slices.Equal(got, []string{"commit-then-drop", "refuse"}) {
		t.Fatalf("armed %q", got)
	}
	if err := p.Clear(); err != nil || len(p.Armed()) != 0 {
		t.Fatalf("armed %q after clearing (%v)", p.Armed(), err)
	}
	if err := p.Arm("commit-then-drop"); err != nil {
		t.Fatal(err)
	}
	if got := r.do(http.MethodGet, "/firewall/aliases", nil); got.status != http.StatusOK {
		t.Fatalf("a reading was hit: %+v", got)
	}
	change := map[string]any{"id": 0, "descr": "changed"}
	if got := r.do(http.MethodPatch, "/firewall/alias", change); got.err == nil || len(p.Armed()) != 0 {
		t.Fatalf("the change was answered with %d; armed %q", got.status, p.Armed())
	}
	if got := r.do(http.MethodPatch, "/firewall/alias", change); got.status != http.StatusOK {
		t.Fatalf("the next change was hit as well: %+v", got)
	}
}

// Another administrator's deeds happen at once, or while the change is made;
// clearing takes back the modes that a fault left behind.
func TestOtherAdminInADrill(t *testing.T) {
	p, r := practice(t)
	if err := p.Arm("edit-now"); err != nil || p.AliasDescription("web_servers") != "edited by somebody else" || len(p.Armed()) != 0 {
		t.Fatalf("%q, armed %q (%v)", p.AliasDescription("web_servers"), p.Armed(), err)
	}
	for _, name := range []string{"insert-meanwhile", "read-only"} {
		if err := p.Arm(name); err != nil {
			t.Fatal(err)
		}
	}
	change := map[string]any{"id": 0, "descr": "changed"}
	if got := r.do(http.MethodPatch, "/firewall/alias", change); got.status == http.StatusOK {
		t.Fatal("a change passed the read-only mode")
	}
	if err := p.Clear(); err != nil {
		t.Fatal(err)
	}
	if got := r.do(http.MethodPatch, "/firewall/alias", change); got.status != http.StatusOK {
		t.Fatalf("the mode was not taken back: %+v", got)
	}
}
