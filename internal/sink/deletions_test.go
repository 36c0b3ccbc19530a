package sink

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/recording"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

var forgetEvery = longtest.Int("forget-every", 5, 1, "in TestForgetRecordingsKilled, die at every n-th operation")

// deleteFrom is the function Delete of Options over the archive itself.
func deleteFrom(ctx context.Context, address string, list []layout.Deletion) (files, bytes int64, left []layout.Deletion, err error) {
	a, err := recording.Open(recording.Config{To: address})
	if err != nil {
		return 0, 0, list, err
	}
	defer a.Close()
	for _, d := range list {
		stem := recording.StemOf(d.Path)
		if d.Path == "" {
			stem = recording.Stem(d.CallID, testDay)
		}
		done, undone, derr := a.Delete(ctx, []string{stem})
		files, bytes, err = files+done.Files, bytes+done.Bytes, errors.Join(err, derr)
		if len(undone) > 0 {
			left = append(left, d)
		}
	}
	return files, bytes, left, err
}

// archived makes a warehouse with the stored recordings of the calls caller-one and second, whose files are in
// dir. The first has another one, as a killed run leaves it.
func archived(t *testing.T, fsys disk.FS, root, dir string) *Warehouse {
	t.Helper()
	test.OK(t, os.MkdirAll(filepath.Join(dir, testDay.Format("2006/01/02")), 0o700))
	w, err := Open(Options{Root: root, RunID: layout.RunID(testDay, 1), FS: fsys, Now: func() time.Time { return testDay }, Delete: deleteFrom})
	test.OK(t, err)
	w.Archive("file://" + dir)
	for _, id := range []string{"caller-one", "second"} {
		path := recording.Stem(id, testDay) + ".mp3"
		test.OK(t, os.WriteFile(filepath.Join(dir, path), []byte("sound of "+id), 0o600))
		putRecorded(t, w, id, testDay, "https://r.example/"+id, nil)
		put(t, w, outcome(id, testDay, schema.Recording{State: schema.RecordingStored, Bytes: int64(9 + len(id)), SHA256: "ab", Format: "mp3", Path: path, Attempts: 1}))
	}
	test.OK(t, os.WriteFile(filepath.Join(dir, recording.Stem("caller-one", testDay)+".wav"), []byte("more"), 0o600))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	return w
}

// filesIn returns the names of the files in a folder and below.
func filesIn(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, filepath.Base(path))
		}
		return err
	})
	test.OK(t, err)
	return strings.Join(out, " ")
}

// forget deletes the recordings. If the archive is unavailable, they are put on a list until a
// later command deletes them; the receipt counts them, and its check reports them.
func TestForgetRecordings(t *testing.T) {
	t.Parallel()
	dir, root := filepath.Join(t.TempDir(), "audio"), filepath.Join(t.TempDir(), "w")
	w := archived(t, nil, root, dir)
	gone := dir + ".gone"
	test.OK(t, os.Rename(dir, gone))
	r := mustForget(t, w, Selection{CallIDs: []string{"caller-one"}})
	if got := *r.Recordings; got.Files != 0 || got.Left != 1 || got.Why == nil || !strings.Contains(got.Why.Error(), dir) || r.Erased.Recordings != 1 {
		t.Errorf("without an archive: %+v", got)
	}
	test.OK(t, errors.Join(w.Close(), os.Rename(gone, dir)))
	w, err := Open(Options{Root: root, RunID: layout.RunID(testDay, 2), Now: func() time.Time { return testDay }, Delete: deleteFrom})
	test.OK(t, err)
	if got, err := w.DeleteRecordings(t.Context()); err != nil || got.Files != 2 || got.Bytes != 23 || got.Left != 0 {
		t.Errorf("later: %+v, %v", got, err)
	}
	test.Same(t, "second.mp3", filesIn(t, dir), "the files")
	noTrace(t, root, "caller-one")
	r = mustForget(t, w, Selection{CallIDs: []string{"second"}})
	if got := *r.Recordings; got.Files != 1 || got.Left != 0 || filesIn(t, dir) != "" {
		t.Errorf("%+v, and %s is left", got, filesIn(t, dir))
	}
}

// A process dies at every operation of a forget. Then the call and its recording are both there, or
// the next command deletes what is left of the recording.
func TestForgetRecordingsKilled(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	for _, powerCut := range []bool{false, true} {
		both, neither := 0, 0
		for k := 0; ; k += *forgetEvery {
			dir := filepath.Join(t.TempDir(), "audio")
			m, root := storyRoot(t)
			w := archived(t, m, root, dir)
			f := &faultFS{FS: m, root: root, at: k, err: errors.New("killed"), stop: true}
			w.opts.FS = f
			_, err := w.Forget(t.Context(), Selection{CallIDs: []string{"caller-one"}}, false, nil)
			acknowledged := err == nil
			_ = w.Close()
			after := m
			if powerCut {
				after = m.afterPowerCut()
			}
			w, err = Open(Options{Root: root, RunID: layout.RunID(testDay, 2), FS: after, Now: func() time.Time { return testDay }, Delete: deleteFrom})
			test.OK(t, err)
			_, err = w.DeleteRecordings(t.Context())
			test.OK(t, err)
			call, err := NewReader(after, w.Snapshot(), new(verifiedFiles)).Find(t.Context(), "caller-one")
			test.OK(t, err)
			list, err := readDeletions(after, root)
			want := "second.mp3"
			if call != nil {
				want = "caller-one.mp3 caller-one.wav " + want
				both++
			} else {
				neither++
			}
			if got := filesIn(t, dir); got != want || len(list) > 0 || err != nil || acknowledged && call != nil {
				t.Fatalf("operation %d: there are %s, want %s; to delete: %v, %v", k, got, want, list, err)
			}
			test.OK(t, w.Close())
			if !f.fired {
				break
			}
		}
		if both*(*forgetEvery) < 10 || neither == 0 {
			t.Errorf("%d times both were there, %d times neither", both, neither)
		}
		t.Logf("killed %d times", both+neither)
	}
}
