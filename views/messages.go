package views

import (
	"fmt"
	"strings"
	"time"

	"countersign/core"
)

// The messages below are what happened. The router gives every one of them to
// every open screen; a screen looks for its own by list, endpoint or id. Err
// is a refusal; the other fields are then empty.
type (
	// Ticked: a second has passed, or less while a run is watched.
	Ticked struct{ Now time.Time }
	// Scanned: the verified scan has passed so many contracts of so many.
	Scanned struct{ Done, Total int }
	// OpenFailed: the console could not be opened.
	OpenFailed struct{ Err error }
	// HeaderRead: the header was refreshed.
	HeaderRead struct {
		Header core.Header
		Err    error
	}
	// OperatorsRead: the enrolled operators are known.
	OperatorsRead struct {
		Operators []string
		Err       error
	}
	// PageRead: a page of a list arrived.
	PageRead struct {
		List  core.ListName
		After string
		Page  core.Page
		Err   error
	}
	// DetailRead: a contract was read.
	DetailRead struct {
		ID     string
		Detail core.Detail
		Err    error
	}
	// TargetsRead: a capability's targets were read from the firewall.
	TargetsRead struct {
		Endpoint string
		Targets  []core.Target
		Err      error
	}
	// FormRead: what to fill in for a target is known.
	FormRead struct {
		Endpoint string
		Fields   []core.Field
		Err      error
	}
	// DraftPrepared: the change was prepared; nothing was created.
	DraftPrepared struct {
		Draft core.Draft
		Err   error
	}
	// Authorized: gate one was passed; the contract is PREPARED.
	Authorized struct {
		ID  string
		Err error
	}
	// ReviewRead: what gate two shows was read afresh.
	ReviewRead struct {
		ID     string
		Review core.Review
		Err    error
	}
	// Confirmed: gate two was passed, or refused.
	Confirmed struct {
		ID  string
		Err error
	}
	// RunStarted: a run was started, or refused.
	RunStarted struct {
		ID  string
		Err error
	}
	// Progressed: a run is further.
	Progressed struct{ Progress core.Progress }
	// ComparisonRead: snapshot, intended and now were compared.
	ComparisonRead struct {
		ID         string
		Comparison core.Comparison
		Err        error
	}
	// Concluded: a conclusion was recorded, or refused.
	Concluded struct {
		ID      string
		Outcome core.Outcome
		Err     error
	}
	// Declined: a contract was declined, or that was refused.
	Declined struct {
		ID  string
		Err error
	}
	// InboxRead: the waiting artifacts were listed.
	InboxRead struct {
		Files []core.InboxFile
		Err   error
	}
	// Exported: a request to sign elsewhere was written to a file.
	Exported struct {
		Path string
		Err  error
	}
	// FaultsRead: what can be armed at a simulated firewall is known; the
	// notice says what was just done, if anything was.
	FaultsRead struct {
		Faults []PracticeFault
		Notice Notice
	}
	// HealthRead: the store's and the appliance's health were read.
	HealthRead struct {
		Store  core.StoreHealth
		Status core.ApplianceStatus
		Err    error
	}
)

// Notice is what the two lines above the footer say: what happened or what is
// wrong, and what to do.
type Notice struct {
	Text, Way string
	Refusal   bool
}

// Refused is the notice of a refusal.
func Refused(err error) Notice {
	text, way := Explain(err)
	return Notice{Text: text, Way: way, Refusal: true}
}

// ClosedKey is the notice of a key that does not work now.
func ClosedKey(b Binding, reason string) Notice {
	if strings.HasPrefix(reason, reasonSettling) {
		reason = sayCounting // a notice stands still
	}
	return Notice{Text: b.Shown() + " " + b.Word() + ": not now, " + reason, Refusal: true}
}

// Warned is the notice of what was seen to change around a run.
func Warned(p core.Progress) Notice { return Notice{Text: p.Target + ": " + p.Warning, Refusal: true} }

// Told is a notice that is no refusal.
func Told(text string) Notice { return Notice{Text: text} }

// Copied is the notice after something was put on the clipboard.
func Copied(what string) Notice {
	return Told(fmt.Sprintf(sayClipboard, what) + "; y again copies the next")
}

// Found is the notice of what a start found and did.
func Found(r core.StartReport) Notice { return found(r, "console last") }

func found(r core.StartReport, ended string) Notice {
	n := Notice{}
	if k := len(r.Recovered); k > 0 {
		n.Text = counted(k, "contract") + fmt.Sprintf(sayRecovered, ended)
		n.Refusal = true
	}
	for _, extra := range r.Notes {
		n.Text = joined(n.Text, extra)
	}
	if k := len(r.Quarantined); k > 0 {
		n.Way = counted(k, "record") + sayQuarantined
	}
	return n
}

// TookOver is the notice of an observer that has become the executor.
func TookOver(r core.StartReport) Notice {
	n := found(r, "other console")
	n.Text = joined(sayTookOver, n.Text)
	return n
}

// WroteRequest is the notice after a request to sign elsewhere was written.
func WroteRequest(path string) Notice {
	return Notice{Text: "the request is in " + path, Way: sayBringBack}
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
