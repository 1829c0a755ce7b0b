package core

import (
	"fmt"
	"strings"

	"countersign/canon"
)

// Words say a failure class to an operator, the same everywhere.
func (f FailureClass) Words() string {
	words := map[FailureClass]string{
		FailurePolicy:        "refused by this build's policy",
		FailureConnect:       "no connection came about",
		FailureTLS:           "the certificate was refused",
		FailureWrite:         "the connection broke while the request was sent",
		FailureTimeout:       "no answer came in time",
		FailureReset:         "the connection broke before an answer came",
		FailureTruncated:     "the answer was cut off",
		FailureMalformed:     "the answer was not the API's",
		FailureRedirect:      "the answer was a redirect, which is not followed",
		FailureClientStatus:  "the answer was a refusal that proves nothing",
		FailureServerStatus:  "the firewall answered with a server error",
		FailureOddStatus:     "the answer had an unexpected status",
		FailureRefusal:       "the API refused it before it wrote anything",
		FailureResponseShape: "the answer did not have the expected form",
		FailureReadBack:      "the list could not be read back",
		FailureNoEffect:      "the read-back showed the old state",
		FailurePartial:       "the read-back showed neither the old nor the intended state",
		FailureIdentity:      "the read-back showed another identity or position",
		FailureMissing:       "the target was gone",
		FailureDuplicate:     "the target was there more than once",
		FailureUnsupported:   "the target could not be changed safely any more",
		FailureDrift:         "somebody had changed the target",
		FailureRenumbered:    "the target's position had changed",
		FailureUnreadable:    "the firewall could not be read",
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
