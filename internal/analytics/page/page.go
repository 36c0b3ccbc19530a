// Package page makes the morning page: one HTML document with the daily numbers and charts of the calls, which needs no
// network, script or font. All numbers come from named reports; for each, the page has all digits (in data elements,
// whose text is for people) and the command that prints it. It computes only differences, sums of counts, and whether
// a difference exceeds chance. It contains no SQL and touches no files.
package page

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"callhouse/internal/analytics"
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
	Texts        *Texts
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
	Warnings                   []string
	Day, DayBefore             string
	Whole, WholeBefore         string
	Single                     bool // the period is one day, shown alone
	Sentence                   string
	Points                     []point
	Figures                    []tile
	Sections                   []*section
	Foot                       string
}

// point is something that changed by more than chance, or is unusual.
type point struct {
	Text    string
	Change  *change
	clarity float64 // the change in widths of its bounds
}

// Write writes the page of an open warehouse. It returns a *PeriodError if there is no day between
// the bounds, or an error of [analytics.Warehouse.Ask].
func Write(ctx context.Context, out io.Writer, w *analytics.Warehouse, o Options) (Summary, error) {
	p := &page{source: source{w: w, l: o.Texts, agent: o.Agent, where: o.Where, at: o.Address}, o: o, listed: w.Snapshot().Manifest.ListedTo()}
	if err := p.read(ctx); err != nil {
		return Summary{}, err
	}
	t, err := template.New("page.html").Funcs(template.FuncMap{"say": o.Texts.Say}).ParseFS(files, "page.html")
	if err != nil {
		return Summary{}, fmt.Errorf("read the page's template: %w", err)
	}
	return Summary{p.calls, &p.document}, t.ExecuteTemplate(words.Page(out), "page", &p.document)
}

// page is a page in the making.
type page struct {
	source
	document
	o       Options
	listed  time.Time // end of the list of calls
	period  period
	last    period // its last day
	over    bool   // last is over
	name    string // of the agent, if the page is about one
	calls   int64
	changes []point // of agents, reasons and tools
}

// read asks all questions and composes the document.
func (p *page) read(ctx context.Context) error {
	days, err := p.choose(ctx)
	if err != nil {
		return err
	}
	p.head()
	strict := question.Strict{Answers: answersOfPeriod}
	all := map[string]*query{
		"outcomes": {"outcomes", p.params(p.period, "")}, "coverage": {"coverage", p.params(p.period, "")},
		"coverage of day": {"coverage", p.params(p.last, "")}, "unusual": {"anomalies", p.params(p.last, "")},
		"agents":  {"agents", p.compare(p.period, strict, "agent_id", "goal", "calls", "goal_percent", "negative_percent", "total_cost")},
		"reasons": {"disconnections", p.compare(p.period, strict, "disconnection_reason", "calls", "share_percent")},
		"tools":   {"tools", p.compare(p.period, strict, "tool_name", "uses", "failed_uses", "failed_percent", "unanswered_uses")},
	}
	listenPeriod := p.last
	if p.name != "" { // one agent
		listenPeriod = p.period
		delete(all, "agents")
	}
	all["worst"] = &query{"worst", p.params(listenPeriod, "")}
	for report, columns := range key {
		all["day "+report] = &query{report, p.compare(p.last, question.Strict{Changes: len(figures)}, columns...)}
		all["whole "+report] = &query{report, p.compare(p.period, question.Strict{Answers: answersOfPeriod, Changes: len(figures)}, columns...)}
		all["course "+report] = &query{report, p.params(p.period, p.period.unit())}
	}
	answers, remarks, err := p.askAll(ctx, all)
	if err != nil {
		return err
	}
	of := func(span string) map[string]*answer {
		out := map[string]*answer{}
		for report := range key {
			out[report] = answers[span+" "+report]
		}
		return out
	}
	noise := overdispersion(days, p.period.until)
	day, whole := span{of("day"), noise}, span{of("whole"), noise}
	for _, f := range figures {
		p.Figures = append(p.Figures, tile{Name: p.l.Say("figures." + f.id), What: p.l.Say("figures." + f.id + "_what"),
			Day: day.shown(f), Period: whole.shown(f)})
	}
	p.calls = whole.calls("")
	notes := p.warnings(remarks)
	if p.calls == 0 {
		return nil
	}
	if err := p.sections(ctx, answers, of("course"), listenPeriod); err != nil {
		return err
	}
	p.Points = p.points(answers["unusual"])
	p.Sentence = p.sentence(len(p.Warnings) > notes)
	return nil
}

type query struct {
	report string
	params question.Params
}

// askAll asks all questions, two at a time, as each statement is planned on one core.
func (p *page) askAll(ctx context.Context, all map[string]*query) (map[string]*answer, *analytics.Remarks, error) {
	out, mu := map[string]*answer{}, sync.Mutex{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for name, q := range all {
		g.Go(func() error {
			a, err := p.ask(ctx, q.report, q.params)
			if analytics.Denied(err) { // the page lacks this part
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			out[name] = a
			return err
		})
	}
	var remarks *analytics.Remarks
	g.Go(func() (err error) {
		q := analytics.Question{Report: "funnel", Params: p.params(p.period, "").WithPrevious(p.period.loc), Now: p.o.Now}
		if remarks, err = p.w.Remarks(ctx, q); errors.As(err, new(*question.GroupError)) { // see ask
			q.Params = p.params(p.period, "")
			remarks, err = p.w.Remarks(ctx, q)
		}
		return err
	})
	return out, remarks, g.Wait()
}

// choose determines the period, and returns the funnel of its days and the eight weeks before. The
// first report also checks that the agent exists and that the reader may see it.
func (p *page) choose(ctx context.Context) (*answer, error) {
	var err error
	if p.period, err = newPeriod(p.o.Since, p.o.Until, p.listed, p.o.Now, p.w.Location()); err != nil {
		return nil, err
	}
	of := p.period
	if weeks := of.until.AddDate(0, 0, -8*7); weeks.Before(of.since) {
		of.since = weeks
	}
	q := p.params(of, "day")
	q.Columns = []string{"stage", "calls"}
	days, err := p.ask(ctx, "funnel", q)
	if err != nil {
		return nil, err
	}
	if p.o.Since.IsZero() { // a new warehouse has no empty weeks
		for _, row := range days.rows { // in order of days
			if day, err := time.Parse(time.DateOnly, days.text(row[0])); err == nil && !day.Before(p.period.since) {
				p.period.since = day
				break
			}
		}
	}
	p.last, p.over = p.period.last(known(p.listed, p.o.Now))
	if p.o.Agent == "" {
		return days, nil
	}
	q = p.params(p.period, "")
	q.Columns = []string{"agent_id", "calls"}
	agents, err := p.ask(ctx, "agents", q)
	if err == nil && len(agents.rows) == 1 && agents.rows[0][0] != nil {
		p.name = agents.text(agents.rows[0][0])
	}
	return days, err
}

// warnings adds what the reader must know, and returns the number of the warnings that only concern
// the comparison, which come first.
func (p *page) warnings(r *analytics.Remarks) (notes int) {
	if p.calls == 0 {
		id := "empty.period"
		if len(p.o.Where) > 0 {
			id = "empty.where"
		} else if p.o.Agent != "" {
			id = "empty.agent"
		}
		p.warn(id)
	}
	if c := r.Compared; p.calls > 0 {
		if c.Weekend != c.WeekendBefore {
			p.warn("warning.uneven", c.Weekend, c.WeekendBefore)
		}
		if c.Held > 0 && c.Held < c.Of { // with 0, nothing is compared
			p.warn("warning.partly", p.l.Day(p.period.before().since), p.l.Day(c.FirstCall), c.Held, c.Of)
		}
		notes = len(p.Warnings)
	}
	switch today := question.DayBegin(question.DayOf(p.o.Now, p.w.Location()), p.w.Location()); {
	case p.listed.IsZero():
		p.warn("warning.no_list")
	case p.listed.Before(today):
		p.warn("warning.stale", p.l.Time("minute", p.listed.In(p.w.Location())),
			p.l.Day(question.DayOf(p.listed, p.w.Location()).AddDate(0, 0, -1)))
	}
	for _, u := range r.Unmatched {
		if u.Nearest == "" {
			p.warn("warning.unmatched", u.Dimension, u.Value)
		} else {
			p.warn("warning.misspelt", u.Dimension, u.Value, u.Nearest)
		}
	}
	if p.calls > 0 {
		p.Warnings = append(p.Warnings, p.l.gaps(r.Coverage[0], p.w.Location())...)
	}
	return notes
}

func (p *page) warn(id string, args ...any) { p.Warnings = append(p.Warnings, p.l.Say(id, args...)) }

// sections makes the parts of the page below the key figures, except those that the reader may not see.
func (p *page) sections(ctx context.Context, answers, course map[string]*answer, listenPeriod period) error {
	add := func(a *answer, make func(*answer) *section) {
		if a != nil {
			p.Sections = append(p.Sections, make(a))
		}
	}
	if a := answers["worst"]; a != nil {
		if s, err := p.worst(ctx, a, listenPeriod); err == nil {
			p.Sections = append(p.Sections, s)
		} else if !analytics.Denied(err) { // it needs the transcripts
			return err
		}
	}
	add(answers["agents"], p.agents)
	add(answers["outcomes"], p.ends)
	add(answers["reasons"], p.reasons)
	add(answers["tools"], p.tools)
	p.Sections = append(p.Sections, p.course(course, p.period.bins(p.listed, p.l)),
		p.coverage(answers["coverage of day"], answers["coverage"]))
	return nil
}

// namedPoints is the maximum number of changes of agents, reasons and tools among the points.
const namedPoints = 6

// points returns what is unusual on the last day, the key figures of the day and the period that changed, and the
// clearest changes of agents, reasons and tools: worse ones first.
func (p *page) points(unusual *answer) []point {
	out := p.unusual(unusual)
	day := " (" + p.l.Say("weekday."+p.last.since.Weekday().String()) + ") "
	for i, f := range figures {
		add := func(on string, c *change) {
			if c != nil && c.Class != "same" && f.direction != neither && !c.unusual {
				out = append(out, point{Text: p.Figures[i].Name + on + c.By, Change: c})
			}
		}
		if add(" ", p.Figures[i].Period.Change); !p.Single {
			add(day, p.Figures[i].Day.Change)
		}
	}
	slices.SortStableFunc(p.changes, func(a, b point) int { return cmp.Compare(b.clarity, a.clarity) })
	out = append(out, p.changes[:min(len(p.changes), namedPoints)]...)
	slices.SortStableFunc(out, func(a, b point) int {
		return cmp.Compare(slices.Index(classes, a.Change.Class), slices.Index(classes, b.Change.Class))
	})
	return out
}

var classes = []string{"bad", "good", "same"}

// sentence says what needs attention on the last day and in the period, else what improved, else what changed.
func (p *page) sentence(lacks bool) string {
	if len(p.Points) > 0 {
		class, n := p.Points[0].Change.Class, 0
		for _, x := range p.Points {
			if x.Change.Class == class {
				n++
			}
		}
		return p.l.Say("sentence."+class, n, p.Points[0].Text)
	}
	name := "sentence.usual"
	if lacks {
		name = "sentence.data"
	}
	return p.l.Say(name, p.l.Say("weekday."+p.last.since.Weekday().String()))
}

// gaps describes the calls of the period that are not listed or are left out.
func (l *Texts) gaps(c *analytics.Coverage, loc *time.Location) (out []string) {
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

// head describes the content and the time of the page, and what its numbers are compared with.
func (p *page) head() {
	l, o, loc := p.l, p.o, p.w.Location()
	m, now := p.w.Snapshot().Manifest, o.Now.In(loc)
	p.document = document{Lang: l.Tag.String(), Above: o.Above, Live: o.Address != nil,
		Title:  cmp.Or(o.Title, clip(shortName(p.name), 80), l.Say("page.title")),
		Period: l.period(p.period), Agent: o.Agent, Where: o.Where, Single: p.period.days() == 1, Zone: loc.String(),
		AsOf: l.Say("page.as_of", fmt.Sprint(m.Snapshot), l.Time("minute", m.CommittedAt.In(loc))),
		Made: l.Say("page.made", l.Time("minute", now)), Foot: strings.TrimSpace("callhouse " + o.Version),
		Day: l.period(p.last), DayBefore: l.period(p.last.before()), Whole: l.length(p.period), WholeBefore: l.before(p.period.before()),
		Style: template.CSS(Style())} //nolint:gosec // our own file
	if p.name != "" && o.Title == "" {
		p.Agent = "" // it is the title
	}
	if p.Zone != "UTC" {
		p.Zone += " (UTC" + now.Format("-07:00") + ")"
	}
	if !p.listed.IsZero() {
		p.Listed = l.Say("page.listed", l.Time("minute", known(p.listed, o.Now).In(loc)))
	}
	switch {
	case !p.over:
		p.Day = l.Say("figures.part_there", p.Day)
	case p.last.since.Equal(question.DayOf(o.Now, loc).AddDate(0, 0, -1)):
		p.Day = l.Say("period.yesterday", p.Day)
	}
}
