package sink

import (
	"errors"
	"fmt"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// merger rewrites units, one after the other. It holds one call at a time (and
// the Parquet writers' open row groups), whatever the size of a period.
type merger struct {
	c     *commit
	stats Stats
	slots []*decodeSlot
	used  int            // of slots, by calls that the writer still holds
	dec   schema.Decoder // of rows from older files
}

// rewrite merges a unit's changes into its period. It returns unchanged true,
// and leaves no file, when the merge came out as what was there.
func (m *merger) rewrite(u *unit) (files []layout.File, unchanged bool, err error) {
	old := newSources(m.c, u.from)
	w := newPeriodWriter(m.c.b, m.c.codec, u.period)
	news, err := m.merge(u, old, w)
	err = errors.Join(err, old.close())
	if err != nil || news == 0 && len(u.from) > 0 && !u.always {
		return nil, true, errors.Join(err, w.discard())
	}
	files, err = w.close()
	return files, false, err
}

// merge returns how many rows differ from what was there.
func (m *merger) merge(u *unit, old *sources, w *periodWriter) (news int, err error) {
	month := []byte(u.period[:7])
	changes := u.changes
	for {
		was, row, err := old.next()
		if err != nil {
			return news, err
		}
		for len(changes) > 0 && (was == nil ||
			compareKey(changes[0].start, changes[0].id, was.StartAt, string(was.ID)) < 0) {
			m.reuse(w)
			call, err := m.fold(changes[0].old, changes[0])
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
			return news, nil
		}
		switch {
		case len(changes) > 0 && changes[0].id == string(was.ID) && changes[0].start == was.StartAt:
			m.reuse(w)
			before, err := m.take(old.cur, was)
			if err != nil {
				return news, err
			}
			after, err := m.fold(before, changes[0])
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
			if err := old.cur.skip(was); err != nil {
				return news, err
			}
		case m.c.overdue(was), !old.cur.current:
			call, err := m.take(old.cur, was)
			if err != nil {
				return news, err
			}
			if m.c.overdue(call) {
				call.Settle(m.c.now.UnixMilli())
				news++
			}
			if err := w.write(call, month); err != nil {
				return news, err
			}
		default:
			if err := w.copy(old.cur.periodReader, was, row); err != nil {
				return news, err
			}
		}
		if u.tell != nil {
			u.tell(1)
		}
	}
}

// take reads the whole of a call from its source. What an older file has no
// column for, and today's tables have, moves from extra into its column.
func (m *merger) take(from *source, call *schema.Call) (*schema.Call, error) {
	call, err := from.take(call)
	if err != nil || from.current {
		return call, err
	}
	return promote(&m.dec, call), nil
}

// overdue says whether time alone moves a call on in its life.
func (c *commit) overdue(call *schema.Call) bool {
	return !c.asIs && call.Unsettled() && call.ExpiresAt() <= c.now.UnixMilli()
}

// decodeSlot is memory to decode a record into.
type decodeSlot struct {
	call schema.Call
	dec  schema.Decoder
}

// slot returns memory for a record. What fold returned lies in it until the
// writer has let go of it.
func (m *merger) slot() (*schema.Call, *schema.Decoder) {
	if m.used == len(m.slots) {
		m.slots = append(m.slots, new(decodeSlot))
	}
	s := m.slots[m.used]
	m.used++
	return &s.call, &s.dec
}

// reuse makes all slots free, unless the writer still holds what lies in them.
func (m *merger) reuse(w *periodWriter) {
	if w.held > 0 {
		return
	}
	for _, s := range m.slots[:m.used] {
		// Or the room behind shorter calls would hold on to journal frames.
		clear(s.call.Turns)
		clear(s.call.Items)
	}
	m.used = 0
}

// fold applies what came in for a call to what is known of it, which may be
// nil, and counts it.
func (m *merger) fold(old *schema.Call, ch *change) (*schema.Call, error) {
	cur := old
	for _, e := range ch.entries {
		r, err := m.c.in.frames.record(e.frame, e.line)
		if err != nil {
			return nil, err
		}
		next, dec := m.slot()
		if e.kind == schema.KindMissing {
			if cur == nil {
				continue // no list named it: there is nothing to say of it
			}
			// Not in the slot: merged, it shares the slices of what is known.
			next = &schema.Call{ID: []byte(ch.id)}
			m.stats.Missing++
		} else if err := dec.Decode(r.Body, e.kind, next); err != nil {
			return nil, fmt.Errorf("read call %q from the journal: %w", ch.id, err)
		}
		next.FirstSeenAt, next.FetchedAt, next.RunID = r.FetchedAt, r.FetchedAt, []byte(ch.run)
		if e.kind == schema.KindDetail && len(next.Turns) > 0 {
			m.stats.Transcripts++
			m.stats.Turns += int64(len(next.Turns))
		}
		schema.Merge(cur, next, e.kind)
		next.Settle(m.c.now.UnixMilli())
		cur = next
	}
	switch {
	case cur == nil:
		return nil, fmt.Errorf("read call %q from the journal: no record describes it", ch.id)
	case old == nil:
		m.stats.New++
	case string(old.RunID) != ch.run && !schema.Same(old, cur):
		m.stats.Changed++ // once a run: not for the detail of a call that this run listed
	}
	if cur.Settlement == schema.Settled && (old == nil || old.Settlement != schema.Settled) {
		m.stats.Settled++
	}
	return cur, nil
}
