package sink

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/wire"
	"callhouse/internal/wire/mask"
)

// MaskKey returns the key of the warehouse's own masks; nil if there is none and make is false.
func (w *Warehouse) MaskKey(make bool) ([]byte, error) {
	path := filepath.Join(w.opts.Root, layout.MaskKeyName)
	raw, err := w.opts.FS.ReadFile(path)
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
		return nil, &layout.DamageError{Path: path, What: err.Error()}
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

// Mask makes Put and commits apply m with a key, and record it in the manifest. It must be called
// before anything is put.
func (w *Warehouse) Mask(m *mask.Mask, key []byte) {
	w.masker, w.stamp.Mask = m, &layout.Mask{Key: mask.KeyHash(key), Fields: m.Paths()}
}

// Redact makes Put and commits apply m, which redacts, and record that in the manifest. It must
// be called before anything is put.
func (w *Warehouse) Redact(m *mask.Mask, entry *layout.Redaction) {
	w.masker, w.stamp.Redaction = m, entry
}

// Redacts reports whether personal data is redacted.
func (w *Warehouse) Redacts() bool { return w.masker != nil && w.masker.Redactor() != nil }

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

// maxCleaned is how many records of a Put are cleaned concurrently: a service may be asked.
const maxCleaned = 4

// cleaned returns records without what must not be stored: see [cleanRecord].
func (w *Warehouse) cleaned(recs []schema.Record) ([]schema.Record, error) {
	recs = slices.Clone(recs)
	storable := make([]bool, len(recs))
	jobs := pool.New().WithErrors().WithFirstError().WithMaxGoroutines(maxCleaned)
	for i := range recs {
		jobs.Go(func() (err error) {
			storable[i], err = cleanRecord(w.masker, &recs[i])
			return err
		})
	}
	err := jobs.Wait()
	out := recs[:0]
	for i := range recs {
		if storable[i] {
			out = append(out, recs[i])
		}
	}
	return out, err
}

// cleanRecord removes from a call's record what must not be stored: what [wire.Redact] removes, and what m
// masks; m may be nil. If the call's texts could not be checked, an item or an imported record stays
// without them; storable is false for others, so that the call stays due. Other records stay unchanged.
func cleanRecord(m *mask.Mask, r *schema.Record) (storable bool, err error) {
	if r.Resource != "" || !r.Kind.OfCall() {
		return true, nil
	}
	body, _, err := wire.Redact(schema.CallResource, r.Body)
	if err == nil && m != nil {
		body, _, err = m.Apply(body)
	}
	if unchecked := (*mask.UncheckedError)(nil); errors.As(err, &unchecked) {
		r.Body = unchecked.Rest
		return r.Imported || r.Kind == schema.KindItem, nil
	}
	r.Body = body
	return err == nil, err
}
