package sink

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/schema"
)

// details renders the details of a company's calls, newest first, like a first night.
func details(b *testing.B, calls int64, days int) (recs []schema.Record, size int64, now time.Time) {
	b.Helper()
	now = time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)
	w, err := world.New(world.Config{Seed: 1, Calls: calls, Days: days, Origin: now})
	if err != nil {
		b.Fatal(err)
	}
	var r render.Renderer
	for v := range w.Visible(now) {
		body := r.Detail(nil, v)
		recs = append(recs, schema.Record{Kind: schema.KindDetail, CallID: v.ID.String(), FetchedAt: now.UnixMilli(), Body: body})
		size += int64(len(body))
	}
	return recs, size, now
}

func benchWarehouse(b *testing.B, now time.Time, n uint32) *Warehouse {
	b.Helper()
	w, err := Open(Options{Root: filepath.Join(b.TempDir(), "w"), RunID: layout.RunID(now, n), Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// BenchmarkPut measures the journal alone: records in, durable out.
func BenchmarkPut(b *testing.B) {
	recs, size, now := details(b, 5000, 7)
	b.SetBytes(size)
	for b.Loop() {
		w := benchWarehouse(b, now, 1)
		for i := 0; i < len(recs); i += 100 {
			if err := w.Put(context.Background(), recs[i:min(i+100, len(recs))]...); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit commits a journal of details into an empty warehouse.
func BenchmarkCommit(b *testing.B) {
	recs, size, now := details(b, 20_000, 7)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		w := benchWarehouse(b, now, 1)
		for i := 0; i < len(recs); i += 100 {
			if err := w.Put(context.Background(), recs[i:min(i+100, len(recs))]...); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if err := w.Commit(context.Background(), doneRow(w)); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
