package layout_test

import (
	"os"
	"path/filepath"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/test"
)

func TestInside(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	test.OK(t, err)
	link := filepath.Join(dir, "link")
	test.OK(t, os.Symlink(filepath.Join(dir, "w"), link))
	test.OK(t, os.Mkdir(filepath.Join(dir, "w"), 0o700))
	t.Chdir(dir)
	for _, c := range []struct{ root, text, want string }{
		{dir + "/w", "open " + dir + "/w/snapshots/1: gone", "open snapshots/1: gone"},
		{link, "open " + dir + "/w/a and " + link + "/b", "open a and b"},
		{"w", "open '" + dir + "/w/a'", "open 'a'"},
		{"w", "no such folder: " + dir + "/w", "no such folder: the warehouse"},
		{"w", "open " + dir + "/w2/a", "open " + dir + "/w2/a"},
		{"", "open " + dir + "/a", "open " + dir + "/a"},
		{"/", "open /etc/a", "open /etc/a"},
	} {
		if got := layout.Inside(c.root, c.text); got != c.want {
			t.Errorf("Inside(%q, %q) is %q, want %q", c.root, c.text, got, c.want)
		}
	}
}
