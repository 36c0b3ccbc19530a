package extractcmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

// Nothing is masked with another key than before: a missing, damaged or different one is refused.
func TestMaskingWantsItsKey(t *testing.T) {
	dir := t.TempDir()
	root, lines := filepath.Join(dir, "w"), filepath.Join(dir, "calls.ndjson")
	test.OK(t, os.WriteFile(lines, []byte(`{"id":"a","status":"ended","from_number":"+821012345678","start_at":1795079700000}`+"\n"), 0o600))
	if code, _, stderr := call(t, "", "import", "--warehouse", root, "--mask", "from_number", lines); code != cli.ExitOK {
		t.Fatal(stderr)
	}
	key, other := filepath.Join(root, layout.MaskKeyName), filepath.Join(dir, "other.key")
	right, err := os.ReadFile(key)
	wrong := []byte(strings.Repeat("ab", 32) + "\n")
	test.OK(t, errors.Join(err, os.WriteFile(other, right, 0o600)))
	for _, c := range []struct {
		name string
		key  []byte // nil: missing
		args []string
		code int
	}{
		{"as it was made", right, nil, cli.ExitOK},
		{"missing", nil, nil, cli.ExitUsage},
		{"cut", right[:9], nil, cli.ExitFailed},
		{"another", wrong, nil, cli.ExitUsage},
		{"missing, and elsewhere", nil, []string{"--mask-key-file", other}, cli.ExitOK},
	} {
		test.OK(t, os.WriteFile(key, c.key, 0o600))
		if c.key == nil {
			test.OK(t, os.Remove(key))
		}
		if code, _, stderr := call(t, "", append(c.args, "import", "--warehouse", root, "--mask", "from_number", lines)...); code != c.code {
			t.Errorf("%s: exit code %d\n%s", c.name, code, stderr)
		}
	}
}

// Records in the journal of a masking warehouse are already masked.
func TestMaskedInTheJournal(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	s := &settings{Now: time.Now, Config: config.Config{Values: config.Values{Warehouse: root, Mask: "from_number,metadata.name"}}}
	w, err := sink.Open(s.options(runID(time.Now())))
	test.OK(t, err)
	test.OK(t, s.startMask(w))
	const number, name = "+15550009999", "Jo Doe"
	body := `{"id":"a","from_number":"` + number + `","metadata":{"name":"` + name + `","plan":"gold"},"x":"` + number + `"}`
	for _, kind := range []schema.Kind{schema.KindItem, schema.KindDetail} {
		test.OK(t, w.Put(t.Context(), schema.Record{Kind: kind, CallID: "a", FetchedAt: 1, Body: []byte(body)}))
	}
	test.OK(t, w.Close())
	found := 0
	test.EveryByte(t, root, func(where string, raw []byte) {
		found += bytes.Count(raw, []byte("gold"))
		if bytes.Contains(raw, []byte(number)) || bytes.Contains(raw, []byte(name)) {
			t.Errorf("%s contains a masked value", where)
		}
	})
	if found < 2 {
		t.Errorf("the journal has %d records, want 2", found)
	}
	if st, err := os.Stat(filepath.Join(root, layout.MaskKeyName)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", st, err)
	}
}

// Masked fields stay masked in later runs without the flag. Another list replaces them, and "none" ends masking.
func TestMaskLasts(t *testing.T) {
	dir := t.TempDir()
	root, lines := filepath.Join(dir, "w"), filepath.Join(dir, "calls.ndjson")
	for i, c := range []struct{ mask, want string }{
		{"", ""}, {" from_number , to_number,", "from_number to_number"}, {"", "from_number to_number"}, {"to_number", "to_number"}, {"", "to_number"}, {"none", ""}, {"", ""},
	} {
		test.OK(t, os.WriteFile(lines, fmt.Appendf(nil, `{"id":"%d","status":"ended","start_at":1795079700000}`+"\n", i), 0o600))
		if code, _, stderr := call(t, "", "import", "--warehouse", root, "--mask", c.mask, lines); code != cli.ExitOK {
			t.Fatal(stderr)
		}
		snapshot, err := layout.Current(root)
		test.OK(t, err)
		var got []string
		if m := snapshot.Manifest.Mask; m != nil {
			got = m.Fields
		}
		test.Same(t, c.want, strings.Join(got, " "), "run %d with --mask %q masks", i, c.mask)
	}
}
