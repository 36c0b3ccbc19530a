package page

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/page/texts"
	"callhouse/internal/analytics/question"
	"callhouse/internal/words"
)

// Options select the content of a page. The zero value is the last 28 whole days of all agents.
type Options struct {
	// Since and Until are rounded down to their day; Until is exclusive. Zero: 28 days, up to the
	// last day that is over and completely listed.
	Since, Until time.Time
	Agent        string   // id of an agent, or its unique beginning
	Where        []string // conditions, such as call_type=outbound
	Title        string   // empty: the language's word for calls
	Lang         string   // one of Languages; empty: English
	Currency     string   // of costs, by ISO 4217; empty: unknown
	Now          time.Time
	Version      string // of the program, for the footer; may be empty
	// Address returns the addresses at which a server has the answers shown on the page, and Above
	// is the server's header. nil: the page is standalone.
	Address Address
	Above   template.HTML
}

// Address returns the address of the rows of a report; for the report call, those of one call.
type Address func(report string, p question.Params) string

// Summary summarises a page.
type Summary struct {
	Calls     int64 // in the period
	*document       // the content, for a text that accompanies the page
}

//go:embed page.html style.css
var files embed.FS

// Style returns the page's style sheet, for pages in the same style.
func Style() string {
	style, _ := files.ReadFile("style.css") // embedded
	return string(style)
}

// document is the data of the template.
type document struct {
	Lang                       string
	Above                      template.HTML
	Live                       bool // served, so it has links
	Title, Period, Zone, Agent string
	Where                      []string
	Style                      template.CSS
	AsOf, Listed, Made         string
	Trust                      []string
	Warnings                   []string
	Day, DayBefore             string
	Whole, WholeBefore         string
	Single                     bool // the period is one day, shown alone
	Sentence                   string
	Jumps                      []group
	Findings                   *findings
	Figures                    []tile
	Off                        *table
	Foot                       string
}

// tile shows a figure of the last day and of the period, each with its earlier value.
type tile struct {
	Name, What         string
	Day, DayBefore     shown
	DayChange          *change
	Whole, WholeBefore shown
	WholeChange        *change
	Trend              trend
}

// Write writes the page of an open warehouse. It returns a *PeriodError if there is no day between
// the bounds, or an error of [analytics.Warehouse.Report].
func Write(ctx context.Context, out io.Writer, w *analytics.Warehouse, o Options) (Summary, error) {
	l, err := newLang(o.Lang, o.Currency)
	if err != nil {
		return Summary{}, err
	}
	return write(ctx, out, w, l, o)
}

func write(ctx context.Context, out io.Writer, w *analytics.Warehouse, l *lang, o Options) (Summary, error) {
	t, err := template.New("page.html").Funcs(template.FuncMap{"say": l.Say}).ParseFS(files, "page.html")
	if err != nil {
		return Summary{}, fmt.Errorf("read the page's template: %w", err)
	}
	return compose(ctx, w, l, o, func(data any, parts ...string) error {
		for _, part := range parts {
			if err := t.ExecuteTemplate(words.Page(out), part, data); err != nil {
				return err
			}
		}
		return nil
	})
}

// compose writes the parts of the page in order, each as soon as its numbers are known. An invalid
// question fails before the first part.
func compose(ctx context.Context, w *analytics.Warehouse, l *lang, o Options, show func(data any, parts ...string) error) (Summary, error) {
	c := &composer{w: w, o: o, listed: w.Snapshot().Manifest.ListedTo(), show: show,
		reader: reader{w: w, l: l, agent: o.Agent, where: o.Where, at: o.Address, known: new(sync.Map)}}
	for _, step := range []func(context.Context) error{c.question, c.head} {
		if err := step(ctx); err != nil {
			return Summary{}, err
		}
	}
	defer c.ahead(ctx)()
	if err := c.numbers(ctx); err != nil {
		return Summary{}, err
	}
	s := Summary{c.spans[2].calls(), c.d}
	if s.Calls == 0 {
		return s, c.empty()
	}
	for _, step := range []func(context.Context) error{c.trust, c.off, c.findings, c.sections} {
		if err := step(ctx); err != nil {
			return s, err
		}
	}
	return s, show(c.d, "foot")
}

// composer composes one page.
type composer struct {
	reader
	w      *analytics.Warehouse
	o      Options
	listed time.Time // end of the list of calls
	show   func(data any, parts ...string) error

	p, before period // the period, and the one that it is compared with
	last      period // the last day of the period
	name      string // of the agent, if the page is about one
	course    period // the days that the figures and charts by day cover
	over      bool   // last is over
	d         *document
	remarks   *analytics.Remarks
	notes     int      // warnings that only concern the comparison
	spans     [4]*span // the last day, the same weekday before, the period, the one before
	figures   []figure
	whole     *beside
	unusual   map[string]map[string][]string // days of the report anomalies
}

// question determines the period. The first report also checks that the agent exists and that the
// reader may see it.
func (c *composer) question(ctx context.Context) (err error) {
	if c.p, err = newPeriod(c.o.Since, c.o.Until, c.listed, c.o.Now, c.w.Location()); err != nil {
		return err
	}
	at := known(c.listed, c.o.Now)
	c.last, c.over = c.p.last(at)
	c.before = c.p.before()
	c.course = c.last.back(trendDays + 7*bandWeeks - 1)
	c.course.until = c.p.until
	if c.p.unit() == "day" && c.before.since.Before(c.course.since) {
		c.course.since = c.before.since
	}
	if err := c.days(ctx, "funnel", c.course); err != nil {
		return err
	}
	if c.name, err = c.agentName(ctx, c.p); err != nil || !c.o.Since.IsZero() {
		return err
	}
	if c.p, err = c.begun(ctx, c.p); err != nil {
		return err
	}
	c.last, c.over = c.p.last(at)
	c.before = c.p.before()
	return nil
}

// agentName returns the name of the only agent that the page is about; empty: there are several
// agents, or no calls.
func (c *composer) agentName(ctx context.Context, p period) (string, error) {
	if c.o.Agent == "" {
		return "", nil
	}
	q := c.params(p, "")
	q.Columns = []string{"agent_id", "calls"}
	a, err := c.run(ctx, "agents", q, p, "")
	if err != nil || len(a.rows) != 1 || a.rows[0][0] == nil {
		return "", err
	}
	return a.text(a.rows[0][0]), nil
}

// head writes the head of the page.
func (c *composer) head(ctx context.Context) error {
	l, o := c.l, c.o
	c.d = &document{Lang: l.Tag.String(), Above: o.Above, Live: o.Address != nil,
		Title:  cmp.Or(o.Title, texts.Clip(texts.ShortName(c.name), 80), l.Say("page.title")),
		Period: l.period(c.p), Agent: o.Agent, Where: o.Where, Single: c.p.days() == 1,
		Style: template.CSS(Style())} //nolint:gosec // our own file
	if c.name != "" && o.Title == "" {
		c.d.Agent = "" // it is the title
	}
	c.d.head(c.w, l, c.listed, o)
	c.d.days(l, c.p, c.before, c.last, c.over, question.DayOf(o.Now, c.w.Location()))
	return c.show(c.d, "head")
}

func (c *composer) warn(id string, args ...any) {
	c.d.Warnings = append(c.d.Warnings, c.l.Say(id, args...))
}

// numbers reads the key figures of the last day, the period, and those that they are compared with.
func (c *composer) numbers(ctx context.Context) (err error) {
	for _, report := range daily[1:] {
		if err := c.days(ctx, report, c.course); err != nil {
			return err
		}
	}
	more := [len(c.spans)][]string{{"coverage"}, nil, {"coverage", "durations"}, nil}
	for i, q := range []period{c.last, c.last.back(recent), c.p, c.before} {
		if c.spans[i], err = c.span(ctx, q, more[i]...); err != nil {
			return err
		}
	}
	c.figures = c.l.figures()
	restless, err := c.restless(ctx, c.p)
	if err != nil {
		return err
	}
	day, err := c.beside(ctx, c.spans[0], c.spans[1], c.figures, ofDay(c.figures), restless)
	if err != nil {
		return err
	}
	strict := question.Strict{Answers: answersOfPeriod, Changes: len(c.figures)}
	if c.whole, err = c.beside(ctx, c.spans[2], c.spans[3], c.figures, strict, restless); err != nil {
		return err
	}
	trends, err := c.trends(ctx, day)
	if err != nil {
		return err
	}
	c.d.figures(c.figures, day, c.whole, trends)
	for _, s := range []*span{c.spans[0], c.spans[2]}[:min(c.p.days(), 2)] {
		if s.calls() > 0 {
			c.d.Trust = append(c.d.Trust, s.trust())
		}
	}
	return c.remark(ctx)
}

// remark reads the remarks on the numbers, and warns of conditions that match no call.
func (c *composer) remark(ctx context.Context) (err error) {
	both := c.params(c.p, "").WithPrevious(c.p.loc)
	if c.remarks, err = c.w.Remarks(ctx, analytics.Question{Report: "funnel", Params: both, Now: c.o.Now}); err != nil {
		return err
	}
	for _, u := range c.remarks.Unmatched {
		if u.Nearest == "" {
			c.warn("warning.unmatched", u.Dimension, u.Value)
		} else {
			c.warn("warning.misspelt", u.Dimension, u.Value, u.Nearest)
		}
	}
	return nil
}

// empty writes a page without calls.
func (c *composer) empty() error {
	switch {
	case len(c.o.Where) > 0:
		c.warn("empty.where")
	case c.o.Agent != "":
		c.warn("empty.agent")
	default:
		c.warn("empty.period")
	}
	return c.show(c.d, "known", "figures", "foot")
}

// trust shows how complete the numbers are.
func (c *composer) trust(context.Context) error {
	c.d.Warnings = append(c.d.Warnings, c.l.gaps(c.remarks.Coverage[0], c.w.Location())...)
	r, before := c.remarks.Compared, len(c.d.Warnings)
	if r.Weekend != r.WeekendBefore {
		c.warn("warning.uneven", r.Weekend, r.WeekendBefore)
	}
	if r.Held > 0 && r.Held < r.Of { // with 0, nothing is compared
		c.warn("warning.partly", c.l.Day(c.before.since), c.l.Day(r.FirstCall), r.Held, r.Of)
	}
	c.notes = len(c.d.Warnings) - before
	return c.show(c.d, "known")
}

// findings shows the changes, and what needs attention.
func (c *composer) findings(ctx context.Context) (err error) {
	if c.d.Findings, err = c.reader.findings(ctx, c.p, c.figures, c.whole); err != nil {
		return err
	}
	c.d.Sentence = c.sentence()
	for _, id := range groups {
		c.d.Jumps = append(c.d.Jumps, c.group(id))
	}
	return c.show(c.d, "changes", "figures", "off")
}

// off shows the unusual days.
func (c *composer) off(ctx context.Context) error {
	a, err := c.ask(ctx, "anomalies", c.p, "")
	if err != nil {
		return err
	}
	c.d.Off, c.unusual = unusual.table(a), a.off()
	return nil
}

// sections shows the other parts.
func (c *composer) sections(ctx context.Context) error {
	r, p, whole := c.reader, c.p, c.spans[2]
	draw := drawer{l: c.l, unit: p.unit(), bins: p.bins(c.listed, c.l), before: c.before, past: c.before.bins(c.listed, c.l), off: c.unusual}
	type parts []func() (*section, error)
	over := func(t timeline) func() (*section, error) {
		return func() (*section, error) { return draw.over(ctx, r, t, p, whole) }
	}
	board := func(b board) func() (*section, error) { return func() (*section, error) { return r.board(ctx, b, p) } }
	heard, where, used := c.last, parts{func() (*section, error) { return r.changed(ctx, p) }, board(campaigns), board(versions)}, board(tools)
	if c.name != "" { // one agent
		heard, where, used = p, parts{board(edits), board(agentVersions), board(campaigns)}, board(agentTools)
	}
	for i, all := range []parts{
		{func() (*section, error) { return r.listen(ctx, heard) }},
		where,
		{func() (*section, error) { return r.ends(ctx, p) }, board(reasons), used, over(latency),
			func() (*section, error) { return r.flows(ctx, p) }},
		{over(volume), over(sentiment), over(costs), func() (*section, error) { return heat(ctx, r, p) }},
		{func() (*section, error) { return coverage(r.l, c.spans[0], whole, c.d.Trust), nil }},
	} {
		if err := c.show(c.group(groups[i]), "group"); err != nil {
			return err
		}
		if err := each(all, func(s *section) error { return c.show(s, "section") }); err != nil {
			return err
		}
		if err := c.show(nil, "end"); err != nil {
			return err
		}
	}
	return nil
}

// ahead asks the questions of the sections while the page is composed from its beginning: each
// statement is planned on one core. The returned function stops it.
func (c *composer) ahead(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { c.asks(ctx) })
	return func() { cancel(); working.Wait() }
}

// asks asks most questions of the sections, from the last to the first. It leaves errors to the
// sections, which get the same.
func (c *composer) asks(ctx context.Context) {
	for _, q := range [][2]string{{"volume"}, {latency.report, c.p.unit()}, {"outcomes"}, {"disconnections"}, {"versions"}} {
		_, _ = c.ask(ctx, q[0], c.p, q[1])
	}
	for _, report := range []string{"tools", "disconnections", "agents"} {
		_, _ = c.compare(ctx, report, c.p)
	}
}

// groups are the ids of the questions, in order.
var groups = []string{"listen", "where", "why", "course", "trust"}

// group is a question that several sections answer. More are reports with a more detailed answer,
// on a served page.
type group struct {
	ID, Title string
	More      []command
}

// more are the reports of the groups; a colon separates the dimension.
var more = map[string][]string{"where": {"conversation:agent"}, "why": {"callers", "early", "transfers"}}

// group describes a group, with the reports that the reader may see.
func (c *composer) group(id string) group {
	g := group{ID: id, Title: c.l.Say("group." + id)}
	for _, name := range more[id] {
		name, by, _ := strings.Cut(name, ":")
		p := c.params(c.p, by)
		if f, err := question.Report(name); err == nil && c.at != nil && analytics.May(c.w.Rights(), f) == nil {
			g.More = append(g.More, command{Text: c.l.Say("more." + name), Link: c.at(name, p)})
		}
	}
	return g
}

// sentence says what needs attention on the last day and in the period, else what improved, else
// what changed.
func (c *composer) sentence() string {
	said := map[string][]string{} // by class
	for _, row := range c.d.Off.Rows {
		if row.Key == c.last.since.Format(time.DateOnly) {
			said["bad"] = append(said["bad"], c.l.Say("sentence.unusual", row.Cells[0].Text, row.Cells[1].Text, row.Cells[2].Text))
		}
	}
	for _, f := range c.d.Findings.Rows {
		said[f.Change.Class] = append(said[f.Change.Class], f.Name+" "+f.Change.By)
	}
	for _, class := range []string{"bad", "good", "same"} {
		if all := said[class]; len(all) > 0 {
			return c.l.Say("sentence."+class, len(all), all[0])
		}
	}
	name := "sentence.usual"
	if len(c.d.Warnings) > c.notes {
		name = "sentence.data"
	}
	return c.l.Say(name, c.l.Say("weekday."+c.last.since.Weekday().String()))
}

// each makes parts of the page and passes them on, except empty ones and those that the reader may
// not see.
func each(parts []func() (*section, error), to func(*section) error) error {
	for _, make := range parts {
		s, err := make()
		switch {
		case analytics.Denied(err) || err == nil && s == nil:
			continue
		case err == nil:
			err = to(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gaps describes the calls of the period that are not listed or are left out.
func (l *lang) gaps(c *analytics.Coverage, loc *time.Location) (out []string) {
	if c.Undated > 0 {
		out = append(out, l.Say("warning.undated", c.Undated))
	}
	if c.Misread > 0 {
		out = append(out, l.Say("warning.misread", c.Misread))
	}
	for _, g := range c.Unlisted {
		from := l.Time("minute", g.From.In(loc)) // the period has a beginning
		if g.To.IsZero() {
			out = append(out, l.Say("warning.unlisted_from", from))
		} else {
			out = append(out, l.Say("warning.unlisted", from, l.Time("minute", g.To.In(loc))))
		}
	}
	return out
}

// begun cuts off the days before the first call unless they were requested, so that a new warehouse
// has no empty weeks.
func (r reader) begun(ctx context.Context, p period) (period, error) {
	a, err := r.ask(ctx, "funnel", p, "day")
	if err != nil {
		return p, err
	}
	for _, row := range a.rows { // rows are in order of days
		if day, err := time.Parse(time.DateOnly, a.text(row[0])); err == nil {
			p.since = day
			break
		}
	}
	return p, nil
}

// head sets the description of the content and time of the page.
func (d *document) head(w *analytics.Warehouse, l *lang, listed time.Time, o Options) {
	loc := w.Location()
	m, now := w.Snapshot().Manifest, o.Now.In(loc)
	d.Zone = loc.String()
	if offset := now.Format("-07:00"); d.Zone != "UTC" {
		d.Zone += " (UTC" + offset + ")"
	}
	d.AsOf = l.Say("page.as_of", fmt.Sprint(m.Snapshot), l.Time("minute", m.CommittedAt.In(loc)))
	d.Made = l.Say("page.made", l.Time("minute", now))
	switch {
	case listed.IsZero():
		d.Warnings = append(d.Warnings, l.Say("warning.no_list"))
	case listed.Before(question.DayBegin(question.DayOf(o.Now, loc), loc)):
		d.Warnings = append(d.Warnings, l.Say("warning.stale", l.Time("minute", listed.In(loc)),
			l.Day(question.DayOf(listed, loc).AddDate(0, 0, -1))))
	}
	if !listed.IsZero() {
		d.Listed = l.Say("page.listed", l.Time("minute", known(listed, o.Now).In(loc)))
	}
	d.Foot = "callhouse"
	if o.Version != "" {
		d.Foot += " " + o.Version
	}
}

// days describes the day and the period of the key figures, and what they are compared with.
func (d *document) days(l *lang, p, before, last period, over bool, today time.Time) {
	d.Day, d.DayBefore = l.period(last), l.period(last.back(recent))
	d.Whole, d.WholeBefore = l.length(p), l.before(before)
	switch {
	case !over:
		d.Day = l.Say("figures.part_there", d.Day)
	case last.since.Equal(today.AddDate(0, 0, -1)):
		d.Day = l.Say("period.yesterday", d.Day)
	}
}

// figures adds the tiles of the last day and the period.
func (d *document) figures(all []figure, day, whole *beside, trends []trend) {
	for i, f := range all {
		d.Figures = append(d.Figures, tile{Name: f.name, What: f.what, Trend: trends[i],
			Day: day.now.shown(f), DayBefore: day.before.shown(f), DayChange: day.against(f),
			Whole: whole.now.shown(f), WholeBefore: whole.before.shown(f), WholeChange: whole.against(f)})
	}
}
