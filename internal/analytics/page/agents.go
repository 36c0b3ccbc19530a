package page

import (
	"cmp"
	"slices"

	"callhouse/internal/analytics/page/texts"
)

// namedAgents is the number of agents the board names.
const namedAgents = 20

// completed is the outcome that counts as an agent's success, unless the setting success overrides
// it.
const completed = "completed"

// count returns a row's number in a column.
func (a *asked) count(row int, column string) int64 {
	n, _ := a.rows[row][a.index(column)].(int64)
	return n
}

// most returns the rows by the number in a column, the largest first.
func (a *asked) most(column string) []int {
	out := make([]int, len(a.rows))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(i, j int) int { return cmp.Compare(a.count(j, column), a.count(i, column)) })
	return out
}

// largest returns the rows with the most calls, in the report's order.
func (a *asked) largest(n int) []int {
	order := a.most("calls")
	if len(order) == n+1 { // a single remaining one is named as well
		n++
	}
	chosen := order[:min(n, len(order))]
	slices.Sort(chosen)
	return chosen
}

// shortNames returns the agents' names for the board. UUIDs are shortened to their shortest unique
// beginning, which --agent accepts. The row's title has the full name.
func (a *asked) shortNames() []string {
	out := make([]string, len(a.rows))
	alike := map[string]int{}
	for i, row := range a.rows {
		out[i] = a.text(row[0])
		alike[texts.ShortName(out[i])]++
	}
	for i, s := range out {
		if short := texts.ShortName(s); alike[short] == 1 {
			out[i] = short
		} else {
			out[i] = texts.Clip(s, 40)
		}
	}
	return out
}
