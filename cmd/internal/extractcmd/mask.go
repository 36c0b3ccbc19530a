package extractcmd

import (
	"errors"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/phone"
	"callhouse/internal/sink"
	"callhouse/internal/wire/mask"
)

// maskNone, in place of field names, ends the masking of a warehouse.
const maskNone = "none"

// options returns the options with which every command opens the warehouse for writing.
func (s *settings) options(runID string) sink.Options {
	return sink.Options{Root: s.Warehouse, RunID: runID, Now: s.Now, Country: s.Country,
		Delete: deleteRecordings}
}

// maskFields returns the fields to mask: those in the settings, or else those masked by the
// warehouse's last commit. So a run without the flag does not store values that other runs mask.
func (s *settings) maskFields(was *layout.Mask) []string {
	var fields []string
	for f := range strings.SplitSeq(s.Mask, ",") {
		if f = strings.TrimSpace(f); f != "" {
			fields = append(fields, f)
		}
	}
	switch {
	case len(fields) == 0 && was != nil:
		return was.Fields
	case len(fields) == 1 && fields[0] == maskNone:
		return nil
	}
	return fields
}

// maskOf returns the mask of the last commit; nil if nothing was ever masked.
func maskOf(w *sink.Warehouse) *layout.Mask {
	if snapshot := w.Snapshot(); snapshot != nil {
		return snapshot.Manifest.Mask
	}
	return nil
}

// startMask configures a warehouse to mask and redact according to the settings and its last commit.
// It must be called before anything is put or committed.
func (s *settings) startMask(w *sink.Warehouse) error {
	was := maskOf(w)
	fields := s.maskFields(was)
	redaction, err := s.redaction(redactionOf(w))
	if err != nil {
		return err
	}
	if len(fields) == 0 && was == nil && redaction == nil {
		return nil
	}
	if _, err := mask.New(fields, nil); err != nil {
		return explainMask(err)
	}
	var key []byte
	if len(fields) > 0 || was != nil {
		if key, err = s.maskKey(w, was); err != nil {
			return err
		}
	}
	m, err := mask.New(fields, key)
	if err != nil {
		return explainMask(err)
	}
	r, err := redactor(redaction)
	if err != nil {
		return err
	}
	if redaction != nil && len(redaction.Service) > 0 {
		c, err := s.analyzer()
		if err != nil {
			return err
		}
		r.Ask(c.Find)
	}
	m.Redact(r)
	if key != nil {
		w.Mask(m, key)
	}
	if redaction != nil {
		w.Redact(m, identified(*redaction))
	}
	return nil
}

// maskKey returns the key for the masks: the one in --mask-key-file, or the warehouse's own, which is
// created when masking begins. A different key from before is refused, since equal numbers would no
// longer have equal masks.
func (s *settings) maskKey(w *sink.Warehouse, was *layout.Mask) (key []byte, err error) {
	if key, err = s.givenMaskKey(); err != nil {
		return nil, err
	}
	if key == nil {
		if key, err = w.MaskKey(was == nil); err != nil {
			return nil, explain(err)
		}
	}
	switch {
	case key == nil:
		return nil, cli.Usage("set --mask-key-file, or restore "+layout.MaskKeyName+" in the warehouse",
			"the key that masked %s is missing", s.Warehouse)
	case was != nil && mask.KeyHash(key) != was.Key:
		return nil, cli.Usage("set --mask-key-file to the right key",
			"this is not the key that masked %s: equal values would get different hashes", s.Warehouse)
	}
	return key, nil
}

// givenMaskKey returns the key in --mask-key-file; nil if the flag is not set.
func (s *settings) givenMaskKey() ([]byte, error) {
	if s.MaskKeyFile == "" {
		return nil, nil
	}
	raw, err := s.Env.ReadSecret(s.MaskKeyFile, "mask key", "")
	if err != nil {
		return nil, err
	}
	key, err := mask.ParseKey([]byte(raw))
	if err != nil {
		return nil, cli.Usage("create one with: (umask 077; openssl rand -hex 32 > "+s.MaskKeyFile+")", "the mask key file %s: %w",
			s.MaskKeyFile, err)
	}
	return key, nil
}

// explainMask suggests the most similar field for an unknown one.
func explainMask(err error) error {
	var e *mask.PathError
	if !errors.As(err, &e) {
		return err
	}
	hint := ""
	if e.Known != nil {
		hint = cli.Suggest(e.Path, e.Known, "available: "+strings.Join(e.Known, ", ")+", and extra.NAME")
	}
	return cli.Usage(hint, "--%w", err)
}

// asMasked returns, for each number, the masked forms of its usual spellings; nil if the warehouse
// has no mask.
func (s *settings) asMasked(w *sink.Warehouse, numbers []string) (out [][]string, err error) {
	was := maskOf(w)
	if was == nil || len(numbers) == 0 {
		return nil, nil
	}
	key, err := s.maskKey(w, was)
	if err != nil {
		return nil, err
	}
	m, err := mask.New(nil, key)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		var masked []string
		for _, spelling := range phone.Parse(n, s.Country).Spellings() {
			masked = append(masked, m.Value(spelling))
		}
		out = append(out, masked)
	}
	return out, nil
}
