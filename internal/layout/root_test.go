package layout_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/test"
)

// The folders of a warehouse's snapshots are no warehouses, and the error names the one that is meant.
func TestCheckRoot(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	test.OK(t, err)
	warehouse := filepath.Join(dir, "a house")
	for _, path := range []string{"snapshots/000001/calls", "journal"} {
		test.OK(t, os.MkdirAll(filepath.Join(warehouse, path), 0o755))
	}
	for _, err := range []error{
		os.Symlink("snapshots/000001", filepath.Join(warehouse, layout.CurrentName)),
		os.Symlink(warehouse, filepath.Join(dir, "link")),
		os.MkdirAll(filepath.Join(dir, "snapshots", "mine"), 0o755), // no warehouse's
	} {
		test.OK(t, err)
	}
	for path, inside := range map[string]bool{
		"a house": false, "link": false, "new/one": false, "snapshots/mine": false, "a house/journal": false,
		"a house/current": true, "link/current/": true, "a house/snapshots": true, "a house/current/calls": true, "link/current/new/one": true,
	} {
		err := layout.CheckRoot(filepath.Join(dir, path))
		var wrong *layout.RootError
		if errors.As(err, &wrong) != inside || inside && wrong.Hint() != "use the warehouse itself: --warehouse '"+warehouse+"'" {
			t.Errorf("%s: %v, %+v", path, err, wrong)
		}
	}
	if err := layout.CheckRoot(" "); err == nil {
		t.Error("an empty path is taken")
	}
}

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
		test.Same(t, c.want, layout.Inside(c.root, c.text), "Inside(%q, %q)", c.root, c.text)
	}
}
