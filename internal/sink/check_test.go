package sink

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// checked commits calls of some days, given as changes to a default one, and returns the run's
// warehouse and the snapshot before.
func checked(t *testing.T, root string, n int, calls ...map[string]any) (*Warehouse, *layout.Snapshot) {
	t.Helper()
	w := aRun(t, nil, root, n)
	before := w.Snapshot()
	for _, more := range calls {
		start := testDay.AddDate(0, 0, -3).UnixMilli()
		call := map[string]any{"status": "ended", "start_at": start, "end_at": start + 1000, "transcript": []any{}}
		for k, v := range more {
			call[k] = v
		}
		body, err := json.Marshal(call)
		test.OK(t, err)
		rec := schema.Record{Kind: schema.KindDetail, CallID: call["id"].(string), FetchedAt: w.opts.Now().UnixMilli(), Body: body}
		test.OK(t, w.Put(t.Context(), rec))
	}
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	return w, before
}

func TestCheckReadsWhatTheRunWrote(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	early := testDay.AddDate(0, 0, -5).UnixMilli()
	w, before := checked(t, root, 0, map[string]any{"id": "a"}, map[string]any{"id": "b", "start_at": early, "end_at": early + 5})
	r, err := w.Check(t.Context(), before)
	if err != nil || r.Count != 0 || r.Files != 3 {
		t.Fatalf("the first run: %+v, %v", r, err)
	}
	test.OK(t, w.Close())

	// The second run changes one of two days.
	w, before = checked(t, root, 1, map[string]any{"id": "c", "status": "vanished", "end_at": early, "disconnection_reason": "boredom"})
	r, err = w.Check(t.Context(), before)
	if err != nil || r.Files != 2 {
		t.Errorf("the second run: %+v, %v", r, err)
	}
	test.Same(t, 0, r.Count, "a call that ends before it starts is a problem: %v", r.Problems)
	flip := func(day time.Time) {
		t.Helper()
		for _, f := range w.Snapshot().Manifest.FilesOf(schema.Calls.Name) {
			if f.Period != day.Format(time.DateOnly) {
				continue
			}
			raw := test.Read(t, w.Snapshot().Path(f))
			raw[len(raw)/2] ^= 1
			test.OK(t, os.WriteFile(w.Snapshot().Path(f), raw, 0o600))
		}
	}
	flip(testDay.AddDate(0, 0, -5)) // of the run before, which only verify checks
	if r, err = w.Check(t.Context(), before); err != nil || r.Count != 0 {
		t.Errorf("damage elsewhere: %+v, %v", r, err)
	}
	flip(testDay.AddDate(0, 0, -3))
	if r, err = w.Check(t.Context(), before); err != nil || r.Count != 1 || r.Problems[0].Kind != "checksum" {
		t.Errorf("damage to what it wrote: %+v, %v", r, err)
	}
	test.OK(t, w.Close())
}
