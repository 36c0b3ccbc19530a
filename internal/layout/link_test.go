package layout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinkLine parses the file used as the link current on Windows, and rejects all others.
func TestLinkLine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, err := OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	name := filepath.Join(root, CurrentName)
	for content, want := range map[string]string{
		string(LinkLine("snapshots/000042")): "snapshots/000042",
		"":                                   "",
		"snapshots/000042":                   "", // torn
		"/etc/passwd\n":                      "",
		"snapshots/" + strings.Repeat("0", maxLinkLine) + "\n": "",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Readlink(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%.30q is a link to %q, want %q: %v", content, got, want, err)
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("snapshots/000007", name); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Readlink(name); got != "snapshots/000007" || err != nil {
		t.Errorf("a link leads to %q: %v", got, err)
	}
}
