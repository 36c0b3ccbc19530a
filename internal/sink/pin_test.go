package sink

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// firstDay is the day before the first snapshot's.
var firstDay = time.Date(2026, 11, 19, 2, 0, 0, 0, time.UTC)

// wholeDisk is the file system of all folders.
var wholeDisk = func() disk.FS {
	fsys, err := disk.Open("/")
	if err != nil {
		panic(err)
	}
	return fsys
}()

// nightAt makes snapshots committed a day apart, and returns what retention leaves an hour after the last.
func nightAt(t *testing.T, root string, from, to int64) (left []int64, now time.Time) {
	t.Helper()
	for n := from; n <= to; n++ {
		dir := filepath.Join(root, layout.SnapshotsName, layout.SnapshotName(n))
		test.OK(t, os.MkdirAll(dir, 0o700))
		now = firstDay.AddDate(0, 0, int(n))
		m := layout.Manifest{FormatVersion: layout.FormatVersion, Snapshot: n, CommittedAt: now}
		raw, err := m.Encode()
		test.OK(t, err)
		test.OK(t, os.WriteFile(filepath.Join(dir, layout.ManifestName), raw, 0o600))
		now = now.Add(time.Hour)
		current, err := layout.OpenSnapshot(wholeDisk, root, n)
		if err == nil {
			err = new(retirer).Retire(wholeDisk, root, current, now)
		}
		test.OK(t, err)
	}
	left, err := layout.SnapshotNumbers(wholeDisk, root)
	test.OK(t, err)
	return left, now
}

func mustPin(t *testing.T, root, catalog string, n int64, now time.Time) {
	t.Helper()
	p, err := Pin(root, catalog, n)
	test.OK(t, err)
	test.OK(t, os.WriteFile(catalog, nil, 0o600))
	test.OK(t, p.Settle(now))
}

func wantLeft(t *testing.T, got []int64, want ...int64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("snapshots %v are left, want %v", got, want)
	}
}

// A catalog's snapshot stays until the catalog is replaced or removed.
func TestPinnedSnapshotsStay(t *testing.T) {
	root, catalog := t.TempDir(), filepath.Join(t.TempDir(), "callhouse.duckdb")
	left, now := nightAt(t, root, 1, 5)
	wantLeft(t, left, 3, 4, 5)
	mustPin(t, root, catalog, 5, now)
	left, now = nightAt(t, root, 6, 40)
	wantLeft(t, left, 5, 38, 39, 40)
	if !IsPinned(root, catalog) || IsPinned(root, catalog+"x") {
		t.Error("IsPinned does not know which catalogs are the warehouse's")
	}

	// The catalog is replaced: readers of the old one keep its snapshot for a day.
	mustPin(t, root, catalog, 40, now)
	current, err := layout.OpenSnapshot(wholeDisk, root, 40)
	if err == nil {
		err = new(retirer).Retire(wholeDisk, root, current, now.Add(keepAge-time.Minute))
	}
	test.OK(t, err)
	left, err = layout.SnapshotNumbers(wholeDisk, root)
	test.OK(t, err)
	wantLeft(t, left, 5, 38, 39, 40)
	left, _ = nightAt(t, root, 41, 41)
	wantLeft(t, left, 39, 40, 41)

	left, _ = nightAt(t, root, 42, 50)
	wantLeft(t, left, 40, 48, 49, 50)
	test.OK(t, os.Remove(catalog))
	left, _ = nightAt(t, root, 51, 51)
	wantLeft(t, left, 49, 50, 51)
	if IsPinned(root, catalog) {
		t.Error("the pin outlives its catalog")
	}
}

// Between the pin and the swap both snapshots are kept, if necessary forever: the program may have
// been killed there.
func TestPinBeforeSwap(t *testing.T) {
	root, catalog := t.TempDir(), filepath.Join(t.TempDir(), "callhouse.duckdb")
	_, now := nightAt(t, root, 1, 3)
	mustPin(t, root, catalog, 3, now)
	left, _ := nightAt(t, root, 4, 9)
	wantLeft(t, left, 3, 7, 8, 9)
	p, err := Pin(root, catalog, 9)
	test.OK(t, err)
	test.OK(t, p.Close())
	left, _ = nightAt(t, root, 10, 20)
	wantLeft(t, left, 3, 9, 18, 19, 20)
}

// A snapshot that a process reads stays until it is released.
func TestHeldSnapshotsStay(t *testing.T) {
	root := t.TempDir()
	nightAt(t, root, 1, 3)
	s, err := layout.OpenSnapshot(wholeDisk, root, 2)
	test.OK(t, err)
	free := s.Hold()
	left, _ := nightAt(t, root, 4, 9)
	wantLeft(t, left, 2, 7, 8, 9)
	test.OK(t, free())
	left, _ = nightAt(t, root, 10, 10)
	wantLeft(t, left, 8, 9, 10)
}

// While a catalog is being made, nothing is retired: its pin may just be changing.
func TestNothingIsRetiredWhileACatalogIsMade(t *testing.T) {
	root, catalog := t.TempDir(), filepath.Join(t.TempDir(), "callhouse.duckdb")
	nightAt(t, root, 1, 3)
	p, err := Pin(root, catalog, 3)
	test.OK(t, err)
	left, now := nightAt(t, root, 4, 6)
	wantLeft(t, left, 1, 2, 3, 4, 5, 6)
	test.OK(t, p.Settle(now))
	left, _ = nightAt(t, root, 7, 7) // the catalog itself was never made
	wantLeft(t, left, 5, 6, 7)
}

// An unreadable pin may pin anything, so nothing is removed.
func TestUnreadablePin(t *testing.T) {
	for name, content := range map[string]string{"damaged": "{", "later": `{"catalogs":[]}`} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			nightAt(t, root, 1, 3)
			test.OK(t, os.MkdirAll(filepath.Join(root, layout.PinsName), 0o700))
			path := pinPath(root, "/c")
			test.OK(t, os.WriteFile(path, []byte(content), 0o600))
			left, _ := nightAt(t, root, 4, 6)
			wantLeft(t, left, 1, 2, 3, 4, 5, 6)
			test.OK(t, os.Remove(path))
			left, _ = nightAt(t, root, 7, 7)
			wantLeft(t, left, 5, 6, 7)
		})
	}
}
