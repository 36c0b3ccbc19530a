package sink

import (
	"errors"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// periodWriter writes the files of one period.
type periodWriter struct {
	calls, turns, items *tableWriter
	row                 parquet.Row
	held                int
}

func newPeriodWriter(b *builder, codec *libzstd, period string) *periodWriter {
	return &periodWriter{
		calls: newTableWriter(b, codec, &schema.Calls, period),
		turns: newTableWriter(b, codec, &schema.Turns, period),
		items: newTableWriter(b, codec, &schema.Items, period),
	}
}

// countCall notes a call in the manifest's figures of a file of calls.
func countCall(info *layout.File, call *schema.Call) {
	span(info, call.StartAt)
	if detailDue(call) {
		info.Due++
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

// A writer holds no more than so many calls, and about so many bytes of them,
// before it hands them on a column at a time.
const (
	heldCalls = 32
	heldBytes = 1 << 20
)

// write writes a call with all its rows. The call must stand as long as held
// is not 0.
func (w *periodWriter) write(call *schema.Call, month []byte) error {
	countCall(&w.calls.info, call)
	w.row = schema.AppendCallRow(w.row[:0], call, month)
	if err := w.calls.add(w.row); err != nil {
		return err
	}
	for i := range call.Turns {
		span(&w.turns.info, call.StartAt)
		w.row = schema.AppendTurnRow(w.row[:0], call, i, month)
		if err := w.turns.add(w.row); err != nil {
			return err
		}
	}
	for i := range call.Items {
		span(&w.items.info, call.StartAt)
		w.row = schema.AppendItemRow(w.row[:0], call, i, month)
		if err := w.items.add(w.row); err != nil {
			return err
		}
	}
	return w.hold()
}

// copy takes a call over as it is, from files that are current.
func (w *periodWriter) copy(p *periodReader, call *schema.Call, row parquet.Row) error {
	countCall(&w.calls.info, call)
	if err := w.calls.add(row); err != nil {
		return err
	}
	err := p.each(call, func(row parquet.Row) error {
		span(&w.turns.info, call.StartAt)
		return w.turns.add(row)
	}, func(row parquet.Row) error {
		span(&w.items.info, call.StartAt)
		return w.items.add(row)
	})
	return errors.Join(err, w.hold())
}

// hold counts a call that was added, and hands all on when they are enough.
func (w *periodWriter) hold() error {
	if w.held++; w.held < heldCalls && w.calls.pending+w.turns.pending+w.items.pending < heldBytes {
		return nil
	}
	return w.flush()
}

func (w *periodWriter) flush() error {
	w.held = 0
	return errors.Join(w.calls.flush(), w.turns.flush(), w.items.flush())
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
	return out, errors.Join(errs...)
}

// discard removes the files.
func (w *periodWriter) discard() error {
	return errors.Join(w.calls.discard(), w.turns.discard(), w.items.discard())
}
