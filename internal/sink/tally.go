package sink

import (
	"errors"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// tallyWriter writes the tallies of a month's calls, which it counts, beside
// them. A nil one has nothing to write.
type tallyWriter struct {
	counts *schema.Tallies
	files  map[*schema.Table]*tableWriter
}

// newTallyWriter returns the writer of a period's tallies; nil for a day, whose
// calls are few.
func newTallyWriter(b *builder, codec *libzstd, period string) *tallyWriter {
	if !tallied(period) {
		return nil
	}
	w := &tallyWriter{files: map[*schema.Table]*tableWriter{}}
	for _, t := range schema.TallyTables {
		w.files[t] = newTableWriter(b, codec, t, period)
	}
	w.counts = schema.NewTallies(func(t *schema.Table, row parquet.Row) error { return w.files[t].add(row) })
	return w
}

// tallied says whether the calls of a period are counted: those of a month.
func tallied(period string) bool { return len(period) == len("2026-10") }

// close makes the files durable and returns their lines of the manifest.
func (w *tallyWriter) close() (out []layout.File, err error) {
	if w == nil {
		return nil, nil
	}
	if err := w.counts.Close(); err != nil {
		return nil, errors.Join(err, w.discard())
	}
	for _, t := range schema.TallyTables {
		if w.counts.GivenUp(t) {
			err = errors.Join(err, w.files[t].discard())
			continue
		}
		f, ferr := w.files[t].close()
		if err = errors.Join(err, ferr); f != nil {
			out = append(out, *f)
		}
	}
	return out, err
}

// discard removes the files.
func (w *tallyWriter) discard() error {
	if w == nil {
		return nil
	}
	var errs []error
	for _, t := range schema.TallyTables {
		errs = append(errs, w.files[t].discard())
	}
	return errors.Join(errs...)
}
