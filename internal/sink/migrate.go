package sink

import (
	"context"
	"fmt"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// migrateBytes is how much one commit of Migrate writes anew, about: it needs
// as much room on the disk, and so much work is lost when it is cut short.
const migrateBytes = 2 << 30

// outdated returns the periods of a snapshot with files whose columns are not
// those of today, sorted into what one commit takes, and how many calls they
// hold. It reads the files' footers.
func outdated(ctx context.Context, fsys FS, s *layout.Snapshot) (batches [][]string, calls int64, err error) {
	c := &commit{fsys: fsys, old: s}
	var bytes int64
	for _, f := range c.oldFiles(schema.Calls.Name) {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		old, size := false, int64(0)
		for _, t := range schema.CallTables {
			file := c.fileOf(t.Name, f.Period)
			if file == nil {
				continue
			}
			r, err := openTable(fsys, s.Path(file), t)
			if err != nil {
				return nil, 0, err
			}
			old = old || !r.current
			size += file.Bytes
			if err := r.close(); err != nil {
				return nil, 0, fmt.Errorf("close %s: %w", file.Path, err)
			}
		}
		if !old {
			continue
		}
		if len(batches) == 0 || bytes+size > migrateBytes {
			batches, bytes = append(batches, nil), 0
		}
		bytes += size
		calls += f.Rows
		batches[len(batches)-1] = append(batches[len(batches)-1], f.Period)
	}
	return batches, calls, nil
}

// Migrate writes the files of older formats as today's: with all columns, and
// with what had none until now moved from extra into its column. It asks the
// service for nothing. Cut short, it goes on where it stopped.
func (w *Warehouse) Migrate(ctx context.Context, progress func(Progress)) (periods int, calls int64, err error) {
	s := w.Snapshot()
	if s == nil {
		return 0, 0, nil
	}
	batches, calls, err := outdated(ctx, w.opts.FS, s)
	if err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	tell := teller(progress, "migrated", calls)
	for _, batch := range batches {
		if err := w.maintain(ctx, func(c *commit) { c.rewrites, c.tell = batch, tell }); err != nil {
			return periods, calls, fmt.Errorf("migrate: %w", err)
		}
		periods += len(batch)
	}
	return periods, calls, nil
}
