package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"callhouse/internal/analytics/page/chart"
	"callhouse/internal/analytics/page/texts"
	"callhouse/internal/analytics/question"
)

// ends shows how many attempts became completed calls, and where the others ended.
func (r reader) ends(ctx context.Context, p period) (*section, error) {
	a, err := r.ask(ctx, ended.report, p, "")
	if err != nil {
		return nil, err
	}
	s := &section{ID: ended.id, Title: r.l.Say("ends.title"), Lead: r.l.Say("ends.lead"), Wide: true}
	d := &chart.Sankey{ID: s.ID, Title: s.Title, Nodes: []string{r.l.Say("ends.attempts"), r.l.Say("ends.answered")},
		Others: func(n int) string { return r.l.Say("count.others", n) },
		Hover: func(m chart.Move, from, to string) string {
			return r.l.Say("flows.moved", from, to, r.l.Grouped(int64(m.N)))
		}}
	known, links := map[string]int{}, map[string]string{d.Nodes[0]: a.calls(nil)}
	d.Link = func(node string) string { return links[node] }
	for _, row := range a.rows {
		n, _ := row[a.index("calls")].(int64)
		outcome := a.text(row[a.index("outcome")])
		if known[outcome] == 0 {
			known[outcome] = len(d.Nodes)
			d.Nodes = append(d.Nodes, r.l.Word("outcome", outcome))
			links[r.l.Word("outcome", outcome)] = a.calls(map[string]string{"outcome": outcome})
		}
		from := 0
		if slices.Contains([]string{completed, "transferred", "abandoned", "failed"}, outcome) {
			from = 1
			d.Moves = append(d.Moves, chart.Move{From: 0, To: 1, N: float64(n)})
		}
		d.Moves = append(d.Moves, chart.Move{From: from, To: known[outcome], N: float64(n)})
	}
	s.Details = []*table{ended.table(a)}
	d.Desc = s.desc(r.l)
	s.add(d.SVG("xl", wideWidth, true))
	s.add(d.SVG("md", halfWidth, false))
	s.add(d.SVG("sm", phoneWidth, false))
	return s, nil
}

// changed is the board of agents. Those that changed by more than chance come first.
func (r reader) changed(ctx context.Context, p period) (*section, error) {
	b := agents
	a, err := r.compare(ctx, "agents", p)
	var alone *question.GroupError
	switch {
	case errors.As(err, &alone): // nothing to compare with
	case err != nil:
		return nil, err
	default:
		by := map[string]float64{}
		notes := map[string]string{}
		for _, row := range a.rows {
			if row[a.index("agent_id")] == nil || !a.clear(row, "goal_percent") {
				continue
			}
			id := a.text(row[a.index("agent_id")])
			by[id] = float(row[a.index("goal_percent")]) - float(row[a.index(was+"goal_percent")])
			notes[id] = r.l.points(by[id])
		}
		b.choose = func(a *asked) []int {
			out := agents.choose(a)
			slices.SortStableFunc(out, func(i, j int) int { // the worse ones first, then the better, then the others
				return cmp.Compare(place(by[a.text(a.rows[i][0])]), place(by[a.text(a.rows[j][0])]))
			})
			return out
		}
		b.line = func(a *asked, i int, l *line) {
			agents.line(a, i, l)
			if told := notes[l.Key]; told != "" {
				l.Note += " " + told
			}
		}
	}
	return r.board(ctx, b, p)
}

// place returns the rank of a change: losses first, the largest leading, then gains, then no
// change.
func place(by float64) float64 {
	switch {
	case by < 0:
		return by - 1000
	case by > 0:
		return -by
	}
	return 1
}

// listen is the board of the worst calls with their summaries and last words.
func (r reader) listen(ctx context.Context, p period) (*section, error) {
	s, err := r.board(ctx, worst, p)
	if err != nil || s == nil || len(s.Boards) == 0 {
		return s, err
	}
	a, _ := r.ask(ctx, worst.report, p, "") // known
	calls, starts := map[string]*line{}, map[string]time.Time{}
	for i := range s.Boards[0].Rows { // the first of a's
		l := &s.Boards[0].Rows[i]
		l.Summary, calls[l.Key] = r.l.Say("worst.no_summary"), l
		starts[l.Key], _ = a.rows[i][a.index("start_at")].(time.Time)
	}
	rows, err := r.w.Said(ctx, starts)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read what was said: %w", err)
		}
		l := calls[row[0].(string)]
		switch what, _ := row[2].(string); {
		case what == "":
		case row[1] == "summary":
			l.Summary = texts.Clip(what, 240)
		default:
			l.Said = append(l.Said[max(0, len(l.Said)-1):], said{r.l.Say("worst.said_" + row[1].(string)), texts.Clip(what, 140)})
		}
	}
}
