package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// Write creates the file, owner-only, and never replaces one.
func (c Config) Write(path string) error {
	d, err := c.draft(path)
	if err != nil {
		return err
	}
	defer d.discard()
	return d.create()
}

// draft writes the configuration beside its place, so that what may fail
// fails before anything else is made.
func (c Config) draft(path string) (draftFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return draftFile{}, fmt.Errorf("%w: %v", ErrConfig, err)
	}
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(c); err != nil {
		return draftFile{}, fmt.Errorf("%w: %v", ErrConfig, err)
	}
	return newDraft(path, text.Bytes(), 0o600)
}

// repin puts another pin into a configuration file and leaves everything else
// in it as it is, a person's remarks included. What it cannot do exactly it
// refuses, and then the file is untouched.
func repin(path, pin string) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrConfig, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrConfig, err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrConfig, err)
	}
	after, err := withPin(string(before), pin)
	if err != nil {
		return fmt.Errorf("%w; put it into appliance.pin of %s yourself: %s", err, path, pin)
	}
	d, err := newDraft(path, []byte(after), info.Mode().Perm())
	if err != nil {
		return err
	}
	defer d.discard()
	return d.replace()
}

// withPin edits the text, and reads it again to prove that exactly the pin
// has changed.
func withPin(text, pin string) (string, error) {
	var want, got Config
	if _, err := toml.Decode(text, &want); err != nil {
		return "", fmt.Errorf("%w: %v", ErrConfig, err)
	}
	edited := strings.Replace(text, `"`+want.Appliance.Pin+`"`, `"`+pin+`"`, 1)
	want.Appliance.Pin = pin
	if _, err := toml.Decode(edited, &got); err != nil || !reflect.DeepEqual(got, want) {
		return "", fmt.Errorf("%w: the pin is not where it is expected; nothing was changed", ErrConfig)
	}
	return edited, nil
}

// draftFile is a whole, durable file that waits beside its place.
type draftFile struct{ temp, path string }

func newDraft(path string, text []byte, mode fs.FileMode) (draftFile, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return draftFile{}, fmt.Errorf("%w: %v", ErrConfig, err)
	}
	d := draftFile{temp: f.Name(), path: path}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		d.discard()
		return draftFile{}, fmt.Errorf("%w: %v", ErrConfig, err)
	}
	return d, nil
}

// create puts the draft into its place unless something is there.
func (d draftFile) create() error {
	err := os.Link(d.temp, d.path)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s exists already and is left as it is", ErrConfig, d.path)
	}
	return d.settle(err)
}

// replace puts the draft into the place of what is there.
func (d draftFile) replace() error { return d.settle(os.Rename(d.temp, d.path)) }

// settle makes the change of the folder durable.
func (d draftFile) settle(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %v", ErrConfig, err)
	}
	dir, err := os.Open(filepath.Dir(d.path))
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: %v", ErrConfig, err)
	}
	return nil
}

// discard removes a draft that is not needed any more.
func (d draftFile) discard() { _ = os.Remove(d.temp) }
