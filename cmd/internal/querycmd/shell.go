package querycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/postgres"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

func (a *app) shellCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "shell",
		Short: "Start an interactive SQL shell",
		Long: `Start an interactive shell for SQL and reports. SQL ends with a semicolon and can
span several lines; a report runs by its name, e.g. sentiment --by week. Ctrl-R
searches the history; Ctrl-C cancels the running statement, not the shell. help lists
its commands.

Each statement reads the snapshot that is current when it starts.`,
		Example: `  query shell --tz Asia/Seoul`,
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if safe := a.Env.Get(config.EnvSafe); safe != "" {
				if on, err := strconv.ParseBool(safe); on || err != nil {
					return cli.Usage("use query sql --safe", "CALLHOUSE_SAFE is set, and the shell has no safe mode")
				}
			}
			for _, name := range []string{"output", "decimal"} {
				if cmd.Flags().Changed(name) {
					return cli.Usage("give it to a report in the shell", "the shell does not take --%s", name)
				}
			}
			if a.Stdin != os.Stdin || a.Stdout != os.Stdout || !cli.IsTerminal(a.Stdin) || answer.TerminalWidth(a.Stdout) == 0 {
				return cli.Usage("run a statement with query sql -f FILE", "the shell needs a terminal that can move its cursor")
			}
			return (&shell{app: a}).interact(cmd.Context())
		},
	}
}

// shell runs what is typed in a terminal as query's commands.
type shell struct {
	*app
	interrupts chan os.Signal
	terminal   chan struct{} // full once a signal ends the program
	over       bool
}

// errInterrupted reports that Ctrl-C cancelled a statement or input.
var errInterrupted = errors.New("cancelled")

// commands are those of the shell itself, and query's that are not reports.
var commands = []string{"list", "describe", "help", "quit", "exit"}

const shellHelp = `SQL ends with a semicolon. A report runs by its name: sentiment --by week --since 4w

  list             list reports and tables
  describe [NAME]  describe a report or table and its columns
  quit             leave the shell; same as Ctrl-D

Ctrl-R searches the history, Ctrl-C cancels.
`

// interact reads the terminal until the user leaves, continuing after errors.
func (s *shell) interact(ctx context.Context) error {
	if err := s.banner(ctx); err != nil {
		return err
	}
	s.interrupts = make(chan os.Signal, 1)
	signal.Notify(s.interrupts, os.Interrupt)
	defer signal.Stop(s.interrupts)
	s.terminal = make(chan struct{}, 1)
	defer s.restoring()()
	read := s.editor()
	s.freeSignals()
	ctx = context.WithoutCancel(ctx) // from here on Ctrl-C cancels only a statement
	for !s.over {
		for len(s.interrupts) > 0 {
			<-s.interrupts
		}
		s.terminal <- struct{}{} // waits for good once a signal ends the program
		<-s.terminal
		text, err := read()
		switch {
		case errors.Is(err, errInterrupted):
			continue
		case errors.Is(err, io.EOF):
			s.say("")
			return nil
		case err != nil:
			return fmt.Errorf("read the terminal: %w", err)
		}
		for _, in := range inputs(text) {
			if err := s.cancellable(ctx, func(ctx context.Context) error { return s.do(ctx, in) }); err != nil {
				s.show(err)
				break
			}
		}
	}
	return nil
}

func (s *shell) banner(ctx context.Context) (err error) {
	w, err := s.Open(ctx)
	if err != nil {
		return err
	}
	m := w.Snapshot().Manifest
	s.say("snapshot %s of %s, committed %s: %s", filepath.Base(w.Snapshot().Dir), s.Warehouse,
		m.CommittedAt.In(w.Location()).Format("2006-01-02 15:04 MST"), cli.Plural(m.Rows("calls"), "call"))
	s.say("End SQL with ;. Reports run by name: sentiment --by week. Help: help")
	return w.Close()
}

// say prints messages to stderr.
func (s *shell) say(text string, args ...any) { words.Fprintf(s.Stderr, text+"\n", args...) }

func (s *shell) show(err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted) {
		s.say("\ncancelled") // the terminal has shown ^C
		return
	}
	err = s.Explain(err)
	s.say("error: %v", err)
	if hint := cli.Hint(err); hint != "" {
		s.say("  %s", hint)
	}
}

// cancellable runs do, which Ctrl-C cancels. Another one ends the program.
func (s *shell) cancellable(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-s.interrupts:
				if ctx.Err() != nil {
					cli.EndBy(os.Interrupt)
				}
				cancel(errInterrupted)
			}
		}
	}()
	defer close(done)
	return do(ctx)
}

// commandOf returns the command or report that a text begins with, or a word that would be a command
// of other shells; "": it is SQL, as is describe with more than a name.
func commandOf(text string) string {
	all := words.Fields(text)
	if len(all) == 0 {
		return ""
	}
	name := strings.ToLower(strings.TrimRight(all[0], ";"))
	_, isReport := sqlfiles.Report(name)
	isOurs := isReport || slices.Contains(commands, name)
	if isOurs && (name != "describe" || len(all) < 3) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, `\`) {
		return name
	}
	return ""
}

// isWhole reports whether an input is complete: a command, or SQL that ends with a semicolon.
func isWhole(text string) bool {
	last := ";"
	for t := range postgres.Tokens(text) {
		if t.Kind != postgres.Comment {
			last = t.Text
		}
	}
	return last == ";" || commandOf(text) != ""
}

// inputs returns the statements of a text, or its only command.
func inputs(text string) (out []string) {
	if commandOf(text) != "" {
		return []string{text}
	}
	for _, st := range postgres.Split(text) {
		out = append(out, st.Text)
	}
	return out
}

// do runs a statement or command.
func (s *shell) do(ctx context.Context, text string) error {
	name := commandOf(text)
	if name == "" {
		return s.run(ctx, "sql", "--", strings.TrimSpace(text))
	}
	switch name {
	case "quit", "exit":
		s.over = true
	case "help":
		_, err := io.WriteString(s.Stdout, shellHelp)
		return err
	default:
		if _, isReport := sqlfiles.Report(name); !isReport && name != "list" && name != "describe" {
			return cli.Usage("help lists the commands; psql can connect to query serve", "unknown command %q", name)
		}
		args := words.Fields(strings.TrimRight(strings.TrimSpace(text), ";"))
		return s.run(ctx, append([]string{name}, args[1:]...)...)
	}
	return nil
}

// run runs one of query's commands with the shell's settings.
func (s *shell) run(ctx context.Context, args ...string) error {
	flags := []string{args[0], "--warehouse", s.Warehouse, "--tz", s.TZ, "--config", s.Path, "--profile", s.Profile}
	if s.Format != "" {
		flags = append(flags, "--format", s.Format)
	}
	root := over(answer.Command{Config: config.Config{Env: s.Env}, Stdin: strings.NewReader(""), Stdout: s.Stdout, Stderr: s.Stderr})
	root.SetArgs(append(flags, args[1:]...))
	root.SetOut(s.Stdout)
	root.SetErr(s.Stderr)
	return root.ExecuteContext(ctx)
}
