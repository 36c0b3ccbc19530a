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
	"callhouse/internal/analytics/page/texts"
	"callhouse/internal/analytics/value"
)

// section is one part of the page: its text, a chart or a board, and the numbers behind it.
type section struct {
	ID, Title, Lead string
	Wide            bool
	Open            bool // the lead expands the content below it
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
	if len(s.Charts) > 0 { // the style sheet selects one by width; without it, only the first is shown
		svg = strings.Replace(svg, "<svg ", `<svg display="none" `, 1)
	}
	s.Charts = append(s.Charts, template.HTML(svg)) //nolint:gosec // package chart escapes what it is given
}

// chart returns a chart over the bins, whose tooltips show the numbers of the table beside it.
func (d drawer) chart(s *section, panels ...chart.Panel) *chart.Chart {
	c := &chart.Chart{ID: s.ID, Title: s.Title, Panels: panels, NoData: d.l.Say("page.no_data")}
	for i, b := range d.bins {
		hover := b.name
		if b.part {
			hover = d.l.Say("period.part", b.name)
		}
		for n, t := range s.Details {
			for j, h := range t.Heads {
				if i >= len(t.Rows) {
					continue
				}
				name := h.Text
				if n > 0 { // of the previous period
					name = d.l.Say("chart.behind_hover", h.Text)
				}
				hover += "\n" + name + ": " + t.Rows[i].Cells[j].Text
			}
		}
		for _, m := range s.measures {
			for _, what := range d.off[m][b.key] {
				hover += "\n" + d.l.Say("off.hover", what)
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
		s.Lead += " " + d.l.Say("off.lead")
	}
	c.Desc = s.desc(d.l)
	return c
}

// desc describes a chart for screen readers.
func (s *section) desc(l *lang) string { return s.Lead + " " + l.Say("page.table_follows") }

// timeline declares a section over time: the columns of its table, and the panels that plot some of
// them. Its texts are ID.title_UNIT and ID.PANEL.
type timeline struct {
	id, report string
	wide       bool
	measures   []string // of the report anomalies, marked on the chart
	columns    []pick   // their texts are ID.TEXT
	split      func(whole *asked) []pick
	before     []pick // also shown for the previous period
	panels     []panel
	lead       func(d drawer, a *asked, whole *span) string
}

// panel declares a plot of a timeline.
type panel struct {
	title   string
	kind    chart.Kind
	scale   chart.Scale
	height  float64
	top     float64
	zoom    bool
	measure string // of the report anomalies
	lines   []trace
	before  bool // the first line's value in the previous period is drawn behind
	split   bool // its series are those of split
}

// trace is a series of a panel.
type trace struct {
	pick
	less  *pick // is subtracted
	color int
}

// over makes the section of a timeline.
func (d drawer) over(ctx context.Context, r reader, t timeline, p period, whole *span) (*section, error) {
	a, err := r.ask(ctx, t.report, p, d.unit)
	if err != nil {
		return nil, err
	}
	s := &section{ID: t.id, Title: d.l.Say(t.id + ".title_" + d.unit), Wide: t.wide, measures: t.measures}
	named := func(picks []pick) (out []pick) {
		for _, k := range picks {
			k.text = d.l.Say(t.id + "." + k.text)
			out = append(out, k)
		}
		return out
	}
	columns, split := named(t.columns), []pick(nil)
	if t.split != nil {
		split = t.split(whole.reports[t.report])
		columns = append(split, columns...)
	}
	s.Details = []*table{a.overBins(d.unit, d.bins, columns)}
	var before *asked
	if t.before != nil {
		if before, err = r.ask(ctx, t.report, d.before, d.unit); err != nil {
			return nil, err
		}
		behind := before.overBins(d.unit, d.past, named(t.before))
		behind.By = d.l.before(d.before)
		s.Details = append(s.Details, behind)
	}
	s.Lead = t.lead(d, a, whole)
	if before != nil {
		s.Lead += " " + d.l.Say("chart.behind", d.l.before(d.before))
	}
	var panels []chart.Panel
	for _, x := range t.panels {
		plot := chart.Panel{Title: d.l.Say(t.id + "." + x.title), Kind: x.kind, Scale: x.scale, Height: x.height, Top: x.top, Zoom: x.zoom}
		if x.measure != "" {
			plot.Marks = d.marks(x.measure)
		}
		if x.before {
			past := before.series(d.past, x.lines[0].pick)
			for len(past) < len(d.bins) { // it may have fewer bins, since periods cut months and weeks
				past = append(past, math.NaN())
			}
			plot.Series = append(plot.Series, chart.Series{Name: d.l.Say("chart.behind_label"), Values: past[:len(d.bins)]})
		}
		for _, k := range x.lines {
			values := a.series(d.bins, k.pick)
			if k.less != nil {
				for i, less := range a.series(d.bins, *k.less) {
					values[i] -= less
				}
			}
			plot.Series = append(plot.Series, chart.Series{Name: d.l.Say(k.text), Color: k.color, Values: values})
		}
		if x.split {
			plot.Series = append(plot.Series, d.stacked(a, split)...)
		}
		panels = append(panels, plot)
	}
	s.place(d.chart(s, panels...))
	return s, nil
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

// namedSentiments is the number of sentiments the chart distinguishes.
const namedSentiments = 5

// sentiments returns the values of the period in stacking order: negative lowest, where it is
// easiest to compare; positive on top.
func sentiments(whole *asked) []pick {
	var out []pick
	for _, r := range whole.rows {
		if v := r[whole.index("user_sentiment")]; v != nil {
			name := whole.text(v)
			out = append(out, pick{texts.Clip(whole.l.Word("sentiment", name), 24), "rated_percent", "user_sentiment", name})
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

// stacked returns the series of sentiments; the rarest are combined into one.
func (d drawer) stacked(a *asked, picks []pick) (out []chart.Series) {
	others := chart.Series{Name: d.l.Say("chart.others"), Color: 3}
	unknown := 0
	for _, k := range picks {
		values := a.series(d.bins, k)
		known := k.value == "negative" || k.value == "neutral" || k.value == "positive"
		if !known {
			unknown++
		}
		if !known && unknown > namedSentiments-3 {
			others.Values = chart.Plus(others.Values, values)
			continue
		}
		out = append(out, chart.Series{Name: k.text, Color: sentimentColor(k.value, unknown-1), Values: values})
	}
	if others.Values != nil {
		out = append(out, others)
	}
	return out
}

// heat shows the times at which calls start.
func heat(ctx context.Context, r reader, p period) (*section, error) {
	a, err := r.ask(ctx, "volume", p, "")
	if err != nil {
		return nil, err
	}
	s := &section{ID: "heat", Title: r.l.Say("heat.title"), Lead: r.l.Say("heat.lead", a.loc)}
	top := ""
	h := &chart.Heat{ID: "heat", Title: s.Title, Every: 3}
	t := &table{Command: a.Command, By: r.l.Say("by.hour")}
	for _, day := range value.Weekdays {
		short := r.l.Say("weekday." + day[:3])
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
				top = " " + r.l.Say("heat.most", r.l.Say("weekday."+day), h.Across[hour], r.l.Grouped(n))
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
