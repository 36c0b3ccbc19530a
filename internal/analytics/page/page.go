package page

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"io"
	"time"
	"unicode"
	"unicode/utf8"

	"callhouse/internal/analytics"
	"callhouse/internal/words"
)

// Options say what a page is of. The zero value is the last 28 whole days of all
// agents.
type Options struct {
	// Since and Until are taken at the beginning of their day, Until exclusive.
	// Zero: 28 days, up to the last day that is over and listed whole.
	Since, Until time.Time
	Agent        string   // an agent's id, or the beginning of one agent's
	Where        []string // conditions, as in call_type=outbound
	Title        string   // empty: the language's word for calls
	Lang         string   // one of Languages; empty: English
	Currency     string   // of the costs, by ISO 4217; empty: not told
	Now          time.Time
	Version      string // of the program, for the foot; may be empty
	// Address is where a server has the answers that the page names, and Above what stands
	// above it there. nil: the page stands alone.
	Address Address
	Above   template.HTML
}

// Address returns where the rows of a report are: also of calls, and of call, which shows one.
type Address func(report string, p analytics.Params) string

// Summary is what a page says, for who does not see it.
type Summary struct {
	Calls int64 // in the period
}

//go:embed page.html style.css
var files embed.FS

// Style returns the page's style sheet, for pages that are to look like it.
func Style() string {
	style, _ := files.ReadFile("style.css") // it is embedded
	return string(style)
}

// document is what the template shows.
type document struct {
	Lang                       string
	Above                      template.HTML
	Live                       bool // it is served, and leads on
	Title, Period, Zone, Agent string
	Where                      []string
	Style                      template.CSS
	AsOf, Listed, Made         string
	Trust                      []string
	Warnings                   []string
	Day, DayBefore             string
	Whole, WholeBefore         string
	Single                     bool // the period is one day: there is nothing beside it
	Findings                   *findings
	First                      []*section // what is found before the numbers
	Figures                    []tile
	Off                        *table
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
	l, err := newLang(o.Lang, o.Currency)
	if err != nil {
		return Summary{}, err
	}
	return write(ctx, out, w, l, o)
}

func write(ctx context.Context, out io.Writer, w *analytics.Warehouse, l *lang, o Options) (Summary, error) {
	t, err := template.New("page.html").Funcs(template.FuncMap{"say": l.say}).ParseFS(files, "page.html")
	if err != nil {
		return Summary{}, fmt.Errorf("read the page's template: %w", err)
	}
	return compose(ctx, w, l, o, func(data any, parts ...string) error {
		for _, part := range parts {
			if err := t.ExecuteTemplate(words.Page(out), part, data); err != nil {
				return err
			}
		}
		if f, ok := out.(Flusher); ok {
			f.Flush()
		}
		return nil
	})
}

// Flusher is a writer whose reader is to have each part of the page as soon as it is known.
type Flusher interface{ Flush() }

// heading begins s with a capital letter.
func heading(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// compose shows the parts of the page in their order, each as soon as its numbers are known.
// What is wrong with the question is found before the first.
func compose(ctx context.Context, w *analytics.Warehouse, l *lang, o Options, show func(data any, parts ...string) error) (s Summary, err error) {
	loc := w.Location()
	listed := w.Snapshot().Manifest.ListedTo()
	p, err := newPeriod(o.Since, o.Until, listed, o.Now, loc)
	if err != nil {
		return s, err
	}
	r := reader{w: w, l: l, agent: o.Agent, where: o.Where, at: o.Address, known: map[string]*asked{}}
	// The first question tells whether there is such an agent, and whether the reader may see it.
	if o.Since.IsZero() {
		p, err = r.begun(ctx, p)
	} else {
		last, _ := p.last(known(listed, o.Now))
		_, err = r.ask(ctx, "funnel", last, "")
	}
	if err != nil {
		return s, err
	}
	d := &document{Lang: l.tag.String(), Above: o.Above, Live: o.Address != nil, Title: o.Title, Period: l.period(p), Agent: o.Agent, Where: o.Where, Style: template.CSS(Style()), Single: p.days() == 1} //nolint:gosec // our own file
	if d.Title == "" {
		d.Title = l.say("page.title")
	}
	before, err := r.before(p)
	if err != nil {
		return s, err
	}
	last, over := p.last(known(listed, o.Now))
	for _, s := range w.Skipped() {
		if s.Calls > 0 {
			d.Warnings = append(d.Warnings, l.say("warning.skipped", s.Name, s.Calls))
		} else {
			d.Warnings = append(d.Warnings, l.say("warning.skipped_table", s.Name))
		}
	}
	d.head(w, l, listed, o)
	d.days(l, p, before, last, over, analytics.DayOf(o.Now, loc))
	if err := show(d, "head"); err != nil {
		return s, err
	}
	var spans [4]*span
	for i, q := range []period{last, last.back(recent), p, before} {
		if spans[i], err = r.span(ctx, q); err != nil {
			return s, err
		}
	}
	figures := l.figures(spans[2].dialed() > 0)
	restless, err := r.restless(ctx, p)
	if err != nil {
		return s, err
	}
	day, err := r.beside(ctx, spans[0], spans[1], figures, ofDay(figures), restless)
	if err != nil {
		return s, err
	}
	whole, err := r.beside(ctx, spans[2], spans[3], figures, ofPeriod(figures), restless)
	if err != nil {
		return s, err
	}
	d.figures(figures, day, whole)
	for _, s := range []*span{spans[0], spans[2]}[:min(p.days(), 2)] {
		if told := s.trust(); told != "" {
			d.Trust = append(d.Trust, told)
		}
	}
	unmatched, err := w.Unmatched(ctx, r.params(p, ""))
	if err != nil {
		return s, err
	}
	for _, u := range unmatched {
		if u.Nearest == "" {
			d.Warnings = append(d.Warnings, l.say("warning.unmatched", u.Dimension, u.Value))
		} else {
			d.Warnings = append(d.Warnings, l.say("warning.misspelt", u.Dimension, u.Value, u.Nearest))
		}
	}
	s.Calls = spans[2].calls()
	if s.Calls == 0 {
		empty := "empty.period"
		if len(o.Where) > 0 {
			empty = "empty.where"
		} else if o.Agent != "" {
			empty = "empty.agent"
		}
		d.Warnings = append(d.Warnings, l.say(empty))
		return s, show(d, "known", "figures", "foot")
	}
	gaps, err := w.Coverage(ctx, "coverage", r.params(p, ""), o.Now)
	if err != nil {
		return s, err
	}
	d.Warnings = append(d.Warnings, l.gaps(gaps, loc)...)
	both := p.params()
	both.PreviousSince, both.PreviousUntil = before.params().Since, before.params().Until
	if now, then, uneven := both.Uneven(loc); uneven {
		d.Warnings = append(d.Warnings, l.say("warning.uneven", now, then))
	}
	if err := show(d, "known"); err != nil {
		return s, err
	}
	if d.Findings, err = r.findings(ctx, p, figures, whole); err != nil {
		return s, err
	}
	for _, find := range []func() (*section, error){
		func() (*section, error) { return r.tools(ctx, p) },
		func() (*section, error) { return r.worst(ctx, last) },
	} {
		found, err := find()
		if analytics.Denied(err) {
			continue
		}
		if err != nil {
			return s, err
		}
		d.First = append(d.First, found)
	}
	if err := show(d, "changes", "figures"); err != nil {
		return s, err
	}
	var off map[string]map[string][]string
	if d.Off, off, err = anomalies(ctx, r, p); err != nil {
		return s, err
	}
	if err := show(d, "off", "cards"); err != nil {
		return s, err
	}
	draw := drawer{l: l, unit: p.unit(), bins: p.bins(listed, l), before: before, past: before.bins(listed, l), off: off}
	for _, make := range sections(ctx, r, p, draw, spans) {
		part, err := make()
		if analytics.Denied(err) {
			continue // whoever reads the page may see the others
		}
		if err != nil {
			return s, err
		}
		if part == nil {
			continue
		}
		if err := show(part, "section"); err != nil {
			return s, err
		}
	}
	return s, show(d, "end", "foot")
}

// gaps tells which calls of the period are not listed, or left out.
func (l *lang) gaps(c *analytics.Coverage, loc *time.Location) (out []string) {
	if c.Undated > 0 {
		out = append(out, l.say("warning.undated", c.Undated))
	}
	for _, g := range c.Unlisted {
		from := l.time("minute", g.From.In(loc)) // the period has a beginning
		if g.To.IsZero() {
			out = append(out, l.say("warning.unlisted_from", from))
		} else {
			out = append(out, l.say("warning.unlisted", from, l.time("minute", g.To.In(loc))))
		}
	}
	return out
}

// sections make the page's parts, in their order.
func sections(ctx context.Context, r reader, p period, draw drawer, spans [4]*span) []func() (*section, error) {
	last, whole := spans[0], spans[2]
	return []func() (*section, error){
		func() (*section, error) { return draw.volume(ctx, r, p, whole) },
		func() (*section, error) { return draw.sentiment(ctx, r, p, whole) },
		func() (*section, error) { return draw.latency(ctx, r, p) },
		func() (*section, error) { return reasons(ctx, r, p) },
		func() (*section, error) { return r.flows(ctx, p) },
		func() (*section, error) { return draw.costs(ctx, r, p) },
		func() (*section, error) { return distribution(ctx, r, p, whole) },
		func() (*section, error) { return heat(ctx, r, p) },
		func() (*section, error) { return agents(ctx, r, p) },
		func() (*section, error) { return coverage(r.l, last, whole), nil },
	}
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

// head says what the page is of, and as of when.
func (d *document) head(w *analytics.Warehouse, l *lang, listed time.Time, o Options) {
	loc := w.Location()
	m := w.Snapshot().Manifest
	now := o.Now.In(loc)
	d.Zone = loc.String()
	if offset := now.Format("-07:00"); d.Zone != "UTC" {
		d.Zone += " (UTC" + offset + ")"
	}
	d.AsOf = l.say("page.as_of", fmt.Sprint(m.Snapshot), l.time("minute", m.CommittedAt.In(loc)))
	d.Made = l.say("page.made", l.time("minute", now))
	switch {
	case listed.IsZero():
		d.Warnings = append(d.Warnings, l.say("warning.no_list"))
	case listed.Before(analytics.DayBegin(analytics.DayOf(o.Now, loc), loc)):
		d.Warnings = append(d.Warnings, l.say("warning.stale", l.time("minute", listed.In(loc)), l.day(analytics.DayOf(listed, loc).AddDate(0, 0, -1))))
	}
	if !listed.IsZero() {
		d.Listed = l.say("page.listed", l.time("minute", known(listed, o.Now).In(loc)))
	}
	d.Foot = "callhouse"
	if o.Version != "" {
		d.Foot += " " + o.Version
	}
}

// days names the day and the period of the key figures, and what they are
// compared with.
func (d *document) days(l *lang, p, before, last period, over bool, today time.Time) {
	d.Day, d.DayBefore = l.period(last), l.period(last.back(recent))
	d.Whole, d.WholeBefore = l.length(p), l.before(before)
	switch {
	case !over:
		d.Day = l.say("figures.part_there", d.Day)
	case last.since.Equal(today.AddDate(0, 0, -1)):
		d.Day = l.say("period.yesterday", d.Day)
	}
}

// figures makes the tiles of the last day and the period, each beside an earlier one.
func (d *document) figures(all []figure, day, whole *beside) {
	for _, f := range all {
		d.Figures = append(d.Figures, tile{Name: f.name, What: f.what,
			Day: day.now.shown(f), DayBefore: day.before.shown(f), DayChange: day.against(f),
			Whole: whole.now.shown(f), WholeBefore: whole.before.shown(f), WholeChange: whole.against(f)})
	}
}
