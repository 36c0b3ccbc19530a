package extractcmd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
)

// verify detects a missing, damaged or different mask key. It does not recommend a rollback, which
// would not restore the key.
func TestVerifyWantsTheMaskKey(t *testing.T) {
	dir := t.TempDir()
	root, lines := filepath.Join(dir, "w"), filepath.Join(dir, "calls.ndjson")
	if err := os.WriteFile(lines, []byte(`{"id":"a","status":"ended","from_number":"+821012345678","start_at":1795079700000}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) (code int, out string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code = Program{Now: time.Now}.Run(t.Context(), append([]string{"--warehouse", root}, args...), strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String() + stderr.String()
	}
	if code, out := ask("import", "--mask", "from_number", lines); code != cli.ExitOK {
		t.Fatal(out)
	}
	key, other := filepath.Join(root, layout.MaskKeyName), filepath.Join(dir, "other.key")
	right, err := os.ReadFile(key)
	wrong := []byte(strings.Repeat("ab", 32) + "\n")
	if err := errors.Join(err, os.WriteFile(other, right, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		key    []byte // nil: missing
		args   []string
		code   int
		says   string
		nothow string
	}{
		{"as it was made", right, nil, cli.ExitOK, "whole: ", "mask"},
		{"missing", nil, nil, cli.ExitFailed, "mask.key: the key that masked values is missing", "rollback"},
		{"cut", right[:9], nil, cli.ExitFailed, "is damaged", "rollback"},
		{"another", wrong, nil, cli.ExitFailed, "it is not the key that masked values", "rollback"},
		{"missing, and elsewhere", nil, []string{"--mask-key-file", other}, cli.ExitOK, "whole: ", "mask"},
	} {
		if err := os.WriteFile(key, c.key, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.key == nil {
			if err := os.Remove(key); err != nil {
				t.Fatal(err)
			}
		}
		code, out := ask(append(c.args, "verify")...)
		if code != c.code || !strings.Contains(out, c.says) || strings.Contains(out, c.nothow) {
			t.Errorf("%s: exit code %d\n%s", c.name, code, out)
		}
		if code, out := ask("import", "--mask", "from_number", lines); c.code == cli.ExitFailed && c.name != "cut" && code != cli.ExitUsage {
			t.Errorf("%s: import ends with exit code %d\n%s", c.name, code, out) // as verify predicted for the next run
		}
	}
	if err := os.WriteFile(other, wrong, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := ask("verify", "--mask-key-file", other); code != cli.ExitFailed || !strings.Contains(out, "--mask-key-file") {
		t.Errorf("another one is named: exit code %d\n%s", code, out)
	}
}
