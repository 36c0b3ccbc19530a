package page

import (
	"context"
	"fmt"
	"html/template"
	"math"
	"slices"
	"sort"
	"strings"

	"callhouse/internal/analytics/page/chart"
	"callhouse/internal/analytics/value"
)

// section is one part of the page: its text, a chart or a board, and the numbers behind it.
type section struct {
	ID, Title, Lead string
	Wide            bool
	Charts          []template.HTML
	Boards          []*table // always visible
	Details         []*table // collapsed
	measures        []string // of the report anomalies, marked on the chart
}

// The widths of every chart: a full and a half row on a desktop, and a phone. Scaling would make
// texts too small or too large.
const (
	wideWidth  = 1096
	halfWidth  = 520
	phoneWidth = 334
)

// drawer draws charts over the bins of the page's period.
type drawer struct {
	l      *lang
	unit   string
	bins   []bin
	before period
	past   []bin                          // of the previous period
	off    map[string]map[string][]string // by measure and bin: unusual days
}

// marks returns the bins with an unusual day of a measure.
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

// place adds a chart's drawings to the section.
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

// chart returns a chart over the bins, whose tooltips show the numbers of the table beside it.
func (d drawer) chart(s *section, panels ...chart.Panel) *chart.Chart {
	c := &chart.Chart{ID: s.ID, Title: s.Title, Panels: panels, NoData: d.l.say("page.no_data")}
	for i, b := range d.bins {
		hover := b.name
		if b.part {
			hover = d.l.say("period.part", b.name)
		}
		for n, t := range s.Details {
			for j, h := range t.Heads {
				if i >= len(t.Rows) {
					continue
				}
				name := h.Text
				if n > 0 { // of the previous period
					name = d.l.say("chart.behind_hover", h.Text)
				}
				hover += "\n" + name + ": " + t.Rows[i].Cells[j].Text
			}
		}
		for _, m := range s.measures {
			for _, what := range d.off[m][b.key] {
				hover += "\n" + d.l.say("off.hover", what)
			}
		}
		c.Bins = append(c.Bins, chart.Bin{Label: b.label, Group: b.group, Tick: b.tick, Part: b.part, Hover: hover,
			Link: s.Details[0].Rows[i].Link})
	}
	marked := false
	for i := range panels {
		panels[i].Label = d.l.axis(panels[i].Scale)
		marked = marked || len(panels[i].Marks) > 0
	}
	if marked {
		s.Lead += " " + d.l.say("off.lead")
	}
	c.Desc = s.desc(d.l)
	return c
}

// desc describes a chart for screen readers.
func (s *section) desc(l *lang) string { return s.Lead + " " + l.say("page.table_follows") }

// section begins a section over time.
func (d drawer) section(id string) *section {
	return &section{ID: id, Title: d.l.say(id + ".title_" + d.unit)}
}

// most returns the bin with the largest value.
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
	before, err := r.ask(ctx, "funnel", d.before, d.unit)
	if err != nil {
		return nil, err
	}
	attempted := pick{d.l.say("volume.calls"), "calls", "stage", "attempted"}
	connected := pick{d.l.say("volume.connected"), "calls", "stage", "connected"}
	rate := pick{d.l.say("volume.rate"), "attempted_percent", "stage", "connected"}
	completed := pick{d.l.say("volume.completed"), "answered_percent", "stage", "completed"}
	s := d.section("volume")
	s.Wide, s.measures = true, []string{"calls", "connected_percent", "completed_percent"}
	s.Details = []*table{a.overBins(d.unit, d.bins, []pick{attempted, connected, rate, completed}), d.behindTable(before, rate, completed)}
	all, up := a.series(d.bins, attempted), a.series(d.bins, connected)
	rest := make([]float64, len(all))
	for i := range all {
		rest[i] = all[i] - up[i]
	}
	s.Lead = d.l.say("volume.lead", heading(d.l.calls(whole.calls())))
	if b, n := d.most(all); n > 0 {
		s.Lead += " " + d.l.say("chart.most", b.name, d.l.grouped(int64(n)))
	}
	if slices.ContainsFunc(d.bins, func(b bin) bool { return b.part }) {
		s.Lead += " " + d.l.say("chart.part_"+d.unit)
	}
	s.Lead += " " + d.behind()
	s.place(d.chart(s,
		chart.Panel{Title: d.l.say("volume.panel"), Kind: chart.Bars, Scale: chart.Count, Height: 140, Marks: d.marks("calls"),
			Series: []chart.Series{
				{Name: d.l.say("chart.connected"), Color: 1, Values: up}, {Name: d.l.say("chart.not_connected"), Color: 4, Values: rest}}},
		d.rate(d.l.say("volume.panel_rate"), rate, a, before, 1, "connected_percent"),
		d.rate(d.l.say("volume.panel_completed"), completed, a, before, 3, "completed_percent")))
	return s, nil
}

// rate is a panel of a share, zoomed to its changes, with the previous period behind it.
func (d drawer) rate(title string, k pick, a, before *asked, color int, measure string) chart.Panel {
	past := before.series(d.past, k)
	for len(past) < len(d.bins) { // months and weeks may be cut
		past = append(past, math.NaN())
	}
	return chart.Panel{Title: title, Kind: chart.Lines, Scale: chart.Percent, Zoom: true, Height: 100, Marks: d.marks(measure),
		Series: []chart.Series{
			{Name: d.l.say("chart.behind_label"), Values: past[:len(d.bins)]}, {Name: k.text, Color: color, Values: a.series(d.bins, k)}}}
}

// behindTable is the table behind a chart.
func (d drawer) behindTable(a *asked, picks ...pick) *table {
	t := a.overBins(d.unit, d.past, picks)
	t.By = d.l.before(d.before)
	return t
}

// behind explains the grey line.
func (d drawer) behind() string { return d.l.say("chart.behind", d.l.before(d.before)) }

// namedSentiments is the number of sentiments the chart distinguishes.
const namedSentiments = 5

// sentiments returns the values of the period in stacking order: negative lowest, where it is
// easiest to compare; positive on top.
func (l *lang) sentiments(whole *asked) []pick {
	var out []pick
	for _, r := range whole.rows {
		if v := r[whole.index("user_sentiment")]; v != nil {
			name := whole.text(v)
			out = append(out, pick{clipName(l.word("sentiment", name), 24), "rated_percent", "user_sentiment", name})
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

// sentimentColor returns the colour of a sentiment; others counts the unusual ones.
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
	before, err := r.ask(ctx, "sentiment", d.before, d.unit)
	if err != nil {
		return nil, err
	}
	s := d.section("sentiment")
	s.measures = []string{"negative_percent"}
	picks := d.l.sentiments(whole.reports["sentiment"])
	negative := pick{d.l.say("sentiment.negative"), "rated_percent", "user_sentiment", "negative"}
	s.Details = []*table{a.overBins(d.unit, d.bins, picks), d.behindTable(before, negative)}
	panel := chart.Panel{Title: d.l.say("sentiment.panel"), Kind: chart.Bars, Scale: chart.Percent, Top: 100, Height: 120}
	others := chart.Series{Name: d.l.say("chart.others"), Color: 3}
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
	s.Lead = d.l.say("sentiment.lead", whole.rated(), d.l.calls(whole.calls())) + " " + d.behind()
	s.place(d.chart(s, panel, d.rate(d.l.say("sentiment.panel_negative"), negative, a, before, 2, "negative_percent")))
	return s, nil
}

// plus adds two series; NaN counts as 0 beside a number.
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
	p50, p95 := pick{text: d.l.say("latency.p50"), column: "latency_p50_ms"}, pick{text: d.l.say("latency.p95"), column: "latency_p95_ms"}
	s := d.section("latency")
	s.Details = []*table{a.overBins(d.unit, d.bins, []pick{p50, p95, {text: d.l.say("latency.responses"), column: "responses"}})}
	fast, slow := a.series(d.bins, p50), a.series(d.bins, p95)
	if b, v := d.most(slow); !math.IsInf(v, 0) {
		s.Lead = d.l.say("latency.lead", b.name, d.l.duration(v))
	} else {
		s.Lead = d.l.say("latency.none")
	}
	s.place(d.chart(s, chart.Panel{Title: d.l.say("latency.panel"), Kind: chart.Lines, Scale: chart.Millis, Height: 190,
		Series: []chart.Series{{Name: p50.text, Color: 1, Values: fast}, {Name: p95.text, Color: 2, Values: slow}}}))
	return s, nil
}

func (d drawer) costs(ctx context.Context, r reader, p period) (*section, error) {
	a, err := r.ask(ctx, "costs", p, d.unit)
	if err != nil {
		return nil, err
	}
	total := pick{text: d.l.say("costs.total"), column: "total_cost"}
	call, minute := pick{text: d.l.say("costs.call"), column: "per_call"}, pick{text: d.l.say("costs.minute"), column: "per_minute"}
	s := d.section("costs")
	s.Details = []*table{a.overBins(d.unit, d.bins,
		[]pick{total, call, minute, {text: d.l.say("costs.completed"), column: "per_completed_call"}})}
	values := a.series(d.bins, total)
	if b, n := d.most(values); n > 0 {
		s.Lead = d.l.say("costs.lead", b.name, a.cell(a.at(total.at(b.key, a)), "total_cost").Text)
		if d.l.money == nil {
			s.Lead = d.l.say("costs.currency") + " " + s.Lead
		}
	} else {
		s.Lead = d.l.say("costs.none")
	}
	panel := func(k pick, title string, kind chart.Kind, color int) chart.Panel {
		return chart.Panel{Title: title, Kind: kind, Scale: chart.Money, Height: 100,
			Series: []chart.Series{{Name: k.text, Color: color, Values: a.series(d.bins, k)}}}
	}
	s.place(d.chart(s, panel(total, d.l.say("costs.panel_total"), chart.Bars, 1), panel(call, d.l.say("costs.panel_call"), chart.Lines, 1),
		panel(minute, d.l.say("costs.panel_minute"), chart.Lines, 1)))
	return s, nil
}

// heat shows when calls come.
func heat(ctx context.Context, r reader, p period) (*section, error) {
	a, err := r.ask(ctx, "volume", p, "")
	if err != nil {
		return nil, err
	}
	s := &section{ID: "heat", Title: r.l.say("heat.title"), Lead: r.l.say("heat.lead", a.loc)}
	top := ""
	h := &chart.Heat{ID: "heat", Title: s.Title, Every: 3}
	t := &table{Command: a.Command, By: r.l.say("by.hour")}
	for _, day := range value.Weekdays {
		short := r.l.say("weekday." + day[:3])
		h.Down = append(h.Down, short)
		h.Values, h.Links = append(h.Values, make([]float64, 24)), append(h.Links, nil)
		t.Heads = append(t.Heads, head{Text: short, Column: "calls", Where: "weekday=" + day})
	}
	var most float64
	for hour := range 24 {
		key := fmt.Sprint(hour)
		h.Across = append(h.Across, fmt.Sprintf("%02d", hour))
		l := line{Name: fmt.Sprintf("%02d:00", hour), Key: key}
		for i, day := range value.Weekdays {
			v := a.at(field{"calls", map[string]string{"hour": key, "weekday": day}})
			l.Cells = append(l.Cells, a.cell(v, "calls"))
			h.Links[i] = append(h.Links[i], a.calls(map[string]string{"hour": key, "weekday": day}))
			n, _ := v.(int64)
			if h.Values[i][hour] = float64(n); h.Values[i][hour] > most {
				most = h.Values[i][hour]
				top = " " + r.l.say("heat.most", r.l.say("weekday."+day), h.Across[hour], r.l.grouped(n))
			}
		}
		t.Rows = append(t.Rows, l)
	}
	s.Lead += top
	h.Desc = s.desc(r.l)
	s.Details = []*table{t}
	s.add(h.SVG("md", halfWidth, true))
	s.add(h.SVG("sm", phoneWidth, false))
	return s, nil
}

// reasons shows why calls ended, most frequent first.
func reasons(ctx context.Context, r reader, p period) (*section, error) {
	a, err := r.ask(ctx, "disconnections", p, "")
	if err != nil {
		return nil, err
	}
	const named = 12
	s := &section{ID: "reasons", Title: r.l.say("reasons.title"), Lead: r.l.say("reasons.lead")}
	t := &table{Command: a.Command, By: r.l.say("by.reason"), Heads: []head{{Text: r.l.say("reasons.share"), Column: "share_percent"},
		{Text: r.l.say("reasons.calls"), Column: "calls"}, {Text: r.l.say("reasons.connected"), Column: "connected_percent"}}}
	var rest, restCalls int64
	for i, row := range a.rows {
		if n, _ := row[a.index("calls")].(int64); i >= named && len(a.rows) > named+1 {
			rest++
			restCalls += n
			continue
		}
		l := a.named(row, 0, "reason")
		l.Link = a.calls(map[string]string{"disconnection_reason": l.Key})
		share := row[a.index("share_percent")]
		l.Cells = []cell{a.cell(share, "share_percent").withBar(float(share)), a.cell(row[a.index("calls")], "calls"),
			a.cell(row[a.index("connected_percent")], "connected_percent")}
		t.Rows = append(t.Rows, l)
	}
	if rest > 0 {
		t.Rows = append(t.Rows, line{Name: r.l.say("count.others", rest), Sum: true,
			Cells: []cell{noNumber(), a.cell(restCalls, "calls"), noNumber()}})
	}
	s.Boards = []*table{t}
	return s, nil
}

// named begins a line with the translated value of a column.
func (a *asked) named(row []any, column int, section string) line {
	v := row[column]
	if v == nil {
		return line{Name: a.l.say("page.none"), Null: true}
	}
	key := a.text(v)
	return line{Name: clipName(strings.ToValidUTF8(a.l.word(section, key), "�"), 40), Title: key, Key: key}
}

// clipName shortens a name to a number of letters, keeping its end: similar names often differ
// there.
func clipName(s string, most int) string {
	if r := []rune(s); len(r) > most {
		end := most / 3
		return string(r[:most-1-end]) + "…" + string(r[len(r)-end:])
	}
	return s
}
