package analytics

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/localtime"
	"callhouse/internal/analytics/stored"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// Params say which calls a report is over and how they are grouped. The zero
// value is all calls as one group.
type Params struct {
	// Since and Until bound start_at, Since inclusive, Until exclusive; a zero
	// time is no bound. With a bound, calls without a start are left out.
	Since, Until time.Time
	// PreviousSince and PreviousUntil bound the calls with which those are compared:
	// the answer then has the same figures of them, and the changes. See Compare.
	PreviousSince, PreviousUntil time.Time
	// Strict says which other changes are judged together with those of a comparison.
	Strict Strict
	// By names a dimension, or two with a comma between: see Dimensions.
	By string
	// Where are conditions on dimensions, as in call_type=outbound. Those of one
	// dimension are alternatives; nothing behind the = is no value.
	Where []string
	// Field is what a success is, as in resolved=true. Empty: to the report success
	// every field that is true, and others do not speak of it.
	Field string
	// Every is the step of time of the report concurrency: day (empty as well), hour or
	// minute.
	Every string
	// Most is how many rows the report calls has at the most, 0: all of them; Skip is how
	// many of the newest it leaves out.
	Most, Skip int64
	// Sort is the column that the rows are sorted by, perhaps with :asc or :desc; empty: the
	// report's own order. Top is how many rows there are at the most, 0: all of them.
	Sort string
	Top  int64
	// Agent is an agent's id, or the beginning of one agent's; or its name, or a part of
	// one agent's.
	Agent string
	// NamesInPlace has the answer tell agents by their names, where these are known, and not
	// by their ids. Without it the names are in a column of their own, the last.
	NamesInPlace bool
	// Columns are those of a report with groups that are asked for; none: all. What the others
	// alone need is not computed.
	Columns []string
	// Call is the call that the report call shows: its id or, with FindCall, the
	// beginning of it. Words are what the report search looks for.
	Call  string
	Words []string
	// Accepted, where it is set, is called once the parameters are found to be right, before
	// the answer is computed: an error after it is none of theirs.
	Accepted func()

	spreads bool // the sums that bounds of means are made of are asked for
}

// Strict says how many changes are judged together: all of their bounds are to hold with 95 %
// confidence. The zero value is all changes of an answer.
type Strict struct {
	Answers int // that are judged together; 0: one
	Changes int // in an answer; 0: as many as it has
}

// wider returns p with bounds so far apart that all calls lie between them that
// start up to a local week before or after those that p selects.
func (p Params) wider() Params {
	const more = 8 * 24 * time.Hour
	if !p.Since.IsZero() {
		p.Since = p.Since.Add(-more)
	}
	if !p.Until.IsZero() {
		p.Until = p.Until.Add(more)
	}
	return p
}

func (p Params) bounded() bool { return !p.Since.IsZero() || !p.Until.IsZero() }

// selected returns the WITH list of the relations that the report f reads: the
// calls that p selects, with their group as key (selected; as selected_grouped if
// groups are asked for, else as selected_alone, of which the other one is empty; as
// selected_campaign_calls with the campaign that placed each), what belongs to them, all
// calls of about their time (surrounding), tallied, and what else was seen in that time.
// They are no views of the connection, which DuckDB would plan twice.
func (w *Warehouse) selected(ctx context.Context, conn *duck.Conn, f *sqlfiles.File, p Params) (string, error) {
	keys, err := keysOf(p.By)
	if err != nil {
		return "", err
	}
	s, err := w.selection(ctx, conn, p)
	if err != nil {
		return "", err
	}
	var with []string
	if name, seen, ok := besideOf(f); ok {
		with = append(with, name+" AS MATERIALIZED ("+seen.query(s)+")")
		if s, err = w.around(ctx, conn, f, s); err != nil {
			return "", err
		}
		p = s.Params
	}
	judged, _ := w.wholeDays(p)
	if p.Since = w.historyOf(f, p.Since); !p.Since.Equal(s.Since) {
		s.Since = p.Since
	}
	from, until := w.wholeDays(p)
	flags, err := flagVariables(p)
	if err != nil {
		return "", err
	}
	successes, err := w.goalsOf(ctx, conn, f)
	if err != nil {
		return "", err
	}
	err = conn.Exec(ctx, couldHave(keys)+flags+fmt.Sprintf("SET VARIABLE largest_first = %t;\nSET VARIABLE grouped = %t;\n"+
		"SET VARIABLE whole_from = %s;\nSET VARIABLE whole_until = %s;\nSET VARIABLE judged_from = %s;\nSET VARIABLE holidays = %s;\n"+
		"SET VARIABLE listed_until = %d;\nSET VARIABLE goals = %s;\n",
		!slices.ContainsFunc(keys, func(d dimension) bool { return d.natural }), p.By != "", from, until, judged, w.holidaysOf(f),
		w.listedUntil(), successes))
	if err != nil {
		return "", fmt.Errorf("select the calls: %w", err)
	}
	calls := fmt.Sprintf("SELECT %s AS key, calls.* FROM calls WHERE %s", keyExpr(keys, dimension.inCalls), s.ofCalls())
	none := "SELECT CAST(NULL AS VARCHAR) AS key, * FROM (" + stored.Empty(&schema.Calls) + ")" // costs nothing to plan
	for _, r := range f.Reads {
		of, ok := related()[r]
		switch {
		case ok:
			with = append(with, relatedQuery(r, of, p))
		case r == "selected_grouped" && p.By == "", r == "selected_alone" && p.By != "":
			with = append(with, r+" AS ("+none+")")
		case r == "selected_grouped", r == "selected_alone":
			with = append(with, r+" AS NOT MATERIALIZED ("+calls+")")
		case r == "selected_speech" && w.derived(s):
			with = append(with, "selected_speech AS NOT MATERIALIZED (SELECT * FROM selected)")
		case r == "selected_speech":
			with = append(with, "selected_speech AS NOT MATERIALIZED ("+sqlfiles.SelectedSpeech()+")")
		case r == "selected_campaign_calls":
			with = append(with, fmt.Sprintf("%s AS NOT MATERIALIZED (SELECT %s AS %s, calls.* FROM calls WHERE %s)", r, madeOfCampaigns,
				ofCampaign, s.ofCalls()))
		case r == "surrounding":
			with = append(with, fmt.Sprintf("surrounding AS NOT MATERIALIZED (SELECT %s AS key, coalesce(%s, false) AS "+
				"is_selected, calls.* FROM calls WHERE %s)",
				keyExpr(keys, dimension.inCalls), s.ofCalls(), strings.Join(bounds(p.wider(), "start_at"), " AND ")))
		case r == "tallied":
			kept := "NOT MATERIALIZED" // or the columns that nobody asks for are made as well
			if strings.Count(f.SQL+strings.Join(reportsIn(f), ""), "FROM tallied") > 1 {
				kept = "MATERIALIZED"
			}
			with = append(with, "tallied AS "+kept+" ("+w.tallied(f.Tallies, keys, s)+")")
		}
	}
	with = append(with, reportsIn(f)...)
	list := strings.Join(with, ",\n")
	if !readsSelected.MatchString(f.SQL + "\n" + list) {
		return list, nil
	}
	return strings.Join(append([]string{"selected AS NOT MATERIALIZED (" + calls + ")"}, with...), ",\n"), nil
}

var readsSelected = regexp.MustCompile(`\b(FROM|JOIN) selected\b`)

// historyOf returns from when on a report reads the calls, if it is asked about those since a
// time.
func (w *Warehouse) historyOf(f *sqlfiles.File, since time.Time) time.Time {
	days := history(f)
	if since.IsZero() || days == 0 {
		return since
	}
	return daysBack(since.In(w.Location()), days)
}

// history is how many days a report, or one that it reads, needs before those that it is asked about.
func history(f *sqlfiles.File) int {
	days := f.History
	for _, r := range f.Reads {
		if other, ok := sqlfiles.Report(r); ok {
			days = max(days, other.History)
		}
	}
	return days
}

// reportsIn returns the other reports that a report reads, as of a WITH list. They are over the
// relations that it reads itself.
func reportsIn(f *sqlfiles.File) (with []string) {
	for _, r := range f.Reads {
		_, isView := sqlfiles.View(r)
		if other, ok := sqlfiles.Report(r); ok && !isView {
			with = append(with, r+" AS ("+other.SQL+")")
		}
	}
	return with
}

// withList returns a statement with further relations before its own.
func withList(with, text string) string {
	if own, ok := strings.CutPrefix(text, "WITH "); ok {
		return "WITH " + with + ",\n" + own
	}
	return "WITH " + with + "\n" + text
}

// related are the relations of what belongs to the selected calls, and the
// views that they are parts of.
func related() map[string]string {
	return map[string]string{
		"selected_turns":      "transcript_turns",
		"selected_tool_calls": "tool_calls",
		"selected_items":      "analysis_items",
	}
}

// relatedQuery returns such a relation, as of a WITH list. Its rows carry the
// start of their call, so that bounds need no join; groups and other conditions do.
func relatedQuery(name, of string, p Params) string {
	where := strings.Join(bounds(p, "call_start_at"), " AND ")
	if p.By == "" && p.Agent == "" && len(p.Where) == 0 {
		return fmt.Sprintf("%s AS NOT MATERIALIZED (SELECT CAST(NULL AS VARCHAR) AS key, * FROM %s WHERE %s)", name, of, where)
	}
	return fmt.Sprintf("%s AS NOT MATERIALIZED (SELECT s.key, t.* FROM %s t JOIN (SELECT key, call_id FROM selected) s "+
		"USING (call_id) WHERE %s)",
		name, of, where)
}

// selection is which calls are selected.
type selection struct {
	Params
	agent   string // its id; empty: any
	filters []filter
}

func (w *Warehouse) selection(ctx context.Context, conn *duck.Conn, p Params) (s selection, err error) {
	s.Params = p
	if s.filters, err = filtersOf(p.Where); err != nil {
		return s, err
	}
	if p.Agent != "" {
		if s.agent, err = w.agent(ctx, conn, p.Agent); err != nil {
			return s, err
		}
	}
	return s, w.resolve(ctx, conn, s.filters)
}

// resolve replaces the names of agents and campaigns in conditions by ids.
func (w *Warehouse) resolve(ctx context.Context, conn *duck.Conn, filters []filter) (err error) {
	find := map[string]func(context.Context, *duck.Conn, string) (string, error){"agent": w.agent, "campaign": w.campaign}
	for _, f := range filters {
		if !f.named() {
			continue
		}
		for i, v := range f.values {
			if v == "" {
				continue
			}
			if f.values[i], err = find[f.name](ctx, conn, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// named says whether the values are agents or campaigns, which may be given by name. One
// that does not exist is an error.
func (f filter) named() bool { return f.name == "agent" || f.name == "campaign" }

// where returns the condition that the selection is for the rows of calls, or of
// tallies that stand for calls of it alone but for what the condition leaves out.
func (s selection) where(t *schema.Table) string {
	terms := []string{"true"}
	switch {
	case t == &schema.Calls || t == &schema.QuarterTallies && s.ofQuarters():
		terms = bounds(s.Params, "start_at")
	case t == &schema.QuarterTallies && s.bounded():
		terms = append(terms, "start_at IS NOT NULL")
	case s.bounded():
		terms = append(terms, "is_started")
	}
	if s.agent != "" {
		terms = append(terms, "agent_id = "+stored.Quote(s.agent))
	}
	return strings.Join(terms, " AND ")
}

// ofCalls returns the condition that the selection is for the rows of the view calls.
func (s selection) ofCalls() string {
	terms := []string{s.where(&schema.Calls)}
	for _, f := range s.filters {
		terms = append(terms, f.where(f.inCalls()))
	}
	return strings.Join(terms, " AND ")
}

// holds says whether all calls of a file that have a start are selected, as far
// as their start goes.
func (s selection) holds(f *layout.File) bool {
	return f.MinStart == nil || f.MaxStart == nil || !time.UnixMilli(*f.MinStart).Before(s.Since) &&
		(s.Until.IsZero() || time.UnixMilli(*f.MaxStart).Before(s.Until))
}

// misses says whether no call of a file is selected, as far as their start goes.
func (s selection) misses(f *layout.File) bool {
	return s.bounded() && (f.MinStart == nil || f.MaxStart == nil || time.UnixMilli(*f.MaxStart).Before(s.Since) ||
		!s.Until.IsZero() && !time.UnixMilli(*f.MinStart).Before(s.Until))
}

// ofQuarters says whether the bounds lie between two quarters of an hour.
func (s selection) ofQuarters() bool {
	for _, t := range []time.Time{s.Since, s.Until} {
		if !t.IsZero() && (!t.Equal(t.Truncate(time.Millisecond)) || t.UnixMilli()%schema.Quarter != 0) {
			return false
		}
	}
	return true
}

// derived reports whether all calls that may be selected hold the facts of their transcripts.
func (w *Warehouse) derived(s selection) bool {
	return !slices.ContainsFunc(w.Snapshot().Manifest.FilesOf(schema.Calls.Name), func(f *layout.File) bool {
		return (f.Underived == nil || *f.Underived > 0) && !s.misses(f)
	})
}

// bounds returns the conditions that p's bounds are for a column of starts.
func bounds(p Params, column string) []string {
	terms := []string{"true"}
	if !p.Since.IsZero() {
		terms = append(terms, column+" >= "+localtime.Instant(p.Since))
	}
	if !p.Until.IsZero() {
		terms = append(terms, column+" < "+localtime.Instant(p.Until))
	}
	return terms
}

// AmbiguousError says that a text fits several objects.
type AmbiguousError struct {
	What string // agent, call, campaign
	Text string
	Fits Fit
	IDs  []string // of those that it fits, with their names where these are known
}

// Fit says what of an object a text is.
type Fit string

// What a text can be.
const (
	FitsID       Fit = "have an id that begins with"
	FitsName     Fit = "are called"
	FitsPart     Fit = "have a name that contains"
	FitsIDOrName Fit = "have a name or an id like"
)

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("several %ss %s %q", e.What, e.Fits, e.Text)
}

// agent returns the id of the agent that a text stands for: its id or name, the beginning of
// its id, or a part of its name. A text that fits several agents is an *AmbiguousError,
// unless it is the whole id of one of them. Names are compared without regard to case.
func (w *Warehouse) agent(ctx context.Context, conn *duck.Conn, text string) (string, error) {
	agents := w.agents()
	ids, err := conn.Column(ctx, `SELECT DISTINCT agent_id FROM `+agents+` WHERE starts_with(agent_id, ?)
		ORDER BY agent_id <> ?, agent_id`, text, text)
	if err != nil {
		return "", fmt.Errorf("find the agent: %w", err)
	}
	if len(ids) > 0 && ids[0] == text {
		return text, nil
	}
	names, err := w.ownNames(ctx, conn, resource.Agents)
	if err != nil {
		return "", err
	}
	exactly, partly := named(names, text)
	fits, of := FitsName, exactly
	if len(exactly) == 0 {
		fits, of = FitsPart, partly
	}
	switch {
	case len(of) == 0:
		fits = FitsID
	case len(ids) > 0:
		fits = FitsIDOrName
	}
	found := slices.Compact(slices.Sorted(slices.Values(append(of, ids...))))
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", &AmbiguousError{What: "agent", Text: text, Fits: fits, IDs: withNames(found, names)}
	}
	return "", w.unknownAgent(ctx, conn, text, names)
}

// agents returns a relation of all agents with how many calls each has.
func (w *Warehouse) agents() string {
	text := "SELECT agent_id, calls FROM (" + w.tallied([]string{"agent_id"}, nil, selection{}) + ")"
	if w.fetched(resource.Agents.Name) {
		text += " UNION ALL SELECT agent_id, 0 FROM stored.agents" // also those without calls
	}
	return "(" + text + ")"
}

// unknownAgent returns the *UnknownError for a text that fits no agent.
func (w *Warehouse) unknownAgent(ctx context.Context, conn *duck.Conn, text string, names map[string]string) error {
	known, err := conn.Column(ctx, `SELECT agent_id FROM `+w.agents()+` WHERE agent_id IS NOT NULL
		GROUP BY agent_id ORDER BY sum(calls) DESC, agent_id LIMIT 50`)
	if err != nil {
		return fmt.Errorf("find the agent: %w", err)
	}
	labels := labels(names)
	for i, id := range known {
		known[i] = cmp.Or(labels[id], id)
	}
	return unknown("agent", text, known)
}

// FindAgent returns the id of the agent with that id, or that whole name: an *AmbiguousError
// if several have it, and an *UnknownError if none has. Names are compared without regard to
// case.
func (w *Warehouse) FindAgent(ctx context.Context, text string) (string, error) {
	conn, err := w.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	ids, err := conn.Column(ctx, "SELECT DISTINCT agent_id FROM "+w.agents()+" WHERE agent_id = ?", text)
	if err != nil || len(ids) > 0 {
		return text, err
	}
	names, err := w.ownNames(ctx, conn, resource.Agents)
	if err != nil {
		return "", err
	}
	switch exactly, _ := named(names, text); len(exactly) {
	case 0:
		return "", w.unknownAgent(ctx, conn, text, names)
	case 1:
		return exactly[0], nil
	default:
		return "", &AmbiguousError{What: "agent", Text: text, Fits: FitsName, IDs: withNames(exactly, names)}
	}
}
