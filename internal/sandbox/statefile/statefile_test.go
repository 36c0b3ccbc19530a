package statefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/test"
)

func open(t *testing.T, name string) *File {
	t.Helper()
	f, err := Open(name)
	test.OK(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestCutAnywhere cuts a file after every byte. The complete lines remain, and the next line
// follows them.
func TestCutAnywhere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state")
	f := open(t, name)
	settings := map[string]string{"seed": "1"}
	test.OK(t, f.Begin(settings))
	want := []string{`{"n":1}`, `{"n":2,"text":"é"}`, `{"n":3}`}
	for _, line := range want {
		test.OK(t, f.Append([]byte(line)))
	}
	_ = f.Close()
	whole := test.Read(t, name)
	cutName := filepath.Join(t.TempDir(), "cut")
	for n := range len(whole) + 1 {
		test.OK(t, os.WriteFile(cutName, whole[:n], 0o644))
		f := open(t, cutName)
		lines := strings.Count(string(whole[:n]), "\n") - 1 // not counting the head
		if lines < 0 {
			if f.Settings != nil || f.Cut {
				t.Fatalf("cut at %d: %v", n, f)
			}
			test.OK(t, f.Begin(settings))
			lines = 0
		} else if f.Cut != (whole[n-1] != '\n') {
			t.Errorf("cut at %d: Cut is %t", n, f.Cut)
		}
		test.OK(t, f.Append([]byte(`{"n":4}`)))
		_ = f.Close()
		g := open(t, cutName)
		_ = g.Close()
		var got []string
		for _, line := range g.Lines {
			got = append(got, string(line))
		}
		if diff := cmp.Diff(append(want[:lines:lines], `{"n":4}`), got); diff != "" || g.Cut || !cmp.Equal(settings, g.Settings) {
			t.Fatalf("cut at %d: %v %s", n, g.Settings, diff)
		}
	}
}

func TestWhatIsNoState(t *testing.T) {
	for text, want := range map[string]string{
		"call_id,agent_id":        "not a state file of sandbox",
		"{}\n":                    "not a state file of sandbox",
		"{\"sandbox_state\":x}\n": "not a state file of sandbox",
		"{\"sandbox_state\":2,\"settings\":{}}\n":  "written by a later version of sandbox (format 2, supported: 1)",
		"{\"sandbox_state\":1,\"settings\":[1]}\n": "not a state file of sandbox",
	} {
		name := filepath.Join(t.TempDir(), "state")
		test.OK(t, os.WriteFile(name, []byte(text), 0o644))
		if _, err := Open(name); fmt.Sprint(err) != "open state "+name+": "+want {
			t.Errorf("%q: %v", text, err)
		}
		if left, err := os.ReadFile(name); err != nil || string(left) != text {
			t.Errorf("%q was changed to %q", text, left)
		}
	}
	name := filepath.Join(t.TempDir(), "state")
	f := open(t, name)
	if _, err := Open(name); !errors.Is(err, ErrInUse) {
		t.Errorf("opened twice: %v", err)
	}
	_ = f.file.Close()
	for range 2 {
		if f.Append([]byte("{}")) == nil {
			t.Error("a line was kept in a file that is closed")
		}
	}
	if _, err := Open(filepath.Join(name, "x")); err == nil {
		t.Error("no error")
	}
}
