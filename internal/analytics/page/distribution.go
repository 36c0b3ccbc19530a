package page

import (
	"context"
	"fmt"

	"callhouse/internal/analytics/page/chart"
)

// reportStep is the step of the report distribution, in ms.
const reportStep = 5000

// widths are the possible steps of the chart, in ms: multiples of the report's.
var widths = []int64{5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 1800e3, 3600e3}

// mostSteps is the maximum number of steps of the chart, not counting the last.
const mostSteps = 36

// distribution shows the durations of calls: calls by steps of duration, and percentiles.
func distribution(ctx context.Context, r reader, p period, whole *span) (*section, error) {
	a, err := r.ask(ctx, "distribution", p, "")
	if err != nil {
		return nil, err
	}
	s := &section{ID: "durations", Title: r.l.Say("durations.title")}
	d := whole.reports["durations"]
	if len(d.rows) > 0 && d.rows[0][d.index("p50_ms")] != nil {
		at := func(c string) string { return d.cell(d.rows[0][d.index(c)], c).Text }
		s.Lead = r.l.Say("durations.lead", at("p50_ms"), at("p90_ms"), at("p99_ms"), at("max_ms"))
	} else {
		s.Lead = r.l.Say("durations.none")
	}
	c := &chart.Chart{ID: s.ID, Title: s.Title, Desc: s.desc(r.l), Edges: true, NoData: r.l.Say("page.no_data")}
	t := &table{Command: a.Command, By: r.l.Say("by.from"),
		Heads: []head{{Text: r.l.Say("durations.calls"), Column: "calls"}, {Text: r.l.Say("durations.connected"), Column: "connected_calls"}}}
	var up, rest []float64
	all := a.steps()
	round := int64(reportStep)
	if len(all) > 0 {
		ticks := chart.Millis.Ticks(float64(all[len(all)-1].from), 6)
		round = max(int64(ticks[1]), all[0].to)
	}
	for _, st := range all {
		up, rest = append(up, float64(st.connected)), append(rest, float64(st.calls-st.connected))
		name := r.l.Say("durations.span", r.l.Duration(float64(st.from)), r.l.Duration(float64(st.to)))
		if st.to == 0 {
			name = r.l.Say("durations.longer", r.l.Duration(float64(st.from)))
		}
		c.Bins = append(c.Bins, chart.Bin{Label: r.l.axis(chart.Millis)(float64(st.from), reportStep), Tick: st.from%round == 0,
			Hover: fmt.Sprintf("%s\n%s: %s\n%s: %s", name, t.Heads[0].Text, r.l.Grouped(st.calls), t.Heads[1].Text, r.l.Grouped(st.connected))})
		t.Rows = append(t.Rows, line{Name: name, Key: fmt.Sprint(st.from),
			Cells: []cell{a.cell(st.calls, "calls"), a.cell(st.connected, "connected_calls")}})
	}
	c.Panels = []chart.Panel{{Title: r.l.Say("durations.panel"), Kind: chart.Bars, Scale: chart.Count, Height: 190,
		Label: r.l.axis(chart.Count), Series: []chart.Series{
			{Name: r.l.Say("chart.connected"), Color: 1, Values: up}, {Name: r.l.Say("chart.not_connected"), Color: 4, Values: rest}}}}
	s.Details = []*table{t}
	s.place(c)
	return s, nil
}

// step counts the calls that last from ms or longer, but less than to ms; to 0: no upper end.
type step struct{ from, to, calls, connected int64 }

// steps merges the report's steps for the chart: up to the duration of 98 % of the calls, and one
// step for longer calls.
func (a *asked) steps() []step {
	if len(a.rows) == 0 {
		return nil
	}
	end := int64(reportStep)
	for _, r := range a.rows {
		from, _ := r[a.index("from_ms")].(int64)
		end = from + reportStep
		if float(r[a.index("up_to_percent")]) >= 98 {
			break
		}
	}
	width := widths[0]
	for _, w := range widths {
		width = w
		if end/w < mostSteps {
			break
		}
	}
	n := min((end+width-1)/width, mostSteps)
	out := make([]step, n+1)
	for i := range out {
		out[i].from, out[i].to = int64(i)*width, int64(i+1)*width
	}
	out[n].to = 0
	for _, r := range a.rows {
		from, _ := r[a.index("from_ms")].(int64)
		calls, _ := r[a.index("calls")].(int64)
		connected, _ := r[a.index("connected_calls")].(int64)
		at := &out[max(min(from/width, n), 0)]
		at.calls += calls
		at.connected += connected
	}
	if out[n].calls == 0 {
		out = out[:n]
	}
	return out
}
