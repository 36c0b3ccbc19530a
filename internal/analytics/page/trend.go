package page

import (
	"context"
	"html/template"
	"math"
	"time"

	"callhouse/internal/analytics/page/chart"
)

// The number of days of a trend line, and of earlier same weekdays that make up its band.
const (
	trendDays = 28
	bandWeeks = 8
)

// trend is the course of a figure up to the last day.
type trend struct {
	SVG       template.HTML
	Weekday   string
	Low, High shown // of the same weekdays before
	Outside   bool  // the last day is outside the band
}

// trends returns the courses of the figures. The reports by day begin early enough for the band of
// the first day.
func (c *composer) trends(ctx context.Context, day *beside) ([]trend, error) {
	all := c.last
	all.since = all.until.AddDate(0, 0, -trendDays-7*bandWeeks)
	out := make([]trend, len(c.figures))
	for i, f := range c.figures {
		a, err := c.ask(ctx, f.report, all, "day")
		if err != nil {
			return nil, err
		}
		at := func(d time.Time) field {
			where := map[string]string{a.columns[0].Name: d.Format(time.DateOnly)}
			for k, v := range f.field.where {
				where[k] = v
			}
			return field{f.field.column, where}
		}
		t := &out[i]
		s := chart.Spark{ID: "trend-" + f.field.column + f.report, Title: f.name}
		for d := c.last.until.AddDate(0, 0, -trendDays); d.Before(c.last.until); d = d.AddDate(0, 0, 1) {
			low, high := math.NaN(), math.NaN()
			t.Low, t.High = shown{cell: noNumber()}, shown{cell: noNumber()}
			for w := 1; w <= bandWeeks; w++ {
				before := at(d.AddDate(0, 0, -7*w))
				v := float(a.at(before))
				if math.IsNaN(v) {
					continue
				}
				if !(v >= low) {
					low, t.Low = v, a.shown(before)
				}
				if !(v <= high) {
					high, t.High = v, a.shown(before)
				}
			}
			s.Values, s.Low, s.High = append(s.Values, float(a.at(at(d)))), append(s.Low, low), append(s.High, high)
		}
		last := len(s.Values) - 1
		t.Weekday = c.l.Say("weekday." + c.last.since.Weekday().String())
		t.Outside = s.Values[last] < s.Low[last] || s.Values[last] > s.High[last]
		if change := day.against(f); t.Outside && change != nil && change.Class == "bad" {
			s.Worse = true
		}
		s.Desc = c.l.Say("trend.desc", f.name)
		t.SVG = template.HTML(s.SVG(220, 46)) //nolint:gosec // package chart escapes what it is given
	}
	return out, nil
}

// shown is a field's value and its source.
func (a *asked) shown(f field) shown {
	out := shown{cell: a.cell(a.at(f), f.column), Command: a.Command, Column: f.column, Link: a.calls(f.where)}
	first := a.columns[0].Name
	out.Where = first + "=" + f.where[first]
	for c, v := range f.where { // at most one more
		if c != first {
			out.Where += " and " + c + "=" + v
		}
	}
	return out
}
