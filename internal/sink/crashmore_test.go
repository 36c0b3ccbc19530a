package sink

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// load copies a folder of the disk into a file system in memory, all synced.
func (m *memFS) load(t *testing.T, from, to string) {
	t.Helper()
	m.mkdirAll(to)
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		n := newMemDir()
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			n = &memNode{}
			n.target, err = os.Readlink(path)
		case !d.IsDir():
			n = &memNode{}
			n.content, err = os.ReadFile(path)
			n.syncedContent = n.content
		}
		if err != nil {
			return err
		}
		if err := m.put("load", filepath.Join(to, rel), n); err != nil {
			return err
		}
		return m.SyncDir(filepath.Dir(filepath.Join(to, rel)))
	})
	test.OK(t, err)
}

// walk acts on a warehouse repeatedly: each time another operation on the disk fails (in the quick tests: one
// of each kind), or the process dies at it, or the power is cut. Then check inspects the result.
func walk(t *testing.T, from string, least int, act func(disk.FS, string) error, check func(*testing.T, disk.FS, string)) {
	for _, c := range failures {
		t.Run(c.name, func(t *testing.T) {
			base, root := storyRoot(t)
			base.load(t, from, root)
			try := func(k int) (*memFS, *faultFS, error) {
				m := base.afterPowerCut() // a copy, since everything was synced
				f := &faultFS{FS: m, root: root, at: k, err: c.err, stop: c.stop}
				err := act(f, root)
				return m, f, err
			}
			m, whole, err := try(-1)
			if err != nil || whole.n < least {
				t.Fatalf("%d operations, %v", whole.n, err)
			}
			check(t, m, root)
			ops := chosen(whole.log, min(*every, max(1, least/3)))
			t.Logf("%d of %d operations fail", len(ops), whole.n)
			for _, k := range ops {
				m, f, _ := try(k)
				if !f.fired {
					t.Fatalf("operation %d did not take place", k)
				}
				if c.powerCut {
					m = m.afterPowerCut()
				}
				check(t, m, root)
				if t.Failed() {
					t.Fatalf("after operation %d: %s", k, f.log[k])
				}
			}
		})
	}
}

// at opens a warehouse of a walk.
func at(fsys disk.FS, root string, days int) (*Warehouse, error) {
	now := testDay.AddDate(0, 0, days)
	return Open(Options{Root: root, RunID: layout.RunID(now, uint32(days)), FS: fsys, Workers: 1, Now: func() time.Time { return now }})
}

// wholeOn verifies a warehouse on any file system, and the figures in its manifest: by them a run
// chooses the files that it reads.
func wholeOn(t *testing.T, fsys disk.FS, root string) {
	t.Helper()
	r, err := Verify(context.Background(), VerifyOptions{Root: root, FS: fsys})
	test.OK(t, err)
	if !r.Whole() {
		t.Fatalf("the warehouse is damaged: %v", r.Problems)
	}
	s, err := currentSnapshot(fsys, root)
	test.OK(t, err)
	for _, f := range s.Manifest.FilesOf(schema.Calls.Name) {
		recordings := s.Manifest.FileOf(schema.Recordings.Name, f.Period)
		want, counted := map[string]*layout.File{f.Table: f}, map[string]*layout.File{f.Table: identityOf(f)}
		if recordings != nil {
			want[recordings.Table], counted[recordings.Table] = recordings, identityOf(recordings)
		}
		test.OK(t, NewReader(fsys, s, nil).EachCall(context.Background(), f.Period, nil, func(c *calls.Call) error {
			countCall(counted[f.Table], c)
			if _, has := c.Recording(); has {
				widen(counted[recordings.Table], c.StartAt())
				countRecording(counted[recordings.Table], c)
			}
			return nil
		}))
		if diff := cmp.Diff(want, counted); diff != "" {
			t.Fatalf("the figures of %s differ from its rows (-figures +rows):\n%s", f.Period, diff)
		}
	}
}

// identityOf returns a file's entry without its figures.
func identityOf(f *layout.File) *layout.File {
	return &layout.File{Table: f.Table, Path: f.Path, Period: f.Period, Rows: f.Rows, Bytes: f.Bytes, SHA256: f.SHA256, Country: f.Country}
}

// A run that commits the journal of a killed one may itself be killed anywhere: the next one
// commits all of it, once.
func TestEveryOperationOfARecovery(t *testing.T) {
	longtest.Only(t)
	from := filepath.Join(t.TempDir(), "w")
	want := states{}
	for n := range 2 {
		w := night(t, nil, from, n)
		for i, id := range []string{"a", "b", "y", "z"}[2*n:] {
			test.OK(t, w.Put(context.Background(), storyRecord(id, 1+i+n)))
			want[id] = 1 + i + n
		}
		if n == 0 {
			test.OK(t, w.Commit(t.Context(), doneRow(w)))
			test.OK(t, w.Put(context.Background(), storyRecord("a", 5)))
			want["a"] = 5
		}
		test.OK(t, w.Close())
	}
	// A kill within a commit leaves an unfinished snapshot, or a complete one that never became current.
	first := damageTo(t, from).s
	copySnapshot(t, first, 2)
	test.OK(t, os.CopyFS(filepath.Join(from, layout.SnapshotsName, layout.TempName("000003", disk.NewID())), os.DirFS(first.Dir)))
	walk(t, from, 60, func(fsys disk.FS, root string) error {
		w, err := at(fsys, root, 2)
		if err != nil {
			return err
		}
		if len(w.Leftover()) != 2 {
			return errors.Join(errors.New("not all was found"), w.Close())
		}
		_, err = w.Recover(context.Background())
		return errors.Join(err, w.Close())
	}, func(t *testing.T, fsys disk.FS, root string) {
		acknowledged := states{}
		for id, v := range want {
			acknowledged[id] = v
		}
		checkStory(t, fsys, root, acknowledged)
		wholeOn(t, fsys, root)
	})
}
