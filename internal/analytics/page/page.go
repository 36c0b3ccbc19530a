package page

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"callhouse/internal/analytics"
)

// Options say what a page is of. The zero value is the last 30 whole days of all
// agents.
type Options struct {
	// Since and Until are taken at the beginning of their day, Until exclusive.
	// Zero: 30 days, up to the last day that is over and listed whole.
	Since, Until time.Time
	Agent        string   // an agent's id, or the beginning of one agent's
	Where        []string // conditions, as in call_type=outbound
	Title        string   // empty: Calls
	Now          time.Time
	Version      string // of the program, for the foot; may be empty
}

// Summary is what a page says, for who does not see it.
type Summary struct {
	Calls int64 // in the period
}

//go:embed page.html style.css
var files embed.FS

// document is what the template shows.
type document struct {
	Title, Period, Zone, Agent string
	Where                      []string
	Style                      template.CSS
	AsOf, Listed, Made         string
	Trust                      string
	Warnings                   []string
	Empty                      string
	Day, DayBefore             string
	Whole, WholeBefore         string
	Single                     bool // the period is one day: there is nothing beside it
	Figures                    []tile
	Off                        *table
	Sections                   []*section
	Foot                       string
}

// tile is a figure as it is shown: of the last day and of the period, each with
// what it was before.
type tile struct {
	Name, What         string
	Day, DayBefore     shown
	DayChange          *change
	Whole, WholeBefore shown
	WholeChange        *change
}

// Write writes the page of an open warehouse. It returns a *PeriodError where
// there is no day between the bounds, and what [analytics.Warehouse.Report] does.
func Write(ctx context.Context, out io.Writer, w *analytics.Warehouse, o Options) (Summary, error) {
	d, s, err := collect(ctx, w, o)
	if err != nil {
		return s, err
	}
	t, err := template.New("page.html").Funcs(template.FuncMap{"heading": heading}).ParseFS(files, "page.html")
	if err != nil {
		return s, fmt.Errorf("read the page's template: %w", err)
	}
	return s, t.Execute(out, d)
}

// heading begins s with a capital letter.
func heading(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func collect(ctx context.Context, w *analytics.Warehouse, o Options) (*document, Summary, error) {
	loc := w.Location()
	listed := listedTo(w)
	p, err := newPeriod(o.Since, o.Until, listed, o.Now, loc)
	if err != nil {
		return nil, Summary{}, err
	}
	r := reader{w: w, agent: o.Agent, where: o.Where}
	if o.Since.IsZero() {
		if p, err = r.begun(ctx, p); err != nil {
			return nil, Summary{}, err
		}
	}
	style, err := files.ReadFile("style.css")
	if err != nil {
		return nil, Summary{}, fmt.Errorf("read the page's style: %w", err)
	}
	d := &document{Title: o.Title, Period: p.String(), Agent: o.Agent, Where: o.Where, Style: template.CSS(style), Single: p.days() == 1} //nolint:gosec // our own file
	if d.Title == "" {
		d.Title = "Calls"
	}
	last, over := p.last(known(listed, o.Now))
	d.head(w, p, listed, o)
	d.days(p, last, over, analytics.DayOf(o.Now, loc))
	var spans [4]*span
	for i, q := range []period{last, last.back(recent), p, p.back(p.days())} {
		if spans[i], err = r.span(ctx, q); err != nil {
			return nil, Summary{}, err
		}
	}
	d.figures(spans)
	d.Trust = trust(spans[0])
	s := Summary{Calls: spans[2].calls()}
	if s.Calls == 0 {
		d.Empty = "There are no calls in this period."
		if len(o.Where) > 0 {
			d.Empty = "No calls of this period meet the conditions."
		} else if o.Agent != "" {
			d.Empty = "This agent has no calls in this period."
		}
		return d, s, nil
	}
	gaps, err := w.Coverage(ctx, "coverage", r.params(p, ""), o.Now)
	if err != nil {
		return nil, s, err
	}
	if line := gaps.String(loc); line != "" {
		d.Warnings = append(d.Warnings, heading(line)+".")
	}
	var off map[string]map[string][]string
	if d.Off, off, err = anomalies(ctx, r, p); err != nil {
		return nil, s, err
	}
	d.Sections, err = sections(ctx, r, p, drawer{unit: p.unit(), bins: p.bins(listed), off: off}, spans)
	return d, s, err
}

// sections are the page's parts, in their order.
func sections(ctx context.Context, r reader, p period, draw drawer, spans [4]*span) ([]*section, error) {
	last, whole := spans[0], spans[2]
	var out []*section
	for _, make := range []func() (*section, error){
		func() (*section, error) { return draw.volume(ctx, r, p, whole) },
		func() (*section, error) { return draw.sentiment(ctx, r, p, whole) },
		func() (*section, error) { return draw.latency(ctx, r, p) },
		func() (*section, error) { return reasons(ctx, r, p) },
		func() (*section, error) { return draw.costs(ctx, r, p) },
		func() (*section, error) { return distribution(ctx, r, p, whole) },
		func() (*section, error) { return heat(ctx, r, p) },
		func() (*section, error) { return agents(ctx, r, p) },
		func() (*section, error) { return coverage(last, whole), nil },
	} {
		s, err := make()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// begun cuts off the days before the first call, where nobody asked for them: a
// young warehouse has no empty weeks.
func (r reader) begun(ctx context.Context, p period) (period, error) {
	a, err := r.ask(ctx, "disconnections", p, "day")
	if err != nil {
		return p, err
	}
	for _, row := range a.rows { // in the order of the days
		if day, err := time.Parse(time.DateOnly, a.text(row[0])); err == nil {
			p.since = day
			break
		}
	}
	return p, nil
}

// listedTo is up to when the service's calls were listed; zero: not known.
func listedTo(w *analytics.Warehouse) time.Time {
	spans := w.Snapshot().Manifest.Coverage
	if len(spans) == 0 {
		return time.Time{}
	}
	return time.UnixMilli(spans[len(spans)-1].To)
}

const minute = "2006-01-02 15:04"

// head says what the page is of, and as of when.
func (d *document) head(w *analytics.Warehouse, p period, listed time.Time, o Options) {
	loc := w.Location()
	m := w.Snapshot().Manifest
	now := o.Now.In(loc)
	d.Zone = loc.String()
	if offset := now.Format("-07:00"); d.Zone != "UTC" {
		d.Zone += " (UTC" + offset + ")"
	}
	d.AsOf = fmt.Sprintf("snapshot %d, committed %s", m.Snapshot, m.CommittedAt.In(loc).Format(minute))
	d.Made = now.Format(minute)
	switch {
	case listed.IsZero():
		d.Warnings = append(d.Warnings, "No span of time is listed completely yet: calls may be missing everywhere.")
	case listed.Before(analytics.DayBegin(analytics.DayOf(o.Now, loc), loc)):
		d.Warnings = append(d.Warnings, fmt.Sprintf("Calls are listed up to %s only: the newest whole day is %s. Has extract run since?",
			listed.In(loc).Format(minute), dayName(analytics.DayOf(listed, loc).AddDate(0, 0, -1))))
	}
	if !listed.IsZero() {
		d.Listed = "calls listed up to " + min(listed.In(loc).Format(minute), now.Format(minute))
	}
	d.Foot = "callhouse"
	if o.Version != "" {
		d.Foot += " " + o.Version
	}
}

// days names the day and the period of the key figures, and what they are
// compared with.
func (d *document) days(p, last period, over bool, today time.Time) {
	d.Day, d.DayBefore = last.String(), last.back(recent).String()
	d.Whole, d.WholeBefore = p.length(), "the "+p.length()+" before"
	if d.Single {
		d.WholeBefore = "the day before"
	}
	switch {
	case !over:
		d.Day += ", of which only part is there,"
	case last.since.Equal(today.AddDate(0, 0, -1)):
		d.Day = "Yesterday, " + d.Day
	}
}

// figures makes the tiles of the last day, the same day of the week before, the
// period, and the period before.
func (d *document) figures(s [4]*span) {
	for _, f := range figures(s[2].dialed() > 0) {
		d.Figures = append(d.Figures, tile{Name: f.name, What: f.what,
			Day: s[0].shown(f), DayBefore: s[1].shown(f), DayChange: s[0].against(s[1], f),
			Whole: s[2].shown(f), WholeBefore: s[3].shown(f), WholeChange: s[2].against(s[3], f)})
	}
}
