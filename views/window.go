package views

import (
	"sort"

	"countersign/core"
)

const (
	// pageRows is how many rows one reading asks for.
	pageRows = 100
	// keptPages is how many pages hold their rows on either side of the
	// selection, however long the list is.
	keptPages = 3
)

// slot is one page of the list: its keyset cursor and, while it is near the
// selection, its rows.
type slot struct {
	after string
	start int // index of its first row in the list
	count int
	rows  []core.Row // nil when dropped
}

// window holds a few pages of a list that may be very long. Pages are read
// when the selection comes near and dropped when it is far; of a dropped page
// only the cursor that gives it again is kept.
type window struct {
	slots []slot
	next  string // cursor of the page behind the last slot
	more  bool   // there is such a page
}

// newWindow knows nothing yet but where a list begins.
func newWindow() window { return window{more: true} }

// length is how many rows are known to exist; there may be more behind them.
func (w *window) length() int {
	if len(w.slots) == 0 {
		return 0
	}
	last := w.slots[len(w.slots)-1]
	return last.start + last.count
}

// at returns the slot that holds row i, or -1.
func (w *window) at(i int) int {
	k := sort.Search(len(w.slots), func(k int) bool { return w.slots[k].start > i }) - 1
	if k < 0 || i >= w.slots[k].start+w.slots[k].count {
		return -1
	}
	return k
}

// row returns row i, if its page is held.
func (w *window) row(i int) (core.Row, bool) {
	k := w.at(i)
	if k < 0 || w.slots[k].rows == nil {
		return core.Row{}, false
	}
	return w.slots[k].rows[i-w.slots[k].start], true
}

// missing returns the cursor of a page that should be read for a selection at
// row i, the most urgent first.
func (w *window) missing(i int) (after string, ok bool) {
	for _, near := range []int{i, i + pageRows/2, i - pageRows/2} {
		k := w.at(near)
		if k >= 0 && w.slots[k].rows == nil {
			return w.slots[k].after, true
		}
	}
	if w.more && i+pageRows/2 >= w.length() {
		return w.next, true
	}
	return "", false
}

// put takes a page that was read. A page that is already there is replaced;
// if the list has moved meanwhile, what is behind it will be read again.
func (w *window) put(after string, p core.Page, selected int) {
	fresh := slot{after: after, count: len(p.Rows), rows: p.Rows}
	for k := range w.slots {
		if w.slots[k].after == after {
			fresh.start = w.slots[k].start
			w.replace(k, fresh, p.Next)
			w.drop(selected)
			return
		}
	}
	if after != w.next || !w.more {
		return // of a list that was left since
	}
	fresh.start = w.length()
	w.slots = append(w.slots, fresh)
	w.next, w.more = p.Next, p.Next != ""
	w.drop(selected)
}

func (w *window) replace(k int, fresh slot, next string) {
	moved := fresh.count != w.slots[k].count
	w.slots[k] = fresh
	if k+1 < len(w.slots) && w.slots[k+1].after == next && !moved {
		return
	}
	w.slots = w.slots[:k+1]
	w.next, w.more = next, next != ""
}

// drop lets go of the rows of pages far from the selection.
func (w *window) drop(selected int) {
	here := max(0, w.at(selected))
	for k := range w.slots {
		if k < here-keptPages || k > here+keptPages {
			w.slots[k].rows = nil
		}
	}
}

// find returns the index of a contract among the held rows, or -1.
func (w *window) find(id string) int {
	for _, s := range w.slots {
		for j, r := range s.rows {
			if r.ContractID == id {
				return s.start + j
			}
		}
	}
	return -1
}
