package sink

import (
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// keeping opens a warehouse again as the n-th run, which keeps calls from a time on.
func keeping(t testing.TB, fsys disk.FS, root string, n int, from time.Time) *Warehouse {
	t.Helper()
	now := testDay.Add(time.Duration(n) * time.Hour)
	w, err := Open(Options{Root: root, FS: fsys, RunID: layout.RunID(now, uint32(n)), Now: func() time.Time { return now }, KeepFrom: from})
	test.OK(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func reopen(t testing.TB, w *Warehouse, n int, from time.Time) *Warehouse {
	t.Helper()
	test.OK(t, w.Close())
	return keeping(t, w.opts.FS, w.opts.Root, n, from)
}

func date(t testing.TB, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	test.OK(t, err)
	return d
}

// Calls past their retention are removed: whole days and months without reading or writing them, a
// partly kept month by rewriting it; those still in the journal are never committed.
func TestKeep(t *testing.T) {
	w := monthsBefore(t, "2026-07", "2026-08", "2026-09", "2026-10")
	_, err := w.Compact(t.Context(), []string{"2026-07", "2026-09"}, nil)
	test.OK(t, err)
	span, err := json.Marshal(schema.Span{From: 0, To: testDay.UnixMilli(), ListedAt: testDay.UnixMilli()})
	test.OK(t, err)
	test.OK(t, w.Put(t.Context(), schema.Record{Kind: schema.KindCovered, FetchedAt: testDay.UnixMilli(), Body: span}))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	before := w.Snapshot()
	// Left behind by a killed run.
	putCall(t, w, "old-in-the-journal", date(t, "2026-08-07"), 2)
	putCall(t, w, "old-in-a-month-that-stays", date(t, "2026-09-02"), 2)
	putCall(t, w, "2026-08-b-5", date(t, "2026-08-05").Add(time.Hour), 3)
	putCall(t, w, "new-in-the-journal", date(t, "2026-10-07"), 1)
	from := date(t, "2026-09-06")
	w = reopen(t, w, 2, from)
	gone := before.Path(before.Manifest.FileOf(schema.Calls.Name, "2026-07"))
	raw := test.Read(t, gone)
	raw[40] ^= 1 // what goes need not be whole
	test.OK(t, os.WriteFile(gone, raw, 0o600))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	raw[40] ^= 1
	test.OK(t, os.WriteFile(gone, raw, 0o600))
	s := w.Snapshot()
	want := "2026-09-a-62026-09-b-62026-10-a-52026-10-a-62026-10-b-52026-10-b-6new-in-the-journal"
	test.Same(t, want, holds(t, s), "kept")
	readCalls(t, anywhere, s)
	did, _ := w.Totals()
	if did.Aged != 10 || did.New != 1 {
		t.Errorf("counted %d erased and %d new calls, want 10 and 1", did.Aged, did.New)
	}
	// Four files of September, three of the new call's day, and the runs.
	test.Same(t, 8, did.Written, "files written")
	test.Same(t, []schema.Span{{From: from.UnixMilli(), To: testDay.UnixMilli(), ListedAt: testDay.UnixMilli()}}, s.Manifest.Coverage, "coverage (-want +got)")
	wholeOn(t, anywhere, w.opts.Root)
	// Older snapshots keep theirs until they are removed.
	if old, err := layout.OpenSnapshot(anywhere, w.opts.Root, before.Manifest.Snapshot); err != nil || old.Manifest.Rows(schema.Calls.Name) != 16 {
		t.Errorf("the snapshot before: %v", err)
	}
	// The next night has nothing left to erase, and writes nothing for it.
	w = reopen(t, w, 3, from)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	if did, _ := w.Totals(); did.Aged != 0 || did.Written != 1 {
		t.Errorf("the next run erased %d calls and wrote %d files", did.Aged, did.Written)
	}
	// Commands that only rewrite files erase nothing.
	w = reopen(t, w, 4, date(t, "2026-11-01"))
	_, err = w.Compact(t.Context(), []string{"2026-10"}, nil)
	test.OK(t, err)
	if got := w.Snapshot().Manifest.Rows(schema.Calls.Name); got != 7 {
		t.Errorf("compact left %d calls, want 7", got)
	}
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	if n := w.Snapshot().Manifest.Rows(schema.Calls.Name); n != 0 || len(w.Snapshot().Manifest.FilesOf(schema.Turns.Name)) != 0 {
		t.Errorf("%d calls are left", n)
	}
}

// For any calls, months and times, the remaining calls are those that started late enough, or
// without a start were first seen late enough.
func TestKeepAgainstAMap(t *testing.T) {
	for seed := range uint64(20) {
		if !longtest.On() && seed%3 > 0 {
			continue
		}
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { testRetention(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func testRetention(t *testing.T, draw *rand.Rand) {
	disk, root := storyRoot(t)
	first := date(t, "2026-09-20")
	w := keeping(t, disk, root, 0, time.Time{})
	w.opts.Now = func() time.Time { return first }
	starts := map[string]time.Time{}
	put := func(prefix string) {
		for i := range draw.IntN(8) {
			id := prefix + strconv.Itoa(i)
			start := date(t, "2026-08-25").Add(time.Duration(draw.IntN(30*24)) * time.Hour)
			if draw.IntN(4) == 0 {
				rec := schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: first.UnixMilli(), Body: body(id, nil, nil, "ended", "", 0)}
				test.OK(t, w.Put(context.Background(), rec))
				start = first
			} else {
				putCall(t, w, id, start, i%3)
			}
			starts[id] = start
		}
	}
	put("a")
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	if draw.IntN(2) == 0 && slices.ContainsFunc(Months(w.Snapshot(), testDay), func(m Month) bool { return m.Month == "2026-08" }) {
		test.OK(t, compact(w, "2026-08"))
	}
	put("b")
	from := date(t, "2026-08-25").AddDate(0, 0, draw.IntN(32))
	w = reopen(t, w, 1, from)
	if s := w.Snapshot(); s != nil { // the number is known before the commit
		var aging, there int64
		for id := range readCalls(t, disk, s) {
			there++
			if starts[id].Before(from) {
				aging++
			}
		}
		if aged, total, err := w.Aging(); err != nil || aged != aging || total != there {
			t.Errorf("Aging tells %d of %d calls (%v), want %d of %d", aged, total, err, aging, there)
		}
	}
	commitAs := w.Commit
	if draw.IntN(2) == 0 {
		commitAs = w.Finish
	}
	test.OK(t, commitAs(context.Background(), doneRow(w)))
	got := readCalls(t, disk, w.Snapshot())
	for id, start := range starts {
		if remains := got[id] != nil; remains != !start.Before(from) {
			t.Errorf("%s of %s, kept %v, from %s", id, start, remains, from)
		}
	}
	if len(got) > len(starts) {
		t.Errorf("%d calls of %d", len(got), len(starts))
	}
}

func rolledBack(w *Warehouse) func(*layout.Snapshot) schema.Run {
	return func(*layout.Snapshot) schema.Run {
		return schema.Run{ID: w.opts.RunID, StartedAt: w.opts.Now().UnixMilli(), Outcome: schema.OutcomeRolledBack}
	}
}

// After a rollback everything is as before, except the number, the journal and the table runs; and
// the next run continues from there.
func TestRollback(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	span := func(from, to int64) schema.Record {
		return schema.Record{Kind: schema.KindCovered, FetchedAt: to,
			Body: []byte(`{"from":` + strconv.FormatInt(from, 10) + `,"to":` + strconv.FormatInt(to, 10) + `,"listed_at":` + strconv.FormatInt(to, 10) + `}`)}
	}
	w := night(t, nil, root, 0)
	put(t, w, storyRecord("a", 1), storyRecord("b", 1), span(0, 100))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	first := w.Snapshot()
	test.OK(t, w.Close())
	w = night(t, nil, root, 1)
	put(t, w, storyRecord("b", 2), storyRecord("c", 2), span(100, 200))
	test.OK(t, w.Commit(t.Context(), doneRow(w))) // two commits of the run that is undone
	put(t, w, storyRecord("a", 3))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.OK(t, w.Close())
	w = night(t, nil, root, 2)
	target, err := w.Rollback(context.Background(), 0, rolledBack(w))
	test.OK(t, err)
	now := w.Snapshot()
	if target.Manifest.Snapshot != 1 || now.Manifest.Snapshot != 4 {
		t.Errorf("rolled back to snapshot %d as snapshot %d, want 1 as 4", target.Manifest.Snapshot, now.Manifest.Snapshot)
	}
	got := readCalls(t, anywhere, now)
	if len(got) != 2 || got["a"].Turns().Len() != 1 || got["b"].Turns().Len() != 1 {
		t.Errorf("the calls are not those of the first run: %v", got)
	}
	if !slices.Equal(now.Manifest.Coverage, first.Manifest.Coverage) || now.Manifest.Watermark != first.Manifest.Watermark {
		t.Errorf("the coverage is %v, want %v", now.Manifest.Coverage, first.Manifest.Coverage)
	}
	runs, err := w.Runs()
	test.OK(t, err)
	var outcomes []string
	for _, r := range runs {
		outcomes = append(outcomes, r.Outcome)
	}
	test.Same(t, []string{schema.OutcomeDone, schema.OutcomeDone, schema.OutcomeRolledBack}, outcomes, "how the runs ended")
	test.OK(t, w.Close())
	// The rollback of the rollback.
	w = night(t, nil, root, 3)
	_, err = w.Rollback(context.Background(), 0, rolledBack(w))
	test.OK(t, err)
	if got := readCalls(t, anywhere, w.Snapshot()); len(got) != 3 || got["a"].Turns().Len() != 3 {
		t.Errorf("the calls are not those of the second run: %v", got)
	}
	put(t, w, storyRecord("c", 5))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	if got := readCalls(t, anywhere, w.Snapshot()); got["c"].Turns().Len() != 5 {
		t.Errorf("c has %d turns, want 5", got["c"].Turns().Len())
	}
}

func TestRollbackKnowsWhatIsThere(t *testing.T) {
	w := night(t, nil, filepath.Join(t.TempDir(), "w"), 0)
	var missing *NotRetainedError
	if _, err := w.Rollback(context.Background(), 0, rolledBack(w)); !errors.As(err, &missing) {
		t.Errorf("before any commit: %v", err)
	}
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	if _, err := w.Rollback(context.Background(), 0, rolledBack(w)); !errors.As(err, &missing) {
		t.Errorf("with the snapshots of one run: %v", err)
	}
	for _, n := range []int64{2, 3, 17} {
		if _, err := w.Rollback(context.Background(), n, rolledBack(w)); !errors.As(err, &missing) {
			t.Errorf("to snapshot %d: %v", n, err)
		}
	}
	if _, err := w.Rollback(context.Background(), 1, rolledBack(w)); err != nil {
		t.Error(err)
	}
}
