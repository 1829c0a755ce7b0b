package pfsense

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"countersign/core"
)

// APIKey is the console's key for one firewall. It never shows itself, and it
// remembers whether the firewall has refused it: a few failed logins make the
// firewall block this machine's address, so a key that was refused once is not
// tried again. A changed key is a new APIKey, which starts fresh.
type APIKey struct {
	// secret is behind a function: fmt looks into unexported fields of a
	// struct that holds a key, without asking the key's methods, and shows a
	// function only as an address.
	secret func() string
	state  atomic.Int32
	trial  chan struct{} // held by the one exchange that tries an untried key
}

const (
	keyUntried int32 = iota
	keyAccepted
	keyRefused
)

const maxKeyBytes = 1024

// NewAPIKey checks that s can be sent as a header. Errors wrap core.ErrInvalid
// and never contain s.
func NewAPIKey(s string) (*APIKey, error) {
	if s == "" || len(s) > maxKeyBytes {
		return nil, fmt.Errorf("%w: the API key must have 1 to %d characters", core.ErrInvalid, maxKeyBytes)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return nil, fmt.Errorf("%w: the API key may have visible ASCII characters only; was a line end copied with it?", core.ErrInvalid)
		}
	}
	return &APIKey{secret: func() string { return s }, trial: make(chan struct{}, 1)}, nil
}

// Refused reports whether the firewall has refused this key.
func (k *APIKey) Refused() bool { return k.state.Load() == keyRefused }

// String is always "[secret]".
func (*APIKey) String() string { return "[secret]" }

// Format writes "[secret]" for every verb and flag.
func (*APIKey) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[secret]")) }

// MarshalText is always "[secret]"; encoding/json and log/slog use it.
func (*APIKey) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// admit lets an exchange use the key. Until the key has been accepted once,
// only one exchange at a time may, so that a bad key fails once. The exchange
// calls answered if it sees a status, and done at its end.
func (k *APIKey) admit(ctx context.Context) (keyUse, error) {
	switch k.state.Load() {
	case keyRefused:
		return keyUse{}, keyRefusedBefore()
	case keyAccepted:
		return keyUse{key: k}, nil
	}
	select {
	case k.trial <- struct{}{}:
	case <-ctx.Done():
		return keyUse{}, failed(Timeout, ctx.Err(), "stopped while another request was trying the API key")
	}
	if k.Refused() {
		<-k.trial
		return keyUse{}, keyRefusedBefore()
	}
	return keyUse{key: k, trying: true}, nil
}

// keyUse is one exchange's use of a key.
type keyUse struct {
	key    *APIKey
	trying bool
}

// answered learns from a status. A proxy's 401 stops the key as well: it is
// not worth a second try to find out.
func (u keyUse) answered(status int, enveloped bool) {
	switch {
	case status == http.StatusUnauthorized:
		u.key.state.Store(keyRefused)
	case status == http.StatusOK && enveloped:
		u.key.state.CompareAndSwap(keyUntried, keyAccepted)
	}
}

func (u keyUse) done() {
	if u.trying {
		<-u.key.trial
	}
}
