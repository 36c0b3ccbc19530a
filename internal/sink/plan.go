package sink

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// unit is the part of a commit that writes one period: a day, or a compacted month. The files of
// all tables are written together.
type unit struct {
	period  string
	from    []string        // periods of the old snapshot that it replaces
	changes []*change       // sorted like the table calls
	leaving map[string]bool // rows that move to another period, or are removed
	moved   bool            // derive the columns of the calls' numbers again
	always  bool            // write it even if no row changes
}

// periodOf returns the period whose file holds the calls of a UTC day: the month if it was
// compacted, otherwise the day.
func periodOf(periods map[string]bool, day string) string {
	if month := day[:7]; periods[month] {
		return month
	}
	return day
}

// commitPlan decides which periods a commit writes, and from which sources.
type commitPlan struct {
	old     *Reader
	periods map[string]bool // of the old snapshot
	after   map[string]bool // the same, with the months that the commit compacts
	units   map[string]*unit
}

func newPlan(old *Reader) *commitPlan {
	p := &commitPlan{old: old, periods: map[string]bool{}, units: map[string]*unit{}}
	for _, f := range old.Files(schema.Calls.Name) {
		p.periods[f.Period] = true
	}
	p.after = maps.Clone(p.periods)
	return p
}

// unitOf returns the unit that writes a period of the old snapshot, or a day.
func (p *commitPlan) unitOf(period string) *unit {
	period = periodOf(p.after, period)
	u := p.units[period]
	if u == nil {
		u = &unit{period: period, leaving: map[string]bool{}}
		if p.periods[period] {
			u.from = append(u.from, period)
		}
		p.units[period] = u
	}
	return u
}

// compact joins a month's days into one period.
func (p *commitPlan) compact(month string) {
	p.after[month] = true
	u := p.unitOf(month)
	for day := range p.periods {
		if len(day) > len(month) && day[:len(month)] == month {
			u.from = append(u.from, day)
			u.always = true
		}
	}
}

// rewriting returns the units that rewrite periods; with always, even if no call changes.
func (p *commitPlan) rewriting(periods []string, always bool) []*unit {
	for _, period := range periods {
		p.unitOf(period).always = always
	}
	return p.sorted()
}

// plan returns the periods that a run's commit writes, with their changes. moved is when the
// organisation's numbers change.
func (m *maker) plan(compact monthsToCompact, moved []ownedSpan) ([]*unit, error) {
	p := newPlan(m.old)
	found, err := p.locate(m.in.changes)
	if err != nil {
		return nil, err
	}
	if compact != nil {
		for _, month := range compact(p.old, m.now, busyMonths(m.in.changes, found)) {
			p.compact(month)
		}
	}
	if err := p.place(m.in.changes, found, m.keepFrom); err != nil {
		return nil, err
	}
	for _, f := range p.old.Files(schema.Calls.Name) {
		if f.NextExpiry != nil && *f.NextExpiry <= m.now.UnixMilli() {
			p.unitOf(f.Period)
		}
		from, to := boundsOf(f.Period)
		if slices.ContainsFunc(moved, func(t ownedSpan) bool { return from < t.to && t.from < to }) {
			p.unitOf(f.Period).moved = true
		}
		if m.keepFrom > 0 && (to <= m.keepFrom || f.MinStart != nil && *f.MinStart < m.keepFrom) { // it loses calls
			p.unitOf(f.Period).always = true
		}
	}
	return p.sorted(), nil
}

// sorted returns the units and their changes in order.
func (p *commitPlan) sorted() []*unit {
	out := slices.Collect(maps.Values(p.units))
	for _, u := range out {
		slices.SortFunc(u.changes, func(a, b *change) int { return compareKey(a.start, a.id, b.start, b.id) })
	}
	slices.SortFunc(out, func(a, b *unit) int { return cmp.Compare(a.period, b.period) })
	return out
}

// place puts every change into the unit of its period. If the call's row was elsewhere, it removes
// the row there.
func (p *commitPlan) place(changes map[string]*change, found map[string]located, keepFrom int64) error {
	leaving := map[string][]*change{}
	for id, ch := range changes {
		was, known := found[id]
		switch {
		case known && (!ch.startSent || ch.imported && was.start.OK):
			ch.start = was.start // an import changes no known start
		case !known && !ch.described:
			continue // a call that returns 404 and is in no list: nothing to store
		}
		if keepFrom > 0 && ch.start.OK && ch.start.V < keepFrom {
			if known {
				p.unitOf(was.period).leaving[id] = true
			}
			continue
		}
		began := ch.first
		if known && was.first.OK {
			began = min(began, was.first.V)
		}
		if ch.start.OK {
			began = ch.start.V
		}
		u := p.unitOf(layout.Day(began))
		u.changes = append(u.changes, ch)
		if known && (p.unitOf(was.period) != u || was.start != ch.start) {
			p.unitOf(was.period).leaving[id] = true
			leaving[was.period] = append(leaving[was.period], ch)
		}
	}
	return p.loadAll(leaving)
}

// loadAll reads the rows of the calls that leave their period.
func (p *commitPlan) loadAll(leaving map[string][]*change) error {
	for period, changes := range leaving {
		byID := map[string]*change{}
		for _, ch := range changes {
			byID[ch.id] = ch
		}
		err := p.old.EachCall(context.Background(), period, nil, func(call *calls.Call) error {
			if ch := byID[string(call.ID())]; ch != nil {
				ch.old = call.Copy()
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// busyMonths returns the months with new records.
func busyMonths(changes map[string]*change, found map[string]located) map[string]bool {
	busy := map[string]bool{}
	for id, ch := range changes {
		if ch.start.OK {
			busy[layout.Day(ch.start.V)[:7]] = true
		} else {
			busy[layout.Day(ch.first)[:7]] = true
		}
		if was, ok := found[id]; ok {
			busy[was.period[:7]] = true
		}
	}
	return busy
}

// Limits per night: the number of months to compact, and their bytes. One month is always allowed.
const (
	nightMonths = 3
	nightBytes  = 1 << 30
)

// monthsToCompact returns the months that a commit compacts; busy ones have new records. nil: none.
type monthsToCompact func(old *Reader, now time.Time, busy map[string]bool) []string

// nightlyMonths returns the months that a night compacts.
func nightlyMonths(old *Reader, now time.Time, busy map[string]bool) (out []string) {
	if old == nil {
		return nil
	}
	var bytes int64
	for _, m := range Months(old.Snapshot, now) {
		if m.Waits != "" || busy[m.Month] {
			continue
		}
		if bytes += m.Bytes; len(out) > 0 && (len(out) == nightMonths || bytes > nightBytes) {
			break
		}
		out = append(out, m.Month)
	}
	return out
}

// aged reports whether a call is past its retention: by its start, or else by when it was first
// seen.
func (m *maker) aged(call *calls.Call) bool {
	return m.keepFrom != 0 && call.Began() < m.keepFrom
}

// located is the place of a call in the snapshot.
type located struct {
	period string
	start  schema.Opt[int64]
	first  schema.Opt[int64] // when it was first seen
}

// locate finds the changed calls in the old snapshot. It reads the ids in the files where their
// start belongs, then in files with calls whose start may still change. The remaining calls are
// new, or their start changed unexpectedly: the filters of the other files show which of these to
// read.
func (p *commitPlan) locate(changes map[string]*change) (map[string]located, error) {
	found := map[string]located{}
	if len(changes) == 0 {
		return found, nil
	}
	home := map[string]bool{}
	for _, ch := range changes {
		at := ch.near
		if ch.startSent {
			at = ch.start
		}
		if at.OK {
			home[periodOf(p.periods, layout.Day(at.V))] = true
		}
	}
	var likely, others []*layout.File
	var missing *idFilter
	for _, f := range p.old.Files(schema.Calls.Name) {
		switch {
		case home[f.Period]:
			if err := p.search(f, changes, nil, found); err != nil {
				return nil, err
			}
		case f.Unsettled > 0 || f.Due > 0:
			likely = append(likely, f)
		default:
			others = append(others, f)
		}
	}
	for i, f := range append(likely, others...) {
		if len(found) == len(changes) {
			break
		}
		if i == len(likely) {
			missing = new(idFilter)
			for id := range changes {
				if _, ok := found[id]; !ok {
					missing.Add(id)
				}
			}
		}
		if err := p.search(f, changes, missing, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// search looks for changed calls in a file. With missing, it reads only the row groups whose filter
// may contain one of those calls.
func (p *commitPlan) search(f *layout.File, changes map[string]*change, missing *idFilter, found map[string]located) (err error) {
	t, err := p.old.OpenAsIs(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if missing != nil {
		if some, err := missing.Narrow(t); err != nil || !some {
			return err
		}
	}
	if err := p.old.VerifyChecksum(f); err != nil {
		return err
	}
	return t.Each([]string{"call_id", "start_at", "first_seen_at"}, func(row []parquet.Value) {
		id := row[0].ByteArray()
		if _, ok := changes[string(id)]; ok {
			found[string(id)] = located{period: f.Period, start: schema.MillisOf(row[1]), first: schema.MillisOf(row[2])}
		}
	})
}
