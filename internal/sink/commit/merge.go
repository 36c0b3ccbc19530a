package commit

import (
	"errors"
	"fmt"
	"slices"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/table"
)

// merger rewrites units, one after the other. It holds one call at a time (and
// the Parquet writers' open row groups), whatever the size of a period.
type merger struct {
	c     *Commit
	stats Stats
	feed  *table.Feed
	dec   calls.Decoder // of rows from older files
}

// rewrite merges a unit's changes into its period. If nothing changed, it returns
// unchanged true and leaves no file.
func (m *merger) rewrite(u *unit) (files []layout.File, unchanged bool, err error) {
	if copies, err := m.c.copies(u); err != nil {
		return nil, true, err
	} else if copies {
		files, err = m.join(u)
		return files, false, err
	}
	old := snapshot.NewSources(m.c.Old, u.from, nil)
	w := table.NewPeriodWriter(m.c.b, u.period, m.c.Country)
	w.Tell = func(call *calls.Call) { m.c.lines.tell(call) }
	m.feed = table.NewFeed(w)
	news, err := m.merge(u, old)
	if werr := m.feed.Close(); werr != nil {
		err = werr
	}
	err = errors.Join(err, old.Close())
	if err != nil || news == 0 && len(u.from) > 0 && !u.always {
		return nil, true, errors.Join(err, w.Discard())
	}
	files, err = w.Close()
	return files, false, err
}

// merge returns how many rows differ from what was there.
func (m *merger) merge(u *unit, old *snapshot.Sources) (news int, err error) {
	changes, respelled := u.changes, m.c.respells(u)
	anew := u.moved || respelled // what follows from the numbers of its calls may be another
	for {
		was, err := old.Next()
		if err != nil {
			return news, err
		}
		for len(changes) > 0 && (was == nil ||
			table.CompareKey(changes[0].start, changes[0].id, was.StartAt(), string(was.ID())) < 0) {
			call, err := m.fold(changes[0].old, changes[0])
			if err != nil {
				return news, err
			}
			if err := m.feed.Write(call); err != nil {
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
			before, err := m.take(old.Current, was)
			if err != nil {
				return news, err
			}
			after, err := m.fold(before, changes[0])
			if err != nil {
				return news, err
			}
			if calls.Same(before, after) && !changes[0].lacksTranscript(after) {
				after = before
			} else {
				news++
			}
			if anew && m.c.lines.tell(after) {
				news++
			}
			if m.c.aged(after) {
				m.stats.Aged++
				news++
			} else if err := m.feed.Write(after); err != nil {
				return news, err
			}
			changes = changes[1:]
		case u.leaving[string(was.ID())], m.c.aged(was):
			if m.c.aged(was) {
				m.stats.Aged++
			}
			news++
			if err := old.Current.Skip(was); err != nil {
				return news, err
			}
		case m.c.overdue(was), m.c.distrusts() && was.InBulk(), !old.Current.Current, respelled, len(u.lost) > 0, u.blanks[string(was.ID())]:
			call, err := m.take(old.Current, was)
			if err != nil {
				return news, err
			}
			call.Lose(u.loses(&schema.Turns), u.loses(&schema.Items))
			if u.blanks[string(call.ID())] {
				m.c.blank(&call.Object)
				news++
			}
			if distrusted := m.distrust(call); distrusted || m.c.overdue(call) {
				call.Settle(m.c.Now.UnixMilli())
				news++
			}
			if anew && m.c.lines.tell(call) {
				news++
			}
			if err := m.feed.Write(call); err != nil {
				return news, err
			}
		default:
			if anew && m.c.lines.tell(was) {
				news++
			}
			if err := m.feed.Copy(old.Current.Period, was); err != nil {
				return news, err
			}
		}
		if u.progress != nil {
			u.progress(1)
		}
	}
}

// take reads the whole of a call from its source. What an older file has no
// column for, and today's tables have, moves from extra into its column.
func (m *merger) take(from *snapshot.Source, call *calls.Call) (*calls.Call, error) {
	if err := from.Take(call); err != nil || from.Current {
		return call, err
	}
	return table.Upgrade(&m.dec, call), nil
}

// distrust makes a call whose transcript is believed no more wait for its own record.
func (m *merger) distrust(call *calls.Call) bool { return m.c.distrusts() && call.Distrust() }

// overdue says whether a call has expired since it was written.
func (c *Commit) overdue(call *calls.Call) bool {
	return !c.AsIs && call.Unsettled() && call.ExpiresAt() <= c.Now.UnixMilli()
}

// fold merges what came in for a call into what is known of it, which may be nil, and
// counts it.
func (m *merger) fold(old *calls.Call, ch *change) (*calls.Call, error) {
	cur, start := old, ch.start
	for _, e := range ch.entries {
		slot := m.feed.Slot()
		next, dec := &slot.Call, &slot.Dec
		r, err := m.c.in.record(e, ch.id, &slot.Body)
		m.feed.Grow(len(r.Body))
		if err == nil && m.c.Masker != nil && !e.kind.Bodiless() {
			// Dumps are read where they are; and a journal may be older than the mask.
			if r.Body, _, err = m.c.Masker.Apply(r.Body); err != nil && !m.c.in.exact {
				err = ErrMisread
			}
		}
		if err != nil {
			return nil, err
		}
		if cur == nil && (e.kind.Bodiless() || e.kind == schema.KindBulk) {
			continue // no list named it: there is nothing to say of it
		}
		if e.kind == schema.KindBulk && m.c.refused() {
			continue
		}
		if e.kind.Bodiless() {
			// Not in the slot: merged, it shares the slices of what is known.
			next = calls.NewCall(ch.id)
			if e.kind == schema.KindMissing {
				m.stats.Missing++
			}
		} else if err := dec.Decode(r.Body, e.kind, next); err != nil || string(next.ID()) != ch.id && e.dumped() {
			if !m.c.in.exact {
				err = ErrMisread
			}
			return nil, fmt.Errorf("read call %q anew: %w", ch.id, err)
		}
		next.Fetched(r.FetchedAt, r.FetchedAt, []byte(ch.run))
		if e.kind == schema.KindDetail || e.dumped() {
			m.stats.took(next)
		}
		if cur != nil && e.dumped() && cur.FetchedAt() > r.FetchedAt {
			next = addOlder(cur, next)
		} else {
			if !e.kind.Bodiless() && e.kind != schema.KindBulk && next.CarriesStart() {
				start = next.StartAt()
			}
			calls.Merge(cur, next, e.kind)
			if e.kind == schema.KindBulk && next.InBulk() && !cur.InBulk() {
				m.stats.took(next)
			}
		}
		next.Settle(m.c.Now.UnixMilli())
		cur = next
	}
	if cur != nil && m.distrust(cur) {
		cur.Settle(m.c.Now.UnixMilli())
	}
	if start != ch.start {
		return nil, fmt.Errorf("read the start of call %q anew: %w", ch.id, ErrMisread)
	}
	switch {
	case cur == nil:
		return nil, fmt.Errorf("read call %q from the journal: no record describes it", ch.id)
	case old == nil:
		m.stats.New++
	case string(old.RunID()) != ch.run && !calls.Same(old, cur):
		m.stats.Changed++ // once a run: not for the detail of a call that this run listed
	}
	if cur.Settlement() == calls.Settled && (old == nil || old.Settlement() != calls.Settled) {
		m.stats.Settled++
	}
	if cur.TranscriptState() == calls.Skipped && (old == nil || old.TranscriptState() != calls.Skipped) {
		m.stats.Skipped++
	}
	return cur, nil
}

// lacksTranscript says that a call's own record was fetched and has no transcript. Then
// it is to be seen when that was, since it is asked for again after some time.
func (ch *change) lacksTranscript(call *calls.Call) bool {
	return call.TurnCount().OK && call.TurnCount().V == 0 &&
		slices.ContainsFunc(ch.entries, func(e entry) bool { return e.kind == schema.KindDetail || e.kind == schema.KindBulk })
}

// addOlder returns what is known of a call with what an older state of it adds:
// nothing that is known is overwritten.
func addOlder(known, older *calls.Call) *calls.Call {
	call := known.Copy() // not known's own room
	calls.Merge(older, call, schema.KindItem)
	run := known.RunID()
	if call.Turns().Len() == known.Turns().Len() {
		call.SetTranscriptState(known.TranscriptState())
	}
	if !calls.Same(known, call) {
		run = older.RunID()
	}
	call.Fetched(call.FirstSeenAt(), known.FetchedAt(), run)
	return call
}

// respells reports whether national numbers of a unit's files were read in another country.
func (c *Commit) respells(u *unit) bool {
	return slices.ContainsFunc(u.from, func(period string) bool {
		f := c.Old.File(schema.Calls.Name, period)
		return f != nil && f.Country != c.Country
	})
}

// copies says whether a unit only joins several files into one: no call changes, and
// all rows may be copied as they are.
func (c *Commit) copies(u *unit) (bool, error) {
	if !u.always || len(u.from) < 2 || len(u.changes) > 0 || len(u.leaving) > 0 || u.moved {
		return false, nil
	}
	for _, period := range u.from {
		if current, err := c.Old.UpToDate(period, c.Country); err != nil || !current {
			return false, err
		}
	}
	return true, nil
}

// join writes such a unit one table after the other: all tables of a month at once
// would take more memory than anything else in a run.
func (m *merger) join(u *unit) (files []layout.File, err error) {
	for _, table := range schema.CallTables {
		f, err := m.joinTable(u, table)
		if err != nil {
			return nil, err
		}
		files = append(files, f...)
	}
	return files, nil
}

func (m *merger) joinTable(u *unit, of *schema.Table) ([]layout.File, error) {
	old := snapshot.NewSources(m.c.Old, u.from, of)
	w := table.NewPeriodWriter(m.c.b, u.period, m.c.Country)
	w.Only = of
	feed := table.NewFeed(w)
	err := copyAll(u, old, feed)
	if werr := feed.Close(); werr != nil {
		err = werr
	}
	if err = errors.Join(err, old.Close()); err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	return w.Close()
}

// copyAll takes over the rows of one table.
func copyAll(u *unit, old *snapshot.Sources, to *table.Feed) error {
	for {
		call, err := old.Next()
		if err != nil || call == nil {
			return err
		}
		if err := to.Copy(old.Current.Period, call); err != nil {
			return err
		}
		if u.progress != nil && old.Only == &schema.Turns { // they take the longest
			u.progress(1)
		}
	}
}
