package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"countersign/core"
)

// bringUp brings a file that exists to the point where it can be used:
// looked at, made, migrated or taken over as needed, and connected.
func (s *Store) bringUp(ctx context.Context, o Options, size int64) error {
	f := findings{blank: size == 0}
	var err error
	if !f.blank {
		if f, err = s.inspect(ctx, o, false); err != nil {
			return err
		}
	}
	if f.blank && o.Existing {
		return ErrEmpty
	}
	if f.blank {
		if made, err := s.initialise(ctx, o); made || err != nil {
			return err
		}
		if f, err = s.inspect(ctx, o, false); err != nil {
			return err
		}
	}
	if f, err = s.upgrade(ctx, o, f); err != nil {
		return err
	}
	for _, flaw := range f.flaws {
		s.flaws.add(flaw.Flaw, flaw.claims, core.Instant(s.clock.Now()))
	}
	if !f.own && len(f.flaws) > 0 {
		return s.connectReader(ctx, o.layer, fmt.Errorf("%w: this store was never used by this console and has a flaw; "+
			"it is open for reading alone", core.ErrQuarantined))
	}
	if err := s.connect(ctx, o.layer); err != nil {
		return err
	}
	if f.own && f.behind == 0 {
		return nil
	}
	return s.patiently(ctx, s.takeOver)
}

// upgrade looks at every page of a file that this console did not write, and
// migrates it if it is of an older schema. It returns what is there then.
func (s *Store) upgrade(ctx context.Context, o Options, f findings) (findings, error) {
	if f.schema == SchemaVersion && f.own {
		return f, nil
	}
	f, err := s.inspect(ctx, o, true)
	if err != nil || f.schema == SchemaVersion {
		return f, err
	}
	if err := s.patiently(ctx, func(ctx context.Context) error { return s.migrate(ctx, o) }); err != nil {
		return f, err
	}
	return s.inspect(ctx, o, false)
}

// initialise makes the tables of a new store in one transaction and leaves it
// connected. Two programs may try at once; for the second they are there
// already, and it has made nothing.
func (s *Store) initialise(ctx context.Context, o Options) (made bool, err error) {
	there := errors.New("there are tables already")
	err = s.patiently(ctx, func(ctx context.Context) error {
		s.disconnect() // of an earlier try
		if err := s.connect(ctx, o.layer); err != nil {
			return err
		}
		return s.bare(ctx, "initialise", func(t *tx) error {
			objects, err := schemaObjects(ctx, t)
			if err != nil {
				return err
			}
			if len(objects) > 0 {
				return there
			}
			return t.makeStore()
		})
	})
	if err == there {
		s.disconnect()
		return false, nil
	}
	return err == nil, err
}

// makeStore makes all the tables of an empty store.
func (t *tx) makeStore() error {
	for _, statement := range formatSchema() {
		if _, err := t.exec(statement); err != nil {
			return err
		}
	}
	_, err := t.exec("INSERT INTO metadata (key, value) VALUES ('schema_version', ?), ('store_id', ?)",
		fmt.Sprint(SchemaVersion), t.s.storeID)
	if err != nil {
		return err
	}
	return t.makeOwn()
}

// bare runs f in a durable transaction without a head.
func (s *Store) bare(ctx context.Context, name string, f func(*tx) error) error {
	ctx = context.WithoutCancel(ctx)
	sqlTx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return classify(err)
	}
	defer sqlTx.Rollback()
	t := &tx{Tx: sqlTx, ctx: ctx, s: s, macs: s.newMACs(), now: core.Instant(s.clock.Now()), head: newHead()}
	if err := f(t); err != nil {
		return classify(err)
	}
	return s.commit(sqlTx, name)
}

// makeOwn makes our tables and indexes and an empty head.
func (t *tx) makeOwn() error {
	for _, statement := range ownSchema() {
		if _, err := t.exec(statement); err != nil {
			return err
		}
	}
	return t.insertHead(t.head)
}

// takeOver adds what our own tables do not know yet: everything, in a store
// that the reference wrote, or what it changed since. Every record is
// verified again in this transaction; one flaw, and nothing is written.
func (s *Store) takeOver(ctx context.Context) error {
	err := s.bare(ctx, "take over", func(t *tx) (err error) {
		objects, err := schemaObjects(ctx, t) // another console may have been faster
		if err != nil {
			return err
		}
		if hasOwn(objects) {
			if t.head, err = readHead(ctx, t, t.macs); err != nil {
				return err
			}
		} else if err := t.makeOwn(); err != nil {
			return err
		}
		after := ""
		for {
			ids, err := t.behind(after)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				return t.updateHead()
			}
			for _, id := range ids {
				if err := t.adopt(id); err != nil {
					return err
				}
			}
			after = ids[len(ids)-1]
		}
	})
	var flaw *Flaw
	if errors.As(err, &flaw) {
		return refuse(flaw.Reason)
	}
	return err
}

// takeOverBatch bounds the memory that taking over needs.
const takeOverBatch = 500

// behind lists contracts that our tables do not know as they are.
func (t *tx) behind(after string) ([]string, error) {
	return t.ids(`SELECT contracts.contract_id FROM contracts
		LEFT JOIN cs_members ON cs_members.contract_id = contracts.contract_id
		WHERE contracts.contract_id > ? AND
			(cs_members.contract_id IS NULL OR cs_members.state_version < contracts.state_version)
		ORDER BY contracts.contract_id LIMIT ?`, after, takeOverBatch)
}

// adopt brings one contract's row in the set up to its record. A quarantined
// record is left alone.
func (t *tx) adopt(contractID string) error {
	if t.s.flaws.of(contractID) != nil {
		return nil
	}
	found, err := contractRows(t.ctx, t, "WHERE contract_id = ?", contractID)
	if err != nil || len(found) == 0 {
		return err
	}
	c, chain, err := t.examineRecord(found[0])
	if err != nil {
		return err
	}
	notes, err := t.notesOf(contractID)
	if err != nil {
		return err
	}
	m := derivedMember(chain, notes, c.StateVersion, found[0].mac.s)
	old, err := t.rows(tableMembers, "WHERE contract_id = ?", contractID)
	if err != nil {
		return err
	}
	if len(old) == 0 {
		t.head.events += c.StateVersion + 1
		_, err = t.insertMember(c, m)
		return err
	}
	before := memberOf(old[0])
	t.head.events += c.StateVersion - before.version
	_, err = t.updateMember(c, memberState(old[0]), before, m)
	return err
}

// disconnect closes the connections again.
func (s *Store) disconnect() {
	for _, db := range []*sql.DB{s.readers, s.writer} {
		if db != nil {
			db.Close()
		}
	}
	s.readers, s.writer = nil, nil
}
