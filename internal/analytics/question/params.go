package question

import (
	"slices"
	"strings"
	"time"
)

// Params select the calls of a report and group them. The zero value is all calls as one group.
type Params struct {
	// Since and Until bound start_at, Since inclusive, Until exclusive; a zero
	// time is no bound. With a bound, calls without a start are left out.
	Since, Until time.Time
	// PreviousSince and PreviousUntil bound the calls with which those are compared:
	// the answer then has the same figures of them, and the changes. See Compare.
	PreviousSince, PreviousUntil time.Time
	// Strict sets which other changes are judged together with those of a comparison.
	Strict Strict
	// Bounds adds to the shares and means of a comparison the bounds of the figure itself, and how
	// many calls (or other things) it is of.
	Bounds bool
	// By names a dimension, or two with a comma between: see Dimensions.
	By string
	// Where are conditions on dimensions, as in call_type=outbound. Those of one
	// dimension are alternatives; nothing behind the = is no value.
	Where []string
	// Field defines success, as in resolved=true. Empty: the report success counts
	// every field that is true, and other reports ignore fields.
	Field string
	// Every is the step of time of the report concurrency: day (empty as well), hour or
	// minute.
	Every string
	// Most is the maximum number of rows of the report calls, 0: all of them; Skip is how
	// many of the newest it leaves out.
	Most, Skip int64
	// Sort is the column that the rows are sorted by, perhaps with :asc or :desc; empty: the
	// report's own order. Top is the maximum number of rows, 0: all of them.
	Sort string
	Top  int64
	// Agent is an agent's id, or the beginning of one agent's; or its name, or a part of
	// one agent's.
	Agent string
	// NamesInPlace shows agents by their names, where these are known, instead of their ids.
	// Without it the names are in a column of their own, the last.
	NamesInPlace bool
	// Columns are the requested ones of a report with groups; none: all. What only the others
	// need is not computed.
	Columns []string
	// Call is the id of the call that the report call shows. Words are what the report
	// search looks for.
	Call  string
	Words []string
	// Accepted, where it is set, is called once the parameters are found to be right, before
	// the answer is computed: a later error is not caused by them.
	Accepted func()
}

// Strict sets how many changes are judged together: all of their bounds are to hold with 95 %
// confidence. The zero value is all changes of an answer.
type Strict struct {
	Answers int // that are judged together; 0: one
	Changes int // in an answer; 0: as many as it has
}

// Bounded reports whether p has a bound.
func (p Params) Bounded() bool { return !p.Since.IsZero() || !p.Until.IsZero() }

// Only returns p with a condition on a dimension in place of its conditions on that dimension.
// An empty value stands for none.
func (p Params) Only(name, v string) Params {
	p.Where = slices.DeleteFunc(slices.Clone(p.Where), func(c string) bool {
		of, _, _ := strings.Cut(c, "=")
		return of == name || shortNames[of] == name
	})
	p.Where = append(p.Where, name+"="+v)
	return p
}

// Previous returns the parameters that select the calls of the period with which p is compared;
// false where there is none.
func (p Params) Previous() (Params, bool) {
	q := p
	q.Since, q.Until, q.PreviousSince, q.PreviousUntil = p.PreviousSince, p.PreviousUntil, time.Time{}, time.Time{}
	return q, q.Bounded()
}

// Uneven returns how many days of the weekend lie in the period of p and in the one with which it is
// compared, where these differ: then their numbers of calls differ, too.
func (p Params) Uneven(loc *time.Location) (now, previous int, uneven bool) {
	now, previous = weekendDays(p.Since, p.Until, loc), weekendDays(p.PreviousSince, p.PreviousUntil, loc)
	return now, previous, now != previous
}
