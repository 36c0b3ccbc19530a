package page

import (
	"context"
	"fmt"
	"html/template"
	"math"
	"slices"
	"sort"
	"strings"

	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/page/chart"
	"callhouse/internal/analytics/value"
)

// section is one part of the page: what it tells, a chart or a board, and the
// numbers behind it.
type section struct {
	ID, Title, Lead string
	Wide            bool
	Charts          []template.HTML
	Boards          []*table // shown as they are
	Details         []*table // shown when they are opened
	measures        []string // of the report anomalies, which its chart marks
}

// The widths for which every chart is drawn: a whole row and half of one on a
// desk, and a phone. Scaled drawings would have texts too small or too large.
const (
	wideWidth  = 1096
	halfWidth  = 520
	phoneWidth = 334
)

// drawer draws charts over the bins of the page's period.
type drawer struct {
	unit string
	bins []bin
	off  map[string]map[string][]string // by measure and bin: what was off
}

// marks returns the bins in which a measure was off.
func (d drawer) marks(measures ...string) (out []int) {
	for i, b := range d.bins {
		for _, m := range measures {
			if len(d.off[m][b.key]) > 0 && !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}
	return out
}

// place turns a panel's chart into the drawings of the page.
func (s *section) place(c *chart.Chart) {
	if s.Wide {
		s.add(c.SVG("xl", wideWidth, true))
	}
	s.add(c.SVG("md", halfWidth, !s.Wide))
	s.add(c.SVG("sm", phoneWidth, false))
}

func (s *section) add(svg string) {
	s.Charts = append(s.Charts, template.HTML(svg)) //nolint:gosec // package chart escapes what it is given
}

// chart returns a chart over the bins. Where one is pointed at it tells the
// numbers of the table beside it.
func (d drawer) chart(s *section, panels ...chart.Panel) *chart.Chart {
	c := &chart.Chart{ID: s.ID, Title: s.Title, Desc: s.Lead + " The numbers are in the table that follows.", Panels: panels}
	for i, b := range d.bins {
		hover := b.name
		if b.part {
			hover += " (in part)"
		}
		for _, t := range s.Details {
			for j, h := range t.Heads {
				hover += "\n" + h.Text + ": " + t.Rows[i].Cells[j].Text
			}
		}
		for _, m := range s.measures {
			for _, what := range d.off[m][b.key] {
				hover += "\n▼ off its past: " + what
			}
		}
		c.Bins = append(c.Bins, chart.Bin{Label: b.label, Group: b.group, Tick: b.tick, Part: b.part, Hover: hover})
	}
	for i := range panels {
		if len(panels[i].Marks) > 0 && !strings.Contains(s.Lead, "▼") {
			s.Lead += " ▼: off its own past, as the report anomalies tells."
			c.Desc = s.Lead + " The numbers are in the table that follows."
		}
	}
	return c
}

// each is how often the charts over time have a bin: "by day".
func (d drawer) each() string { return "by " + d.unit }

// most says in which bin a series is the largest.
func (d drawer) most(values []float64) (bin, float64) {
	best, top := bin{}, math.Inf(-1)
	for i, v := range values {
		if v > top {
			best, top = d.bins[i], v
		}
	}
	return best, top
}

func (d drawer) volume(ctx context.Context, r reader, p period, whole *span) (*section, error) {
	a, err := r.ask(ctx, "funnel", p, d.unit)
	if err != nil {
		return nil, err
	}
	attempted := pick{"calls", "calls", "stage", "attempted"}
	connected := pick{"connected", "calls", "stage", "connected"}
	rate := pick{"connect rate", "attempted_percent", "stage", "connected"}
	completed := pick{"completed of answered", "answered_percent", "stage", "completed"}
	s := &section{ID: "volume", Title: "Volume and connect rate " + d.each(), Wide: true, measures: []string{"calls", "connected_percent", "completed_percent"}}
	s.Details = []*table{a.overBins(d.unit, d.bins, []pick{attempted, connected, rate, completed})}
	all, up := a.series(d.bins, attempted), a.series(d.bins, connected)
	rest := make([]float64, len(all))
	for i := range all {
		rest[i] = all[i] - up[i]
	}
	if b, n := d.most(all); n > 0 {
		s.Lead = fmt.Sprintf("%s. Most: %s, %s.", heading(calls(whole.calls())), b.name, grouped(int64(n)))
	}
	if slices.ContainsFunc(d.bins, func(b bin) bool { return b.part }) {
		s.Lead += " Lighter bars and hollow points: only part of the " + d.unit + " is in the period, or listed."
	}
	s.place(d.chart(s,
		chart.Panel{Title: "Calls", Kind: chart.Bars, Scale: chart.Count, Height: 140, Marks: d.marks("calls"), Series: []chart.Series{
			{Name: "connected", Color: 1, Values: up}, {Name: "not connected", Color: 4, Values: rest}}},
		chart.Panel{Title: "Connected of all calls, completed of the answered ones", Kind: chart.Lines, Scale: chart.Percent, Top: 100, Height: 100, Marks: d.marks("connected_percent", "completed_percent"), Series: []chart.Series{
			{Name: "connect rate", Color: 1, Values: a.series(d.bins, rate)}, {Name: "completed", Color: 3, Values: a.series(d.bins, completed)}}}))
	return s, nil
}

// namedSentiments is how many sentiments the chart tells apart.
const namedSentiments = 5

// sentiments are the values of the period, in the order in which they are
// stacked: negative lowest, since it is the one to compare; positive on top.
func sentiments(whole *asked) []pick {
	var out []pick
	for _, r := range whole.rows {
		if v := r[whole.index("user_sentiment")]; v != nil {
			name := whole.text(v)
			out = append(out, pick{clipName(name, 24), "rated_percent", "user_sentiment", name})
		}
	}
	rank := func(k pick) int {
		if at, ok := map[string]int{"negative": 0, "neutral": 1, "positive": 3}[k.value]; ok {
			return at
		}
		return 2
	}
	sort.SliceStable(out, func(i, j int) bool { return rank(out[i]) < rank(out[j]) })
	return out
}

// sentimentColor is the colour of a sentiment; others counts those that are not
// the usual three.
func sentimentColor(name string, others int) int {
	switch name {
	case "negative":
		return 2
	case "neutral":
		return 4
	case "positive":
		return 1
	}
	return 5 + others%2
}

func (d drawer) sentiment(ctx context.Context, r reader, p period, whole *span) (*section, error) {
	a, err := r.ask(ctx, "sentiment", p, d.unit)
	if err != nil {
		return nil, err
	}
	s := &section{ID: "sentiment", Title: "Sentiment " + d.each(), measures: []string{"negative_percent"}}
	picks := sentiments(whole.reports["sentiment"])
	s.Details = []*table{a.overBins(d.unit, d.bins, picks)}
	panel := chart.Panel{Title: "Share of the rated calls, without voicemail", Kind: chart.Bars, Scale: chart.Percent, Top: 100, Height: 190, Marks: d.marks("negative_percent")}
	others := chart.Series{Name: "others", Color: 3}
	unknown := 0
	for _, k := range picks {
		values := a.series(d.bins, k)
		known := k.value == "negative" || k.value == "neutral" || k.value == "positive"
		if !known {
			unknown++
		}
		if !known && unknown > namedSentiments-3 {
			others.Values = plus(others.Values, values)
			continue
		}
		panel.Series = append(panel.Series, chart.Series{Name: k.text, Color: sentimentColor(k.value, unknown-1), Values: values})
	}
	if others.Values != nil {
		panel.Series = append(panel.Series, others)
	}
	n := whole.rated()
	s.Lead = fmt.Sprintf("Of %s, %s %s a sentiment.", calls(whole.calls()), grouped(n), map[bool]string{true: "has", false: "have"}[n == 1])
	s.place(d.chart(s, panel))
	return s, nil
}

// plus adds up two series; NaN counts as nothing beside a number.
func plus(a, b []float64) []float64 {
	if a == nil {
		return b
	}
	out := make([]float64, len(a))
	for i := range a {
		switch {
		case math.IsNaN(a[i]):
			out[i] = b[i]
		case math.IsNaN(b[i]):
			out[i] = a[i]
		default:
			out[i] = a[i] + b[i]
		}
	}
	return out
}

func (d drawer) latency(ctx context.Context, r reader, p period) (*section, error) {
	a, err := r.ask(ctx, "conversation", p, d.unit)
	if err != nil {
		return nil, err
	}
	p50, p95 := pick{text: "p50", column: "latency_p50_ms"}, pick{text: "p95", column: "latency_p95_ms"}
	s := &section{ID: "latency", Title: "Agent response latency " + d.each()}
	s.Details = []*table{a.overBins(d.unit, d.bins, []pick{p50, p95, {text: "responses", column: "responses"}})}
	fast, slow := a.series(d.bins, p50), a.series(d.bins, p95)
	if b, v := d.most(slow); !math.IsInf(v, 0) {
		s.Lead = fmt.Sprintf("How long callers wait for the agent's answer. Slowest p95: %s, %s.", b.name, duration(v))
	} else {
		s.Lead = "No transcript tells it."
	}
	s.place(d.chart(s, chart.Panel{Title: "From the end of the caller's turn to the agent's", Kind: chart.Lines, Scale: chart.Millis, Height: 190,
		Series: []chart.Series{{Name: "p50", Color: 1, Values: fast}, {Name: "p95", Color: 2, Values: slow}}}))
	return s, nil
}

func (d drawer) costs(ctx context.Context, r reader, p period) (*section, error) {
	a, err := r.ask(ctx, "costs", p, d.unit)
	if err != nil {
		return nil, err
	}
	total := pick{text: "in all", column: "total_cost"}
	call, minute := pick{text: "per call", column: "per_call"}, pick{text: "per minute", column: "per_minute"}
	s := &section{ID: "costs", Title: "Cost " + d.each()}
	s.Details = []*table{a.overBins(d.unit, d.bins, []pick{total, call, minute, {text: "per completed call", column: "per_completed_call"}})}
	values := a.series(d.bins, total)
	if b, n := d.most(values); n > 0 {
		s.Lead = fmt.Sprintf("In the account's currency. Most: %s, %s.", b.name, a.cell(a.at(total.at(b.key, a)), "total_cost").Text)
	} else {
		s.Lead = "No cost is known."
	}
	panel := func(k pick, title string, kind chart.Kind, color int) chart.Panel {
		return chart.Panel{Title: title, Kind: kind, Scale: chart.Money, Height: 100, Series: []chart.Series{{Name: k.text, Color: color, Values: a.series(d.bins, k)}}}
	}
	s.place(d.chart(s, panel(total, "In all", chart.Bars, 1), panel(call, "Per call whose cost is known", chart.Lines, 1),
		panel(minute, "Per connected minute", chart.Lines, 1)))
	return s, nil
}

// heat is when calls come: the report's own map.
func heat(ctx context.Context, r reader, p period) (*section, error) {
	a, err := r.ask(ctx, "volume", p, "")
	if err != nil {
		return nil, err
	}
	s := &section{ID: "heat", Title: "When calls come"}
	h := &chart.Heat{ID: "heat", Title: s.Title, Every: 3}
	t := &table{Command: a.Command, By: "hour"}
	for _, day := range value.Weekdays {
		h.Down = append(h.Down, day[:3])
		h.Values = append(h.Values, make([]float64, 24))
		t.Heads = append(t.Heads, head{Text: day[:3], Column: "calls", Where: "weekday=" + day})
	}
	var most float64
	for hour := range 24 {
		key := fmt.Sprint(hour)
		h.Across = append(h.Across, fmt.Sprintf("%02d", hour))
		l := line{Name: fmt.Sprintf("%02d:00", hour), Key: key}
		for i, day := range value.Weekdays {
			v := a.at(field{"calls", map[string]string{"hour": key, "weekday": day}})
			l.Cells = append(l.Cells, a.cell(v, "calls"))
			n, _ := v.(int64)
			if h.Values[i][hour] = float64(n); h.Values[i][hour] > most {
				most = h.Values[i][hour]
				s.Lead = fmt.Sprintf("Calls by hour and day of the week, %s. Most: %s %s:00, %s.", a.loc, day, h.Across[hour], grouped(n))
			}
		}
		t.Rows = append(t.Rows, l)
	}
	h.Desc = s.Lead + " The numbers are in the table that follows."
	s.Details = []*table{t}
	s.add(h.SVG("md", halfWidth, true))
	s.add(h.SVG("sm", phoneWidth, false))
	return s, nil
}

// reasons is why calls ended, the most frequent first.
func reasons(ctx context.Context, r reader, p period) (*section, error) {
	a, err := r.ask(ctx, "disconnections", p, "")
	if err != nil {
		return nil, err
	}
	const named = 12
	s := &section{ID: "reasons", Title: "Why calls ended", Lead: "By disconnection reason, connected or not."}
	t := &table{Command: a.Command, By: "reason", Heads: []head{{Text: "share", Column: "share_percent"}, {Text: "calls", Column: "calls"}, {Text: "connected", Column: "connected_percent"}}}
	most := 1.0
	for _, row := range a.rows {
		most = max(most, float(row[a.index("share_percent")]))
	}
	var rest, restCalls int64
	for i, row := range a.rows {
		if n, _ := row[a.index("calls")].(int64); i >= named && len(a.rows) > named+1 {
			rest++
			restCalls += n
			continue
		}
		l := a.named(row, 0)
		share := row[a.index("share_percent")]
		l.Cells = []cell{a.cell(share, "share_percent").withBar(100 * float(share) / most), a.cell(row[a.index("calls")], "calls"), a.cell(row[a.index("connected_percent")], "connected_percent")}
		t.Rows = append(t.Rows, l)
	}
	if rest > 0 {
		t.Rows = append(t.Rows, line{Name: fmt.Sprintf("%s others", grouped(rest)), Sum: true, Cells: []cell{noNumber(), a.cell(restCalls, "calls"), noNumber()}})
	}
	s.Boards = []*table{t}
	return s, nil
}

// named begins a line with the value of a column.
func (a *asked) named(row []any, column int) line {
	v := row[column]
	if v == nil {
		return line{Name: "(none)", Null: true}
	}
	name := a.text(v)
	return line{Name: clipName(strings.ToValidUTF8(name, "�"), 40), Title: name, Key: name}
}

// clipName shortens a name, in letters. Names that are alike often end otherwise.
func clipName(s string, most int) string {
	if r := []rune(s); len(r) > most {
		end := most / 3
		return string(r[:most-1-end]) + "…" + string(r[len(r)-end:])
	}
	return s
}

// duration writes a time as tables do.
func duration(ms float64) string {
	return format.Cell(int64(math.Round(ms)), value.Column{Unit: value.Millis, Kind: value.Integer}, nil)
}
