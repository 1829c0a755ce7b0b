package story

import (
	"context"
	"fmt"
	"time"

	"countersign/core"
)

// SeedAge is how long before the present the seeded history begins. The
// parts' clock must start that far back; Seed leaves it at the present.
const SeedAge = 26 * time.Hour

// quiet tells nothing: seeding is not part of the story.
type quiet struct{}

func (quiet) Tell(Step) error     { return nil }
func (quiet) End(bool, int) error { return nil }

// elapsing counts how far a bench's clock was moved.
type elapsing struct {
	Bench
	total time.Duration
}

func (e *elapsing) Elapse(d time.Duration) {
	e.total += d
	e.Bench.Elapse(d)
}

// Seed fills a bench with a few contracts of each kind, each made by really
// running it, spread over the last day.
func Seed(ctx context.Context, b Bench, sim Simulator) error {
	counted := &elapsing{Bench: b}
	t := &told{Bench: counted, ctx: ctx, scene: "seed", tell: quiet{}}
	for _, s := range []struct {
		after time.Duration
		what  string
		play  func(*told) error
	}{
		{0, "a verified change", seedVerified},
		{5 * time.Hour, "a rollback that met a conflict", func(t *told) error { return seedRollbackFailed(t, sim) }},
		{9 * time.Hour, "a change that was rolled back", seedRolledBack},
		{4 * time.Hour, "a change that met another admin", seedFailed},
		{5 * time.Hour, "a change that was declined", seedDeclined},
		{2 * time.Hour, "a change whose answer was lost", seedAmbiguous},
		{11 * time.Minute, "an address that was blocked and loaded", seedBlocked},
		{28 * time.Minute, "a change that waits for confirmation", seedPrepared},
	} {
		counted.Elapse(s.after)
		if err := s.play(t); err != nil {
			return fmt.Errorf("seeding %s: %w", s.what, err)
		}
	}
	counted.Elapse(SeedAge - counted.total)
	_, err := b.Engine().Refresh(ctx)
	return err
}

func seedVerified(t *told) error {
	_, err := t.verified("dns_ports", "DNS and DNS over TLS")
	return err
}

func seedRolledBack(t *told) error {
	id, err := t.verified("trusted_hosts", "Trusted admin hosts, jump host included")
	if err != nil {
		return err
	}
	t.Elapse(7 * time.Minute)
	return t.rollBack(id)
}

// seedRollbackFailed: another admin is quicker, between the look before the
// rollback and the re-read after its acquisition.
func seedRollbackFailed(t *told, sim Simulator) error {
	id, err := t.verified("empty_one", "Reserved for the migration")
	if err != nil {
		return err
	}
	t.Elapse(12 * time.Minute)
	sim.EditAliasAfterReadings(1, "empty_one", "In use since Monday")
	if err := t.rollBack(id); err != nil {
		return err
	}
	return t.mustBe(id, core.RollbackFailed)
}

func seedFailed(t *told) error {
	id, err := t.confirmed("web_ports", "Web ports, old and new")
	if err != nil {
		return err
	}
	t.EditAlias("web_ports", "Web & TLS ports, checked")
	if err := t.execute(id); err != nil {
		return err
	}
	return t.mustBe(id, core.Failed)
}

func seedDeclined(t *told) error {
	id, err := t.prepared("nested_hosts", "Hosts of the old office")
	if err != nil {
		return err
	}
	operator, passphrase := t.Operator()
	return t.Engine().Decline(t.ctx, id, operator, passphrase)
}

func seedAmbiguous(t *told) error {
	id, err := t.confirmed(alias, "Public web, new DC")
	if err != nil {
		return err
	}
	t.LoseNextAnswer()
	if err := t.execute(id); err != nil {
		return err
	}
	return t.mustBe(id, core.Reconciliation)
}

// seedBlocked is confirmed together with its loading, which also loads what
// the changes before it left waiting.
func seedBlocked(t *told) error {
	operator, passphrase := t.Operator()
	d, err := t.Engine().Prepare(t.ctx, "FIREWALL_ALIAS_ENTRIES",
		core.Object{"alias_name": "blocklist", "add": []any{"203.0.113.80 scanner"}, "remove": []any{}}, "")
	if err != nil {
		return err
	}
	id, err := t.Engine().Authorize(t.ctx, d, operator, passphrase)
	if err != nil {
		return err
	}
	review, err := t.Engine().Review(t.ctx, id)
	if err != nil {
		return err
	}
	_, passphrase = t.Operator() // the first copy is erased by now
	if err := t.Engine().ConfirmAndLoad(t.ctx, id, review.Target, operator, passphrase, review.Waiting); err != nil {
		return err
	}
	if err := t.execute(id); err != nil {
		return err
	}
	return t.mustBe(id, core.Verified)
}

func seedPrepared(t *told) error {
	_, err := t.prepared("office_hosts", "Office hosts, both floors")
	return err
}
