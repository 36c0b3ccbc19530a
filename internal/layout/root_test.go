package layout_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/test"
)

// The folders of a warehouse's snapshots are no warehouses, and the error names the one that is
// meant.
func TestCheckRoot(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	test.OK(t, err)
	house := filepath.Join(dir, "a house")
	for _, path := range []string{"snapshots/000001/calls", "journal"} {
		test.OK(t, os.MkdirAll(filepath.Join(house, path), 0o755))
	}
	for _, err := range []error{
		os.Symlink("snapshots/000001", filepath.Join(house, layout.CurrentName)),
		os.Symlink(house, filepath.Join(dir, "link")),
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
		if errors.As(err, &wrong) != inside || inside && wrong.Hint() != "use the warehouse itself: --warehouse '"+house+"'" {
			t.Errorf("%s: %v, %+v", path, err, wrong)
		}
	}
	if err := layout.CheckRoot(" "); err == nil {
		t.Error("an empty path is taken")
	}
}
