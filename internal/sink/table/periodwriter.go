package table

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// PeriodWriter writes the files of one period.
type PeriodWriter struct {
	tables  []*Writer // as schema.CallTables
	tallies *tallyWriter
	Only    *schema.Table // the table whose rows write writes; nil: all tables
	// Tell sets the columns derived from the numbers of a call whose rows are not copied; nil:
	// none.
	Tell func(*calls.Call)
}

// NewPeriodWriter returns the writer of a period into a folder. country is the region of its calls'
// national telephone numbers.
func NewPeriodWriter(in Folder, period, country string) *PeriodWriter {
	w := &PeriodWriter{tallies: newTallyWriter(in, period)}
	for _, t := range schema.CallTables {
		w.tables = append(w.tables, NewWriter(in, t, period))
	}
	w.tables[0].info.Country = country
	return w
}

// CountCall counts a call in the manifest's figures of a file of calls.
func CountCall(info *layout.File, call *calls.Call) {
	Span(info, call.StartAt())
	if info.Undated == nil {
		info.Undated = new(int64)
	}
	if !call.StartAt().OK {
		*info.Undated++
	}
	if call.Waits() {
		info.Due++
	}
	if call.TranscriptState() == calls.Skipped {
		if info.Skipped == nil {
			info.Skipped = map[string]int64{}
		}
		info.Skipped[string(call.Kind())]++
	}
	if call.InBulk() {
		info.Bulk++
	}
	if info.Underived == nil {
		info.Underived = new(int64)
	}
	if call.Underived() {
		*info.Underived++
	}
	if info.Credits == nil {
		info.Credits = new(int64)
	}
	if call.InCredits() {
		*info.Credits++
	}
	if call.CostUnheld() {
		info.UnheldCosts++
	}
	if !call.Unsettled() {
		return
	}
	info.Unsettled++
	since := call.StartAt().V
	if !call.StartAt().OK {
		info.Unstarted++
		since = call.FirstSeenAt()
	}
	if info.OldestUnsettled == nil || since < *info.OldestUnsettled {
		info.OldestUnsettled = &since
	}
	if expiry := call.ExpiresAt(); info.NextExpiry == nil || expiry < *info.NextExpiry {
		info.NextExpiry = &expiry
	}
}

// Span widens a file's bounds of start_at.
func Span(info *layout.File, start schema.Opt[int64]) {
	if !start.OK {
		return
	}
	v := start.V
	if info.MinStart == nil {
		lo, hi := v, v
		info.MinStart, info.MaxStart = &lo, &hi
		return
	}
	*info.MinStart = min(*info.MinStart, v)
	*info.MaxStart = max(*info.MaxStart, v)
}

// write writes a call, which is complete, with all its rows.
func (w *PeriodWriter) write(call *calls.Call) error {
	if w.Only == nil || w.Only == &schema.Calls {
		CountCall(&w.tables[0].info, call)
		if err := w.tables[0].Add(call.Row); err != nil {
			return err
		}
		if w.tallies != nil {
			if err := w.tallies.counts.Add(call); err != nil {
				return err
			}
		}
	}
	for i := range call.Lists {
		t, rows := w.tables[i+1], &call.Lists[i]
		if rows.Len() == 0 {
			continue
		}
		Span(&t.info, call.StartAt())
		if err := t.ready(rows.Len()); err != nil {
			return err
		}
		t.rows.AddList(&call.Object, i)
	}
	return nil
}

// failed returns the first error so far.
func (w *PeriodWriter) failed() error {
	for _, t := range w.tables {
		if t.w == nil {
			continue
		}
		if err := t.rows.Err(); err != nil {
			return fmt.Errorf("write %s: %w", t.info.Path, err)
		}
	}
	return nil
}

// Close makes the files durable and returns their entries of the manifest.
func (w *PeriodWriter) Close() (out []layout.File, err error) {
	for _, t := range w.tables {
		f, ferr := t.Close()
		if err = errors.Join(err, ferr); f != nil {
			out = append(out, *f)
		}
	}
	counted, terr := w.tallies.close()
	return append(out, counted...), errors.Join(err, terr)
}

// Discard removes the files.
func (w *PeriodWriter) Discard() error {
	err := w.tallies.discard()
	for _, t := range w.tables {
		err = errors.Join(err, t.Discard())
	}
	return err
}

// tallyWriter counts a month's calls and writes the tallies. A nil one has nothing to write.
type tallyWriter struct {
	counts *calls.Tallies
	files  map[*schema.Table]*Writer
}

// newTallyWriter returns the writer of a period's tallies; nil for a day, which has few calls.
func newTallyWriter(in Folder, period string) *tallyWriter {
	if !tallied(period) {
		return nil
	}
	w := &tallyWriter{files: map[*schema.Table]*Writer{}}
	for _, t := range schema.TallyTables {
		w.files[t] = NewWriter(in, t, period)
	}
	w.counts = calls.NewTallies(func(t *schema.Table, row parquet.Row) error { return w.files[t].Add(row) })
	return w
}

// tallied reports whether the calls of a period are counted: those of a month are.
func tallied(period string) bool { return len(period) == len("2026-10") }

// close makes the files durable and returns their entries of the manifest.
func (w *tallyWriter) close() (out []layout.File, err error) {
	if w == nil {
		return nil, nil
	}
	if err := w.counts.Close(); err != nil {
		return nil, errors.Join(err, w.discard())
	}
	for _, t := range schema.TallyTables {
		if w.counts.GivenUp(t) {
			err = errors.Join(err, w.files[t].Discard())
			continue
		}
		f, ferr := w.files[t].Close()
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
		errs = append(errs, w.files[t].Discard())
	}
	return errors.Join(errs...)
}
