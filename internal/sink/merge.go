package sink

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// rewrite merges a unit's changes into its period. It holds one call at a time
// (and the Parquet writers' open row groups), whatever the size of the period.
// It returns unchanged true, and leaves no file, when the merge came out as what
// was there.
func (c *commit) rewrite(u *unit) (files []layout.File, unchanged bool, err error) {
	old, err := c.openPeriod(u.period)
	if err != nil {
		return nil, false, err
	}
	w := newPeriodWriter(c.b, c.codec, u.period)
	news, err := c.merge(u, old, w)
	if old != nil {
		err = errors.Join(err, old.close())
	}
	if err != nil || (news == 0 && old != nil) {
		return nil, true, errors.Join(err, w.discard())
	}
	files, err = w.close()
	return files, false, err
}

// merge returns how many rows differ from what was there.
func (c *commit) merge(u *unit, old *periodReader, w *periodWriter) (news int, err error) {
	month := []byte(u.period[:7])
	changes := u.changes
	for {
		var was *schema.Call
		var row parquet.Row
		if old != nil {
			if was, row, err = old.next(); err != nil {
				return news, err
			}
		}
		for len(changes) > 0 && (was == nil ||
			compareKey(changes[0].start, changes[0].id, was.StartAt, string(was.ID)) < 0) {
			call, err := c.fold(changes[0].old, changes[0])
			if err != nil {
				return news, err
			}
			if err := w.write(call, month); err != nil {
				return news, err
			}
			news++
			changes = changes[1:]
		}
		if was == nil {
			if old != nil {
				err = old.done()
			}
			return news, err
		}
		switch {
		case len(changes) > 0 && changes[0].id == string(was.ID) && changes[0].start == was.StartAt:
			before, err := old.take(was)
			if err != nil {
				return news, err
			}
			after, err := c.fold(before, changes[0])
			if err != nil {
				return news, err
			}
			if schema.Same(before, after) {
				after = before
			} else {
				news++
			}
			if err := w.write(after, month); err != nil {
				return news, err
			}
			changes = changes[1:]
		case u.moved[string(was.ID)]:
			news++
			if err := old.skip(was); err != nil {
				return news, err
			}
		case c.overdue(was):
			news++
			if _, err := old.take(was); err != nil {
				return news, err
			}
			if err := w.write(was, month); err != nil {
				return news, err
			}
		default:
			if err := w.copy(old, was, row); err != nil {
				return news, err
			}
		}
	}
}

// overdue moves a call on in its life when time alone does so.
func (c *commit) overdue(call *schema.Call) bool {
	if call.Settlement == schema.Settled || call.Settlement == schema.Expired {
		return false
	}
	was := call.Settlement
	call.Settle(c.now.UnixMilli())
	return call.Settlement != was
}

// decodeSlot is memory to decode a record into.
type decodeSlot struct {
	call schema.Call
	dec  schema.Decoder
}

// slot returns the memory for the i-th record of a call. What fold returned
// last may lie in it, so that must have been written.
func (c *commit) slot(i int) (*schema.Call, *schema.Decoder) {
	for len(c.slots) <= i {
		c.slots = append(c.slots, new(decodeSlot))
	}
	return &c.slots[i].call, &c.slots[i].dec
}

// fold applies what came in for a call to what is known of it, which may be
// nil, and counts it. What it returns is valid until the next fold.
func (c *commit) fold(old *schema.Call, ch *change) (*schema.Call, error) {
	cur := old
	for i, e := range ch.entries {
		r, err := c.in.frames.record(e.frame, e.line)
		if err != nil {
			return nil, err
		}
		next, dec := c.slot(i)
		if e.kind == schema.KindMissing {
			if cur == nil {
				continue // no list named it: there is nothing to say of it
			}
			// Not in the slot: merged, it shares the slices of what is known.
			next = &schema.Call{ID: []byte(ch.id)}
			c.stats.Missing++
		} else if err := dec.Decode(r.Body, e.kind, next); err != nil {
			return nil, fmt.Errorf("read call %q from the journal: %w", ch.id, err)
		}
		next.FirstSeenAt, next.FetchedAt, next.RunID = r.FetchedAt, r.FetchedAt, []byte(ch.run)
		if e.kind == schema.KindDetail && len(next.Turns) > 0 {
			c.stats.Transcripts++
			c.stats.Turns += int64(len(next.Turns))
		}
		schema.Merge(cur, next, e.kind)
		next.Settle(c.now.UnixMilli())
		cur = next
	}
	switch {
	case cur == nil:
		return nil, fmt.Errorf("read call %q from the journal: no record describes it", ch.id)
	case old == nil:
		c.stats.New++
	case string(old.RunID) != ch.run && !schema.Same(old, cur):
		c.stats.Changed++ // once a run: not for the detail of a call that this run listed
	}
	if cur.Settlement == schema.Settled && (old == nil || old.Settlement != schema.Settled) {
		c.stats.Settled++
	}
	return cur, nil
}
