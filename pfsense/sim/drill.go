package sim

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// lateness is how much later a write comes that outlives its request, in a
// drill: well within the settle window, and long enough to watch.
const lateness = 45 * time.Second

// trouble is something that can go wrong, as it is offered to people who
// practise: a fault armed for the next change, or another administrator's deed
// that happens at once.
type trouble struct {
	name, explain string
	fault         Fault
	now           func(Practice)
}

// drill is what a person has armed.
type drill struct {
	mu   sync.Mutex
	list []drilled
}

type drilled struct {
	name  string
	armed *armed // nil for a closed port
}

// Troubles names what can be armed: the instructive ones first.
func (p Practice) Troubles() []string {
	var names []string
	for _, t := range troubles() {
		names = append(names, t.name)
	}
	return names
}

// Explain says in one line what happens.
func (p Practice) Explain(name string) string {
	t, _ := troubleNamed(name)
	return t.explain
}

// Arm arms a trouble for the next change of anything, or lets it happen at
// once where it is somebody's deed. What is armed already stays armed once.
func (p Practice) Arm(name string) error {
	t, ok := troubleNamed(name)
	if !ok {
		return fmt.Errorf("%w: %q", ErrFault, name)
	}
	if t.now != nil {
		t.now(p)
		return nil
	}
	if slices.Contains(p.Armed(), name) {
		return nil
	}
	d := drilled{name: name}
	if t.fault.Kind == Refuse {
		p.door.shut()
	} else {
		d.armed = p.faults.add(t.fault)
	}
	p.drill.mu.Lock()
	defer p.drill.mu.Unlock()
	p.drill.list = append(p.drill.list, d)
	return nil
}

// Armed names what is armed and has not hit yet.
func (p Practice) Armed() []string {
	p.drill.mu.Lock()
	defer p.drill.mu.Unlock()
	p.drill.list = slices.DeleteFunc(p.drill.list, func(d drilled) bool { return !p.waits(d) })
	var names []string
	for _, d := range p.drill.list {
		names = append(names, d.name)
	}
	return names
}

func (p Practice) waits(d drilled) bool {
	if d.armed == nil {
		return p.door.isShut()
	}
	return p.faults.has(d.armed)
}

// Clear takes back what is armed, and the modes that faults left behind.
func (p Practice) Clear() error {
	p.Admin().SetReadOnly(false)
	p.Admin().SetAPIEnabled(true)
	return p.ClearFaults()
}

func troubleNamed(name string) (trouble, bool) {
	all := troubles()
	i := slices.IndexFunc(all, func(t trouble) bool { return t.name == name })
	if i < 0 {
		return trouble{}, false
	}
	return all[i], true
}

// next arms a fault for the next change; what else it needs is in f.
func next(explain string, f Fault) trouble {
	if f.Method == "" {
		f.Method = http.MethodPatch
	}
	return trouble{name: string(f.Kind), explain: explain, fault: f}
}

// meanwhile lets another administrator act while the next change is made.
func meanwhile(name, explain string, at Point, do func(*Admin)) trouble {
	return trouble{name: name, explain: explain, fault: Fault{Kind: Call, Method: http.MethodPatch, At: at, Func: do}}
}

func troubles() []trouble {
	return slices.Concat(doneAndUnknown(), notDone(), badAnswers(), otherAdmin(), unreachable())
}

// doneAndUnknown: the change is made, and the answer does not say so.
func doneAndUnknown() []trouble {
	return []trouble{
		next("done; the connection is closed without an answer", Fault{Kind: CommitThenDrop}),
		next("done; the connection is reset", Fault{Kind: CommitThenReset}),
		next("done; no answer comes until the console gives up", Fault{Kind: CommitThenHang}),
		next("done; the answer ends in its header", Fault{Kind: CutHeader}),
		next("done; the answer ends in its body", Fault{Kind: CutBody}),
		next("done; the answer comes a byte at a time", Fault{Kind: Trickle}),
		next("no answer; the change is written 45 seconds later, over everything since", Fault{Kind: LateWrite, Late: lateness}),
		next("504 at once; the change goes on and is written 45 seconds later", Fault{Kind: GatewayTimeout, Late: lateness}),
		next("done; 503, too many queued processes, with a Retry-After", Fault{Kind: QueueFull}),
		next("done; 424 with a perfect envelope", Fault{Kind: FailedDependency}),
		next("done; 500 with an envelope", Fault{Kind: Status500Commit}),
		next("done; 502 with a page of the web server", Fault{Kind: Status502Commit}),
		next("done; 503 with an envelope", Fault{Kind: Status503Commit}),
	}
}

// notDone: nothing is stored.
func notDone() []trouble {
	return []trouble{
		next("reset before the body of the request has arrived", Fault{Kind: ResetBefore}),
		next("reset in the middle of the request's body", Fault{Kind: ResetMiddle}),
		next("reset when the whole request has arrived; nothing is done", Fault{Kind: ResetAfter}),
		next("closed without an answer; nothing is done", Fault{Kind: DropBeforeRun}),
		next("400, a refusal that proves that nothing was written", Fault{Kind: Status400}),
		next("401, the key is not accepted", Fault{Kind: Status401}),
		next("403, the key's user may not do this", Fault{Kind: Status403}),
		next("404, there is no such object", Fault{Kind: Status404}),
		next("409, the object is referenced elsewhere", Fault{Kind: Status409}),
		next("422 with an identifier that the API does not have", Fault{Kind: Status422}),
		next("429 with an identifier that the API does not have, and a Retry-After", Fault{Kind: Status429}),
		next("403 with a page of a proxy in between, not the API's", Fault{Kind: Proxy}),
		next("500, nothing written", Fault{Kind: Status500}),
		next("502 with a page of the web server, nothing written", Fault{Kind: Status502}),
		next("503, nothing written", Fault{Kind: Status503}),
		next("503 while the API's package is being updated", Fault{Kind: Unavailable}),
		next("503 after a minute of waiting for the write lock", Fault{Kind: WriteLock}),
		next("a PHP fatal error, nothing written", Fault{Kind: Fatal}),
		next("the API's read-only mode is on from here on; x switches it off", Fault{Kind: ReadOnlyMode}),
		next("the API is switched off from here on; x switches it on", Fault{Kind: APIDisabled}),
		next("redirected for good to the same path", Fault{Kind: Redirect301}),
		next("redirected to the same path", Fault{Kind: Redirect302}),
		next("redirected; clients that follow it repeat the request", Fault{Kind: Redirect307}),
		next("redirected for good; clients that follow it repeat the request", Fault{Kind: Redirect308}),
	}
}

// badAnswers: 200, and something is not as it is said to be.
func badAnswers() []trouble {
	return []trouble{
		next("200 with the new values, and nothing is stored", Fault{Kind: NoEffect}),
		next("200 with the new values, and only a part of them is stored", Fault{Kind: Partial}),
		next("done and answered; then another writer puts its older copy back", Fault{Kind: LostUpdate}),
		next("done; 200 with data of another form", Fault{Kind: WrongShape}),
		next("done; 200 with a login page", Fault{Kind: WrongType}),
		next("the next loading is said to be done, and is not", Fault{Kind: AppliedNotLoaded, Method: http.MethodPost}),
		next("the request waits for five seconds", Fault{Kind: Latency, Delay: 5 * time.Second}),
	}
}

// otherAdmin: somebody else is at work.
func otherAdmin() []trouble {
	edit := func(name string) func(*Admin) {
		return func(a *Admin) { a.SetAliasDescription(name, "edited by somebody else") }
	}
	return []trouble{
		{name: "edit-now", explain: "somebody edits the description of web_servers, at once", now: func(p Practice) { edit("web_servers")(p.Admin()) }},
		{name: "insert-now", explain: "somebody puts an alias before all others, at once: every position shifts",
			now: func(p Practice) { p.Admin().InsertAlias(0, "new_"+p.token(4)) }},
		meanwhile("edit-meanwhile", "between the last reading and the change, somebody edits web_servers", BeforeProcessing, edit("web_servers")),
		meanwhile("insert-meanwhile", "between the last reading and the change, the positions of all aliases shift", BeforeProcessing,
			func(a *Admin) { a.InsertAlias(0, "new_"+a.srv.token(4)) }),
		meanwhile("neighbour-meanwhile", "while the change is made, somebody edits another alias (blocklist)", BeforeAnswer, edit("blocklist")),
	}
}

// unreachable: the connection itself; readings meet these as well.
func unreachable() []trouble {
	return []trouble{
		next("the port is closed until x opens it", Fault{Kind: Refuse}),
		next("the next connection, a reading's as well, is answered with garbage instead of TLS", Fault{Kind: BadTLS}),
		next("the next connection, a reading's as well, is shown another certificate", Fault{Kind: WrongCertificate}),
		next("the next connection, a reading's as well, is accepted and never read", Fault{Kind: AcceptHang}),
	}
}
