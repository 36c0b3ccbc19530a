package page

import (
	"context"
	"fmt"
	"math/big"
	"sort"

	"callhouse/internal/analytics/value"
)

// namedAgents is how many agents the board names.
const namedAgents = 20

// agents is the leader board: the agents with the most calls, in the order of
// the report, and how many others there are.
func agents(ctx context.Context, r reader, p period) (*section, error) {
	a, err := r.ask(ctx, "agents", p, "")
	if err != nil {
		return nil, err
	}
	s := &section{ID: "agents", Title: "Agents", Wide: true}
	columns := []head{{Text: "calls", Column: "calls"}, {Text: "connected", Column: "connected_percent", Wide: true},
		{Text: "completed", Column: "completed_percent"}, {Text: "at least", Column: "completed_low_percent", Wide: true},
		{Text: "transferred", Column: "transferred_percent", Wide: true}, {Text: "negative", Column: "negative_percent"},
		{Text: "handle time", Column: "handle_ms", Wide: true}, {Text: "cost", Column: "total_cost", Wide: true}}
	t := &table{Command: a.Command, By: "agent", Heads: columns}
	chosen, most := a.largest(namedAgents)
	ids := a.shortNames()
	others := 0
	sum, cost := int64(0), value.Decimal{}
	for i, row := range a.rows {
		n, _ := row[a.index("calls")].(int64)
		if !chosen[i] {
			others++
			sum += n
			cost = addDecimal(cost, row[a.index("total_cost")])
			continue
		}
		l := a.named(row, 0)
		if !l.Null {
			l.Name = ids[i]
		}
		for _, h := range columns {
			c := a.cell(row[a.index(h.Column)], h.Column)
			switch h.Column {
			case "calls":
				c = c.withBar(100 * float64(n) / float64(most))
			case "completed_percent", "negative_percent":
				c = c.withBar(float(row[a.index(h.Column)]))
			}
			l.Cells = append(l.Cells, c)
		}
		t.Rows = append(t.Rows, l)
	}
	s.Lead = "Best completed share first, by what it is at least with 95 % confidence, so that a few lucky calls do not lead. Completed and transferred are shares of the answered calls: over, by a person, and known whether the caller spoke."
	if others > 0 {
		s.Lead = fmt.Sprintf("The %d of %s agents with the most calls. ", len(t.Rows), grouped(len(a.rows))) + s.Lead
		l := line{Name: fmt.Sprintf("%s others", grouped(others)), Sum: true}
		for _, h := range columns {
			switch {
			case h.Column == "calls":
				l.Cells = append(l.Cells, a.cell(sum, h.Column))
			case h.Column == "total_cost" && cost.Units != nil:
				l.Cells = append(l.Cells, a.cell(cost, h.Column))
			default:
				l.Cells = append(l.Cells, noNumber())
			}
		}
		t.Rows = append(t.Rows, l)
	}
	s.Boards = []*table{t}
	return s, nil
}

// largest returns the rows with the most calls, and how many calls the first has.
func (a *asked) largest(n int) (chosen map[int]bool, most int64) {
	of := func(i int) int64 {
		v, _ := a.rows[i][a.index("calls")].(int64)
		return v
	}
	order := make([]int, len(a.rows))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return of(order[i]) > of(order[j]) })
	chosen = map[int]bool{}
	if len(order) == n+1 { // one other is named as well
		n++
	}
	for _, i := range order[:min(n, len(order))] {
		chosen[i] = true
		most = max(most, of(i))
	}
	return chosen, most
}

// shortNames returns the agents' names as the board shows them: of ids as long
// as UUIDs their beginning, as --agent takes it, where no other agent begins
// alike; the title of the row has all of it.
func (a *asked) shortNames() []string {
	const begin, uuid = 8, 36
	out := make([]string, len(a.rows))
	alike := map[string]int{}
	for i, row := range a.rows {
		out[i] = a.text(row[0])
		alike[clipBytes(out[i], begin)]++
	}
	for i, s := range out {
		if len(s) == uuid && s[begin] == '-' && alike[s[:begin]] == 1 {
			out[i] = s[:begin]
		} else {
			out[i] = clipName(s, 40)
		}
	}
	return out
}

func clipBytes(s string, most int) string { return s[:min(len(s), most)] }

// addDecimal adds a decimal, or nothing, to a sum of the same scale.
func addDecimal(sum value.Decimal, v any) value.Decimal {
	d, ok := v.(value.Decimal)
	switch {
	case !ok:
		return sum
	case sum.Units == nil:
		return d
	}
	return value.Decimal{Units: new(big.Int).Add(sum.Units, d.Units), Scale: d.Scale}
}
