package analytics

import (
	"context"
	"strings"

	"callhouse/internal/layout"
)

// Exec runs statements on the warehouse's database, for benchmarks that put other
// relations in the place of the stored ones.
func (w *Warehouse) Exec(ctx context.Context, text string) error {
	conn, err := w.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := w.defineAll(ctx, conn); err != nil {
		return err
	}
	return conn.Exec(ctx, text)
}

// ForgetTallies makes a warehouse answer as if no month were compacted.
func (w *Warehouse) ForgetTallies() {
	m := *w.snap.Manifest
	m.Files = nil
	for _, f := range w.snap.Manifest.Files {
		if !strings.HasSuffix(f.Table, "_tallies") {
			m.Files = append(m.Files, f)
		}
	}
	w.snap = &layout.Snapshot{Dir: w.snap.Dir, Manifest: &m}
}

// TableBytes returns how much memory DuckDB's own tables take.
func (w *Warehouse) TableBytes(ctx context.Context) (int64, error) {
	conn, err := w.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	return tableBytes(ctx, conn)
}
