package sink

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/wire"
	"callhouse/internal/wire/mask"
)

// MaskKey returns the key of the warehouse's own masks; nil if there is none and make is false.
func (w *Warehouse) MaskKey(make bool) ([]byte, error) {
	path := filepath.Join(w.opts.Root, layout.MaskKeyName)
	raw, err := disk.ReadFile(w.opts.FS, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && make:
		return w.newMaskKey(path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the mask key: %w", err)
	}
	key, err := mask.ParseKey(raw)
	if err != nil {
		return nil, &disk.DamageError{Path: path, What: err.Error()}
	}
	return key, nil
}

// newMaskKey makes a key, and makes it durable before it is used.
func (w *Warehouse) newMaskKey(path string) ([]byte, error) {
	key := make([]byte, mask.KeyBytes)
	_, _ = rand.Read(key) // never fails
	tmp := filepath.Join(w.opts.Root, layout.TempName(layout.MaskKeyName, disk.NewID()))
	if err := disk.Replace(w.opts.FS, tmp, path, append(hex.AppendEncode(nil, key), '\n'), true); err != nil {
		return nil, fmt.Errorf("make the mask key: %w", err)
	}
	return key, nil
}

// Mask makes Clean and commits apply m with a key, and record it in the manifest. It must be called
// before anything is put.
func (w *Warehouse) Mask(m *mask.Mask, key []byte) {
	w.masker, w.mask = m, &layout.Mask{Key: mask.KeyHash(key), Fields: m.Paths()}
}

// Redact makes Clean and commits apply m, which redacts, and record that in the manifest. It must
// be called before anything is put.
func (w *Warehouse) Redact(m *mask.Mask, entry *layout.Redaction) {
	w.masker, w.redaction = m, entry
}

// Redacts reports whether personal data is redacted.
func (w *Warehouse) Redacts() bool { return w.masker != nil && w.masker.Redactor() != nil }

// Asks reports whether a service is used to find personal data.
func (w *Warehouse) Asks() bool { return w.Redacts() && w.masker.Redactor().Asks() }

// TryService returns an error if the service that finds personal data does not respond.
func (w *Warehouse) TryService() error {
	if !w.Redacts() {
		return nil
	}
	return w.masker.Redactor().Try()
}

// Redacted returns the number of values that this run redacted, by kind, as JSON; empty if none.
func (w *Warehouse) Redacted() string {
	if !w.Redacts() {
		return ""
	}
	counts := w.masker.Redactor().Counts()
	if len(counts) == 0 {
		return ""
	}
	text, _ := json.Marshal(counts) // a map of strings to integers always encodes
	return string(text)
}

// Clean returns the storable part of body, the JSON of a call: the result of [wire.Redact], masked.
// The result may be appended to room. Clean must be called before Put. changed reports whether
// Redact removed anything. The error wraps a *scan.Error, or is a *mask.UncheckedError.
func (w *Warehouse) Clean(room *[]byte, body []byte) (clean []byte, changed bool, err error) {
	if w.Redacts() && !wire.MayForbid(schema.CallResource, body) {
		clean, _, err = w.masker.Apply(room, body) // it also rejects anything but an object
		return clean, false, err
	}
	if clean, changed, err = wire.Redact(schema.CallResource, body); err == nil && w.masker != nil {
		clean, _, err = w.masker.Apply(room, clean)
	}
	return clean, changed, err
}
