package core_test

import (
	"context"
	"errors"
	"testing"

	"countersign/canon"
	"countersign/core"
	"countersign/pfsense"
)

// Lesson 8: certainty is lost where the last *state* event says, however
// often artifacts were rotated since.
func TestOriginIsTheLastStateEvent(t *testing.T) {
	event := func(kind core.EventType, from, to core.State) core.AuditEvent {
		return core.AuditEvent{Type: kind, Previous: from, Current: to}
	}
	rotated := event(core.EventRotated, core.Reconciliation, core.Reconciliation)
	for _, c := range []struct {
		name   string
		events []core.AuditEvent
		want   core.State
	}{
		{"forward", []core.AuditEvent{event(core.EventTransition, core.Executing, core.Reconciliation)}, core.Executing},
		{"rollback", []core.AuditEvent{event(core.EventTransition, core.RollingBack, core.Reconciliation)}, core.RollingBack},
		{"rotated since", []core.AuditEvent{event(core.EventTransition, core.Executing, core.Reconciliation), rotated, rotated}, core.Executing},
		{"twice in doubt", []core.AuditEvent{event(core.EventTransition, core.Executing, core.Reconciliation),
			event(core.EventResolved, core.Reconciliation, core.Verified), event(core.EventTransition, core.Verified, core.RollingBack),
			event(core.EventTransition, core.RollingBack, core.Reconciliation), rotated}, core.RollingBack},
		{"never", []core.AuditEvent{event(core.EventCreated, "", core.Preparing)}, ""},
	} {
		if got := core.Origin(c.events); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Lesson 13: what is decrypted is compared with what the digests bind before
// any request is built. Artifacts that open well but say something else are
// refused, whichever of the three it is.
func TestOpenedArtifactsAreCompared(t *testing.T) {
	r := newRig(t, rigOptions{})
	id := r.prepared(rigAlias, rigValue)
	good := r.load(id)
	caps := pfsense.Capabilities()
	opened, err := core.OpenContract(context.Background(), good, caps, r.sealer)
	r.must(err)
	seal := func(role core.Role, o core.Object) core.Artifact {
		plain, err := canon.Encode(o)
		r.must(err)
		a, err := r.sealer.Seal(context.Background(), id, role, plain)
		r.must(err)
		return a
	}
	with := func(o core.Object, key string, v any) core.Object {
		out := core.Object{}
		for k, x := range o {
			out[k] = x
		}
		out[key] = v
		return out
	}
	for name, edit := range map[string]func(*core.Contract){
		"another target": func(c *core.Contract) {
			c.ProtectedTarget = seal(core.RoleTargetIdentity, with(opened.Identity, "alias_name", "web_ports"))
		},
		"another new value": func(c *core.Contract) {
			c.ProtectedIntent = seal(core.RoleIntent, with(opened.Intent, "new_description", "something else"))
		},
		"another old value": func(c *core.Contract) {
			c.ProtectedSnapshot = seal(core.RoleSnapshot, with(opened.Snapshot, "descr", "something else"))
		},
		"another appliance": func(c *core.Contract) {
			c.ProtectedIntent = seal(core.RoleIntent, with(opened.Intent, "appliance_target_digest", good.IntentDigest.String()))
		},
		"not an object": func(c *core.Contract) {
			a, err := r.sealer.Seal(context.Background(), id, core.RoleIntent, []byte("[]"))
			r.must(err)
			c.ProtectedIntent = a
		},
		"another position": func(c *core.Contract) { c.LifecycleLocator++ },
	} {
		c := good
		edit(&c)
		if _, err := core.OpenContract(context.Background(), c, caps, r.sealer); !errors.Is(err, core.ErrBinding) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
