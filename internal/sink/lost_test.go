package sink

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// aRun opens a warehouse as the n-th run, which gets a row.
func aRun(t *testing.T, fsys disk.FS, root string, n int) *Warehouse {
	t.Helper()
	w, err := openRun(fsys, root, n)
	test.OK(t, err)
	return w
}

func openRun(fsys disk.FS, root string, n int) (*Warehouse, error) {
	now := testDay.Add(time.Duration(n) * time.Hour)
	return Open(Options{Root: root, FS: fsys, RunID: layout.RunID(now, uint32(n)), Now: func() time.Time { return now }, Records: true})
}

func fetchOne(t *testing.T, w *Warehouse, id string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"id": id, "status": "ended", "start_at": testDay.UnixMilli(), "end_at": testDay.UnixMilli() + 1000})
	test.OK(t, err)
	test.OK(t, w.Put(t.Context(), schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: w.opts.Now().UnixMilli(), Body: body}))
}

// die releases the warehouse like a killed process.
func die(t *testing.T, w *Warehouse) {
	t.Helper()
	test.OK(t, w.lock.Drop())
}

// runWords returns the rows of runs as "outcome: error".
func runWords(t *testing.T, root string) (out []string) {
	t.Helper()
	h, err := ReadHistory(root)
	test.OK(t, err)
	for _, r := range h.Runs {
		out = append(out, r.Outcome+": "+r.Error)
	}
	return out
}

func failedRow(w *Warehouse, text string) schema.Run {
	return schema.Run{ID: w.opts.RunID, StartedAt: w.opts.Now().UnixMilli(), Outcome: schema.OutcomeFailed, Error: text, Requests: 7}
}

func sameRuns(t *testing.T, root, want string) {
	t.Helper()
	if got := strings.Join(runWords(t, root), "\n"); got != want {
		t.Errorf("the runs are\n%s\nwant\n%s", got, want)
	}
}

// A run that cannot commit what it fetched commits only its row; the next one commits what was
// fetched, and both are in the rows.
func TestSingleRecord(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	w := aRun(t, nil, root, 0)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.OK(t, w.Close())

	fsys := &faultFS{FS: anywhere, root: root, err: syscall.ENOSPC, at: -1}
	w = aRun(t, fsys, root, 1)
	fetchOne(t, w, "one")
	fsys.at = fsys.n
	if err := w.Commit(t.Context(), doneRow(w)); !disk.IsNoSpace(err) {
		t.Fatalf("the commit gave %v", err)
	}
	test.OK(t, w.Record(t.Context(), failedRow(w, "no room")))
	test.Same(t, 0, w.Snapshot().Manifest.Rows(schema.Calls.Name), "calls were committed")
	test.OK(t, w.Close())
	sameRuns(t, root, "done: \nfailed: no room")

	w = aRun(t, nil, root, 2)
	if left := w.Leftover(); len(left) != 1 {
		t.Fatalf("left over: %v", left)
	}
	_, err := w.Recover(t.Context())
	test.OK(t, err)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	runs, err := w.Runs()
	if err != nil || len(runs) != 3 || runs[1].CallsNew != 1 || runs[1].Requests != 8 {
		t.Errorf("the row of the second run is %+v, %v", runs, err)
	}
	test.OK(t, w.Close())
	sameRuns(t, root, "done: \nfailed: no room\ndone: ")
}

// On a full disk the lock keeps a note of each run, and the first run that can write makes the rows.
func TestRowsOfAFullDisk(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	w := aRun(t, nil, root, 0)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.OK(t, w.Close())
	for n := 1; n <= 2; n++ {
		fsys := &faultFS{FS: anywhere, root: root, err: syscall.ENOSPC, at: -1}
		w = aRun(t, fsys, root, n)
		fsys.at, fsys.stop = fsys.n, true
		if err := w.Record(t.Context(), failedRow(w, "no room")); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("Record gave %v", err)
		}
		test.OK(t, w.Close())
	}
	sameRuns(t, root, "done: \nfailed: no room\nfailed: no room")
	if s, err := layout.Current(root); err != nil || s.Manifest.Rows(schema.Runs.Name) != 1 {
		t.Fatalf("the table runs: %v, %v", s.Manifest.Rows(schema.Runs.Name), err)
	}
	w = aRun(t, nil, root, 3)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.OK(t, w.Close())
	sameRuns(t, root, "done: \nfailed: no room\nfailed: no room\ndone: ")
	if s, err := layout.Current(root); err != nil || s.Manifest.Rows(schema.Runs.Name) != 4 {
		t.Errorf("the table runs has %d rows, %v", s.Manifest.Rows(schema.Runs.Name), err)
	}
	if h, _, err := disk.Who(root); err != nil || len(h.Lost) != 0 || !h.Released {
		t.Errorf("the lock says %+v, %v", h, err)
	}
}

// The lock's line has room for the newest of many notes.
func TestManyLostRuns(t *testing.T) {
	root := t.TempDir() // kept, though nothing is committed
	fsys := &faultFS{FS: anywhere, root: root, err: syscall.ENOSPC, at: -1}
	for n := range 12 {
		w := aRun(t, fsys, root, n)
		fsys.at, fsys.stop = fsys.n, true
		if err := w.Record(t.Context(), failedRow(w, strings.Repeat("no room ", 100))); err == nil {
			t.Fatal("the row was written")
		}
		fsys.at = -1
		test.OK(t, w.Close())
	}
	w := aRun(t, nil, root, 12)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	runs, err := w.Runs()
	if err != nil || len(runs) < 2 || runs[len(runs)-2].ID != layout.RunID(testDay.Add(11*time.Hour), 11) {
		t.Errorf("the runs are %+v, %v", runs, err)
	}
	test.OK(t, w.Close())
}

// A run killed before its first put is recorded; a command that is not a run is not.
func TestKilledBeforeItPutAnything(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	w := aRun(t, nil, root, 0)
	die(t, w)
	sameRuns(t, root, "killed: killed before its first commit")
	die(t, night(t, nil, root, 1))
	w = aRun(t, nil, root, 2)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.OK(t, w.Close())
	sameRuns(t, root, "killed: killed before its first commit\ndone: ")

	// One killed between two commits, with an empty journal.
	w = aRun(t, nil, root, 3)
	running := func(Stats, int64) schema.Run {
		return schema.Run{ID: w.opts.RunID, StartedAt: w.opts.Now().UnixMilli(), Outcome: schema.OutcomeRunning}
	}
	test.OK(t, w.Commit(context.Background(), running))
	sameRuns(t, root, "killed: killed before its first commit\ndone: \nrunning: ")
	die(t, w)
	const after = "killed: killed before its first commit\ndone: \nkilled: killed; its commits are kept"
	sameRuns(t, root, after)
	w = aRun(t, nil, root, 4)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.OK(t, w.Close())
	sameRuns(t, root, after+"\ndone: ")
}

// A run that finds a damaged warehouse is recorded once it is repaired.
func TestDamageIsOnRecord(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	w := aRun(t, nil, root, 0)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.OK(t, w.Close())
	manifest := filepath.Join(w.Snapshot().Dir, layout.ManifestName)
	sound := test.Read(t, manifest)
	test.OK(t, os.WriteFile(manifest, sound[:len(sound)/2], 0o600))
	var damaged *layout.DamageError
	if _, err := openRun(nil, root, 1); !errors.As(err, &damaged) {
		t.Fatalf("Open gave %v", err)
	}
	if _, err := ReadHistory(root); !errors.As(err, &damaged) {
		t.Errorf("ReadHistory gave %v", err)
	}
	test.OK(t, os.WriteFile(manifest, sound, 0o600))
	w = aRun(t, nil, root, 2)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.OK(t, w.Close())
	if got := runWords(t, root); len(got) != 3 || !strings.HasPrefix(got[1], "failed: ") || !strings.Contains(got[1], "manifest") {
		t.Errorf("the runs are %q", got)
	}
}

// Who returns the holder of a warehouse, without preventing others from taking it.
func TestWho(t *testing.T) {
	root := t.TempDir() // kept, though nothing is committed
	if h, held, err := disk.Who(root); err != nil || held || h.PID != 0 {
		t.Errorf("of no warehouse: %+v, %v, %v", h, held, err)
	}
	w := aRun(t, nil, root, 0)
	if h, held, err := disk.Who(root); err != nil || !held || h.PID != os.Getpid() || h.RunID != w.opts.RunID {
		t.Errorf("of one that is held: %+v, %v, %v", h, held, err)
	}
	_, err := openRun(nil, root, 9)
	var held *disk.LockedError
	if !errors.As(err, &held) || held.Holder.PID != os.Getpid() || held.Holder.RunID != w.opts.RunID {
		t.Errorf("a second run gets %v", err)
	}
	test.OK(t, w.Close())
	if h, held, err := disk.Who(root); err != nil || held || !h.Released {
		t.Errorf("of one that was: %+v, %v, %v", h, held, err)
	}
	stop, requested := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(requested)
		for {
			select {
			case <-stop:
				return
			default:
				_, _, _ = disk.Who(root)
			}
		}
	}()
	for n := 1; n <= 15; n++ {
		w, err := openRun(nil, root, n)
		if err != nil {
			t.Fatalf("asked about, the warehouse cannot be opened: %v", err)
		}
		test.OK(t, w.Close())
	}
	close(stop)
	<-requested
}

// A record of the journal that this version cannot decode, such as one of an earlier version, is
// skipped with a notice. The rest is committed, and the run's ranges count as not listed.
func TestUndecodableRecords(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	w := night(t, nil, root, 0)
	put(t, w, storyRecord("a", 1))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	put(t, w, storyRecord("b", 1), schema.Record{Kind: schema.KindCovered, FetchedAt: 1, Body: []byte(`{"from":0,"to":100,"listed_at":5}`)})
	test.OK(t, w.journal.Put(t.Context(), []schema.Record{
		{Kind: schema.KindItem, CallID: "a", FetchedAt: 1, Body: []byte(`[1]`)},
		{Kind: schema.KindItem, CallID: "c", FetchedAt: 1, Body: []byte(`{}`)},
		{Kind: schema.KindRecording, CallID: "b", FetchedAt: 1, Body: []byte(`{"state":"lent"}`)},
		{Kind: schema.KindItem, Resource: "agents", CallID: "x", FetchedAt: 1, Body: []byte(`{"id":"y"}`)},
	}))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	if found := readCalls(t, w.opts.FS, w.Snapshot()); len(found) != 2 || found["a"].Turns().Len() != 1 || found["b"].Turns().Len() != 1 {
		t.Errorf("calls %v", found)
	}
	if spans := w.Coverage(); len(spans) > 0 {
		t.Errorf("listed: %v", spans)
	}
	for _, id := range []string{`"a"`, `"b"`, `"c"`, `"x"`} {
		if !strings.Contains(strings.Join(w.Notices(), "\n"), "a record of "+id) {
			t.Errorf("no notice of %s in %q", id, w.Notices())
		}
	}
}
