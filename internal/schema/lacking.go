package schema

// Lacking is the set of current columns with a place in the JSON that are missing from the files of
// an object's rows, which an older version wrote. Values sent for them are in extra; whether they
// were sent as null is unknown.
type Lacking struct {
	columns map[*Table]uint64 // a bit for each column
}

// NewLacking returns the columns of a table that a file lacks; nil if none. has reports whether the
// file has a column.
func NewLacking(t *Table, has func(column int) bool) *Lacking {
	set := uint64(0)
	for i := range t.Columns {
		if c := &t.Columns[i]; (c.V3 != "" || c.V2 != "") && !has(i) {
			set |= 1 << i
		}
	}
	if set == 0 {
		return nil
	}
	return &Lacking{map[*Table]uint64{t: set}}
}

// Has reports whether a column is lacking.
func (l *Lacking) Has(t *Table, column int) bool { return l.columns[t]>>column&1 != 0 }

// Took records that some of the object's rows come from a file that lacks columns.
func (o *Object) Took(lacks *Lacking) {
	switch {
	case lacks == nil || lacks == o.Lacks:
	case o.Lacks == nil:
		o.Lacks = lacks
	default:
		both := &Lacking{map[*Table]uint64{}}
		for _, l := range []*Lacking{o.Lacks, lacks} {
			for t, set := range l.columns {
				both.columns[t] |= set
			}
		}
		o.Lacks = both
	}
}
