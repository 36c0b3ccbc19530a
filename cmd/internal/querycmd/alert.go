package querycmd

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
	"callhouse/internal/analytics"
	"callhouse/internal/words"
)

const alertLong = `Evaluate the rules in the file of --alerts over the newest commit, and send a message
for each alert that starts or ends. extract run does this after each run, and extract
follow after its commits, if the setting alerts is set.

A rule is a report with arguments, a column and a condition: above, below, or changed
beyond chance. Shares and means must be beyond a threshold by more than chance. An
alert ends when the value is back.

Messages go to Slack, Teams, any webhook, mail, or stdout. One that cannot be
sent is kept and tried again by the next query alert, for a day. What is running and
what is waiting is in alerts.json in the warehouse; extract status shows it.

Exit codes: 0 done, also if alerts are running; 3 a rule could not be evaluated, or a
message could not be sent; 2 wrong rules; 4 another query alert is running.`

// alerting is one run of query alert.
type alerting struct {
	*answer.Command
	now      func() time.Time
	unlisted []string // rules skipped because calls of their window are not listed, with the reason
}

func (a *app) alertCommand() *cobra.Command {
	c := &alerting{Command: &a.Command, now: time.Now}
	cmd := &cobra.Command{
		Use: "alert", Short: "Send messages when numbers cross a threshold or change", Long: alertLong,
		Example: `  query alert --alerts /etc/callhouse/alerts.toml
  query alert --alerts alerts.toml --tz Asia/Seoul`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.AddFlagsOf(cmd, config.Alert)
	return cmd
}

// fileOf reads the file of the setting alerts.
func fileOf(c *answer.Command) (*alertFile, error) {
	if c.Alerts == "" {
		return nil, cli.Usage("set --alerts FILE, or alerts in callhouse.toml", "no file of rules")
	}
	return readRules(c.Alerts)
}

func (c *alerting) run(ctx context.Context) (err error) {
	if c.Format != "" || c.Output != "" {
		return cli.Usage("it sends messages", "alert takes no --format and no --output")
	}
	f, err := fileOf(c.Command)
	if err != nil {
		return err
	}
	secrets := words.NewSecrets()
	channels, err := f.channels(c.Env, stdoutChannel{c.Stdout}, secrets)
	if err != nil {
		return err
	}
	w, err := c.Open(ctx)
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
	return c.print(f, &s.State, sent, failed)
}

// channels creates the channels that the rules use.
func (f *alertFile) channels(env config.Environment, stdout stdoutChannel, secrets *words.Secrets) (map[string]alert.Channel, error) {
	out := map[string]alert.Channel{}
	for _, name := range slices.Sorted(maps.Keys(f.Channels)) {
		if !slices.ContainsFunc(f.Rules, func(r *alertRule) bool { return slices.Contains(r.To, name) }) {
			continue
		}
		c, known, err := f.channel(name, env, stdout)
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
	if err == nil || cli.Is[*alert.RefusedError](err) { // its text is ours
		return err
	}
	return errors.New(m.secrets.Error(err))
}

// evaluate evaluates all rules and saves the resulting state. It returns the rules that failed.
func (c *alerting) evaluate(ctx context.Context, f *alertFile, w *analytics.Warehouse, s *alert.Store) (failed []string, err error) {
	now := c.now()
	e := newEvaluator(w, f.Page)
	var names []string
	for _, r := range f.Rules {
		p := f.policy(r, c.Profile)
		names = append(names, r.Name)
		readings, err := e.readings(ctx, r, now)
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

// print writes the result.
func (c *alerting) print(f *alertFile, s *alert.State, sent int, failed []string) error {
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
