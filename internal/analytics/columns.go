package analytics

import (
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
)

// AllColumns requests every column.
const AllColumns = "all"

// Show limits an answer to the columns requested or, without any, to those that the header marks; for groups that are
// compared, to the main figure. Groups come first. It returns an *UnknownError for an unknown column.
func (a *Answer) Show(names []string) error {
	of, out, known := a.figures()
	if len(names) == 0 && a.comparing() && len(a.q.Keys) > 0 {
		names = strings.Fields(a.Report.Main)
	}
	if len(names) == 0 {
		names = a.usual(7 - len(a.q.Keys)) // more do not fit a terminal
	}
	if len(names) == 0 || slices.Contains(names, AllColumns) {
		return nil
	}
	for _, name := range names {
		at, ok := of[strings.ReplaceAll(name, " ", "_")]
		for _, unit := range []string{"_id", "_percent", "_ms", "_points"} { // which headings leave out
			if !ok {
				at, ok = of[strings.TrimSuffix(name, "_name")+unit]
			}
		}
		if !ok && slices.Contains(a.q.Report.Fielded, name) {
			return &question.GroupError{What: fmt.Sprintf("the column %s requires --field", name), Hint: "for example: --field resolved=true"}
		}
		if !ok {
			return question.Unknown("column", name, known)
		}
		for _, i := range at {
			if !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}
	all := a.columns
	a.at, a.columns = out, nil
	for _, i := range out {
		a.columns = append(a.columns, all[i])
	}
	return nil
}

// figures returns the columns of each figure by its name and heading, those of groups, and the names.
func (a *Answer) figures() (of map[string][]int, groups []int, known []string) {
	of = map[string][]int{}
	for i, c := range a.Columns() {
		name := compared(c.Name)
		if of[name] = append(of[name], i); name == c.Name {
			known = append(known, name)
		}
		if i < len(a.q.Keys) || a.comparing() && slices.Contains(a.q.Report.Keys, name) {
			groups = append(groups, i)
		}
	}
	for _, c := range a.Columns() {
		if head := strings.ReplaceAll(c.Label, " ", "_"); of[head] == nil {
			of[head] = of[compared(c.Name)]
		}
	}
	return of, groups, known
}

func (a *Answer) comparing() bool {
	_, compares := a.q.Previous()
	return compares
}

// usual returns up to n of the columns that the header marks, and the one that the rows are sorted by; nil if it marks none.
func (a *Answer) usual(n int) (out []string) {
	fielded := func(name string) bool { return slices.Contains(a.q.Report.Fielded, name) }
	for _, c := range a.q.Report.Columns {
		if c.Shown && (a.q.Field != "" || !fielded(c.Name)) {
			out = append(out, c.Name)
		}
	}
	for i := len(out) - 1; i >= 0 && len(out) > n; i-- {
		if !fielded(out[i]) {
			out = slices.Delete(out, i, i+1)
		}
	}
	sorted, _, _ := strings.Cut(a.q.Sort, ":")
	if _, ok := a.q.Report.Column(sorted); ok && len(out) > 0 && !slices.Contains(out, sorted) {
		out = slices.Insert(out[:min(len(out), n-1)], 1, sorted) // the last ones go first where there is no room
	}
	return out
}

// compared returns the figure that a column of a comparison belongs to; for other columns, its name.
func compared(name string) string {
	for _, prefix := range []string{value.ChangeLowOf, value.ChangeHighOf, value.ChangeOf, value.PreviousOf} {
		if of, ok := strings.CutPrefix(name, prefix); ok {
			return of
		}
	}
	return name
}
