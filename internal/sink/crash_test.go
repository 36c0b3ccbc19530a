package sink

import (
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

var (
	every = flag.Int("every", 29, "with -long, in tests that fail one operation after the other, try every n-th")
)

func init() { longtest.Checks(5, 100) }

// states is what the sink acknowledged: by call, the highest version put; or the fate of the call.
type states map[string]int

const (
	isForgotten = -1 // its forgetting was acknowledged
	inDoubt     = -2 // its forgetting was requested, but not acknowledged
)

// story writes a warehouse through two runs: puts, commits, a commit that rewrites a day, one that compacts a
// month while calls of it come in, one that only compacts, one that changes a compacted month, one that changes
// nothing, a rollback, the removal of old snapshots, and a call that is forgotten and comes in again. It stops
// at the first error, like extract, and returns it; want holds what was acknowledged until then.
func story(fsys disk.FS, root string, workers int, want states) error {
	if err := runOf(fsys, root, workers, 0, want); err != nil {
		return err
	}
	return runOf(fsys, root, workers, 1, want)
}

// runOf is the n-th run of the story. The second one comes two days later, so that the first one's
// snapshots are old enough for removal.
func runOf(fsys disk.FS, root string, workers, n int, want states) error {
	ctx, now := context.Background(), testDay.AddDate(0, 0, 2*n)
	w, err := Open(Options{Root: root, RunID: layout.RunID(now, uint32(n)), FS: fsys, Workers: workers, Now: func() time.Time { return now }})
	if err != nil {
		return err
	}
	err = func() error {
		if _, err := w.Recover(ctx); err != nil {
			return err
		}
		for version := 1; version <= 3; version++ {
			ids := []string{"a", "b", "c"}[:4-version]
			if n == 1 && version < 3 {
				ids = append(ids, "y", "z") // of the month before
			}
			if n == 0 && version == 1 {
				ids = append(ids, "f")
			}
			for _, id := range ids {
				if err := w.Put(ctx, storyRecord(id, version+10*n)); err != nil {
					return err
				}
				want[id] = version + 10*n
			}
			var months func(*Reader, time.Time, map[string]bool) []string
			if n == 0 && version == 2 {
				months = compacting("2026-11")
			}
			err := w.commit(ctx, doneRow(w), months)
			if err == nil && n == 1 && version == 2 {
				want["f"] = inDoubt
				if _, err = w.Forget(ctx, Selection{CallIDs: []string{"f"}}, false, nil); err == nil {
					want["f"] = isForgotten
					err = w.Put(ctx, storyRecord("f", 99))
				}
			}
			if err == nil && n == 1 && version == 1 {
				err = compact(w, "2026-10")
			}
			if err != nil {
				return err
			}
		}
		if err := w.Commit(ctx, doneRow(w)); err != nil || n == 0 {
			return err
		}
		_, err := w.Rollback(ctx, w.Snapshot().Manifest.Snapshot-1, rolledBack(w))
		return err
	}()
	return errors.Join(err, w.Close())
}

// storyRecord makes version v of a call; its turns identify the version.
func storyRecord(id string, v int) schema.Record {
	start := testDay.AddDate(0, 0, -int(id[0]-'a')).UnixMilli()
	end := start + 1000
	return schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: start + int64(v),
		Body: body(id, &start, &end, "ended", "positive", v)}
}

// checkStory opens the warehouse as the next run would, and checks that everything acknowledged is
// there once and complete, and nothing that was never put.
func checkStory(t *testing.T, fsys disk.FS, root string, want states) {
	t.Helper()
	now := testDay.AddDate(0, 0, 4)
	w, err := Open(Options{Root: root, RunID: layout.RunID(now, 99), FS: fsys, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatalf("the warehouse does not open: %v", err)
	}
	defer w.Close()
	if _, err := w.Recover(context.Background()); err != nil {
		t.Fatalf("what was left is not taken in: %v", err)
	}
	if err := w.Commit(context.Background(), doneRow(w)); err != nil {
		t.Fatalf("the next commit fails: %v", err)
	}
	if want["f"] == inDoubt {
		if _, err := w.Forget(context.Background(), Selection{CallIDs: []string{"f"}}, false, nil); err != nil {
			t.Fatalf("what may have been forgotten cannot be forgotten again: %v", err)
		}
		want["f"] = isForgotten
	}
	if want["f"] == isForgotten {
		checkForgotten(t, fsys, root, w.Snapshot(), "f")
		delete(want, "f")
	}
	found := map[string]bool{}
	r := NewReader(fsys, w.Snapshot(), nil)
	for _, f := range r.Files(schema.Calls.Name) {
		test.OK(t, r.EachCall(context.Background(), f.Period, nil, func(call *calls.Call) error {
			id := string(call.ID())
			if found[id] {
				t.Fatalf("call %s is there twice", id)
			}
			found[id] = true
			// An unacknowledged put may be there or not.
			if got := call.Turns().Len(); got < want[id] {
				t.Fatalf("call %s has version %d, version %d was acknowledged", id, got, want[id])
			}
			return nil
		}))
	}
	for id := range want {
		if !found[id] {
			t.Fatalf("call %s was acknowledged and is lost", id)
		}
	}
	if refs, err := ListSegments(fsys, root); err != nil || len(refs) > 0 {
		t.Fatalf("the journal holds %v after a commit (%v)", refs, err)
	}
}

// checkForgotten looks for a call in every snapshot on disk.
func checkForgotten(t *testing.T, fsys disk.FS, root string, current *layout.Snapshot, id string) {
	t.Helper()
	numbers, err := layout.SnapshotNumbers(fsys, root)
	test.OK(t, err)
	for _, n := range numbers {
		s, err := layout.OpenSnapshot(fsys, root, n)
		test.OK(t, err)
		if call, err := NewReader(fsys, s, new(verifiedFiles)).Find(context.Background(), id); err != nil || call != nil {
			t.Fatalf("snapshot %d of %d holds call %s, which was forgotten (%v)", n, current.Manifest.Snapshot, id, err)
		}
	}
}

// storyRoot returns a folder's path that exists both in the file system in memory and on disk,
// since the lock is a real one.
func storyRoot(t *testing.T) (*memFS, string) {
	root := filepath.Join(t.TempDir(), "w")
	test.OK(t, os.Mkdir(root, 0o700))
	m := newMemFS()
	m.mkdirAll(root)
	return m, root
}

// moment is what there is at some point of the story.
type moment struct {
	m    *memFS
	want states
	disk map[string][]byte // the files that are on the real disk
}

func momentOf(t *testing.T, m *memFS, root string, want states) moment {
	files, err := os.ReadDir(root)
	test.OK(t, err)
	now := moment{m.clone(), maps.Clone(want), map[string][]byte{}}
	for _, file := range files {
		now.disk[file.Name()] = test.Read(t, filepath.Join(root, file.Name()))
	}
	return now
}

// again brings a moment back, which can be brought back again.
func (x moment) again(t *testing.T, root string) (*memFS, states) {
	test.OK(t, errors.Join(os.RemoveAll(root), os.Mkdir(root, 0o700)))
	for name, raw := range x.disk {
		test.OK(t, os.WriteFile(filepath.Join(root, name), raw, 0o600))
	}
	return x.m.clone(), maps.Clone(x.want)
}

// failures are the ways in which an operation on the disk fails.
var failures = []struct {
	name           string
	err            error
	stop, powerCut bool
}{
	{"input/output error", syscall.EIO, false, false},
	{"disk full", syscall.ENOSPC, false, false},
	{"killed", errors.New("killed"), true, false},
	{"power cut", errors.New("power cut"), true, true},
}

// Every kind of operation on the disk (with -long, every n-th besides) fails once, and the run goes on
// until it meets the error, or to its end: the warehouse always opens, and holds everything acknowledged.
func TestEveryOperationFailsOnce(t *testing.T) {
	for _, c := range failures {
		if c.stop {
			continue // see TestDeathAtEveryOperation
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, root := storyRoot(t)
			whole := &faultFS{FS: m, root: root, at: -1}
			want := states{}
			begins := []moment{momentOf(t, m, root, want)} // of the runs
			test.OK(t, runOf(whole, root, 1, 0, want))
			first := whole.n
			begins = append(begins, momentOf(t, m, root, want))
			test.OK(t, runOf(whole, root, 1, 1, want))
			for _, k := range chosen(whole.log, *every) {
				if durable := strings.Contains(whole.log[k], "sync"); !longtest.On() && durable != errors.Is(c.err, syscall.EIO) {
					continue // what is not made durable mostly fails otherwise than what has no room
				}
				n := 0
				if k >= first {
					n = 1
				}
				m, want = begins[n].again(t, root)
				f := &faultFS{FS: m, root: root, at: k, err: c.err, n: n * first, log: slices.Clone(whole.log[:n*first])}
				err := runOf(f, root, 1, n, want)
				if err == nil && n == 0 && longtest.On() { // otherwise checkStory is the next run
					err = runOf(f, root, 1, 1, want)
				}
				if !f.fired {
					t.Fatalf("operation %d did not take place", k)
				}
				if errors.Is(c.err, syscall.ENOSPC) && err != nil && !disk.IsNoSpace(err) {
					t.Fatalf("operation %d: a full disk is reported as %v", k, err)
				}
				if checkStory(t, m, root, want); t.Failed() {
					t.Fatalf("after operation %d: %s", k, f.log[k])
				}
			}
		})
	}
}

// The process dies once before each kind of operation on the disk (with -long, every n-th besides),
// or with half of it written, keeping either everything written (every second time) or only synced
// data: the warehouse opens, and holds everything acknowledged.
func TestDeathAtEveryOperation(t *testing.T) {
	t.Parallel()
	m, root := storyRoot(t)
	dry := &faultFS{FS: m, root: root, at: -1}
	test.OK(t, story(dry, root, 1, states{}))
	deaths, ops, want := map[int]moment{}, chosen(dry.log, *every), states{}
	m, root = storyRoot(t)
	f := &faultFS{FS: m, root: root, at: -1, before: func(k int) {
		if slices.Contains(ops, k) {
			deaths[k] = momentOf(t, m, root, want)
		}
	}}
	test.OK(t, story(f, root, 1, want))
	var last moment // after a power cut: many operations change nothing that lasts
	tried := longtest.Each(2)
	for i, k := range ops {
		for _, what := range []string{"a kill", "a power cut"} {
			d := deaths[k]
			if what == "a kill" && !tried(i) {
				continue
			}
			if what == "a power cut" {
				if d.m = d.m.afterPowerCut(); reflect.DeepEqual(d, last) {
					continue
				}
				last = d
			}
			m, want := d.again(t, root)
			if checkStory(t, m, root, want); t.Failed() {
				t.Fatalf("after %s at operation %d: %s", what, k, f.log[k])
			}
		}
	}
}

// The order of operations makes a commit safe, so a golden file shows changes in review.
func TestOrderOfOperations(t *testing.T) {
	m, root := storyRoot(t)
	f := &faultFS{FS: m, root: root, at: -1}
	test.OK(t, story(f, root, 1, states{}))
	var lines []string
	last := ""
	for _, line := range f.log {
		// The number of writes of a Parquet writer does not matter.
		if line != last || !strings.HasPrefix(line, "write ") {
			lines = append(lines, line)
		}
		last = line
	}
	got := strings.Join(lines, "\n") + "\n"
	test.Golden(t, filepath.Join("testdata", "operations.golden"), got)
}
