package views

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// keyPress is the cost of one key and the frame after it, in a list of n rows.
func keyPress(b *testing.B, n int) time.Duration {
	l := newLongList(n)
	s := openList(l)
	for range 3 * keptPages { // as many pages as are ever held
		press(s, l, tea.KeyPgDown, tea.KeyPgDown, tea.KeyPgDown, tea.KeyPgDown, tea.KeyPgDown, tea.KeyPgDown)
	}
	press(s, l, tea.KeyHome)
	keys := []tea.KeyType{tea.KeyDown, tea.KeyPgDown, tea.KeyUp, tea.KeyPgUp}
	start := time.Now()
	for i := range b.N {
		_, _ = s.Update(tea.KeyMsg{Type: keys[i%len(keys)]})
		_ = s.View()
	}
	return time.Since(start)
}

// BenchmarkKeyPress compares a key press and its frame at 100,000 rows with
// one at 1,000: x-1000 should stay near 1.
func BenchmarkKeyPress(b *testing.B) {
	small := keyPress(b, 1_000)
	large := keyPress(b, 100_000)
	b.ReportMetric(float64(large)/float64(small), "x-1000")
	b.ReportMetric(float64(large.Microseconds())/float64(b.N), "us/key")
}

// BenchmarkView is the cost of one frame of each busy screen, as a multiple
// of the list's.
func BenchmarkView(b *testing.B) {
	list := 0.0
	for _, s := range scenes() {
		switch s.name {
		case "list", "detail_timeline", "confirm", "reconcile", "execute_sending":
		default:
			continue
		}
		f := testFrame(ThemeOptions{NoColor: true})
		screen := s.build(f)
		screen.SetSize(120, BodyHeight(f, screen, s.notice, 120, 40))
		b.Run(s.name, func(b *testing.B) {
			for range b.N {
				_ = Compose(f, screen, s.notice, 120, 40)
			}
			each := float64(b.Elapsed()) / float64(b.N)
			if s.name == "list" {
				list = each
			}
			if list > 0 {
				b.ReportMetric(each/list, "x-list")
			}
		})
	}
}
