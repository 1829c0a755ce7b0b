package views

import (
	"fmt"
	"strings"
)

const (
	// gateWidth and gateHeight are what a gate needs, so that nothing an
	// operator agrees to is cut off.
	gateWidth, gateHeight = 80, 24
	// leastWidth and leastHeight are what any screen needs.
	leastWidth, leastHeight = 40, 12
)

// TooSmall reports whether a terminal is too small for a screen.
func TooSmall(width, height int, gate bool) bool {
	if gate && (width < gateWidth || height < gateHeight) {
		return true
	}
	return width < leastWidth || height < leastHeight
}

// SmallView says what the terminal is, and what the screen needs.
func SmallView(width, height int, gate bool) string {
	words := fmt.Sprintf("This terminal is %dx%d. The console needs %dx%d.", width, height, leastWidth, leastHeight)
	if gate && width >= leastWidth && height >= leastHeight {
		words = fmt.Sprintf("This terminal is %dx%d. Authorizing, confirming, sending, rolling back and reconciling need %dx%d, so that nothing you agree to is cut off. Everything else works here.",
			width, height, gateWidth, gateHeight)
	}
	var lines []string
	for _, line := range wrap(words+"\n\nesc goes back, ctrl+c leaves; nothing changes.", max(1, width-2)) {
		lines = append(lines, " "+line)
	}
	if len(lines) > height {
		lines = lines[:max(0, height)]
	}
	return strings.Join(lines, "\n")
}

// smallKeys are all that work while a gate does not fit.
func smallKeys(k KeyMap) []Binding {
	return []Binding{k.Back.as("back"), bind("ctrl+c", wordQuit, "leave the console", "ctrl+c")}
}
