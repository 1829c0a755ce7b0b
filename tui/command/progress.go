package command

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// barWidth is how many cells the progress bar has.
const barWidth = 40

// progressBar draws how far a verification is on one line, redrawn only when
// its picture changes.
func progressBar(w io.Writer) func(done, total int) {
	var mu sync.Mutex
	last := -1
	return func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if total == 0 {
			return
		}
		filled := done * barWidth / total
		if filled == last {
			return
		}
		last = filled
		fmt.Fprintf(w, "\r[%s%s] %d of %d", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), done, total)
		if done == total {
			fmt.Fprint(w, "\r\033[K")
		}
	}
}
