package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/mcp"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/lend"
	"callhouse/internal/serve/audit"
	"callhouse/internal/serve/users"
)

// assistants holds the flags of both transports for assistants.
type assistants struct {
	on, reportsOnly bool // on: over HTTP
	rows            int64
	output          string
}

func (a *assistants) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&a.reportsOnly, "reports-only", false, "refuse SQL, transcripts, and summaries of calls to assistants")
	f.Int64Var(&a.rows, "max-rows", mcp.Usual.Rows, "maximum number of rows of an answer to an assistant")
	f.StringVar(&a.output, "max-output", "64KiB", "maximum `SIZE` of the rows of an answer to an assistant")
}

// MCPCommand returns the command that serves one assistant on stdin and stdout.
func MCPCommand(a *answer.Command) *cobra.Command {
	c := &command{Command: a, temp: "1GiB"}
	var user string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an assistant over the Model Context Protocol, on stdin and stdout",
		Long: `Serve the reports, one conversation, and SQL to an assistant such as Claude, Copilot
or Gemini, until stdin ends. The assistant starts the command itself: docs/guide/assistants.md
has its configuration. The server only reads; new commits appear without a restart.

Tools: every report (query list), describe, sql (as query sql --safe) and call (one
conversation). Resources: the data dictionary and the definitions of words in reports.
Every answer says what it leaves out, and marks texts of callers as data that are not to
be obeyed. An assistant may pass on everything it reads to the company that runs it:
--reports-only serves no SQL, no transcripts and no summaries, and --users with --user
applies the limits of a user of query serve.

query serve --http ADDRESS --mcp serves assistants over HTTP.`,
		Example: `  query mcp --warehouse /var/lib/callhouse --tz Asia/Seoul
  query mcp --reports-only
  query mcp --users /etc/callhouse/users.json --user analyst --audit /var/log/callhouse/assistant.jsonl`,
		GroupID: "more",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.assist(cmd.Context(), user) },
	}
	f := cmd.Flags()
	c.assistants.flags(cmd)
	f.StringVar(&c.users, "users", "", "`FILE` with users of query serve; requires --user")
	f.StringVar(&user, "user", "", "`NAME` of the user of --users whose limits apply")
	f.StringVar(&c.audit, "audit", "", "log each call of a tool to `FILE`; - is stderr")
	f.StringVar(&c.memory, "memory", "1GiB", "limit the memory of an answer to `SIZE`")
	cli.SpanVar(f, &c.timeout, "timeout", mcp.Usual.Timeout, "limit the time of an answer to `TIME`, e.g. 30s or 5m")
	return cmd
}

// assist serves one assistant.
func (c *command) assist(ctx context.Context, user string) (err error) {
	who, err := c.local(user)
	if err != nil {
		return err
	}
	if cli.IsTerminal(c.Stdin) {
		c.note("an assistant is expected on stdin: docs/guide/assistants.md has its configuration; Ctrl-D ends this")
	}
	log, err := audit.Open(c.audit, c.Stderr, func(err error) { c.note(err.Error()) })
	if err != nil {
		return cli.Usage("", "%v", err)
	}
	defer func() { err = cmp.Or(err, log.Close()) }()
	loc, err := c.Location()
	if err != nil {
		return err
	}
	j, err := c.job(ctx, loc)
	if err != nil {
		return err
	}
	houses, free := j.houses(c.note, nil, nil)
	defer func() { err = cmp.Or(err, free()) }()
	s, err := c.assistant(j, houses, log)
	if err != nil {
		return err
	}
	if err := s.Serve(ctx, c.Stdin, c.Stdout, who); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the assistant: %w", err)
	}
	return nil
}

// local returns the reader on stdin. If a user is named, the reader has that user's limits.
func (c *command) local(user string) (mcp.Reader, error) {
	if (c.users == "") != (user == "") {
		return mcp.Reader{}, cli.Usage("give both --users and --user", "the limits of a user require the file and the name")
	}
	if user == "" {
		return mcp.Reader{From: "stdin"}, nil
	}
	list, err := users.Open(c.users)
	if err != nil {
		return mcp.Reader{}, c.noUsers(err)
	}
	r, err := reader(list, user, "stdin")
	if err != nil {
		return r, cli.Usage("query serve user list shows all users", "%v", err)
	}
	return r, nil
}

// reader returns a user with the limits currently in the file.
func reader(list *users.List, name, from string) (mcp.Reader, error) {
	all, err := list.All()
	if err != nil {
		return mcp.Reader{}, err
	}
	for _, u := range all {
		if u.Name == name {
			return mcp.Reader{User: name, From: from, Rights: u.Rights, Timeout: u.Limit(), Memory: u.Memory}, nil
		}
	}
	return mcp.Reader{}, fmt.Errorf("unknown user %q", name)
}

// assistant returns the server for assistants.
func (c *command) assistant(j job, houses *lend.Houses, log *audit.Log) (*mcp.Server, error) {
	output, err := humanize.ParseBytes(c.assistants.output)
	if err != nil || output < 1<<10 || output > 1<<30 {
		return nil, cli.Usage("write a size from 1KiB to 1GiB", "invalid --max-output %s", c.assistants.output)
	}
	if c.rows < 1 {
		return nil, cli.Usage("for example 200", "invalid --max-rows %d", c.rows)
	}
	config := mcp.Usual
	config.House, config.Settings, config.ReportsOnly, config.Rows = houses, *c.Command, c.reportsOnly, c.rows
	config.Memory, config.Temp, config.Output, config.Timeout = j.Memory, j.Temp, int64(output), c.timeout
	if log != nil {
		config.Audit = func(e mcp.Entry) {
			log.Write(audit.Entry{At: e.At.UTC(), User: e.User, From: e.From, Application: "mcp",
				Millis: float64(e.Took.Microseconds()) / 1000, Rows: e.Rows, Code: stateOf(e.Err), Text: e.Text})
		}
	}
	return mcp.New(config), nil
}

// assistantsOverHTTP returns the handler of assistants' requests, whose password was already
// checked.
func assistantsOverHTTP(s *mcp.Server, list *users.List) func(http.ResponseWriter, *http.Request, string, rights.Rights) {
	return func(w http.ResponseWriter, r *http.Request, user string, may rights.Rights) {
		who := mcp.Reader{From: r.RemoteAddr}
		if list != nil {
			var err error
			if who, err = reader(list, user, r.RemoteAddr); err != nil { // the user was just removed
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
			who.Rights = may // the rights at the time of the password check
		}
		s.Answer(w, r, who)
	}
}

// stateOf returns the SQLSTATE of an error for the audit log.
func stateOf(err error) string {
	switch {
	case err == nil:
		return "00000"
	case analytics.Denied(err):
		return "42501" // insufficient privilege
	case errors.Is(err, context.Canceled), cli.Is[*mcp.LateError](err):
		return "57014" // canceled
	case cli.Code(err) == cli.ExitUsage:
		return "42000" // invalid call
	}
	return "58000" // failed
}
