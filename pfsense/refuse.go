package pfsense

import "errors"

// refusal is one line for the operator, of one of core's classes. It names
// fields and rules, never values (seed 003, Audit contract).
type refusal struct {
	class error
	text  string
}

func (r *refusal) Error() string { return r.class.Error() + ": " + r.text }
func (r *refusal) Unwrap() error { return r.class }

// refuse makes a refusal: what is wrong, and what to do.
func refuse(class error, text string) error { return &refusal{class: class, text: text} }

// reason is the line of a refusal without its class, for the picker.
func reason(err error) string {
	if err == nil {
		return ""
	}
	if r := (*refusal)(nil); errors.As(err, &r) {
		return r.text
	}
	return err.Error()
}
