package settings

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/intake"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// Records in the journal of a masking warehouse are already masked.
func TestMaskedInTheJournal(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	s := &Settings{Now: time.Now, Config: config.Config{Values: config.Values{Warehouse: root, Mask: "from_number,metadata.name"}}}
	w, err := sink.Open(s.Options(RunID(time.Now())))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.StartMask(w, w); err != nil {
		t.Fatal(err)
	}
	st := intake.New(w, time.Now)
	const number, name = "+15550009999", "Jo Doe"
	body := `{"id":"a","from_number":"` + number + `","metadata":{"name":"` + name + `","plan":"gold"},"x":"` + number + `"}`
	for _, kind := range []schema.Kind{schema.KindItem, schema.KindDetail} {
		if err := st.Put(t.Context(), schema.Record{Kind: kind, CallID: "a", FetchedAt: 1, Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	found := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".zst") {
			raw = unpacked(t, raw)
			found += bytes.Count(raw, []byte("gold"))
		}
		if bytes.Contains(raw, []byte(number)) || bytes.Contains(raw, []byte(name)) {
			t.Errorf("a value that is masked is in %s", path)
		}
		return err
	})
	if err != nil || found != 2 {
		t.Errorf("the journal has %d records, %v", found, err)
	}
	if st, err := os.Stat(filepath.Join(root, layout.MaskKeyName)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", st, err)
	}
}

// unpacked returns the content of a journal segment.
func unpacked(t *testing.T, raw []byte) []byte {
	t.Helper()
	dec, err := zstd.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	out, err := io.ReadAll(dec)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Masked fields stay masked in the next run, even without the flag. Another list replaces them, and
// "none" ends masking.
func TestMaskFields(t *testing.T) {
	was := &layout.Mask{Fields: []string{"to_number"}}
	for _, c := range []struct {
		mask string
		was  *layout.Mask
		want string
	}{
		{"", nil, ""}, {"from_number", nil, "from_number"}, {" from_number , to_number,", nil, "from_number to_number"},
		{"", was, "to_number"}, {"from_number", was, "from_number"}, {"none", was, ""}, {"none", nil, ""},
	} {
		s := &Settings{Config: config.Config{Values: config.Values{Mask: c.mask}}}
		if got := strings.Join(s.maskFields(c.was), " "); got != c.want {
			t.Errorf("mask %q after %v: %q, want %q", c.mask, c.was, got, c.want)
		}
	}
}
