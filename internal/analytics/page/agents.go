package page

import (
	"context"
	"math/big"
	"slices"
	"sort"
	"strings"

	"callhouse/internal/analytics/value"
)

// namedAgents is the number of agents the board names.
const namedAgents = 20

// completed is the outcome that counts as an agent's success, unless the setting success says
// otherwise.
const completed = "completed"

// agents returns the leader board: the agents with the most calls, in the report's order, and the
// sum of the others.
func agents(ctx context.Context, r reader, p period) (*section, error) {
	a, err := r.ask(ctx, "agents", p, "")
	if err != nil {
		return nil, err
	}
	s := &section{ID: "agents", Title: r.l.say("agents.title"), Wide: true}
	heading := "agents.completed"
	if slices.ContainsFunc(a.rows, func(row []any) bool { return row[a.index("goal")] != completed }) {
		heading = "agents.goal"
	}
	columns := []head{{Text: r.l.say("agents.calls"), Column: "calls"},
		{Text: r.l.say("agents.connected"), Column: "connected_percent", Wide: true},
		{Text: r.l.say(heading), Column: "goal_percent"}, {Text: r.l.say("agents.low"), Column: "goal_low_percent", Wide: true},
		{Text: r.l.say("agents.transferred"), Column: "transferred_percent", Wide: true},
		{Text: r.l.say("agents.negative"), Column: "negative_percent"},
		{Text: r.l.say("agents.handle"), Column: "handle_ms", Wide: true}, {Text: r.l.say("agents.cost"), Column: "total_cost", Wide: true}}
	t := &table{Command: a.Command, By: r.l.say("by.agent"), Heads: columns}
	chosen := a.largest(namedAgents)
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
		l := a.named(row, 0, "")
		if !l.Null {
			l.Name = ids[i]
		}
		var notes []string
		if goal, _ := row[a.index("goal")].(string); goal != completed {
			notes = append(notes, r.l.say("agents.is_goal", goal))
		}
		if row[a.index("doubt")] != nil {
			notes = append(notes, r.l.say("agents.doubt"))
		}
		l.Note = strings.Join(notes, "; ")
		l.Link = a.calls(map[string]string{"agent_id": a.text(a.exact[i][0])})
		for _, h := range columns {
			c := a.cell(row[a.index(h.Column)], h.Column)
			if h.Column == "goal_percent" || h.Column == "negative_percent" {
				c = c.withBar(float(row[a.index(h.Column)]))
			}
			l.Cells = append(l.Cells, c)
		}
		t.Rows = append(t.Rows, l)
	}
	s.Lead = r.l.say("agents.lead")
	if others > 0 {
		s.Lead = r.l.say("agents.some", len(t.Rows), len(a.rows)) + " " + s.Lead
		l := line{Name: r.l.say("count.others", others), Sum: true}
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

// largest returns the rows with the most calls.
func (a *asked) largest(n int) map[int]bool {
	of := func(i int) int64 {
		v, _ := a.rows[i][a.index("calls")].(int64)
		return v
	}
	order := make([]int, len(a.rows))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return of(order[i]) > of(order[j]) })
	chosen := map[int]bool{}
	if len(order) == n+1 { // a single other agent is named as well
		n++
	}
	for _, i := range order[:min(n, len(order))] {
		chosen[i] = true
	}
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

// addDecimal adds a decimal or null to a sum of the same scale.
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
