package pfsense

import (
	"unicode/utf8"

	"countersign/core"
)

// mostDescription is the bound of a request, in code points (conformance,
// request_fields). The API counts bytes; those are checked against a target.
const mostDescription = 1024

func descriptionForm(now string) []core.Field {
	return []core.Field{{Name: "description", Label: "Description", Kind: core.TextField,
		Help: "may be empty; 1024 bytes at most", Current: now, Limit: mostDescription}}
}

// requestDescription reads the member that is a new description.
func requestDescription(fields core.Object) (string, error) {
	description, err := textMember(fields, "description")
	if err != nil {
		return "", err
	}
	if utf8.RuneCountInString(description) > mostDescription {
		return "", refuse(core.ErrRequest, "a description has 1024 characters at most")
	}
	if why := unstorable(description); why != "" {
		return "", refuse(core.ErrRequest, why)
	}
	return description, nil
}

// admitDescription refuses a description that would not come back as sent.
func admitDescription(_ core.Reading, _ core.Observation, fields core.Object) error {
	if why := unwritable(textOf(fields, "description")); why != "" {
		return refuse(core.ErrRequest, "the description would not be stored as it is: "+why)
	}
	return nil
}

func descriptionChanges(fields, snapshot core.Object) []core.Change {
	return []core.Change{{Field: "description", Before: textOf(snapshot, "descr"), After: textOf(fields, "description")}}
}
