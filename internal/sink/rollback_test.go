package sink

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/test"
)

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
	put := func(w *Warehouse, recs ...schema.Record) {
		t.Helper()
		test.OK(t, w.Put(context.Background(), recs...))
	}
	w := night(t, nil, root, 0)
	put(w, storyRecord("a", 1), storyRecord("b", 1), span(0, 100))
	mustCommit(t, w)
	first := w.Snapshot()
	test.OK(t, w.Close())
	w = night(t, nil, root, 1)
	put(w, storyRecord("b", 2), storyRecord("c", 2), span(100, 200))
	mustCommit(t, w) // two commits of the run that is undone
	put(w, storyRecord("a", 3))
	mustCommit(t, w)
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
	if want := []string{schema.OutcomeDone, schema.OutcomeDone, schema.OutcomeRolledBack}; !slices.Equal(outcomes, want) {
		t.Errorf("the runs ended %v, want %v", outcomes, want)
	}
	test.OK(t, w.Close())
	// The rollback of the rollback.
	w = night(t, nil, root, 3)
	_, err = w.Rollback(context.Background(), 0, rolledBack(w))
	test.OK(t, err)
	if got := readCalls(t, anywhere, w.Snapshot()); len(got) != 3 || got["a"].Turns().Len() != 3 {
		t.Errorf("the calls are not those of the second run: %v", got)
	}
	put(w, storyRecord("c", 5))
	mustCommit(t, w)
	if got := readCalls(t, anywhere, w.Snapshot()); got["c"].Turns().Len() != 5 {
		t.Errorf("c has %d turns, want 5", got["c"].Turns().Len())
	}
}

func TestRollbackKnowsWhatIsThere(t *testing.T) {
	w := night(t, nil, filepath.Join(t.TempDir(), "w"), 0)
	var missing *snapshot.NotRetainedError
	if _, err := w.Rollback(context.Background(), 0, rolledBack(w)); !errors.As(err, &missing) {
		t.Errorf("before any commit: %v", err)
	}
	mustCommit(t, w)
	mustCommit(t, w)
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
