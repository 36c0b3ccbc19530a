package sink

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// unit is the part of a commit that writes one period: a day, or a month that
// is compacted. Its files of all tables are written together.
type unit struct {
	period  string
	from    []string        // the periods of the old snapshot that go into it
	changes []*change       // sorted as the table calls
	moved   map[string]bool // rows that leave for another place, or for good
	always  bool            // write it, also if no row changes
	tell    func(rows int64)
}

// periodOf returns the period whose file holds the calls of a UTC day: the
// month, where it was compacted, and else the day.
func periodOf(periods map[string]bool, day string) string {
	if month := day[:7]; periods[month] {
		return month
	}
	return day
}

// planner says which periods a commit writes, and out of what.
type planner struct {
	c        *commit
	periods  map[string]bool // of the old snapshot
	becoming map[string]bool // the same after the commit, as far as months go
	units    map[string]*unit
}

// at returns the unit that writes a period of the old snapshot, or a day's.
func (p *planner) at(period string) *unit {
	period = periodOf(p.becoming, period)
	u := p.units[period]
	if u == nil {
		u = &unit{period: period, moved: map[string]bool{}}
		if p.periods[period] {
			u.from = append(u.from, period)
		}
		p.units[period] = u
	}
	return u
}

// compact makes one period of a month's days.
func (p *planner) compact(month string) {
	p.becoming[month] = true
	u := p.at(month)
	for day := range p.periods {
		if len(day) > len(month) && day[:len(month)] == month {
			u.from = append(u.from, day)
			u.always = true
		}
	}
}

// planUnits says which periods a commit writes, and with what.
func (c *commit) planUnits() ([]*unit, error) {
	p := &planner{c: c, periods: map[string]bool{}, units: map[string]*unit{}}
	for _, f := range c.oldFiles(schema.Calls.Name) {
		p.periods[f.Period] = true
	}
	p.becoming = maps.Clone(p.periods)
	found, err := c.locate(p.periods)
	if err != nil {
		return nil, err
	}
	for _, month := range c.monthsToCompact(found) {
		p.compact(month)
	}
	if err := p.place(found); err != nil {
		return nil, err
	}
	for _, f := range c.oldFiles(schema.Calls.Name) {
		if !c.asIs && f.NextExpiry != nil && *f.NextExpiry <= c.now.UnixMilli() {
			p.at(f.Period)
		}
	}
	for _, period := range c.rewrites {
		p.at(period).always = true
	}
	c.ageOut(p)
	out := slices.Collect(maps.Values(p.units))
	for _, u := range out {
		u.tell = c.tell
		slices.SortFunc(u.changes, func(a, b *change) int { return compareKey(a.start, a.id, b.start, b.id) })
	}
	slices.SortFunc(out, func(a, b *unit) int { return cmp.Compare(a.period, b.period) })
	return out, nil
}

// place puts every change into the unit of the period where it belongs, and
// takes the rows of those that lay elsewhere from there.
func (p *planner) place(found map[string]located) error {
	if err := p.c.placeDumped(found); err != nil {
		return err
	}
	leaving := map[string][]*change{}
	for id, ch := range p.c.in.changes {
		was, known := found[id]
		if !ch.told {
			if !known {
				continue // a call that answers 404 and that no list named: nothing to say
			}
			ch.start = was.start
		}
		if p.c.keepFrom > 0 && ch.start.OK && ch.start.V < p.c.keepFrom {
			if known {
				p.at(was.period).moved[id] = true
			}
			continue
		}
		var u *unit
		switch {
		case ch.start.OK:
			u = p.at(layout.Day(ch.start.V))
		case known && !was.start.OK:
			u = p.at(was.period)
		default:
			u = p.at(layout.Day(ch.first))
		}
		u.changes = append(u.changes, ch)
		if known && (p.at(was.period) != u || was.start != ch.start) {
			p.at(was.period).moved[id] = true
			leaving[was.period] = append(leaving[was.period], ch)
		}
	}
	return p.c.loadAll(leaving)
}

// loadAll reads the rows of the calls that leave their periods.
func (c *commit) loadAll(leaving map[string][]*change) error {
	for period, changes := range leaving {
		if err := c.loadMoved(period, changes); err != nil {
			return err
		}
	}
	return nil
}

// placeDumped settles where calls of dumps belong whose start is not what the
// snapshot says: where it says, if what it holds of them is newer.
func (c *commit) placeDumped(found map[string]located) error {
	doubtful := map[string][]*change{}
	for id, was := range found {
		if ch := c.in.changes[id]; ch.asOf > 0 && ch.start != was.start {
			doubtful[was.period] = append(doubtful[was.period], ch)
		}
	}
	if err := c.loadAll(doubtful); err != nil {
		return err
	}
	for _, changes := range doubtful {
		for _, ch := range changes {
			if ch.old != nil && ch.old.FetchedAt() > ch.asOf {
				ch.start = ch.old.StartAt()
			}
			ch.old = nil
		}
	}
	return nil
}

// compareKey orders calls as the tables are sorted: by start, nulls last, then
// by id.
func compareKey(aStart schema.Opt[int64], aID string, bStart schema.Opt[int64], bID string) int {
	switch {
	case aStart.OK && !bStart.OK:
		return -1
	case !aStart.OK && bStart.OK:
		return 1
	case aStart.V != bStart.V && aStart.OK:
		return cmp.Compare(aStart.V, bStart.V)
	}
	return strings.Compare(aID, bID)
}

// loadMoved reads the rows of the calls that leave a period.
func (c *commit) loadMoved(period string, changes []*change) error {
	byID := map[string]*change{}
	for _, ch := range changes {
		byID[ch.id] = ch
	}
	in, err := c.openPeriod(period)
	if err != nil {
		return err
	}
	for {
		call, err := in.next()
		if err != nil || call == nil {
			return closing(err, in.close)
		}
		if ch := byID[string(call.ID())]; ch != nil {
			if ch.old, err = call, in.take(call); err != nil {
				return closing(err, in.close)
			}
			continue
		}
		if err := in.skip(call); err != nil {
			return closing(err, in.close)
		}
	}
}

func (c *commit) oldFiles(table string) []*layout.File {
	if c.old == nil {
		return nil
	}
	return c.old.Manifest.FilesOf(table)
}

// fileOf returns the old snapshot's file of a table and period, or nil.
func (c *commit) fileOf(table, period string) *layout.File {
	if c.old == nil {
		return nil
	}
	for i := range c.old.Manifest.Files {
		if f := &c.old.Manifest.Files[i]; f.Table == table && f.Period == period {
			return f
		}
	}
	return nil
}
