package intake

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// A long run commits in the background: by count, and by time if few records come. Slow commits are
// rare: they take at most one percent of the run.
func TestCheckpoints(t *testing.T) {
	for _, tc := range []struct {
		name        string
		records     int           // in half a minute
		takes       time.Duration // per commit
		least, most int64         // commits per hour
	}{
		{"at the service's limits", 58, 0, 11, 14},
		{"little comes", 1, 0, 10, 12},
		{"nothing comes", 0, 0, 0, 0},
		{"a large warehouse", 58, 3 * time.Second, 8, 12},
		{"a very large one", 58, 20 * time.Second, 2, 2},
		{"more than may wait", 300, 20 * time.Second, 3, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 19, 2, 0, 0, 0, time.UTC)
			clock := func() time.Time { return now }
			w, err := sink.Open(sink.Options{Root: filepath.Join(t.TempDir(), "w"), RunID: layout.RunID(now, 1), Now: clock})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			st := New(w, clock)
			st.Over = func() bool { return false }
			st.Row = func(sink.Stats, int64) schema.Run {
				now = now.Add(tc.takes) // nothing else reads the clock meanwhile
				return schema.Run{ID: w.RunID(), Outcome: schema.OutcomeRunning}
			}
			begin, n := now, 0
			for ; now.Sub(begin) < time.Hour; now = now.Add(30 * time.Second) {
				var recs []schema.Record
				for range tc.records {
					n++
					id := fmt.Sprint(n)
					recs = append(recs, schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: now.UnixMilli(),
						Body: fmt.Appendf(nil, `{"id":%q,"status":"ended","start_at":%d}`, id, now.UnixMilli()+int64(n))})
				}
				if err := st.Put(context.Background(), recs...); err != nil {
					t.Fatal(err)
				}
				if err := st.Checkpoint(context.Background(), false); err != nil {
					t.Fatal(err)
				}
				if err := st.Settle(); err != nil {
					t.Fatal(err)
				}
			}
			if _, commits := w.Totals(); commits < tc.least || commits > tc.most {
				t.Errorf("%d commits, want %d to %d", commits, tc.least, tc.most)
			}
		})
	}
}
