package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/alert"
	"callhouse/internal/alert/channel"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

const about = `Evaluate the rules in the file of --alerts over the newest commit, and send a message
for each alert that starts or ends. extract run does this after each run, and extract
follow after its commits, if the setting alerts is set.

A rule is a report with arguments, a column and a condition: above, below, changed
beyond chance, or unusual for its history. Shares and means must be beyond a threshold
by more than chance. An alert ends when the value is back.

Messages go to Slack, Teams, any webhook (signed), mail, or stdout. One that cannot be
sent is kept and tried again by the next query alert, for a day. What is running and
what is waiting is in alerts.json in the warehouse; extract status shows it.

Exit codes: 0 done, also if alerts are running; 3 a rule could not be evaluated, or a
message could not be sent; 2 wrong rules; 4 another query alert is running.`

// command is query alert with its settings.
type command struct {
	*answer.Command
	now      func() time.Time
	unlisted []string // rules skipped because calls of their window are not listed, with the reason
}

// Command returns the command alert.
func Command(a *answer.Command) *cobra.Command {
	c := &command{Command: a, now: time.Now}
	cmd := &cobra.Command{
		Use: "alert", Short: "Send messages when numbers cross a threshold, change, or are unusual", Long: about,
		Example: `  query alert --alerts /etc/callhouse/alerts.toml
  query alert test --alerts alerts.toml --tz Asia/Seoul`,
		GroupID: "more", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.AddFlagsOf(cmd, config.Alert)
	cmd.AddCommand(c.testCommand())
	return cmd
}

func (c *command) testCommand() *cobra.Command {
	days := 30
	cmd := &cobra.Command{
		Use: "test", Short: "Show what the rules would have sent over the last days, and send nothing",
		Long: `Evaluate the rules as of each of the last days, and show which alerts would have
started and ended. It sends nothing, needs no channel's secret, and changes no state.
Rules with a window of hours are evaluated at the end of each such window.

It uses what the warehouse holds now: late calls, transcripts and analyses were not all
there at the time.`,
		Example: `  query alert test --alerts alerts.toml
  query alert test --days 90 --format csv`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.test(cmd.Context(), days) },
	}
	c.AddFlagsOf(cmd, config.Alert)
	cmd.Flags().IntVar(&days, "days", days, "number of days")
	return cmd
}

// fileOf reads the file of the setting alerts.
func fileOf(c *answer.Command) (*File, error) {
	if c.Alerts == "" {
		return nil, cli.Usage("set --alerts FILE, or alerts in callhouse.toml", "no file of rules")
	}
	return read(c.Alerts)
}

func (c *command) run(ctx context.Context) (err error) {
	if c.Format != "" || c.Output != "" {
		return cli.Usage("query alert test shows a table", "alert takes no --format and no --output")
	}
	f, err := fileOf(c.Command)
	if err != nil {
		return err
	}
	secrets := words.NewSecrets()
	channels, err := f.channels(c.Env, channel.Lines{To: c.Stdout}, secrets)
	if err != nil {
		return err
	}
	w, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, w.Close()) }()
	s, err := alert.Open(c.Warehouse)
	if cli.Is[*alert.LockedError](err) {
		return cli.Fail(cli.ExitLocked, err, "run it again when that has ended")
	}
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, s.Close()) }()
	failed, err := c.evaluate(ctx, f, w, s)
	if err != nil {
		return err
	}
	sent, err := s.Deliver(ctx, channels, c.now, alert.Pause)
	if err != nil {
		return err
	}
	return c.tell(f, &s.State, sent, failed)
}

// open opens the warehouse in the zone of the settings.
func (c *command) open(ctx context.Context) (*analytics.Warehouse, error) {
	loc, err := c.Location()
	if err != nil {
		return nil, err
	}
	return c.Open(ctx, loc)
}

// channels creates the channels that the rules use.
func (f *File) channels(env config.Environment, stdout alert.Channel, secrets *words.Secrets) (map[string]alert.Channel, error) {
	out := map[string]alert.Channel{}
	for _, name := range slices.Sorted(maps.Keys(f.Channels)) {
		if !slices.ContainsFunc(f.Rules, func(r *Rule) bool { return slices.Contains(r.To, name) }) {
			continue
		}
		c, known, err := f.channel(name, env, stdout, "callhouse/"+cli.Version())
		secrets.Add(known...)
		if err != nil {
			return nil, err
		}
		out[name] = masked{c, secrets}
	}
	return out, nil
}

// masked is a channel whose errors hide secrets, even those repeated by the receiver.
type masked struct {
	alert.Channel
	secrets *words.Secrets
}

// Send implements alert.Channel.
func (m masked) Send(ctx context.Context, message *alert.Message) error {
	err := m.Channel.Send(ctx, message)
	if err == nil {
		return nil
	}
	clean := errors.New(m.secrets.Error(err))
	if cli.Is[*alert.RefusedError](err) {
		return &alert.RefusedError{Err: clean}
	}
	return clean
}

// evaluate evaluates all rules and saves the resulting state. It returns the rules that failed.
func (c *command) evaluate(ctx context.Context, f *File, w *analytics.Warehouse, s *alert.Store) (failed []string, err error) {
	now := c.now()
	e := newEvaluator(w, f.Page)
	var names []string
	for _, r := range f.Rules {
		p := f.policy(r, c.Profile)
		names = append(names, r.Name)
		readings, err := e.read(ctx, r, now, s.Running(p))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			waits := cli.Is[*unlistedError](err)
			s.Fail(p, words.Error(err), waits)
			if waits { // normal in the first weeks of a warehouse
				c.unlisted = append(c.unlisted, fmt.Sprintf("%s: %s", r.Name, words.Error(err)))
			} else {
				failed = append(failed, fmt.Sprintf("%s: %s", r.Name, words.Error(err)))
			}
			continue
		}
		_, until := e.period(r, now)
		s.Advance(p, readings, until, now)
	}
	s.Keep(names, now)
	s.CheckedAt, s.Snapshot, s.Missed = now.UTC(), w.Snapshot().Manifest.Snapshot, nil
	return failed, s.Save()
}

// tell prints the result.
func (c *command) tell(f *File, s *alert.State, sent int, failed []string) error {
	words.Fprintf(c.Stderr, "%s; %s running; %s sent", cli.Plural(int64(len(f.Rules)), "rule"), cli.Plural(s.Count(), "alert"),
		cli.Plural(int64(sent), "message"))
	if n := int64(len(s.Outbox)); n > 0 {
		words.Fprintf(c.Stderr, "; %s waiting, %s", cli.Plural(n, "message"), s.Waiting())
	}
	words.Fprintln(c.Stderr)
	for _, what := range c.unlisted {
		words.Fprintf(c.Stderr, "not judged: %s\n", what)
	}
	for _, what := range failed {
		words.Fprintf(c.Stderr, "not evaluated: %s\n", what)
	}
	switch {
	case len(failed) > 0:
		return cli.Fail(cli.ExitIncomplete, fmt.Errorf("%s could not be evaluated", cli.Plural(int64(len(failed)), "rule")), "")
	case len(s.Outbox) > 0:
		return cli.Fail(cli.ExitIncomplete, fmt.Errorf("%s could not be sent: %s", cli.Plural(int64(len(s.Outbox)), "message"), s.Waiting()),
			"the next query alert tries again, until the message is a day old")
	}
	return nil
}

// would is an alert that a rule would have sent.
type would struct {
	rule, group    string
	started, ended time.Time
	item           alert.Item
}

// test prints the alerts that would have been sent.
func (c *command) test(ctx context.Context, days int) (err error) {
	if days < 1 || days > 400 {
		return cli.Usage("for example --days 30", "--days must be 1 to 400")
	}
	f, err := fileOf(c.Command)
	if err != nil {
		return err
	}
	w, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, w.Close()) }()
	loc, at := w.Location(), c.now()
	if listed := w.Snapshot().Manifest.ListedTo(); listed.Before(at) {
		at = listed
	}
	found, judged, unlisted, err := newEvaluator(w, "").replay(ctx, f, at, days)
	if err != nil {
		return err
	}
	columns := []value.Column{
		{Name: "rule", Type: "VARCHAR", Kind: value.Text}, {Name: "group", Type: "VARCHAR", Kind: value.Text},
		{Name: "started", Type: "VARCHAR", Kind: value.Text}, {Name: "ended", Type: "VARCHAR", Kind: value.Text},
		{Name: "message", Type: "VARCHAR", Kind: value.Text, Wrap: true}}
	var rows [][]any
	times := map[string]int64{}
	for _, a := range found {
		ended := "running"
		if !a.ended.IsZero() {
			ended = moment(a.ended, loc)
		}
		times[a.rule]++
		about := a.item
		about.Group = ""
		rows = append(rows, []any{a.rule, a.group, moment(a.started, loc), ended, about.Text(alert.Started)})
	}
	if _, err := c.Write(ctx, format.NewStatic(columns, rows), loc); err != nil {
		return err
	}
	for _, r := range f.Rules {
		words.Fprintf(c.Stderr, "%s (%s): %s in %d days", r.Name, r.condition(), cli.Plural(times[r.Name], "alert"), days)
		if n := unlisted[r.Name]; n > 0 {
			words.Fprintf(c.Stderr, "; %s not fully listed", cli.Plural(n, "window"))
		}
		if judged[r.Name] == 0 {
			words.Fprintf(c.Stderr, "; no group had enough calls")
		}
		words.Fprintln(c.Stderr)
	}
	return nil
}

// replay evaluates the rules at each step of the last days.
func (e *evaluator) replay(ctx context.Context, f *File, at time.Time, days int) (
	found []*would, judged, unlisted map[string]int64, err error) {
	judged, unlisted = map[string]int64{}, map[string]int64{}
	for _, r := range f.Rules {
		s := alert.State{Rules: map[string]*alert.Rule{}}
		p := f.policy(r, "")
		p.Remind, p.Channels = 0, []string{"test"}
		open := map[string]*would{}
		for t := range steps(r, at.In(e.w.Location()), days) {
			readings, err := e.read(ctx, r, t, s.Running(p))
			if cli.Is[*unlistedError](err) {
				unlisted[r.Name]++
				continue
			}
			if err != nil {
				return nil, nil, nil, fmt.Errorf("rule %q: %w", r.Name, err)
			}
			if judged[r.Name] += int64(len(readings)); r.Unusual != "" {
				judged[r.Name]++
			}
			_, until := e.period(r, t)
			for _, m := range s.Advance(p, readings, until, t) {
				for _, i := range m.Items {
					if m.Event == alert.Ended && open[i.Group] != nil {
						open[i.Group].ended = i.To
						continue
					}
					a := &would{rule: r.Name, group: i.Group, started: i.To, item: i}
					open[i.Group], found = a, append(found, a)
				}
			}
		}
	}
	return found, judged, unlisted, nil
}

// steps yields the times at which a rule is evaluated: every day at the time of day of at or, if
// the window is less than a day, once per window.
func steps(r *Rule, at time.Time, days int) func(yield func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		if r.days() == 0 {
			step := max(r.window, time.Hour)
			begin := at.AddDate(0, 0, -days)
			for t := at.Add(-at.Sub(begin).Truncate(step)).Add(step); !t.After(at); t = t.Add(step) {
				if !yield(t) {
					return
				}
			}
			return
		}
		for back := days - 1; back >= 0; back-- {
			if !yield(at.AddDate(0, 0, -back)) {
				return
			}
		}
	}
}
