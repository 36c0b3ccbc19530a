package question

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Params select the calls of a report and group them. The zero value is all calls as one group.
type Params struct {
	// Since and Until bound start_at, Since inclusive, Until exclusive; a zero
	// time is no bound. With a bound, calls without a start are left out.
	Since, Until time.Time
	// PreviousSince and PreviousUntil bound the comparison period; the answer then also has its
	// figures and the changes. See Compare.
	PreviousSince, PreviousUntil time.Time
	// Strict sets which other changes are judged together with those of a comparison.
	Strict Strict
	// Bounds adds, for the shares and means of a comparison, the bounds of the figure itself and
	// the number of calls (or other things) that it is based on.
	Bounds bool
	// By names one dimension, or two separated by a comma: see Dimensions.
	By string
	// Where are conditions on dimensions, as in call_type=outbound. Conditions on the same
	// dimension are alternatives; an empty value matches calls without one.
	Where []string
	// Field defines success, as in resolved=true. Empty: the report success counts every true
	// field, and other reports ignore fields.
	Field string
	// Baseline is the version that the report versions compares with; empty: see its help.
	Baseline string
	// Every is the time step of the report concurrency: day (the default), hour or minute.
	Every string
	// Steps asks the report durations for the calls by steps of duration.
	Steps bool
	// Limit is the maximum number of rows of the report calls, 0: all of them; Skip is the number of
	// newest calls that it leaves out.
	Limit, Skip int64
	// Sort is the column to sort by, optionally followed by :asc or :desc; empty: the report's own
	// order. Top is the maximum number of rows, 0: all of them.
	Sort string
	Top  int64
	// Agent is an agent's id or name, or a unique beginning of the id or part of the name.
	Agent string
	// NamesInPlace shows the names of agents, where known, instead of their ids. Otherwise the last column has the names.
	NamesInPlace bool
	// MarkParts adds to a day, week, month or step the part of it that the answer has, if that is not all of it, as in
	// "2026-11-25 from 09:26" with NamesInPlace, otherwise in the column part.
	MarkParts bool
	// OneRow reduces a comparison of groups to one row of each: see [Question.OneRow].
	OneRow bool
	// Columns are the requested columns of a report with groups; none: all. Data that only other
	// columns need is not computed.
	Columns []string
	// Call is the id of the call that the report call shows, and CallStart its start, which tells its files; zero: all files
	// are searched. Words are the terms of the report search.
	Call      string
	CallStart time.Time
	Words     []string
}

// Strict sets how many changes are judged together: all their bounds hold with 95 % confidence. The
// zero value means all changes of one answer.
type Strict struct {
	Answers int // judged together; 0: one
	Changes int // in an answer; 0: all of them
}

// Quantile computes the same as the macro chance_z.
func (s Strict) Quantile() float64 {
	return math.Sqrt2 * math.Erfinv(1-.05/float64(max(s.Answers, 1)*max(s.Changes, 1)))
}

// Bounded reports whether p has a bound.
func (p Params) Bounded() bool { return !p.Since.IsZero() || !p.Until.IsZero() }

// Wants reports whether a column of a report is requested, also as part of a comparison, such as change_per_call.
func (p Params) Wants(column string) bool {
	return len(p.Columns) == 0 || slices.ContainsFunc(p.Columns, func(name string) bool {
		return name == column || strings.HasSuffix(name, "_"+column)
	})
}

// Only returns p with its conditions on a dimension replaced by one. An empty value matches calls without one.
func (p Params) Only(name, v string) Params {
	p.Where = slices.DeleteFunc(slices.Clone(p.Where), func(c string) bool {
		of, _, _ := strings.Cut(c, "=")
		of = canonical(of)
		return of == name || shortNames[of] == name
	})
	p.Where = append(p.Where, name+"="+v)
	return p
}

// Previous returns the parameters that select the calls of the comparison period; false if there is none.
func (p Params) Previous() (Params, bool) {
	q := p
	q.Since, q.Until, q.PreviousSince, q.PreviousUntil = p.PreviousSince, p.PreviousUntil, time.Time{}, time.Time{}
	return q, q.Bounded()
}
