package page

import (
	"context"

	"callhouse/internal/analytics/page/chart"
	"callhouse/internal/analytics/page/texts"
)

// flows shows the paths of an agent's calls through its graph; nil if there are none.
func (r reader) flows(ctx context.Context, p period) (*section, error) {
	if r.agent == "" { // each agent has its own graph
		return nil, nil //nolint:nilnil // there is no such part
	}
	a, err := r.ask(ctx, "flows", p, "")
	if err != nil || len(a.rows) == 0 {
		return nil, err
	}
	s := &section{ID: "flows", Title: r.l.Say("flows.title"), Wide: true}
	t := &table{Command: a.Command, By: r.l.Say("flows.from"), Heads: []head{{Text: r.l.Say("flows.to"), Column: "to_node", Words: true},
		{Text: r.l.Say("flows.calls"), Column: "calls"}, {Text: r.l.Say("flows.passes"), Column: "passes"},
		{Text: r.l.Say("flows.share"), Column: "share_percent"},
		{Text: r.l.Say("flows.completed"), Column: "completed_percent"}, {Text: r.l.Say("flows.transferred"), Column: "transferred_percent"},
		{Text: r.l.Say("flows.lost"), Column: "lost_percent"}, {Text: r.l.Say("flows.hung_up"), Column: "hung_up_percent"}}}
	d := &chart.Sankey{ID: s.ID, Title: s.Title, Nodes: []string{r.l.Say("flows.start")},
		Others: func(n int) string { return r.l.Say("count.others", n) },
		Hover: func(m chart.Move, from, to string) string {
			if m.To < 0 {
				return r.l.Say("flows.ended", from, r.l.Grouped(int64(m.N)))
			}
			return r.l.Say("flows.moved", from, to, r.l.Grouped(int64(m.N)))
		}}
	known := map[string]int{}
	node := func(row []any, id, name string, none int) int {
		if row[a.index(id)] == nil {
			return none
		}
		key := a.text(row[a.index(id)])
		if _, ok := known[key]; !ok {
			known[key] = len(d.Nodes)
			d.Nodes = append(d.Nodes, texts.Clip(a.text(row[a.index(name)]), 40))
		}
		return known[key]
	}
	var ended int64
	for _, row := range a.rows {
		passes, _ := row[a.index("passes")].(int64)
		m := chart.Move{From: node(row, "from_id", "from_node", 0), To: node(row, "to_id", "to_node", -1), N: float64(passes)}
		d.Moves = append(d.Moves, m)
		l := line{Name: d.Nodes[m.From], Title: d.Nodes[m.From], Null: true} // the first column does not identify a row
		for _, h := range t.Heads {
			l.Cells = append(l.Cells, a.cell(row[a.index(h.Column)], h.Column))
		}
		if l.Cells[0].Text = r.l.Say("flows.end"); m.To >= 0 {
			l.Cells[0].Text = d.Nodes[m.To]
		} else {
			ended += passes
		}
		t.Rows = append(t.Rows, l)
	}
	s.Lead = r.l.Say("flows.lead", texts.Heading(r.l.Calls(ended)))
	s.Details = []*table{t}
	d.Desc = s.desc(r.l)
	s.add(d.SVG("xl", wideWidth, true))
	s.add(d.SVG("md", halfWidth, false))
	s.add(d.SVG("sm", phoneWidth, false))
	return s, nil
}
