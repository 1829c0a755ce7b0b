// Package views is what an operator sees: one screen or component a file.
//
// The rules of the whole terminal side:
//
//   - A screen is a model with Init, Update, View and SetSize. It gets
//     read-only data as messages (messages.go), each named for what happened,
//     and asks for everything else with intents (intents.go). It touches no
//     port: the router in tui answers.
//   - View is pure and cheap. What it shows depends on the model, the size and
//     the shared Frame alone.
//   - Text that came from the network or the store is untrusted. It is shown
//     through one sanitiser (sanitize.go), exactly once, where it is laid out.
//   - A state is a mark and a word, never only a colour (marks.go). Every
//     screen works without colour and, as an option, in plain ASCII.
//   - Every key is declared once, in keys.go, with what it does and with why it
//     is closed now. The footer names only keys that work now; a closed key
//     that is pressed says why.
//   - Every word that matters is in words.go. "Sent", "stored", "loaded" and
//     "verified" mean exactly those four things. A refusal is one line that
//     says what is wrong and, where there is one, a second with the way on.
//   - Nothing that an operator agrees to is cut off: a gate (gate.go) needs
//     80x24, and what does not fit must be scrolled to its end first.
//   - A passphrase is bytes that are overwritten after use (secret.go); its
//     length is not shown. A typed confirmation refuses pasted text.
package views
