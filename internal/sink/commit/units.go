package commit

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/table"
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

// planner decides which periods a commit writes, and from which sources.
type planner struct {
	*maker
	periods map[string]bool // of the old snapshot
	after   map[string]bool // the same, with the months that the commit compacts
	units   map[string]*unit
}

func (m *maker) planner() *planner {
	p := &planner{maker: m, periods: map[string]bool{}, units: map[string]*unit{}}
	for _, f := range m.Old.Files(schema.Calls.Name) {
		p.periods[f.Period] = true
	}
	p.after = maps.Clone(p.periods)
	return p
}

// unitOf returns the unit that writes a period of the old snapshot, or a day.
func (p *planner) unitOf(period string) *unit {
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
func (p *planner) compact(month string) {
	p.after[month] = true
	u := p.unitOf(month)
	for day := range p.periods {
		if len(day) > len(month) && day[:len(month)] == month {
			u.from = append(u.from, day)
			u.always = true
		}
	}
}

// planUnits returns the periods that a run's commit writes, with their changes. moved are the days
// on which the set of the organisation's numbers changes.
func (m *maker) planUnits(in *Input, moved []tenure) ([]*unit, error) {
	p := m.planner()
	found, err := p.locate()
	if err != nil {
		return nil, err
	}
	if in.Compact != nil {
		for _, month := range in.Compact(p.Old, p.Now, p.busy(found)) {
			p.compact(month)
		}
	}
	if err := p.place(found); err != nil {
		return nil, err
	}
	for _, f := range p.Old.Files(schema.Calls.Name) {
		if f.NextExpiry != nil && *f.NextExpiry <= p.Now.UnixMilli() {
			p.unitOf(f.Period)
		}
	}
	p.planMoved(moved)
	p.ageOut()
	return p.sorted(), nil
}

// sorted returns the units and their changes in order.
func (p *planner) sorted() []*unit {
	out := slices.Collect(maps.Values(p.units))
	for _, u := range out {
		slices.SortFunc(u.changes, func(a, b *change) int { return table.CompareKey(a.start, a.id, b.start, b.id) })
	}
	slices.SortFunc(out, func(a, b *unit) int { return cmp.Compare(a.period, b.period) })
	return out
}

// place puts every change into the unit of its period. If the call's row was elsewhere, it removes
// the row there.
func (p *planner) place(found map[string]located) error {
	if err := p.placeDumped(found); err != nil {
		return err
	}
	leaving := map[string][]*change{}
	for id, ch := range p.in.changes {
		was, known := found[id]
		switch {
		case ch.startSent && (ch.start.OK || ch.asOf == 0):
		case known:
			ch.start = was.start
		case !ch.described:
			continue // a call that returns 404 and is in no list: nothing to store
		}
		if p.keepFrom > 0 && ch.start.OK && ch.start.V < p.keepFrom {
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
func (p *planner) loadAll(leaving map[string][]*change) error {
	for period, changes := range leaving {
		if err := p.loadMoved(period, changes); err != nil {
			return err
		}
	}
	return nil
}

// placeDumped corrects the start of calls from dumps: if the snapshot has a newer state of a call,
// that state's start counts.
func (p *planner) placeDumped(found map[string]located) error {
	doubtful := map[string][]*change{}
	for id, was := range found {
		if ch := p.in.changes[id]; ch.asOf > 0 && ch.start != was.start {
			doubtful[was.period] = append(doubtful[was.period], ch)
		}
	}
	if err := p.loadAll(doubtful); err != nil {
		return err
	}
	for _, changes := range doubtful {
		for _, ch := range changes {
			if ch.old != nil && ch.old.FetchedAt() > ch.asOf && ch.old.CarriesStart() {
				ch.start = ch.old.StartAt()
			}
			ch.old = nil
		}
	}
	return nil
}

// loadMoved reads the rows of the calls that leave a period.
func (p *planner) loadMoved(period string, changes []*change) error {
	byID := map[string]*change{}
	for _, ch := range changes {
		byID[ch.id] = ch
	}
	in, err := p.Old.Period(period, nil)
	if err != nil {
		return err
	}
	err = in.Each(func(call *calls.Call) error {
		if ch := byID[string(call.ID())]; ch != nil {
			ch.old = call.Copy()
		}
		return nil
	})
	return errors.Join(err, in.Close())
}

// busy returns the months with new records.
func (p *planner) busy(found map[string]located) map[string]bool {
	busy := map[string]bool{}
	for id, ch := range p.in.changes {
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

// Nightly returns the months that a night compacts: see Input.Compact.
func Nightly(old *snapshot.Reader, now time.Time, busy map[string]bool) (out []string) {
	if old == nil {
		return nil
	}
	var bytes int64
	for _, m := range snapshot.Months(old.Snapshot, now) {
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

// ageOut drops calls past their retention. Files of whole days and months are no longer linked; a
// partly retained month is rewritten.
func (p *planner) ageOut() {
	if p.keepFrom == 0 {
		return
	}
	for _, f := range p.Old.Files(schema.Calls.Name) {
		switch {
		case snapshot.EndOf(f.Period) <= p.keepFrom:
			p.replaced[f.Period] = true
			p.made.Aged += f.Rows
		case f.MinStart != nil && *f.MinStart < p.keepFrom:
			p.unitOf(f.Period).always = true
		}
	}
	for period, u := range p.units {
		if snapshot.EndOf(period) <= p.keepFrom {
			delete(p.units, period)
		}
		u.from = slices.DeleteFunc(u.from, func(from string) bool { return p.replaced[from] })
	}
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
func (p *planner) locate() (map[string]located, error) {
	found := map[string]located{}
	if p.Old == nil || len(p.in.changes) == 0 {
		return found, nil
	}
	home := map[string]bool{}
	for _, ch := range p.in.changes {
		if at := ch.near; ch.startSent || at.OK {
			if ch.startSent {
				at = ch.start
			}
			if at.OK {
				home[periodOf(p.periods, layout.Day(at.V))] = true
			}
		}
	}
	var likely, others []*layout.File
	var missing *table.IDs
	for _, f := range p.Old.Files(schema.Calls.Name) {
		switch {
		case home[f.Period]:
			if err := p.search(f, nil, found); err != nil {
				return nil, err
			}
		case f.Unsettled > 0 || f.Due > 0:
			likely = append(likely, f)
		default:
			others = append(others, f)
		}
	}
	for i, f := range append(likely, others...) {
		if len(found) == len(p.in.changes) {
			break
		}
		if i == len(likely) {
			missing = p.missing(found)
		}
		if err := p.search(f, missing, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// missing returns the changed calls that have not been found.
func (p *planner) missing(found map[string]located) *table.IDs {
	out := new(table.IDs)
	for id := range p.in.changes {
		if _, ok := found[id]; !ok {
			out.Add(id)
		}
	}
	return out
}

// search looks for changed calls in a file. With missing, it reads only the row groups whose filter
// may contain one of those calls.
func (p *planner) search(f *layout.File, missing *table.IDs, found map[string]located) (err error) {
	open := p.Old.Open
	if missing != nil {
		open = p.Old.OpenAsIs
	}
	t, err := open(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	columns, prove := []string{"call_id", "start_at", "first_seen_at"}, func() error { return p.Old.Prove(f) }
	return missing.Each(t, columns, prove, func(row []parquet.Value) {
		id := row[0].ByteArray()
		if _, ok := p.in.changes[string(id)]; ok {
			found[string(id)] = located{period: f.Period, start: schema.MillisOf(row[1]), first: schema.MillisOf(row[2])}
		}
	})
}
