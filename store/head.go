package store

import (
	"context"

	"countersign/canon"
	"countersign/core"
)

// head is the one row about the store as a whole. With it the set of
// contracts is authenticated, although each is authenticated by itself:
//
//   - contracts counts the rows of cs_members. Each of those has a MAC and a
//     unique contract id, so none can be removed or invented unnoticed;
//   - events is the number of audit events, that is the sum of state versions
//     plus one. A contract's version only grows, so putting back an older
//     authentic copy of any of them lowers the sum;
//   - members, logs and records bind the exact rows. A bad row of one contract
//     leaves the exact rows of its set unknown, so those that decide about more
//     than one contract are a set of their own.
//
// What it cannot notice is an older copy of the whole file: that is what the
// anchor outside is for (design section 6).
type head struct {
	version   int64
	contracts int64
	events    int64
	members   setDigest
	logs      logSet // of the tables that only grow
	records   logSet // of those among them whose rows concern one contract each
	states    map[core.State]int64
}

// logSet is the rows of some tables that only grow.
type logSet struct {
	rows   int64
	digest setDigest
}

func (s *logSet) add(mac string) {
	s.rows++
	s.digest.toggle(mac)
}

// logsOf is the set that a log table's rows belong to.
func (h *head) logsOf(t ownTable) *logSet {
	if t.ofContract {
		return &h.records
	}
	return &h.logs
}

func newHead() head { return head{version: ownVersion, states: map[core.State]int64{}} }

func (h head) values() ([]any, error) {
	counts := map[string]any{}
	for _, s := range core.States() {
		if n := h.states[s]; n != 0 {
			counts[string(s)] = n
		}
	}
	text, err := canon.EncodeASCII(counts)
	if err != nil {
		return nil, err
	}
	return []any{int64(1), h.version, h.contracts, h.events, h.members.String(), h.logs.rows,
		h.logs.digest.String(), h.records.rows, h.records.digest.String(), string(text)}, nil
}

// readHead reads and verifies the head.
func readHead(ctx context.Context, q querier, m *macs) (head, error) {
	rows, err := tableHead.query(ctx, q, m, "")
	if err != nil {
		return head{}, err
	}
	if len(rows) != 1 || rows[0].number(0) != 1 {
		return head{}, refuse(ReasonHead)
	}
	r := rows[0]
	h := newHead()
	h.version, h.contracts, h.events = r.number(1), r.number(2), r.number(3)
	h.logs.rows, h.records.rows = r.number(5), r.number(7)
	var okMembers, okLogs, okRecords bool
	h.members, okMembers = parseSetDigest(r.text(4))
	h.logs.digest, okLogs = parseSetDigest(r.text(6))
	h.records.digest, okRecords = parseSetDigest(r.text(8))
	counts, err := canon.ParseObject([]byte(r.text(9)))
	if err != nil || !okMembers || !okLogs || !okRecords || h.version != ownVersion {
		return head{}, refuse(ReasonHead)
	}
	for s, n := range counts {
		h.states[core.State(s)], _ = n.(int64)
	}
	return h, nil
}

// insertHead writes the first head of a store.
func (t *tx) insertHead(h head) error {
	values, err := h.values()
	if err != nil {
		return err
	}
	return t.insertRow(tableHead, values)
}

// updateHead writes the head back at the end of a transaction that changed it.
func (t *tx) updateHead() error {
	values, err := t.head.values()
	if err != nil {
		return err
	}
	_, err = t.updateRow(tableHead, values)
	return err
}
