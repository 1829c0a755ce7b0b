package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
	"golang.org/x/text/unicode/norm"

	"countersign/canon"
	"countersign/core"
)

// ErrPassphrase: a new passphrase is too short, too long or not plain text.
var ErrPassphrase = errors.New("the passphrase needs 8 to 256 characters, without control characters")

const (
	minPassphrase = 8   // characters, after normalisation
	maxPassphrase = 256 // characters, after normalisation

	wrapDomain = "countersign/passphrase-wrap/v1"
	saltSize   = 16
	maxWrapped = 1024 // bytes of secret in an envelope
)

// Cost is what one guess at a passphrase costs (Argon2id, RFC 9106).
type Cost struct {
	MemoryKiB uint32
	Time      uint32 // passes
	Threads   uint8  // lanes
}

// DefaultCost is RFC 9106's choice for less memory: 64 MiB, 3 passes, 4 lanes.
func DefaultCost() Cost { return Cost{MemoryKiB: 64 * 1024, Time: 3, Threads: 4} }

// valid bounds what a damaged envelope can make us spend.
func (c Cost) valid() bool {
	return c.Time >= 1 && c.Time <= 16 && c.Threads >= 1 && c.Threads <= 16 &&
		c.MemoryKiB >= 8*uint32(c.Threads) && c.MemoryKiB <= 512*1024
}

// envelope is a wrapped secret as it is kept. Every field but the ciphertext,
// and the context, are associated data.
type envelope struct {
	AEAD       string `json:"aead"`
	Ciphertext []byte `json:"ciphertext"`
	KDF        string `json:"kdf"`
	MemoryKiB  uint32 `json:"memory_kib"`
	Nonce      []byte `json:"nonce"`
	Salt       []byte `json:"salt"`
	Threads    uint8  `json:"threads"`
	Time       uint32 `json:"time"`
	Version    int    `json:"v"`
}

// Wrap encrypts secret under a passphrase: Argon2id over the NFC form with a
// fresh salt, then XChaCha20-Poly1305 bound to context, which names what the
// secret is for. passphrase is overwritten with zeros on every path.
// Errors: ErrPassphrase, core.ErrInvalid, or the random source's.
func Wrap(random io.Reader, cost Cost, passphrase []byte, secret []byte, context ...string) ([]byte, error) {
	text, err := normalise(passphrase)
	defer clear(text)
	if err != nil {
		return nil, err
	}
	if !cost.valid() || len(secret) == 0 || len(secret) > maxWrapped {
		return nil, fmt.Errorf("%w: cost or length of a wrapped secret", core.ErrInvalid)
	}
	fresh := make([]byte, saltSize+chacha20poly1305.NonceSizeX)
	if _, err := io.ReadFull(random, fresh); err != nil {
		return nil, fmt.Errorf("random source: %w", err)
	}
	e := envelope{
		AEAD: "xchacha20-poly1305", KDF: "argon2id", Version: 1,
		MemoryKiB: cost.MemoryKiB, Time: cost.Time, Threads: cost.Threads,
		Salt: fresh[:saltSize], Nonce: fresh[saltSize:],
	}
	e.Ciphertext, err = e.seal(text, secret, context)
	if err != nil {
		return nil, err
	}
	return encodeExact(e)
}

// Unwrap is Wrap backwards, and zeroes passphrase as well. Errors: ErrCorrupt
// if raw is not an envelope, core.ErrWrongPassphrase, without any detail, if
// it does not open: another passphrase, context or a changed byte look alike.
func Unwrap(passphrase []byte, raw []byte, context ...string) ([]byte, error) {
	text, err := normalise(passphrase)
	defer clear(text)
	e, damaged := decodeEnvelope(raw)
	if damaged != nil {
		return nil, damaged
	}
	if err != nil {
		return nil, core.ErrWrongPassphrase
	}
	secret, err := e.open(text, context)
	if err != nil {
		return nil, core.ErrWrongPassphrase
	}
	return secret, nil
}

func decodeEnvelope(raw []byte) (envelope, error) {
	var e envelope
	if len(raw) > MaxSecret {
		return e, ErrCorrupt
	}
	if err := decodeExact(raw, &e); err != nil {
		return e, err
	}
	ok := e.Version == 1 && e.AEAD == "xchacha20-poly1305" && e.KDF == "argon2id" && e.cost().valid() &&
		len(e.Salt) == saltSize && len(e.Nonce) == chacha20poly1305.NonceSizeX &&
		len(e.Ciphertext) > chacha20poly1305.Overhead && len(e.Ciphertext) <= maxWrapped+chacha20poly1305.Overhead
	if !ok {
		return e, ErrCorrupt
	}
	return e, nil
}

func (e envelope) cost() Cost { return Cost{e.MemoryKiB, e.Time, e.Threads} }

func (e envelope) seal(text, secret []byte, context []string) ([]byte, error) {
	key := argon2.IDKey(text, e.Salt, e.Time, e.MemoryKiB, e.Threads, chacha20poly1305.KeySize)
	defer clear(key)
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, e.Nonce, secret, e.associated(context)), nil
}

func (e envelope) open(text []byte, context []string) ([]byte, error) {
	key := argon2.IDKey(text, e.Salt, e.Time, e.MemoryKiB, e.Threads, chacha20poly1305.KeySize)
	defer clear(key)
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	return aead.Open(nil, e.Nonce, e.Ciphertext, e.associated(context))
}

func (e envelope) associated(context []string) []byte {
	header := fmt.Sprintf("v%d %s m=%d t=%d p=%d %s", e.Version, e.KDF, e.MemoryKiB, e.Time, e.Threads, e.AEAD)
	parts := append([]string{wrapDomain, header, string(e.Salt)}, context...)
	return canon.FrameStrings(parts...)
}

// CheckPassphrase says whether a new passphrase would be taken (ErrPassphrase),
// before anything is made with it. It is not zeroed.
func CheckPassphrase(passphrase []byte) error {
	text, err := normalise(bytes.Clone(passphrase))
	clear(text)
	return err
}

// normalise returns the NFC form of passphrase in memory of its own and
// overwrites passphrase.
func normalise(passphrase []byte) ([]byte, error) {
	defer clear(passphrase)
	if len(passphrase) > 4*maxPassphrase || !utf8.Valid(passphrase) {
		return nil, ErrPassphrase
	}
	// Room for any growth, so that no outgrown copy is left behind uncleared.
	text := norm.NFC.Append(make([]byte, 0, 4*len(passphrase)+16), passphrase...)
	count := utf8.RuneCount(text)
	if count < minPassphrase || count > maxPassphrase {
		return text, ErrPassphrase
	}
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if unicode.IsControl(r) {
			return text, ErrPassphrase
		}
		rest = rest[size:]
	}
	return text, nil
}
