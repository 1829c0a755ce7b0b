package core

import (
	"fmt"
	"strings"

	"countersign/canon"
)

// failureWords says a failure class in an operator's words.
func failureWords(f FailureClass) string {
	words := map[FailureClass]string{
		FailurePolicy:        "refused before anything left",
		FailureConnect:       "no connection was made",
		FailureTLS:           "the TLS connection was refused",
		FailureWrite:         "the connection broke while the request was sent",
		FailureTimeout:       "no answer in time after the request was sent",
		FailureReset:         "answer lost after the request was sent",
		FailureTruncated:     "the answer was cut off",
		FailureMalformed:     "the answer is not one of the API",
		FailureRedirect:      "the answer was a redirect",
		FailureClientStatus:  "refused in a way that proves nothing",
		FailureServerStatus:  "the firewall answered with a server error",
		FailureOddStatus:     "the answer's status is unexpected",
		FailureRefusal:       "the API refused the change before writing",
		FailureResponseShape: "the answer does not have the expected form",
		FailureReadBack:      "the read-back failed",
		FailureNoEffect:      "the read-back shows the old state",
		FailurePartial:       "the read-back shows neither the old nor the new state",
		FailureIdentity:      "the target changed its identity or position",
		FailureMissing:       "the target was gone before the send",
		FailureDuplicate:     "the target was not unique before the send",
		FailureUnsupported:   "the target could not be changed safely any more",
		FailureDrift:         "the target had changed before the send",
		FailureRenumbered:    "the target's position had changed before the send",
		FailureUnreadable:    "the firewall could not be read before the send",
		FailureArtifact:      "the protected artifacts could not be opened",
		FailureBinding:       "the protected artifacts do not match their digests",
		FailureRestart:       "the console ended in the middle",
		FailureDeclined:      "declined by an operator",
		FailureGivenUp:       "given up; whether an earlier request left is not known: read the target",
		FailureReadOnly:      "the REST API was in read-only mode",
	}
	if w, ok := words[f]; ok {
		return w
	}
	return string(f)
}

// conclusionWords says what a person concluded.
func conclusionWords(o Outcome) string {
	switch o {
	case ConfirmedApplied:
		return "an operator concluded from a fresh reading: it was applied"
	case ConfirmedNotApplied:
		return "an operator concluded: it was not applied"
	case ConfirmedRollbackApplied:
		return "an operator concluded from a fresh reading: it was rolled back"
	case ConfirmedRollbackNotApplied:
		return "an operator concluded: it was not rolled back; the target stays reserved"
	}
	return string(o)
}

// displayValue shows a canonical value as text, for a field of a comparison.
func displayValue(v any) string {
	switch x := v.(type) {
	case nil:
		return "-"
	case string:
		return x
	case bool:
		if x {
			return "yes"
		}
		return "no"
	case []any:
		parts := make([]string, len(x))
		for i, item := range x {
			parts[i] = displayValue(item)
		}
		return fmt.Sprintf("%d: %s", len(x), strings.Join(parts, ", "))
	}
	text, err := canon.Encode(v)
	if err != nil {
		return "?"
	}
	return string(text)
}
