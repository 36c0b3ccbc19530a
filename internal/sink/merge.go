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
	feed  *feed
	dec   schema.Decoder // of rows from older files
}

// rewrite merges a unit's changes into its period. It returns unchanged true,
// and leaves no file, when the merge came out as what was there.
func (m *merger) rewrite(u *unit) (files []layout.File, unchanged bool, err error) {
	if copies, err := m.c.copies(u); err != nil {
		return nil, true, err
	} else if copies {
		files, err = m.join(u)
		return files, false, err
	}
	old := newSources(m.c, u.from, nil)
	w := newPeriodWriter(m.c.b, m.c.codec, u.period)
	m.feed = newFeed(w)
	news, err := m.merge(u, old)
	if werr := m.feed.close(); werr != nil {
		err = werr
	}
	err = errors.Join(err, old.close())
	if err != nil || news == 0 && len(u.from) > 0 && !u.always {
		return nil, true, errors.Join(err, w.discard())
	}
	files, err = w.close()
	return files, false, err
}

// merge returns how many rows differ from what was there.
func (m *merger) merge(u *unit, old *sources) (news int, err error) {
	changes := u.changes
	for {
		was, err := old.next()
		if err != nil {
			return news, err
		}
		for len(changes) > 0 && (was == nil ||
			compareKey(changes[0].start, changes[0].id, was.StartAt(), string(was.ID())) < 0) {
			call, err := m.fold(changes[0].old, changes[0])
			if err != nil {
				return news, err
			}
			if err := m.feed.write(call); err != nil {
				return news, err
			}
			news++
			changes = changes[1:]
		}
		if was == nil {
			return news, nil
		}
		switch {
		case len(changes) > 0 && changes[0].id == string(was.ID()) && changes[0].start == was.StartAt():
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
			if m.c.aged(after) {
				m.stats.Aged++
				news++
			} else if err := m.feed.write(after); err != nil {
				return news, err
			}
			changes = changes[1:]
		case u.moved[string(was.ID())], m.c.aged(was):
			if m.c.aged(was) {
				m.stats.Aged++
			}
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
			if err := m.feed.write(call); err != nil {
				return news, err
			}
		default:
			if err := m.feed.copy(old.cur.periodReader, was); err != nil {
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
	if err := from.take(call); err != nil || from.current {
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
	body []byte // of a dump's record
}

// fold applies what came in for a call to what is known of it, which may be
// nil, and counts it.
func (m *merger) fold(old *schema.Call, ch *change) (*schema.Call, error) {
	cur, told := old, ch.start
	for _, e := range ch.entries {
		slot := m.feed.slot()
		next, dec := &slot.call, &slot.dec
		r, err := m.c.in.record(e, ch.id, &slot.body)
		m.feed.cur.bytes += len(r.Body)
		if err == nil && m.c.masker != nil && e.kind != schema.KindMissing {
			// Dumps are read where they are; and a journal may be older than the mask.
			if r.Body, _, err = m.c.masker.Apply(r.Body); err != nil && !m.c.in.exact {
				err = errMisread
			}
		}
		if err != nil {
			return nil, err
		}
		if e.kind == schema.KindMissing {
			if cur == nil {
				continue // no list named it: there is nothing to say of it
			}
			// Not in the slot: merged, it shares the slices of what is known.
			next = schema.NewCall(ch.id)
			m.stats.Missing++
		} else if err := dec.Decode(r.Body, e.kind, next); err != nil || string(next.ID()) != ch.id && e.dumped() {
			if !m.c.in.exact {
				err = errMisread
			}
			return nil, fmt.Errorf("read call %q anew: %w", ch.id, err)
		}
		next.Fetched(r.FetchedAt, r.FetchedAt, []byte(ch.run))
		if next.Turns().Len() > 0 && (e.kind == schema.KindDetail || e.dumped()) {
			m.stats.Transcripts++
			m.stats.Turns += int64(next.Turns().Len())
		}
		if cur != nil && e.dumped() && cur.FetchedAt() > r.FetchedAt {
			next = addOlder(cur, next)
		} else {
			if e.kind != schema.KindMissing {
				told = next.StartAt()
			}
			schema.Merge(cur, next, e.kind)
		}
		next.Settle(m.c.now.UnixMilli())
		cur = next
	}
	if told != ch.start {
		return nil, fmt.Errorf("read the start of call %q anew: %w", ch.id, errMisread)
	}
	switch {
	case cur == nil:
		return nil, fmt.Errorf("read call %q from the journal: no record describes it", ch.id)
	case old == nil:
		m.stats.New++
	case string(old.RunID()) != ch.run && !schema.Same(old, cur):
		m.stats.Changed++ // once a run: not for the detail of a call that this run listed
	}
	if cur.Settlement() == schema.Settled && (old == nil || old.Settlement() != schema.Settled) {
		m.stats.Settled++
	}
	return cur, nil
}

// addOlder returns what is known of a call with what an older state of it adds:
// nothing that is known is overwritten.
func addOlder(known, older *schema.Call) *schema.Call {
	call := known.Copy() // not known's own room
	schema.Merge(older, call, schema.KindItem)
	run := known.RunID()
	if call.Turns().Len() == known.Turns().Len() {
		call.SetTranscriptState(known.TranscriptState())
	}
	if !schema.Same(known, call) {
		run = older.RunID()
	}
	call.Fetched(call.FirstSeenAt(), known.FetchedAt(), run)
	return call
}
