package sink

import (
	"cmp"
	"slices"
	"strings"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// unit is the part of a commit that rewrites one period: a day, or a month
// that was compacted. Its files of all tables are rewritten together.
type unit struct {
	period  string
	changes []*change       // sorted as the table calls
	moved   map[string]bool // rows that leave for another place
}

// periodOf returns the period whose file holds the calls of a UTC day: the
// month, where it was compacted, and else the day.
func periodOf(periods map[string]bool, day string) string {
	if month := day[:7]; periods[month] {
		return month
	}
	return day
}

// planUnits says which periods a commit rewrites, and with what.
func (c *commit) planUnits() ([]*unit, error) {
	periods := map[string]bool{}
	for _, f := range c.oldFiles(schema.Calls.Name) {
		periods[f.Period] = true
	}
	found, err := c.locate(periods)
	if err != nil {
		return nil, err
	}
	units := map[string]*unit{}
	at := func(period string) *unit {
		u := units[period]
		if u == nil {
			u = &unit{period: period, moved: map[string]bool{}}
			units[period] = u
		}
		return u
	}
	leaving := map[string][]*change{}
	for id, ch := range c.in.changes {
		was, known := found[id]
		if !ch.told {
			if !known {
				continue // a call that answers 404 and that no list named: nothing to say
			}
			ch.start = was.start
		}
		var period string
		switch {
		case ch.start.OK:
			period = periodOf(periods, layout.Day(ch.start.V))
		case known && !was.start.OK:
			period = was.period
		default:
			period = periodOf(periods, layout.Day(ch.first))
		}
		u := at(period)
		u.changes = append(u.changes, ch)
		if known && (was.period != period || was.start != ch.start) {
			at(was.period).moved[id] = true
			leaving[was.period] = append(leaving[was.period], ch)
		}
	}
	for period, changes := range leaving {
		if err := c.loadMoved(period, changes); err != nil {
			return nil, err
		}
	}
	for _, f := range c.oldFiles(schema.Calls.Name) {
		if f.NextExpiry != nil && *f.NextExpiry <= c.now.UnixMilli() {
			at(f.Period)
		}
	}
	out := make([]*unit, 0, len(units))
	for _, u := range units {
		slices.SortFunc(u.changes, func(a, b *change) int { return compareKey(a.start, a.id, b.start, b.id) })
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b *unit) int { return cmp.Compare(a.period, b.period) })
	return out, nil
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
		call, _, err := in.next()
		if err != nil || call == nil {
			return closing(err, in.close)
		}
		if ch := byID[string(call.ID)]; ch != nil {
			if ch.old, err = in.take(call); err != nil {
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
	for _, f := range c.oldFiles(table) {
		if f.Period == period {
			return f
		}
	}
	return nil
}
