package sink

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// tombstone represents a forgotten call: the first half of the HMAC-SHA-256 of its id. Without the
// key it does not identify the call; with the key, it does so only for someone who has the id.
type tombstone [16]byte

func (t tombstone) String() string { return hex.EncodeToString(t[:]) }

// MarshalText implements encoding.TextMarshaler.
func (t tombstone) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *tombstone) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(t)) {
		return fmt.Errorf("%q is not the hash of a call id", text)
	}
	_, err := hex.Decode(t[:], text)
	return err
}

// tombstones is the set of calls that must not come back. A nil set is empty.
type tombstones struct {
	key  []byte
	list []tombstone // ascending
}

// tombstonesFile is the content of their file.
type tombstonesFile struct {
	FormatVersion int         `json:"format_version"`
	Key           string      `json:"key"` // in hex
	Calls         []tombstone `json:"calls"`
}

// newTombstones returns an empty set with a new key.
func newTombstones() *tombstones {
	t := &tombstones{key: make([]byte, sha256.Size)}
	_, _ = rand.Read(t.key) // never fails
	return t
}

// Of returns the tombstone of a call, whether it is in the set or not.
func (t *tombstones) Of(id []byte) (out tombstone) {
	h := hmac.New(sha256.New, t.key)
	h.Write(id)
	copy(out[:], h.Sum(nil))
	return out
}

// Has reports whether the set contains a tombstone.
func (t *tombstones) Has(s tombstone) bool {
	_, ok := slices.BinarySearchFunc(t.list, s, func(a, b tombstone) int { return bytes.Compare(a[:], b[:]) })
	return ok
}

// Forgot reports whether a call was forgotten.
func (t *tombstones) Forgot(id string) bool {
	return t != nil && len(t.list) > 0 && t.Has(t.Of([]byte(id)))
}

// With returns the set with more tombstones added.
func (t *tombstones) With(more []tombstone) *tombstones {
	list := append(slices.Clone(t.list), more...)
	slices.SortFunc(list, func(a, b tombstone) int { return bytes.Compare(a[:], b[:]) })
	return &tombstones{key: t.key, list: slices.Compact(list)}
}

// Encode returns the file of the tombstones, and its entry in a manifest.
func (t *tombstones) Encode() ([]byte, *layout.Forgotten, error) {
	out, err := json.Marshal(&tombstonesFile{FormatVersion: layout.FormatVersion, Key: hex.EncodeToString(t.key), Calls: t.list})
	if err != nil {
		return nil, nil, fmt.Errorf("encode the tombstones: %w", err)
	}
	sum := sha256.Sum256(out)
	return out, &layout.Forgotten{
		Path: layout.ForgottenFile(disk.NewID()), Calls: int64(len(t.list)), Bytes: int64(len(out)), SHA256: hex.EncodeToString(sum[:]),
	}, nil
}

// readTombstones returns the tombstones of a snapshot; nil if it has none.
func readTombstones(fsys disk.FS, s *layout.Snapshot) (*tombstones, error) {
	if s == nil || s.Manifest.Forgotten == nil {
		return nil, nil
	}
	f := s.Manifest.Forgotten
	path := filepath.Join(s.Dir, filepath.FromSlash(f.Path))
	bad := func(what string) error { return &layout.DamageError{Path: path, What: what} }
	raw, err := fsys.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the tombstones: %w", err)
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, bad("the checksum differs")
	}
	var file tombstonesFile
	err = json.Unmarshal(raw, &file)
	key, keyErr := hex.DecodeString(file.Key)
	switch {
	case file.FormatVersion > layout.FormatVersion:
		return nil, &layout.VersionError{Got: file.FormatVersion}
	case err != nil:
		return nil, bad(err.Error())
	case keyErr != nil || len(key) != sha256.Size:
		return nil, bad("its key is none")
	case int64(len(file.Calls)) != f.Calls:
		return nil, bad(fmt.Sprintf("it has %d tombstones, the manifest says %d", len(file.Calls), f.Calls))
	}
	return &tombstones{key: key, list: file.Calls}, nil
}
