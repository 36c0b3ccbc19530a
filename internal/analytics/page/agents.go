package page

import (
	"slices"
	"sort"
)

// namedAgents is the number of agents the board names.
const namedAgents = 20

// completed is the outcome that counts as an agent's success, unless the setting success says
// otherwise.
const completed = "completed"

// largest returns the rows with the most calls, in the report's order.
func (a *asked) largest(n int) []int {
	of := func(i int) int64 {
		v, _ := a.rows[i][a.index("calls")].(int64)
		return v
	}
	order := make([]int, len(a.rows))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return of(order[i]) > of(order[j]) })
	if len(order) == n+1 { // a single other one is named as well
		n++
	}
	chosen := order[:min(n, len(order))]
	slices.Sort(chosen)
	return chosen
}

// shortNames returns the agents' names for the board: of UUIDs the shortest unique beginning, which
// --agent accepts. The row's title has the full name.
func (a *asked) shortNames() []string {
	out := make([]string, len(a.rows))
	alike := map[string]int{}
	for i, row := range a.rows {
		out[i] = a.text(row[0])
		alike[shortName(out[i])]++
	}
	for i, s := range out {
		if short := shortName(s); alike[short] == 1 {
			out[i] = short
		} else {
			out[i] = clipName(s, 40)
		}
	}
	return out
}

// shortName shortens an id as long as a UUID, and any other name to the available room.
func shortName(s string) string {
	const begin, uuid = 8, 36
	if len(s) == uuid && s[begin] == '-' {
		return s[:begin]
	}
	return clipName(s, 40)
}
