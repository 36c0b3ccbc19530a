package sink

import (
	"errors"
	"fmt"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// periodWriter writes the files of one period.
type periodWriter struct {
	calls, turns, items *tableWriter
	tallies             *tallyWriter
	only                *schema.Table // what copy writes the rows of; nil: all tables
}

func newPeriodWriter(b *builder, codec *libzstd, period string) *periodWriter {
	return &periodWriter{
		calls: newTableWriter(b, codec, &schema.Calls, period),
		turns: newTableWriter(b, codec, &schema.Turns, period),
		items: newTableWriter(b, codec, &schema.Items, period),

		tallies: newTallyWriter(b, codec, period),
	}
}

// countCall notes a call in the manifest's figures of a file of calls.
func countCall(info *layout.File, call *schema.Call) {
	span(info, call.StartAt)
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
	since := call.StartAt.V
	if !call.StartAt.OK {
		info.Unstarted++
		since = call.FirstSeenAt
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

// write writes a call with all its rows.
func (w *periodWriter) write(call *schema.Call) error {
	countCall(&w.calls.info, call)
	if err := w.calls.ready(); err != nil {
		return err
	}
	w.calls.rows.AddCall(call)
	if w.tallies != nil {
		if err := w.tallies.counts.Add(call, call.UserTurns()); err != nil {
			return err
		}
	}
	if len(call.Turns) > 0 {
		span(&w.turns.info, call.StartAt)
	}
	for i := range call.Turns {
		if err := w.turns.ready(); err != nil {
			return err
		}
		w.turns.rows.AddTurn(call, i)
	}
	if len(call.Items) > 0 {
		span(&w.items.info, call.StartAt)
	}
	for i := range call.Items {
		if err := w.items.ready(); err != nil {
			return err
		}
		w.items.rows.AddItem(call, i)
	}
	return nil
}

// copy takes a call over as it is, with its rows from files that are current.
func (w *periodWriter) copy(call *schema.Call, rows *callRows) error {
	if w.only == nil || w.only == &schema.Calls {
		countCall(&w.calls.info, call)
		if err := w.calls.add(rows.call); err != nil {
			return err
		}
		if w.tallies != nil {
			if err := w.tallies.counts.Add(call, userTurnsIn(rows.call, userTurns)); err != nil {
				return err
			}
		}
	}
	for row := range rows.of(rows.turns, &schema.Turns) {
		span(&w.turns.info, call.StartAt)
		if err := w.turns.add(row); err != nil {
			return err
		}
	}
	for row := range rows.of(rows.items, &schema.Items) {
		span(&w.items.info, call.StartAt)
		if err := w.items.add(row); err != nil {
			return err
		}
	}
	return nil
}

// failed returns the first error of what was added.
func (w *periodWriter) failed() error {
	for _, t := range []*tableWriter{w.calls, w.turns, w.items} {
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
func (w *periodWriter) close() ([]layout.File, error) {
	var out []layout.File
	var errs []error
	for _, t := range []*tableWriter{w.calls, w.turns, w.items} {
		f, err := t.close()
		if f != nil {
			out = append(out, *f)
		}
		errs = append(errs, err)
	}
	counted, err := w.tallies.close()
	return append(out, counted...), errors.Join(append(errs, err)...)
}

// discard removes the files.
func (w *periodWriter) discard() error {
	return errors.Join(w.calls.discard(), w.turns.discard(), w.items.discard(), w.tallies.discard())
}
