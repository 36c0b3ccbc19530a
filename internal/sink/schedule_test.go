package sink

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// A long run commits in the background: by count, and by time if few records come. Slow commits are
// rare: they take at most one percent of the run.
func TestCheckpoints(t *testing.T) {
	tried := longtest.Each(3)
	for i, tc := range []struct {
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
		if !tried(i) {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 19, 2, 0, 0, 0, time.UTC)
			w := timed(t, filepath.Join(t.TempDir(), "w"), &now, nil)
			w.Schedule(func(Stats, int64) schema.Run {
				now = now.Add(tc.takes) // nothing else reads the clock
				return schema.Run{ID: w.RunID(), Outcome: schema.OutcomeRunning}
			}, func() bool { return false })
			begin, n := now, 0
			for ; now.Sub(begin) < time.Hour; now = now.Add(30 * time.Second) {
				var recs []schema.Record
				for range tc.records {
					n++
					id := fmt.Sprint(n)
					recs = append(recs, schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: now.UnixMilli(),
						Body: fmt.Appendf(nil, `{"id":%q,"status":"ended","start_at":%d}`, id, now.UnixMilli()+int64(n))})
				}
				test.OK(t, w.Put(context.Background(), recs...))
				test.OK(t, w.Checkpoint(context.Background(), false))
				test.OK(t, w.Settle())
			}
			if _, commits := w.Totals(); commits < tc.least || commits > tc.most {
				t.Errorf("%d commits, want %d to %d", commits, tc.least, tc.most)
			}
		})
	}
}

// timed opens a warehouse at the time now.
func timed(t *testing.T, root string, now *time.Time, follow *disk.Follow) *Warehouse {
	t.Helper()
	w, err := Open(Options{Root: root, RunID: layout.RunID(*now, 1), Now: func() time.Time { return *now }, Follow: follow})
	test.OK(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// A process that follows the service commits once a minute, counted from the last commit of an
// earlier process, and less often if its commits are large.
func TestRested(t *testing.T) {
	now := time.Date(2026, 11, 19, 2, 0, 0, 0, time.UTC)
	root := filepath.Join(t.TempDir(), "w")
	open := func() *Warehouse {
		w := timed(t, root, &now, new(disk.Follow))
		w.Schedule(func(Stats, int64) schema.Run { return schema.Run{ID: w.RunID(), Outcome: schema.OutcomeFollowing} },
			func() bool { return false })
		return w
	}
	w := open()
	if w.Rested() {
		t.Error("a commit at once")
	}
	source := rand.NewChaCha8([32]byte{})
	put := func(n, size int) {
		t.Helper()
		text := make([]byte, size)
		_, _ = source.Read(text)
		id := fmt.Sprint(n)
		body := fmt.Sprintf(`{"id":%q,"start_at":%d,"call_analysis":{"summary":%q}}`, id, now.UnixMilli(), hex.EncodeToString(text))
		test.OK(t, w.Put(t.Context(), schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: now.UnixMilli(), Body: []byte(body)}))
	}
	put(0, 10)
	test.OK(t, w.Checkpoint(t.Context(), true))
	test.OK(t, w.Close())
	if now, w = now.Add(time.Minute), open(); !w.Rested() {
		t.Error("an earlier process committed a minute ago")
	}
	put(0, 20)
	test.OK(t, w.Checkpoint(t.Context(), true))
	put(1, 8<<20/3)
	put(2, 8<<20/3)
	if now = now.Add(59 * time.Second); w.Rested() {
		t.Error("two commits within a minute")
	}
	if now = now.Add(time.Second); !w.Rested() {
		t.Error("it rests longer than a minute")
	}
	test.OK(t, w.Checkpoint(t.Context(), true))
	var bytes int64
	for _, f := range w.Snapshot().Manifest.Files {
		bytes += f.Bytes
	}
	least := time.Duration(bytes/(64<<10)) * time.Second // all files were rewritten
	if least < 70*time.Second {
		t.Errorf("only %d bytes were written", bytes)
	}
	if now = now.Add(least - time.Second); w.Rested() {
		t.Errorf("it writes faster than it may")
	}
	if now = now.Add(3 * time.Second); !w.Rested() {
		t.Error("it rests for ever")
	}
}
