package pfsense

import "errors"

// Appliance is the three ways to one firewall. They are different types:
// nothing that can read can send (design section 1). All share one key, so
// that a refusal met by one stops every other.
type Appliance struct {
	*Reader
	Sender *Sender
	Loader *Loader
}

// Connect checks a configuration and makes the three ways. It contacts
// nothing. Errors wrap core.ErrInvalid.
func Connect(cfg Config) (*Appliance, error) {
	reader, err := NewReader(cfg)
	if err != nil {
		return nil, err
	}
	sender, senderErr := NewSender(cfg)
	loader, loaderErr := NewLoader(cfg)
	if err := errors.Join(senderErr, loaderErr); err != nil {
		reader.Close()
		return nil, err
	}
	return &Appliance{Reader: reader, Sender: sender, Loader: loader}, nil
}

// Close releases idle connections of readings.
func (a *Appliance) Close() error {
	a.Reader.Close()
	a.Loader.Close()
	return nil
}
