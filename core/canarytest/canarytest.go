// Package canarytest finds planted secrets in bytes, however they are encoded.
// Tests of any room use it: plant a canary wherever a value can live, run the
// program, and search what it leaves behind (design section 4, rule 11; seed
// 003, Audit contract). Nothing that ships imports it.
package canarytest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Canary is a secret that was planted somewhere.
type Canary struct {
	// Name says where it was planted, for the report.
	Name string
	// Text is what is searched for: letters and digits that occur nowhere
	// else. Whatever encodes a longer text encodes this part of it as well.
	Text string
}

// Set is what is searched for.
type Set struct {
	canaries []Canary
	needles  map[[prefix]byte][]needle
	// begins tells by the first two bytes where no needle can be, so that
	// whole files can be searched on every commit.
	begins [1 << 16]bool
}

// prefix is how many bytes of a needle are looked up at each position.
const prefix = 4

type needle struct {
	bytes []byte
	hit   Hit
}

// Hit is a canary that was found.
type Hit struct {
	Canary   string // its name
	Encoding string // its encoding's name
}

// String names canary and encoding, and never the text.
func (h Hit) String() string { return h.Canary + ", " + h.Encoding }

// New makes a set. A canary needs at least ten letters and digits, so that it
// is found at every alignment and never by chance.
func New(canaries ...Canary) (*Set, error) {
	s := &Set{canaries: canaries, needles: map[[prefix]byte][]needle{}}
	seen := map[string]bool{}
	for _, c := range canaries {
		if len(c.Text) < 10 || strings.Trim(c.Text, alphanumeric) != "" || seen[c.Text] {
			return nil, fmt.Errorf("the canary of %q is too short, not plain, or another one's", c.Name)
		}
		seen[c.Text] = true
		for _, e := range Encodings() {
			for _, b := range e.Encode(c.Text) {
				key := [prefix]byte(b)
				s.needles[key] = append(s.needles[key], needle{b, Hit{c.Name, e.Name}})
				s.begins[pair(b)] = true
			}
		}
	}
	return s, nil
}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// Canaries are the members of the set.
func (s *Set) Canaries() []Canary { return s.canaries }

// Without is the set without the named canaries, for places where those may be.
func (s *Set) Without(names ...string) *Set {
	var rest []Canary
	for _, c := range s.canaries {
		keep := true
		for _, name := range names {
			keep = keep && c.Name != name
		}
		if keep {
			rest = append(rest, c)
		}
	}
	out, err := New(rest...)
	if err != nil { // they were accepted before
		return s
	}
	return out
}

// Find returns every canary in data with its encoding, each pair once.
func (s *Set) Find(data []byte) []Hit {
	var hits []Hit
	found := map[Hit]bool{}
	for i := 0; i+prefix <= len(data); i++ {
		if !s.begins[pair(data[i:])] {
			continue
		}
		for _, n := range s.needles[[prefix]byte(data[i:])] {
			if !found[n.hit] && bytes.HasPrefix(data[i:], n.bytes) {
				found[n.hit] = true
				hits = append(hits, n.hit)
			}
		}
	}
	return hits
}

func pair(b []byte) int { return int(b[0])<<8 | int(b[1]) }

// Encoding is one way in which bytes can be written. Encode gives everything
// that the text can look like in the middle of something longer.
type Encoding struct {
	Name   string
	Encode func(text string) [][]byte
}

// Encodings are the likely ones.
func Encodings() []Encoding {
	return []Encoding{
		{"raw", one(func(s string) string { return s })},
		{"lower case", one(strings.ToLower)},
		{"upper case", one(strings.ToUpper)},
		{"JSON escapes", each(`\u%04x`)},
		{"JSON escapes, upper case", each(`\u%04X`)},
		{"hex", one(func(s string) string { return hex.EncodeToString([]byte(s)) })},
		{"hex, upper case", one(func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) })},
		{"hex with spaces", joined("%02x", " ")},
		{"hex with colons", joined("%02x", ":")},
		{"Go bytes", joined("0x%x", ", ")},
		{"decimal bytes", joined("%d", " ")},
		{"decimal bytes with commas", joined("%d", ",")},
		{"hex escapes", each(`\x%02x`)},
		{"octal escapes", each(`\%03o`)},
		{"URL escapes", each("%%%02X")},
		{"URL escapes, lower case", each("%%%02x")},
		{"HTML entities", each("&#%d;")},
		{"base64", base64At(base64.RawStdEncoding)},
		{"base64, URL alphabet", base64At(base64.RawURLEncoding)},
		{"UTF-16LE", one(func(s string) string { return string(utf16Bytes(s, 0, 1)) })},
		{"UTF-16BE", one(func(s string) string { return string(utf16Bytes(s, 1, 0)) })},
	}
}

func one(f func(string) string) func(string) [][]byte {
	return func(s string) [][]byte { return [][]byte{[]byte(f(s))} }
}

func each(format string) func(string) [][]byte { return joined(format, "") }

func joined(format, separator string) func(string) [][]byte {
	return one(func(s string) string {
		parts := make([]string, len(s))
		for i := range len(s) {
			parts[i] = fmt.Sprintf(format, s[i])
		}
		return strings.Join(parts, separator)
	})
}

// base64At encodes at the three places where a text can begin in a longer
// one, without the characters that its neighbours share.
func base64At(e *base64.Encoding) func(string) [][]byte {
	return func(s string) [][]byte {
		var out [][]byte
		for before := range 3 {
			text := e.EncodeToString(append(make([]byte, before), s...))
			from, to := (before*8+5)/6, (before+len(s))*8/6
			out = append(out, []byte(text[from:to]))
		}
		return out
	}
}

func utf16Bytes(s string, low, high int) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		pair := [2]byte{}
		pair[low], pair[high] = byte(unit), byte(unit>>8)
		out = append(out, pair[:]...)
	}
	return out
}
