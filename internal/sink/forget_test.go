package sink

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// older makes a warehouse of three runs, whose snapshots hold the calls a, b, y and z in different
// states, compacted and not.
func older(t *testing.T) *Warehouse {
	t.Helper()
	root := filepath.Join(t.TempDir(), "w")
	var w *Warehouse
	for n := range 3 {
		w = night(t, nil, root, n)
		recs := []schema.Record{storyRecord("a", 1+n), storyRecord("b", 2)}
		if n == 1 {
			recs = append(recs, storyRecord("y", 1), storyRecord("z", 2))
		}
		test.OK(t, w.Put(context.Background(), recs...))
		test.OK(t, w.Finish(context.Background(), doneRow(w)))
		if n < 2 {
			test.OK(t, w.Close())
		}
	}
	return w
}

func mustForget(t *testing.T, w *Warehouse, sel Selection) *Receipt {
	t.Helper()
	r, err := w.Forget(context.Background(), sel, false, nil)
	test.OK(t, err)
	return r
}

// holds returns the ids of the calls of a snapshot.
func holds(t *testing.T, s *layout.Snapshot) string {
	t.Helper()
	var ids []string
	for id := range readCalls(t, anywhere, s) {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return strings.Join(ids, "")
}

func TestForget(t *testing.T) {
	w := older(t)
	root := w.opts.Root
	plan, err := w.Forget(context.Background(), Selection{CallIDs: []string{"a"}}, true, nil)
	if err != nil || plan.Erased.Turns != 3 || plan.Removed != 2 || plan.Snapshot != 3 {
		t.Fatalf("the dry run says %+v, %v", plan, err)
	}
	r := mustForget(t, w, Selection{CallIDs: []string{"a", "nobody"}})
	if r.Snapshot != 4 || len(r.Calls) != 2 || r.Removed != 2 || r.Tombstones.Calls != 2 {
		t.Fatalf("the receipt is %+v", r)
	}
	if e := r.Erased; e.Was != 3 || e.Now != 4 || e.Calls != 1 || e.Turns != 3 || e.Items != 1 {
		t.Errorf("erased %+v", e)
	}
	// The only snapshot does not contain it, and is consistent.
	if all := snapshotsOf(t, root); !slices.Equal(all, []string{"000004"}) || holds(t, w.Snapshot()) != "byz" {
		t.Fatalf("retained %v, with %s", all, holds(t, w.Snapshot()))
	}
	if _, err := w.Rollback(t.Context(), 0, rolledBack(w)); !errors.As(err, new(*NotRetainedError)) {
		t.Errorf("a rollback says %v", err)
	}
	wholeOn(t, anywhere, root)
	noTrace(t, root, "a", "nobody")
	// Later records of it are dropped, by this run and others.
	for n := 5; n < 7; n++ {
		test.OK(t, w.Put(context.Background(), storyRecord("a", 9), storyRecord("b", 1+n)))
		test.OK(t, w.Commit(t.Context(), doneRow(w)))
		test.Same(t, "byz", holds(t, w.Snapshot()), "the next commit holds")
		test.OK(t, w.Close())
		w = night(t, nil, root, n)
	}
	// A rollback neither brings it back nor loses the tombstones.
	_, err = w.Rollback(context.Background(), 4, rolledBack(w))
	test.OK(t, err)
	test.OK(t, w.Put(context.Background(), storyRecord("a", 9), storyRecord("c", 1)))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.Same(t, "bcyz", holds(t, w.Snapshot()), "after a rollback the calls")
	// Once more, and another call.
	again := mustForget(t, w, Selection{CallIDs: []string{"a"}})
	if again.Snapshot != w.Snapshot().Manifest.Snapshot || again.Erased.Calls != 0 || again.Calls[0] == "" {
		t.Errorf("forgetting it again: %+v", again)
	}
	mustForget(t, w, Selection{CallIDs: []string{"c"}})
	test.Same(t, "byz", holds(t, w.Snapshot()), "then the calls")
}

// noTrace fails if any file of the warehouse contains one of the ids.
func noTrace(t *testing.T, root string, ids ...string) {
	t.Helper()
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, id := range ids {
			if len(id) > 1 && strings.Contains(string(raw), id) {
				t.Errorf("%s holds %s", path, id)
			}
		}
		return err
	})
	test.OK(t, err)
}

func TestForgetByNumberAndTime(t *testing.T) {
	longtest.Only(t)
	for _, c := range []struct {
		name string
		sel  Selection
		left string
	}{
		{"caller", Selection{Numbers: []string{"1"}}, ""}, // every call of the story is from 1 to 2
		{"callee", Selection{Numbers: []string{"2"}}, ""},
		{"another number", Selection{Numbers: []string{"12"}}, "abyz"},
		{"a month", Selection{Before: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}, "ab"},
		{"in the middle of a month", Selection{Before: testDay.AddDate(0, 0, -24)}, "aby"},
		{"at its very start", Selection{Before: testDay}, "a"},
		{"long ago", Selection{Before: testDay.AddDate(-1, 0, 0)}, "abyz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := older(t)
			r := mustForget(t, w, c.sel)
			test.Same(t, c.left, holds(t, w.Snapshot()), "left")
			test.Same(t, 4-len(c.left), len(r.Calls), "calls in the receipt")
			wholeOn(t, anywhere, w.opts.Root)
		})
	}
}

// All snapshots but the current one are removed; calls that only others have are forgotten, too.
func TestForgetOfOlderSnapshots(t *testing.T) {
	w := older(t)
	_, err := w.Rollback(t.Context(), 1, rolledBack(w)) // it has neither y nor z
	test.OK(t, err)
	r := mustForget(t, w, Selection{CallIDs: []string{"a"}, Before: testDay.AddDate(0, 0, -24)})
	if r.Erased.Was != 4 || r.Removed != 3 || len(r.Calls) != 2 {
		t.Errorf("rewritten is %d, removed %d; the calls are %v", r.Erased.Was, r.Removed, r.Calls)
	}
	if all := snapshotsOf(t, w.opts.Root); len(all) != 1 {
		t.Fatalf("retained %v", all)
	}
	put(t, w, storyRecord("z", 2), storyRecord("c", 1))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.Same(t, "bc", holds(t, w.Snapshot()), "the next commit holds")
	wholeOn(t, anywhere, w.opts.Root)
}

// snapshotsOf returns the names in the folder of the snapshots.
func snapshotsOf(t *testing.T, root string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, layout.SnapshotsName))
	test.OK(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// What forget removes need not be readable: an older snapshot with any damage is removed,
// and its calls are found in it as far as it can be read.
func TestForgetRemovesDamagedSnapshots(t *testing.T) {
	longtest.Only(t)
	of := func(w *Warehouse, n int64, path string) string {
		return filepath.Join(w.opts.Root, layout.SnapshotsName, layout.SnapshotName(n), path)
	}
	calls := func(t *testing.T, w *Warehouse, n int64) string {
		t.Helper()
		s, err := layout.OpenSnapshot(anywhere, w.opts.Root, n)
		test.OK(t, err)
		return of(w, n, s.Manifest.FileOf(schema.Calls.Name, today).Path) // only this snapshot has it
	}
	replace := func(path string, raw []byte) error {
		return errors.Join(os.Remove(path), os.WriteFile(path, raw, 0o600))
	}
	for name, do := range longtest.Sorted(map[string]func(t *testing.T, w *Warehouse) error{
		"none":          func(*testing.T, *Warehouse) error { return nil },
		"missing file":  func(t *testing.T, w *Warehouse) error { return os.Remove(calls(t, w, 1)) },
		"missing files": func(_ *testing.T, w *Warehouse) error { return os.RemoveAll(of(w, 1, "calls")) },
		"cut short":     func(t *testing.T, w *Warehouse) error { return replace(calls(t, w, 1), []byte("PAR1")) },
		"folder for a file": func(t *testing.T, w *Warehouse) error {
			p := calls(t, w, 1)
			return errors.Join(os.Remove(p), os.Mkdir(p, 0o700))
		},
		"broken manifest": func(_ *testing.T, w *Warehouse) error { return replace(of(w, 1, layout.ManifestName), []byte("{")) },
		"no manifest":     func(_ *testing.T, w *Warehouse) error { return os.Remove(of(w, 1, layout.ManifestName)) },
		"empty folder": func(_ *testing.T, w *Warehouse) error {
			p := of(w, 1, "")
			return errors.Join(os.RemoveAll(p), os.Mkdir(p, 0o700))
		},
		"newer format": func(_ *testing.T, w *Warehouse) error {
			return replace(of(w, 1, layout.ManifestName), []byte(`{"format_version":99}`))
		},
		"two": func(t *testing.T, w *Warehouse) error {
			return errors.Join(os.Remove(calls(t, w, 1)), os.Remove(of(w, 2, layout.ManifestName)))
		},
		"damaged and mended": func(t *testing.T, w *Warehouse) error {
			if err := os.Remove(of(w, 3, w.Snapshot().Manifest.FilesOf(schema.Calls.Name)[0].Path)); err != nil {
				return err
			}
			_, err := w.Repair(t.Context(), false, repaired(w), nil)
			return err
		},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := older(t)
			test.OK(t, do(t, w))
			before := snapshotsOf(t, w.opts.Root)
			sel := Selection{CallIDs: []string{"a"}, Before: testDay.AddDate(0, 0, -24)} // a and z
			plan, err := w.Forget(t.Context(), sel, true, nil)
			test.OK(t, err)
			r := mustForget(t, w, sel)
			for _, got := range []*Receipt{plan, r} {
				if got.Removed != int64(len(before))-1 || len(got.Calls) != 2 {
					t.Errorf("removed %d; calls %v", got.Removed, got.Calls)
				}
			}
			if now := snapshotsOf(t, w.opts.Root); len(now) != 1 || slices.Contains(before, now[0]) {
				t.Errorf("there are %v", now)
			}
			want := "by"
			if name == "damaged and mended" { // the month of y was damaged; older snapshots have only its days
				want = "b"
			}
			test.Same(t, want, holds(t, w.Snapshot()), "the calls")
		})
	}
}

// The ids of which nothing is stored are unknown, unless an older snapshot has the call.
func TestForgetFindsUnknownIDs(t *testing.T) {
	w := older(t)
	test.OK(t, w.Put(t.Context(), personRecords(t, 0, true)...))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	_, err := w.Rollback(t.Context(), 1, rolledBack(w))
	test.OK(t, err)
	put(t, w, storyRecord("c", 1))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	mustForget(t, w, Selection{CallIDs: []string{"c"}}) // removes the others
	put(t, w, storyRecord("y", 1))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	_, err = w.Rollback(t.Context(), w.Snapshot().Manifest.Snapshot-1, rolledBack(w))
	test.OK(t, err)
	sel := Selection{CallIDs: []string{"a", "c", "y", "z", "a ", "z", "%41"}, Customers: []string{"customer-0", "a%2Fb"}}
	plan, err := w.Forget(t.Context(), sel, true, nil)
	if want := []string{"z", "a ", "%41", "customer-0", "a/b"}; err != nil || !slices.Equal(plan.Unknown, want) {
		t.Errorf("unknown are %q, %v, want %q", plan.Unknown, err, want)
	}
}

// Damage to the current snapshot is an error before anything is changed, and leads to a repair.
func TestForgetNeedsTheCurrentSnapshot(t *testing.T) {
	w := older(t)
	file := w.Snapshot().Manifest.FilesOf(schema.Turns.Name)[0]
	test.OK(t, os.WriteFile(w.Snapshot().Path(file)+".new", []byte("PAR1"), 0o600))
	test.OK(t, os.Rename(w.Snapshot().Path(file)+".new", w.Snapshot().Path(file)))
	_, err := w.Forget(t.Context(), Selection{CallIDs: []string{"a"}}, false, nil)
	if damage, ok := errors.AsType[*layout.DamageError](err); !ok || !strings.Contains(damage.Hint(), "extract repair") {
		t.Errorf("forget says %v", err)
	}
	if all := snapshotsOf(t, w.opts.Root); len(all) != 3 || w.Snapshot().Manifest.Snapshot != 3 {
		t.Errorf("there are %v", all)
	}
}
