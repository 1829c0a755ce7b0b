package views

import (
	"strings"

	"countersign/core"
)

// mostMatches ends a search; a filter that finds more is too wide to help.
const mostMatches = 2000

// search walks a list page by page and keeps the rows that contain a text. It
// goes on only as far as the screen needs.
type search struct {
	text string
	rows []core.Row
	next string
	more bool
	seen int
}

func newSearch(text string) *search {
	return &search{text: strings.ToLower(text), more: true}
}

// put looks through a page.
func (s *search) put(p core.Page) {
	for _, r := range p.Rows {
		if s.matches(r) && len(s.rows) < mostMatches {
			s.rows = append(s.rows, r)
		}
	}
	s.seen += len(p.Rows)
	s.next, s.more = p.Next, p.Next != "" && len(s.rows) < mostMatches
}

// matches compares with everything a row shows.
func (s *search) matches(r core.Row) bool {
	for _, field := range []string{r.ContractID, StateWord(r.State), r.Noun + " " + r.Target, r.Change, r.Actor, r.Quarantined} {
		if strings.Contains(strings.ToLower(field), s.text) {
			return true
		}
	}
	return false
}
