package sink

import (
	"errors"
	"fmt"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// periodWriter writes the files of one period.
type periodWriter struct {
	tables  []*tableWriter // as schema.CallTables
	tallies *tallyWriter
	only    *schema.Table // what write writes the rows of; nil: all tables
}

func newPeriodWriter(b *builder, codec *libzstd, period string) *periodWriter {
	w := &periodWriter{tallies: newTallyWriter(b, codec, period)}
	for _, t := range schema.CallTables {
		w.tables = append(w.tables, newTableWriter(b, codec, t, period))
	}
	return w
}

// countCall notes a call in the manifest's figures of a file of calls.
func countCall(info *layout.File, call *schema.Call) {
	span(info, call.StartAt())
	if detailDue(call) {
		info.Due++
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

// span widens a file's bounds of start_at.
func span(info *layout.File, start schema.Opt[int64]) {
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
func (w *periodWriter) write(call *schema.Call) error {
	if w.only == nil || w.only == &schema.Calls {
		countCall(&w.tables[0].info, call)
		if err := w.tables[0].add(call.Row); err != nil {
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
		span(&t.info, call.StartAt())
		if err := t.ready(rows.Len()); err != nil {
			return err
		}
		t.rows.AddList(&call.Object, i)
	}
	return nil
}

// failed returns the first error of what was added.
func (w *periodWriter) failed() error {
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

// close makes the files durable and returns their lines of the manifest.
func (w *periodWriter) close() (out []layout.File, err error) {
	for _, t := range w.tables {
		f, ferr := t.close()
		if err = errors.Join(err, ferr); f != nil {
			out = append(out, *f)
		}
	}
	counted, terr := w.tallies.close()
	return append(out, counted...), errors.Join(err, terr)
}

// discard removes the files.
func (w *periodWriter) discard() error {
	err := w.tallies.discard()
	for _, t := range w.tables {
		err = errors.Join(err, t.discard())
	}
	return err
}
