package resource

import (
	"slices"
	"time"

	"callhouse/internal/schema"
)

// Verdict is the difference between the service's state of an object and the stored one.
type Verdict uint8

const (
	Alike   Verdict = iota
	Since           // it may have changed since it was listed
	Edited          // not edited since, but the list differs
	Another         // the list is equal, but its own record differs: no run would request it
)

// margin is how long before a list an object may have been created or changed without appearing on
// it yet.
const margin = time.Hour

// Judge compares an object's stored state, here, with the service's current one, there. listed is
// when the list was last complete, ms UTC; 0: never. It returns the columns that differ.
func (r *Resource) Judge(here, there *schema.Object, listed int64) (v Verdict, fields []string) {
	cols := r.differing(here, there)
	if len(cols) == 0 {
		return Alike, nil
	}
	own := !slices.ContainsFunc(cols, r.ofItem)
	less := r.fromV2(there) && !r.fromV2(here)
	cols = slices.DeleteFunc(cols, func(col int) bool {
		return less && !r.told(there, col) || col == r.extra || col == r.ownExtra || r.nameOf(col) == "source" ||
			slices.Contains(r.Moves, r.nameOf(col))
	})
	for _, col := range cols {
		fields = append(fields, r.nameOf(col))
	}
	switch {
	case len(cols) == 0 && less:
		return Alike, nil
	case len(cols) == 0:
		return Since, nil
	case own:
		return Another, fields
	case r.updated < 0 || slices.Contains(cols, r.updated) || !before(here.Row, r.updated, listed):
		return Since, nil
	}
	return Edited, fields
}

// Old reports whether an object existed when a list was complete, ms UTC.
func (r *Resource) Old(o *schema.Object, listed int64) bool { return before(o.Row, r.created, listed) }

// before reports whether an instant of a row is well before another, in ms UTC.
func before(row schema.Row, col int, ms int64) bool {
	if col < 0 {
		return false
	}
	at := schema.MillisOf(row[col])
	return at.OK && at.V < ms-margin.Milliseconds()
}
