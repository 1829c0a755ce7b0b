package store

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// checkRefusal: a class that says what to do, and not a byte changed. A file
// whose header says that newer programs alone may write it cannot be written.
func checkRefusal(t *testing.T, err error, path, before string) {
	t.Helper()
	if !errors.Is(err, ErrRefused) && !errors.Is(err, ErrReadOnly) {
		t.Errorf("an error without a class: %v", err)
	}
	if fileSum(t, path) != before {
		t.Errorf("refused (%v), and the file changed", err)
	}
}

// FuzzMigration changes bytes anywhere in a file of schema 6 or 7 and opens
// it: either it is refused with a class and byte-identical, or it becomes a
// sound store of schema 8 with exactly the contracts it had.
func FuzzMigration(f *testing.F) {
	var m manifest
	data, err := os.ReadFile(conformancePath("stores", "manifest.json"))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		f.Fatal(err)
	}
	files := map[bool][]byte{}
	for old, name := range map[bool]string{true: "v6.sqlite3", false: "v7.sqlite3"} {
		if files[old], err = os.ReadFile(conformancePath("stores", name)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(true, []byte{})
	f.Add(false, []byte{0, 0, 0, 18, 1})
	f.Add(true, []byte{0, 0, 16, 40, 4, 0, 1, 0, 7, 32})
	f.Add(false, []byte{0, 0, 0, 18, 0xec}) // the header's write version
	f.Add(false, []byte{0, 0, 0, 64, 0x28}) // the header's mode of vacuuming
	f.Fuzz(func(t *testing.T, old bool, edits []byte) {
		file := append([]byte(nil), files[old]...)
		for ; len(edits) >= 5; edits = edits[5:] {
			file[int(binary.BigEndian.Uint32(edits))%len(file)] ^= edits[4]
		}
		key, _ := hex.DecodeString(m.Key)
		o := Options{Path: filepath.Join(t.TempDir(), "store", "contracts.sqlite3"), StoreID: m.StoreID,
			IntegrityKey: key, Clock: &testClock{now: testStart}, Settle: -time.Second}
		must(t, errors.Join(os.Mkdir(filepath.Dir(o.Path), dirMode), os.WriteFile(o.Path, file, fileMode)))
		before := fileSum(t, o.Path)
		s, err := Open(context.Background(), o)
		if err != nil {
			checkRefusal(t, err, o.Path, before)
			return
		}
		must(t, s.Close())
		checkStore(t, o)
		for _, v := range m.Valid {
			if v.Migration != nil && (v.Schema == 6) == old {
				checkLeftFile(t, o, v)
			}
		}
	})
}
