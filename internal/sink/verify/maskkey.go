package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
	"callhouse/internal/wire/mask"
)

// withoutKey describes the consequence of a missing key: new values cannot be masked as before.
const withoutKey = "without it the next run fails, since equal values would get different hashes"

// maskKey verifies that the mask key exists. was is its entry in the manifest; nil: nothing was
// ever masked.
func (v *verifier) maskKey(was *layout.Mask) {
	if was == nil {
		return
	}
	key := v.opts.MaskKey
	if key == nil {
		raw, err := v.opts.FS.ReadFile(filepath.Join(v.opts.Root, layout.MaskKeyName))
		switch {
		case disk.IsGone(err):
			v.bad.Add(MaskKeyProblem, layout.MaskKeyName, "the key that masked values is missing: %s", withoutKey)
			return
		case errors.Is(err, fs.ErrPermission):
			v.report.Notes = append(v.report.Notes, fmt.Sprintf("the mask key was not checked: %v", err))
			return
		case err != nil:
			v.bad.Add(MaskKeyProblem, layout.MaskKeyName, "the key that masked values cannot be read (%v): %s", err, withoutKey)
			return
		}
		if key, err = mask.ParseKey(raw); err != nil {
			v.bad.Add(MaskKeyProblem, layout.MaskKeyName, "the key that masked values is damaged (%v): %s", err, withoutKey)
			return
		}
	}
	if mask.KeyHash(key) != was.Key {
		v.bad.Add(MaskKeyProblem, layout.MaskKeyName,
			"it is not the key that masked values: with another key the next run fails, since equal values would get different hashes")
	}
}
