package views

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Binding is one key: what it does, in a word and in a sentence, and why it
// does nothing now. Footer, help, palette and refusals all come from it. The
// keys, their shown form and the word are those of [key.Binding].
type Binding struct {
	key.Binding
	Long   string // for help
	Quiet  bool   // not in the footer
	Always bool   // also while the screen waits for an answer
	Closed func(Situation) string
}

// bind declares keys as the terminal names them, how people read them, and
// what they do in a word and in a sentence.
func bind(shown, word, long string, keys ...string) Binding {
	return Binding{Binding: key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, word)), Long: long}
}

// Shown is how people read the key.
func (b Binding) Shown() string { return b.Help().Key }

// Word is what the key does, in a word.
func (b Binding) Word() string { return b.Help().Desc }

// Is reports whether a key is this binding's. Pasted text never is.
func (b Binding) Is(msg tea.KeyMsg) bool { return !msg.Paste && key.Matches(msg, b.Binding) }

// Reason says why the key does nothing now, or "".
func (b Binding) Reason(s Situation) string {
	if s.Waiting != "" && !b.Always {
		return s.Waiting
	}
	if b.Closed == nil {
		return ""
	}
	return b.Closed(s)
}

// Situation is what decides which keys work.
type Situation struct {
	Header   core.Header
	Actions  []core.Action // of the contract on the screen
	Empty    bool          // nothing is selected
	Waiting  string        // why the whole screen waits, or ""
	NoInbox  bool
	Operator int // how many operators are enrolled
	// Own is the screen's own reason by binding word, or "".
	Own map[string]string
}

// KeyMap is every key of the console.
type KeyMap struct {
	Up, Down, PageUp, PageDown, Top, Bottom  Binding
	Open, New, Filter, NextList, PrevList    Binding
	Palette, Help, Quit, Back, Refresh       Binding
	Confirm, Execute, Rollback, Reconcile    Binding
	Decline, Load, Copy, Artifacts           Binding
	Choose, NextField, ReadAgain, ReadAgainR Binding
	DeclineHere, Send, Background, Evidence  Binding
	Agree, Operator, FromInbox, Inbox, Watch Binding
	Health, LeaveNow, Stay, HelpTyping       Binding
	Export, ExportS, FromInboxT, LoadToo     Binding
	Arm, Disarm                              Binding
}

// NewKeyMap declares the keys. The marks are for the arrows.
func NewKeyMap(m Marks) KeyMap {
	k := KeyMap{}
	moving(&k, m)
	browsing(&k)
	acting(&k)
	agreeing(&k)
	return k
}

func moving(k *KeyMap, m Marks) {
	k.Up = bind(m.Up+" k", "up", "one line up", "up", "k").quiet().always()
	k.Down = bind(m.Down+" j", "down", "one line down", "down", "j").quiet().always()
	k.PageUp = bind("pgup", "page up", "one page up", "pgup", "ctrl+b").quiet().always()
	k.PageDown = bind("pgdn", "page down", "one page down", "pgdown", "ctrl+f").quiet().always()
	k.Top = bind("g", "top", "to the first line", "home", "g").quiet().always()
	k.Bottom = bind("G", "end", "to the last line", "end", "G").quiet().always()
}

func browsing(k *KeyMap) {
	k.Open = bind("enter", "open", "open the selected contract", "enter").closedBy(emptyOr("open"))
	k.New = bind("n", "new change", "prepare a new change from a fresh reading", "n").closedBy(closedConsole)
	k.Filter = bind("/", "filter", "show only rows that contain what you type", "/")
	k.NextList = bind("tab", "next list", "go to the next of Needs you, Active and History", "tab")
	k.PrevList = bind("shift+tab", "previous list", "go to the previous list", "shift+tab").quiet()
	k.HelpTyping = bind("f1", wordHelp, "list every key and why it is closed", "f1").always()
	k.Palette = bind(":", "command", "choose any command by its name", ":")
	k.Help = bind("?", wordHelp, "list every key and why it is closed", "?", "f1").always()
	k.Quit = bind("q", wordQuit, "leave the console; a run in flight is finished and recorded", "q").always()
	k.Back = bind("esc", wordBack, "go back; nothing changes", "esc").always()
	k.Refresh = bind("^r", "probe again", "ask the firewall again for its version and state", "ctrl+r").quiet()
	k.Health = bind("H", "health", "show the state of store, anchor and firewall", "H").quiet()
	k.Inbox = bind("i", "inbox", "list the authorizations waiting in the inbox", "i").quiet()
	k.Copy = bind("y", "copy", "copy the contract's id; again for each digest", "y").closedBy(ownReason("copy"))
	k.Artifacts = bind("a", "artifacts", "show how the protected artifacts are kept", "a").quiet().
		closedBy(ownReason("artifacts"))
}

func acting(k *KeyMap) {
	act := func(letter string, name core.ActionName, word, long string) Binding {
		return bind(letter, word, long, letter).closedBy(action(name))
	}
	k.Confirm = act("c", core.ActConfirm, "confirm", "review the change and confirm it as yourself")
	k.Execute = act("x", core.ActExecute, "execute", "send the confirmed change, once")
	k.Rollback = act("r", core.ActRollback, "roll back", "write the old state back, once")
	k.Reconcile = act("R", core.ActReconcile, "reconcile", "conclude from a fresh reading what happened")
	k.Decline = act("d", core.ActDecline, "decline", "end the contract before anything is sent")
	k.Watch = bind("w", "watch", "watch the run that is under way", "w").closedBy(ownReason("watch"))
	k.Load = act("L", core.ActLoad, "load", "ask the firewall to load what is stored, once")
}

func agreeing(k *KeyMap) {
	k.Choose = bind("enter", "choose", "take the selected line", "enter").closedBy(ownReason("choose"))
	k.NextField = bind("enter", "next", "go on to the next field", "enter", "tab").closedBy(ownReason("next"))
	k.ReadAgain = bind("^r", "read again", "read the target from the firewall again", "ctrl+r")
	k.ReadAgainR = bind("r", "read again", "read the target from the firewall again", "r")
	k.DeclineHere = bind("^d", "decline", "end the contract before anything is sent", "ctrl+d").
		closedBy(action(core.ActDecline))
	k.Send = bind("enter", "send now", "send the one request of this contract", "enter").
		closedBy(ownReason("send now"))
	k.Background = bind("b", wordBack, "back; a run keeps running and is recorded", "b", "esc").always()
	k.Evidence = bind("e", "evidence", "show the contract's bindings and its audit timeline", "e")
	k.Agree = bind("enter", "agree", "agree with your passphrase", "enter").closedBy(ownReason("next"))
	k.LoadToo = bind("^l", "load too", "agree to loading with the same passphrase, or leave it out", "ctrl+l")
	k.Operator = bind("^o", "other operator", "ask another enrolled operator", "ctrl+o").quiet().closedBy(oneOperator)
	k.FromInbox = bind("^t", "take from inbox", "use what was signed elsewhere and waits in the inbox", "ctrl+t").
		closedBy(ownReason("take from inbox"))
	k.FromInboxT = k.FromInbox.on("t")
	k.Export = bind("^x", "sign elsewhere", "write a request that is signed on another machine", "ctrl+x").quiet().
		closedBy(ownReason("sign elsewhere"))
	k.ExportS = k.Export.on("s")
	k.Arm = bind("enter", "arm", "let this happen to the next change, once", "enter")
	k.Disarm = bind("x", "clear all", "take back everything that is armed", "x")
	k.LeaveNow = bind("Q", "leave", "leave; the run is finished and recorded first", "Q")
	k.Stay = bind("esc", "stay", "stay in the console", "esc", "b")
}

// meaning gives a binding another sentence for one screen.
func (b Binding) meaning(long string) Binding { b.Long = long; return b }

// as gives a binding another word for one screen.
func (b Binding) as(word string) Binding { b.SetHelp(b.Shown(), word); return b }

// on puts a binding on another key.
func (b Binding) on(name string) Binding {
	b.SetKeys(name)
	b.SetHelp(name, b.Word())
	return b
}

// always keeps a key working while the screen waits for an answer.
func (b Binding) always() Binding { b.Always = true; return b }

// closedBy gives a binding its reason to do nothing.
func (b Binding) closedBy(why func(Situation) string) Binding { b.Closed = why; return b }

// emptyOr is closed when nothing is selected, or for the screen's own reason.
func emptyOr(word string) func(Situation) string {
	return func(s Situation) string {
		if s.Empty {
			return reasonNothing
		}
		return s.Own[word]
	}
}

func closedConsole(s Situation) string { return s.Header.Closed }

func oneOperator(s Situation) string {
	if s.Operator < 2 {
		return "only one operator is enrolled"
	}
	return ""
}

// action is closed for the engine's reason, or because the contract's state
// has no such action.
func action(name core.ActionName) func(Situation) string {
	return func(s Situation) string {
		for _, a := range s.Actions {
			if a.Name == name {
				return a.Reason
			}
		}
		return notPossible(name)
	}
}

func ownReason(word string) func(Situation) string {
	return func(s Situation) string { return s.Own[word] }
}

// quiet keeps a binding out of the footer.
func (b Binding) quiet() Binding { b.Quiet = true; return b }

// loud puts a binding into the footer of one screen.
func (b Binding) loud() Binding { b.Quiet = false; return b }
