package querycmd

import (
	"cmp"
	"context"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

// reportCommand returns the command of a report, with flags and arguments from its header.
func (a *app) reportCommand(f *sqlfiles.File) *cobra.Command {
	var explain bool
	cmd := &cobra.Command{
		Use:     strings.TrimSpace(f.Name + " " + f.Arguments),
		Short:   sentence(f.Answers),
		Long:    strings.TrimPrefix(longText(f), f.Name+": "+f.Answers+"\n\n"),
		Example: "  " + f.Example,
		GroupID: "reports",
		Args:    arguments(f.Arguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runReport(cmd.Context(), f, args, explain)
		},
	}
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStdout(), reportUsage(cmd))
		return err
	})
	fl := cmd.Flags()
	fl.BoolVar(&explain, "explain", false, "print the SQL of the answer, which DuckDB runs over the file of query catalog")
	if f.Selects() {
		fl.StringVar(&a.Since, "since", "", "only calls that start (changes seen) at or after `TIME`: a date (2026-11-01), "+
			"a day (today, yesterday, monday, this-month, last-month), an RFC 3339 time, or an age (7d)")
		fl.StringVar(&a.Until, "until", "", "only those before `TIME`; a date or day means 00:00 of that day")
		cli.Complete(cmd, "since", cli.TimeWords()...)
		cli.Complete(cmd, "until", cli.TimeWords()...)
		a.agentFlag(cmd)
		a.whereFlag(cmd)
	}
	if f.Grouped() {
		a.groupFlag(cmd)
	}
	fl.StringVar(&a.Compare, "compare", "", "compare with another `PERIOD`: previous, last-month, last-year (the same days), or the time, "+
		"as for --since, at which one of the same length begins")
	cli.Complete(cmd, "compare", append(cli.TimeWords(), answer.Previous)...)
	if !f.Comparable() {
		_ = fl.MarkHidden("compare") // the error explains why not
	}
	if slices.Contains(f.Flags, "field") {
		without := "default: every field that is true"
		if f.Fielded != nil {
			without = "adds " + strings.Join(f.Fielded, ", ")
		}
		fl.StringVar(&a.Field, "field", "", "count calls with `NAME=VALUE` of an extracted field as successful, e.g. resolved=true; "+without)
	}
	if slices.Contains(f.Flags, "baseline") {
		fl.StringVar(&a.Baseline, "baseline", "", "compare with this `VERSION`, e.g. v12; default: the version before the newest publication")
	}
	if slices.Contains(f.Flags, "every") {
		fl.StringVar(&a.Every, "every", "day", "one row per `STEP`: day, hour or minute")
	}
	if slices.Contains(f.Flags, "steps") {
		fl.BoolVar(&a.Steps, "steps", false, "one row per step of 5 seconds, with the share of calls in it and up to it")
	}
	fl.StringSliceVar(&a.Show, "columns", nil, "show these `COLUMNS`, e.g. calls,mean_ms; all: every column. "+
		"By default, programs get all and people at most seven")
	cli.Complete(cmd, "columns", append(columnNames(f), analytics.AllColumns)...)
	fl.BoolFunc("verbose", "the same as --columns all", func(string) error {
		a.Show = []string{analytics.AllColumns}
		return nil
	})
	if f.Arguments != "CALL_ID" {
		fl.StringVar(&a.Sort, "sort", "", "sort by `COLUMN`: by default, numbers and times descending, texts and days ascending; "+
			"COLUMN:asc or COLUMN:desc sets the order")
		fl.Uint32Var(&a.Top, "top", 0, "only the first `N` rows (calls, turns found), and the number of others; default: all")
		cli.Complete(cmd, "sort", columnNames(f)...)
	}
	if of, _ := f.Pages(); of != "" {
		fl.Uint32Var(&a.Skip, "skip", 0, "skip the first `N` "+of)
	}
	return cmd
}

// columnNames returns the columns by which a report can be sorted.
func columnNames(f *sqlfiles.File) (out []string) {
	for _, c := range f.Columns {
		if c.Name != "key" || !f.Grouped() {
			out = append(out, c.Name)
		}
	}
	return out
}

// arguments checks the arguments of a command that takes one NAME, at least one NAME..., or none ("").
func arguments(takes string) cobra.PositionalArgs {
	if takes == "" {
		return cli.NoArgs
	}
	one, many := strings.CutSuffix(takes, "...")
	return func(cmd *cobra.Command, args []string) error {
		hint := "run: " + cmd.CommandPath() + " --help"
		// An empty one may come from an unset variable.
		if slices.ContainsFunc(args, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			return cli.Usage(hint, "%s is empty", one)
		}
		switch {
		case len(args) == 0:
			return cli.Usage(hint, "%s requires %s", cmd.Name(), takes)
		case len(args) > 1 && !many:
			return cli.Usage(hint, "%s takes one %s, got %d arguments", cmd.Name(), takes, len(args))
		}
		return nil
	}
}

func (a *app) runReport(ctx context.Context, f *sqlfiles.File, args []string, explain bool) (err error) {
	loc, now, p, err := a.parseReportFlags()
	if err != nil {
		return err
	}
	kind, err := a.OutputFormat()
	if err != nil {
		return err
	}
	w, err := a.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, w.Close()) }()
	if f.Arguments == "CALL_ID" {
		if p.Call, p.CallStart, err = w.FindCall(ctx, args[0]); err != nil {
			return err
		}
	} else {
		p.Words = args
	}
	people := !kind.Exact()
	p.NamesInPlace, p.MarkParts, p.OneRow = people, true, people && !namesRow(f, a.Show)
	shown := p.Top
	if of, _ := f.Pages(); of != "" && p.Sort == "" { // counting the others would read all of them
		p.Limit, p.Top, shown = p.Top, 0, 0
	}
	q := analytics.Question{Report: f.Name, Params: p, Compare: a.Compare != "", Now: now}
	if explain {
		return a.explain(ctx, w, q)
	}
	if p.Call != "" {
		if err := a.card(ctx, w, p.Call, loc); err != nil {
			return err
		}
	}
	q.Top = 0 // the others are counted
	answer, err := w.Ask(ctx, q)
	if err != nil {
		return err
	}
	defer answer.Close()
	if len(a.Show) > 0 || !kind.Exact() { // without --columns, programs get all columns
		if err := answer.Show(a.Show); err != nil {
			return err
		}
	}
	top := &format.First{Source: answer, Rows: cmp.Or(shown, math.MaxInt64)}
	src, o := format.Source(top), a.Drawing(loc)
	o.Heading, o.Title = a.heading(answer.Params, loc), f.Name
	if a.Compare != "" && !kind.Exact() {
		compared, main := format.Compared(src, w.Sparse(answer.Params), loc)
		src, o.Heading = compared, strings.TrimPrefix(main+"; "+o.Heading, "; ")
	}
	others := sync.OnceValues(func() (int64, error) { return top.Others(ctx) })
	o.About = func(ctx context.Context) (out [][2]string, err error) {
		n, err := others()
		if err == nil {
			out, err = answer.About(ctx)
		}
		if shown > 0 && n > 0 {
			out = append(out, [2]string{"rows", "and " + cli.Plural(n, "more row")})
		}
		return out, err
	}
	r, err := a.WriteAs(ctx, src, o)
	if err != nil {
		return err
	}
	a.Notes(r)
	if n, err := others(); err != nil {
		return err
	} else if shown > 0 && n > 0 {
		words.Fprintf(a.Stderr, "and %s\n", cli.Plural(n, "more row"))
	}
	return a.below(ctx, f, answer, p, kind, loc)
}

// below writes what stands below an answer: how many calls there are besides, the periods of a
// comparison, and what a reader has to know about it.
func (a *app) below(ctx context.Context, f *sqlfiles.File, answer *analytics.Answer, p question.Params, kind format.Format,
	loc *time.Location) error {
	if p.Limit > 0 {
		n, err := answer.Found(ctx)
		if err != nil {
			return err
		}
		if n -= p.Limit + p.Skip; n > 0 {
			of, _ := f.Pages()
			words.Fprintf(a.Stderr, "and %s more %s\n", humanize.Comma(n), of)
		}
	}
	if a.Compare != "" && kind.Exact() { // other formats show the periods in their heading
		words.Fprintln(a.Stderr, periods(answer.Params, loc))
	}
	remarks, err := answer.Remarks(ctx)
	if err != nil {
		return err
	}
	for _, line := range remarks.Lines(loc) {
		words.Fprintln(a.Stderr, line)
	}
	return nil
}

// namesRow reports whether columns that tell the rows of a group apart are requested.
func namesRow(f *sqlfiles.File, columns []string) bool {
	return slices.ContainsFunc(columns, func(c string) bool { return c == analytics.AllColumns || slices.Contains(f.Keys, c) })
}

// explain writes the SELECT of a report.
func (a *app) explain(ctx context.Context, w *analytics.Warehouse, q analytics.Question) error {
	text, err := w.Explain(ctx, q)
	if err != nil {
		return err
	}
	_, err = a.Deliver(func(out io.Writer) (format.Result, error) {
		if cli.CanDraw(out) { // other outputs get the exact text
			text = words.Lines(text)
		}
		_, err := io.WriteString(out, text+";\n")
		return format.Result{}, err
	})
	return err
}

// periods names the two periods of a comparison.
func periods(p question.Params, loc *time.Location) string {
	at := func(t time.Time) string { return t.In(loc).Format("2006-01-02 15:04") }
	return "now: " + at(p.Since) + " to " + at(p.Until) + "; before: " + at(p.PreviousSince) + " to " + at(p.PreviousUntil)
}

// card writes the call's facts above its conversation, for people.
func (a *app) card(ctx context.Context, w *analytics.Warehouse, id string, loc *time.Location) error {
	if kind, err := a.OutputFormat(); err != nil || kind != format.Table || a.Output != "" {
		return err
	}
	rows, err := w.Card(ctx, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	row, err := rows.Values(ctx)
	if err != nil {
		return err
	}
	var facts [][]any
	for i, c := range rows.Columns() {
		if row[i].Kind != value.Null {
			facts = append(facts, []any{strings.ReplaceAll(cmp.Or(c.Label, c.Name), "_", " "), value.Cell(row[i], c, loc)})
		}
	}
	if err := a.WriteStatic(ctx, []string{"fact", "value"}, facts); err != nil {
		return err
	}
	_, err = words.Fprintln(a.Stdout)
	return err
}
