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

// merger rewrites units, one after the other. Whatever the size of a period, it holds one call at a
// time, and the Parquet writers' open row groups.
type merger struct {
	*maker
	stats Stats
	feed  *table.Feed
	dec   calls.Decoder // of rows from older files
}

// rewrite merges a unit's changes into its period. If nothing changed, it returns unchanged true
// and leaves no file.
func (m *merger) rewrite(u *unit) (files []layout.File, unchanged bool, err error) {
	if copies, err := m.copies(u); err != nil {
		return nil, true, err
	} else if copies {
		files, err = m.join(u)
		return files, false, err
	}
	old := snapshot.NewSources(m.Old, u.from, nil)
	w := table.NewPeriodWriter(m.b, u.period, m.Country)
	w.Tell = func(call *calls.Call) { m.lines.tell(call) }
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

// rewriting is a unit's period while it is rewritten.
type rewriting struct {
	*merger
	u       *unit
	old     *snapshot.Sources
	changes []*change // still to be merged
	spelled bool      // the region of national numbers changed
	anew    bool      // columns derived from the calls' numbers may change
	news    int       // rows that differ from the old ones
}

// merge returns the number of rows that differ from the old ones.
func (m *merger) merge(u *unit, old *snapshot.Sources) (news int, err error) {
	r := &rewriting{merger: m, u: u, old: old, changes: u.changes, spelled: m.respells(u)}
	r.anew = u.moved || r.spelled
	for {
		was, err := old.Next()
		if err == nil {
			err = r.addBefore(was)
		}
		if err != nil || was == nil {
			return r.news, err
		}
		if err := r.keep(was); err != nil {
			return r.news, err
		}
		if m.progress != nil {
			m.progress(1)
		}
	}
}

// addBefore writes the new calls that sort before an existing one; all remaining ones for nil.
func (r *rewriting) addBefore(was *calls.Call) error {
	for len(r.changes) > 0 && (was == nil ||
		table.CompareKey(r.changes[0].start, r.changes[0].id, was.StartAt(), string(was.ID())) < 0) {
		call, err := r.fold(r.changes[0].old, r.changes[0])
		if err != nil {
			return err
		}
		if err := r.feed.Write(call); err != nil {
			return err
		}
		r.news++
		r.changes = r.changes[1:]
	}
	return nil
}

// keep writes an existing call: merged with its new records, without the data that it loses, or
// unchanged.
func (r *rewriting) keep(was *calls.Call) error {
	id := string(was.ID())
	switch {
	case len(r.changes) > 0 && r.changes[0].id == id && r.changes[0].start == was.StartAt():
		return r.change(was)
	case r.u.leaving[id], r.aged(was):
		if r.aged(was) {
			r.stats.Aged++
		}
		r.news++
		return r.old.Current.Skip(was)
	case r.overdue(was), r.distrusts() && was.InBulk(), !r.old.Current.Current, r.spelled, len(r.u.lost) > 0, r.u.blanks[id]:
		return r.touch(was)
	}
	r.tell(was)
	return r.feed.Copy(r.old.Current.Period, was)
}

// change merges the new records of a call.
func (r *rewriting) change(was *calls.Call) error {
	ch := r.changes[0]
	r.changes = r.changes[1:]
	before, err := r.take(r.old.Current, was)
	if err != nil {
		return err
	}
	after, err := r.fold(before, ch)
	if err != nil {
		return err
	}
	if calls.Same(before, after) && !ch.lacksTranscript(after) {
		after = before
	} else {
		r.news++
	}
	r.tell(after)
	if r.aged(after) {
		r.stats.Aged++
		r.news++
		return nil
	}
	return r.feed.Write(after)
}

// touch writes a call without new records that may nevertheless have to change.
func (r *rewriting) touch(was *calls.Call) error {
	call, err := r.take(r.old.Current, was)
	if err != nil {
		return err
	}
	call.Lose(r.u.loses(&schema.Turns), r.u.loses(&schema.Items))
	if r.u.blanks[string(call.ID())] {
		r.blankRows(&call.Object)
		r.news++
	}
	if distrusted := r.distrust(call); distrusted || r.overdue(call) {
		call.Settle(r.Now.UnixMilli())
		r.news++
	}
	r.tell(call)
	return r.feed.Write(call)
}

// tell sets the columns derived from the numbers of a call if they may have changed.
func (r *rewriting) tell(call *calls.Call) {
	if r.anew && r.lines.tell(call) {
		r.news++
	}
}

// take reads a whole call from its source. Values without a column in an older file move from extra
// into their current column.
func (m *merger) take(from *snapshot.Source, call *calls.Call) (*calls.Call, error) {
	if err := from.Take(call); err != nil || from.Current {
		return call, err
	}
	return table.Upgrade(&m.dec, call), nil
}

// distrust makes a call whose transcript is no longer trusted wait for its own record.
func (m *merger) distrust(call *calls.Call) bool { return m.distrusts() && call.Distrust() }

// overdue reports whether a call has expired since it was written.
func (m *maker) overdue(call *calls.Call) bool {
	return m.settles && call.Unsettled() && call.ExpiresAt() <= m.Now.UnixMilli()
}

// fold merges the new records of a call into its known state, which may be nil, and counts it.
func (m *merger) fold(old *calls.Call, ch *change) (*calls.Call, error) {
	cur, start := old, ch.start
	for _, e := range ch.entries {
		next, fetchedAt, err := m.read(ch, e, cur != nil)
		if err != nil {
			return nil, err
		}
		if next == nil {
			continue
		}
		if cur != nil && e.dumped() && cur.FetchedAt() > fetchedAt {
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
		next.Settle(m.Now.UnixMilli())
		cur = next
	}
	if cur != nil && m.distrust(cur) {
		cur.Settle(m.Now.UnixMilli())
	}
	if start != ch.start {
		return nil, fmt.Errorf("read the start of call %q anew: %w", ch.id, ErrMisread)
	}
	if cur == nil {
		return nil, fmt.Errorf("read call %q from the journal: no record describes it", ch.id)
	}
	m.stats.folded(old, cur, ch.run)
	return cur, nil
}

// read decodes one of a call's records. It returns nil for a record that adds nothing: of a call
// that no list named, or of a page of v2 that is not trusted.
func (m *merger) read(ch *change, e entry, isKnown bool) (call *calls.Call, fetchedAt int64, err error) {
	slot := m.feed.Slot()
	r, err := m.in.record(e, ch.id, &slot.Body)
	m.feed.Grow(len(r.Body))
	if err == nil && m.masker != nil && !e.kind.Bodiless() {
		// Dumps are read in place; and a journal may be older than the mask.
		if r.Body, _, err = m.masker.Apply(r.Body); err != nil && !m.in.exact {
			err = ErrMisread
		}
	}
	if err != nil {
		return nil, 0, err
	}
	if !isKnown && (e.kind.Bodiless() || e.kind == schema.KindBulk) || e.kind == schema.KindBulk && m.refused() {
		return nil, 0, nil
	}
	call = &slot.Call
	if e.kind.Bodiless() {
		call = calls.NewCall(ch.id) // not the slot's: once merged, it shares slices with the known state
		if e.kind == schema.KindMissing {
			m.stats.Missing++
		}
	} else if err := slot.Dec.Decode(r.Body, e.kind, call); err != nil || string(call.ID()) != ch.id && e.dumped() {
		if !m.in.exact {
			err = ErrMisread
		}
		return nil, 0, fmt.Errorf("read call %q anew: %w", ch.id, err)
	}
	call.Fetched(r.FetchedAt, r.FetchedAt, []byte(ch.run))
	if e.kind == schema.KindDetail || e.dumped() {
		m.stats.took(call)
	}
	return call, r.FetchedAt, nil
}

// lacksTranscript reports whether a call's own record was fetched without a transcript. The time of
// that fetch must then be stored, since the record is requested again later.
func (ch *change) lacksTranscript(call *calls.Call) bool {
	return call.TurnCount().OK && call.TurnCount().V == 0 &&
		slices.ContainsFunc(ch.entries, func(e entry) bool { return e.kind == schema.KindDetail || e.kind == schema.KindBulk })
}

// addOlder returns a known call with the values that an older state adds: nothing known is
// overwritten.
func addOlder(known, older *calls.Call) *calls.Call {
	call := known.Copy() // not known's own memory
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

// respells reports whether the national numbers of a unit's files were read in another region.
func (m *maker) respells(u *unit) bool {
	return slices.ContainsFunc(u.from, func(period string) bool {
		f := m.Old.File(schema.Calls.Name, period)
		return f != nil && f.Country != m.Country
	})
}

// copies reports whether a unit only joins several files into one: no call changes, and all rows
// may be copied unchanged.
func (m *maker) copies(u *unit) (bool, error) {
	if !u.always || len(u.from) < 2 || len(u.changes) > 0 || len(u.leaving) > 0 || u.moved {
		return false, nil
	}
	for _, period := range u.from {
		if current, err := m.Old.UpToDate(period, m.Country); err != nil || !current {
			return false, err
		}
	}
	return true, nil
}

// join writes such a unit one table after the other: all tables of a month at once would take more
// memory than anything else in a run.
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
	old := snapshot.NewSources(m.Old, u.from, of)
	w := table.NewPeriodWriter(m.b, u.period, m.Country)
	w.Only = of
	feed := table.NewFeed(w)
	err := m.copyAll(old, feed)
	if werr := feed.Close(); werr != nil {
		err = werr
	}
	if err = errors.Join(err, old.Close()); err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	return w.Close()
}

// copyAll copies the rows of one table.
func (m *maker) copyAll(old *snapshot.Sources, to *table.Feed) error {
	for {
		call, err := old.Next()
		if err != nil || call == nil {
			return err
		}
		if err := to.Copy(old.Current.Period, call); err != nil {
			return err
		}
		if m.progress != nil && old.Only == &schema.Turns { // turns take the longest
			m.progress(1)
		}
	}
}
