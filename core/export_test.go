package core_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/core"
)

// longHistory is a store of n contracts with one event each, that says when
// it is asked for more than was written of what it gave.
type longHistory struct {
	core.StoreReader
	t              *testing.T
	n              int
	given, written int
	pages, largest int
}

func (h *longHistory) List(_ context.Context, q core.ListQuery) (core.ListPage, error) {
	if q.List != core.ListOldest {
		h.t.Fatalf("the export asks for the list %q", q.List)
	}
	if h.written != h.given {
		h.t.Fatalf("a further page is asked for while %d contracts are kept", h.given-h.written)
	}
	h.pages, h.largest = h.pages+1, max(h.largest, q.Limit)
	var page core.ListPage
	for ; h.given < h.n && len(page.Items) < q.Limit; h.given++ {
		page.Items = append(page.Items, core.ListItem{Contract: core.Contract{ID: h.id(h.given)}})
	}
	if h.given < h.n {
		page.Next = h.id(h.given - 1)
	}
	return page, nil
}

func (h *longHistory) id(i int) string { return fmt.Sprintf("contract-%d", i) }

func (h *longHistory) Load(_ context.Context, id string) (core.Contract, error) {
	return core.Contract{ID: id}, nil
}

func (h *longHistory) Timeline(_ context.Context, id string) ([]core.AuditEvent, error) {
	return []core.AuditEvent{{ContractID: id, Type: core.EventCreated, Current: core.Preparing, RecordedAt: time.Unix(0, 0).UTC()}}, nil
}

func (h *longHistory) Quarantined(context.Context) ([]core.QuarantinedRecord, error) { return nil, nil }

// Write takes one line of the export.
func (h *longHistory) Write(line []byte) (int, error) {
	if !strings.Contains(string(line), `"`+h.id(h.written)+`"`) {
		h.t.Fatalf("line %d is of another contract: %s", h.written, line)
	}
	h.written++
	return len(line), nil
}

// An export writes a page before it asks for the next, and no page is larger
// in a longer history: what it keeps does not depend on how many there are.
func TestExportKeepsOnePage(t *testing.T) {
	largest := 0
	for _, n := range []int{0, 1, 1000, 20_000} {
		h := &longHistory{t: t, n: n}
		if err := core.ExportAudit(ctx(), h, io.Writer(h)); err != nil {
			t.Fatal(err)
		}
		if h.written != n || h.pages < n/200 {
			t.Fatalf("%d of %d contracts were written from %d pages", h.written, n, h.pages)
		}
		if largest == 0 {
			largest = h.largest
		}
		if h.largest != largest || largest > 200 {
			t.Errorf("pages of %d for %d contracts, and of %d for none", h.largest, n, largest)
		}
	}
}

// Over the real store: oldest contract first, each with its whole chain in
// order.
func TestExportIsOldestFirst(t *testing.T) {
	r := newRig(t, rigOptions{})
	ids := []string{r.verified(rigAlias, rigValue), r.prepared("blocked_nets", "second"), r.confirmed("web_ports", "third")}
	var want []string
	for _, id := range ids {
		for _, e := range r.timeline(id) {
			want = append(want, fmt.Sprintf("%s:%d", id, e.Version))
		}
	}
	var out bytes.Buffer
	r.must(core.ExportAudit(ctx(), r.store, &out))
	var got []string
	for _, m := range regexp.MustCompile(`"event_id":"([^"]*)"`).FindAllStringSubmatch(out.String(), -1) {
		got = append(got, m[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("exported %v, want %v", got, want)
	}
}
