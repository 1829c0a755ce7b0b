package views

import (
	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Binding is one key: what it does, in a word and in a sentence, and why it
// does nothing now. Footer, help, palette and refusals all come from it.
type Binding struct {
	Keys   []string // as the terminal names them
	Shown  string   // as people read it
	Word   string   // for the footer
	Long   string   // for help
	Quiet  bool     // not in the footer
	Always bool     // also while the screen waits for an answer
	Closed func(Situation) string
}

// Is reports whether a key is this binding's. Pasted text never is.
func (b Binding) Is(msg tea.KeyMsg) bool {
	if msg.Paste {
		return false
	}
	name := msg.String()
	for _, k := range b.Keys {
		if k == name {
			return true
		}
	}
	return false
}

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
	Export, ExportS, FromInboxT              Binding
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
	k.Up = Binding{Keys: []string{"up", "k"}, Shown: m.Up + " k", Word: "up", Always: true, Long: "one line up", Quiet: true}
	k.Down = Binding{Keys: []string{"down", "j"}, Shown: m.Down + " j", Word: "down", Always: true, Long: "one line down", Quiet: true}
	k.PageUp = Binding{Keys: []string{"pgup", "ctrl+b"}, Shown: "pgup", Word: "page up", Always: true, Long: "one page up", Quiet: true}
	k.PageDown = Binding{Keys: []string{"pgdown", "ctrl+f"}, Shown: "pgdn", Word: "page down", Always: true, Long: "one page down", Quiet: true}
	k.Top = Binding{Keys: []string{"home", "g"}, Shown: "g", Word: "top", Always: true, Long: "to the first line", Quiet: true}
	k.Bottom = Binding{Keys: []string{"end", "G"}, Shown: "G", Word: "end", Always: true, Long: "to the last line", Quiet: true}
}

func browsing(k *KeyMap) {
	k.Open = Binding{Keys: []string{"enter"}, Shown: "enter", Word: "open",
		Long: "open the selected contract", Closed: emptyOr("open")}
	k.New = Binding{Keys: []string{"n"}, Shown: "n", Word: "new change",
		Long: "prepare a new change from a fresh reading", Closed: closedConsole}
	k.Filter = Binding{Keys: []string{"/"}, Shown: "/", Word: "filter",
		Long: "show only rows that contain what you type"}
	k.NextList = Binding{Keys: []string{"tab"}, Shown: "tab", Word: "next list",
		Long: "go to the next of Needs you, Active and History"}
	k.PrevList = Binding{Keys: []string{"shift+tab"}, Shown: "shift+tab", Word: "previous list",
		Long: "go to the previous list", Quiet: true}
	k.HelpTyping = Binding{Keys: []string{"f1"}, Shown: "f1", Word: wordHelp, Always: true, Long: "list every key and why it is closed"}
	k.Palette = Binding{Keys: []string{":"}, Shown: ":", Word: "command",
		Long: "choose any command by its name"}
	k.Help = Binding{Keys: []string{"?", "f1"}, Shown: "?", Word: wordHelp, Always: true,
		Long: "list every key and why it is closed"}
	k.Quit = Binding{Keys: []string{"q"}, Shown: "q", Word: wordQuit, Always: true,
		Long: "leave the console; a run in flight is finished and recorded"}
	k.Back = Binding{Keys: []string{"esc"}, Shown: "esc", Word: wordBack, Always: true, Long: "go back; nothing changes"}
	k.Refresh = Binding{Keys: []string{"ctrl+r"}, Shown: "^r", Word: "probe again",
		Long: "ask the firewall again for its version and state", Quiet: true}
	k.Health = Binding{Keys: []string{"H"}, Shown: "H", Word: "health",
		Long: "show the state of store, anchor and firewall", Quiet: true}
	k.Inbox = Binding{Keys: []string{"i"}, Shown: "i", Word: "inbox",
		Long: "list the authorizations waiting in the inbox", Quiet: true}
	k.Copy = Binding{Keys: []string{"y"}, Shown: "y", Word: "copy",
		Long: "copy the contract's id; again for each digest", Closed: ownReason("copy")}
	k.Artifacts = Binding{Keys: []string{"a"}, Shown: "a", Word: "artifacts",
		Long: "show how the protected artifacts are kept", Quiet: true, Closed: ownReason("artifacts")}
}

func acting(k *KeyMap) {
	act := func(key string, name core.ActionName, word, long string) Binding {
		return Binding{Keys: []string{key}, Shown: key, Word: word, Long: long, Closed: action(name)}
	}
	k.Confirm = act("c", core.ActConfirm, "confirm", "review the change and confirm it as yourself")
	k.Execute = act("x", core.ActExecute, "execute", "send the confirmed change, once")
	k.Rollback = act("r", core.ActRollback, "roll back", "write the old state back, once")
	k.Reconcile = act("R", core.ActReconcile, "reconcile", "conclude from a fresh reading what happened")
	k.Decline = act("d", core.ActDecline, "decline", "end the contract before anything is sent")
	k.Watch = Binding{Keys: []string{"w"}, Shown: "w", Word: "watch", Long: "watch the run that is under way", Closed: ownReason("watch")}
	k.Load = act("L", core.ActLoad, "load", "ask the firewall to load what is stored, once")
}

func agreeing(k *KeyMap) {
	k.Choose = Binding{Keys: []string{"enter"}, Shown: "enter", Word: "choose", Long: "take the selected line", Closed: ownReason("choose")}
	k.NextField = Binding{Keys: []string{"enter", "tab"}, Shown: "enter", Word: "next", Long: "go on to the next field", Closed: ownReason("next")}
	k.ReadAgain = Binding{Keys: []string{"ctrl+r"}, Shown: "^r", Word: "read again", Long: "read the target from the firewall again"}
	k.ReadAgainR = Binding{Keys: []string{"r"}, Shown: "r", Word: "read again", Long: "read the target from the firewall again"}
	k.DeclineHere = Binding{Keys: []string{"ctrl+d"}, Shown: "^d", Word: "decline",
		Long: "end the contract before anything is sent", Closed: action(core.ActDecline)}
	k.Send = Binding{Keys: []string{"enter"}, Shown: "enter", Word: "send now",
		Long: "send the one request of this contract", Closed: ownReason("send now")}
	k.Background = Binding{Keys: []string{"b", "esc"}, Shown: "b", Word: wordBack, Always: true,
		Long: "back; a run keeps running and is recorded"}
	k.Evidence = Binding{Keys: []string{"e"}, Shown: "e", Word: "evidence",
		Long: "show the contract's bindings and its audit timeline"}
	k.Agree = Binding{Keys: []string{"enter"}, Shown: "enter", Word: "agree", Long: "agree with your passphrase", Closed: ownReason("next")}
	k.Operator = Binding{Keys: []string{"ctrl+o"}, Shown: "^o", Word: "other operator",
		Long: "ask another enrolled operator", Quiet: true, Closed: oneOperator}
	k.FromInbox = Binding{Keys: []string{"ctrl+t"}, Shown: "^t", Word: "take from inbox",
		Long: "use what was signed elsewhere and waits in the inbox", Closed: ownReason("take from inbox")}
	k.FromInboxT = k.FromInbox
	k.FromInboxT.Keys, k.FromInboxT.Shown = []string{"t"}, "t"
	k.Export = Binding{Keys: []string{"ctrl+x"}, Shown: "^x", Word: "sign elsewhere", Quiet: true,
		Long: "write a request that is signed on another machine", Closed: ownReason("sign elsewhere")}
	k.ExportS = k.Export
	k.ExportS.Keys, k.ExportS.Shown = []string{"s"}, "s"
	k.Arm = Binding{Keys: []string{"enter"}, Shown: "enter", Word: "arm", Long: "let this happen to the next change, once"}
	k.Disarm = Binding{Keys: []string{"x"}, Shown: "x", Word: "clear all", Long: "take back everything that is armed"}
	k.LeaveNow = Binding{Keys: []string{"Q"}, Shown: "Q", Word: "leave", Long: "leave; the run is finished and recorded first"}
	k.Stay = Binding{Keys: []string{"esc", "b"}, Shown: "esc", Word: "stay", Long: "stay in the console"}
}

// as gives a binding another word for one screen.
func (b Binding) as(word string) Binding { b.Word = word; return b }

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
		return notInThisState
	}
}

func ownReason(word string) func(Situation) string {
	return func(s Situation) string { return s.Own[word] }
}

// quiet keeps a binding out of the footer of one screen.
func (b Binding) quiet() Binding { b.Quiet = true; return b }

// loud puts a binding into the footer of one screen.
func (b Binding) loud() Binding { b.Quiet = false; return b }
