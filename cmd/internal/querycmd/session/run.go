package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/safe"
	"callhouse/cmd/internal/querycmd/shell"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/layout"
	"callhouse/internal/words"
)

// run runs one input. It does not print the error.
func (s *Session) run(ctx context.Context, in shell.Input) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if in.Command {
		return s.command(ctx, in.Text)
	}
	s.last = in.Text + ";"
	if done, err := s.view(ctx, in.Text); done {
		return err
	}
	return s.answer(ctx, func(a *answer.Command) error { return s.statement(ctx, a, in.Text) })
}

// statement runs SQL.
func (s *Session) statement(ctx context.Context, a *answer.Command, text string) error {
	values := map[string]string{}
	for name := range shell.Params(text) {
		if v, ok := s.params[name]; ok {
			values[name] = v
		}
	}
	if s.safe.On {
		_, err := s.safe.RunJob(ctx, a, safe.Job{Statement: text, Params: values}, s.house.Location())
		return err
	}
	rows, err := s.house.SQLWith(ctx, text, values)
	var p *analytics.ParamError
	if errors.As(err, &p) && len(p.Missing) > 0 {
		return cli.Usage("give it one: .param "+p.Missing[0]+" VALUE", "%v", err)
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	r, err := a.Write(ctx, rows, s.house.Location())
	if err != nil {
		return err
	}
	a.Notes(r)
	return nil
}

// report runs a report.
func (s *Session) report(ctx context.Context, words []string) error {
	if s.safe.On {
		if err := safe.StaysInside(words[1:]); err != nil {
			return err
		}
	}
	return s.answer(ctx, func(a *answer.Command) error { return s.invoke(ctx, a, words...) })
}

// invoke runs one of query's commands with the session's settings.
func (s *Session) invoke(ctx context.Context, a *answer.Command, words ...string) error {
	args := []string{words[0], "--warehouse", a.Warehouse, "--tz", a.TZ, "--config", s.a.Path, "--profile", s.a.Profile, fmt.Sprintf("--group-readable=%t", a.GroupReadable)}
	toFile := slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--output") || strings.HasPrefix(w, "-o") })
	if a.Format != "" && !toFile { // a file's ending names the format
		args = append(args, "--format", a.Format)
	}
	root := s.commands(*a)
	root.SetArgs(append(args, words[1:]...))
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	return a.Explain(root.ExecuteContext(ctx))
}

// answer lets do write an answer where the session's answers go. All of it comes
// from the snapshot that is current now.
func (s *Session) answer(ctx context.Context, do func(a *answer.Command) error) error {
	if err := s.open(ctx); err != nil {
		return s.a.Explain(err)
	}
	a := &answer.Command{Stdin: strings.NewReader(""), Stdout: s.a.Stdout, Stderr: s.a.Stderr,
		Config: config.Config{Env: s.a.Env, Values: config.Values{Warehouse: s.a.Warehouse, TZ: s.tz, Format: s.format, GroupReadable: s.a.GroupReadable}},
		Shell:  &answer.Shell{Root: s.a.Warehouse, House: s.house, Width: answer.TerminalWidth(s.a.Stdout), Rows: s.limit, Records: s.records}}
	began := time.Now()
	paged := false
	var err error
	switch {
	case s.file != nil:
		a.Shell.Width = 0
		err = s.file.add(a, do)
	case s.pages && a.Shell.Width > 0:
		if s.limit == 0 && pagerCommand() != "" {
			a.Shell.Rows = -1 // who pages needs no limit
		}
		paged, err = s.paged(ctx, a, do)
	default:
		s.part(a)
		err = do(a)
	}
	if err == nil && s.timer && a.Shell.Wrote != nil {
		words.Fprintln(s.a.Stderr, took(a.Shell.Wrote.Rows, time.Since(began), paged))
	}
	return err
}

// part puts an empty line between tables if there is no prompt between them.
func (s *Session) part(a *answer.Command) {
	kind := format.Format(a.Format)
	if !s.interactive && (kind == "" || kind == format.Table || kind == format.Markdown) {
		a.Stdout = &parting{w: a.Stdout, above: &s.parted}
	}
}

// parting writes an empty line before what follows something.
type parting struct {
	w     io.Writer
	above *bool
	begun bool
}

func (p *parting) Write(b []byte) (int, error) {
	if !p.begun && len(b) > 0 {
		if *p.above {
			if _, err := p.w.Write([]byte{'\n'}); err != nil {
				return 0, err
			}
		}
		p.begun, *p.above = true, true
	}
	return p.w.Write(b)
}

// took is the line below an answer. Without a time if it was paged, since that
// would be the reader's time.
func took(rows int64, d time.Duration, paged bool) string {
	out := cli.Plural(rows, "row")
	if !paged {
		out += fmt.Sprintf(", %.3f s", d.Seconds())
	}
	return out
}

// open opens the warehouse, or its new snapshot after a commit, or in another zone.
func (s *Session) open(ctx context.Context) error {
	loc, err := s.location()
	if err != nil {
		return err
	}
	if s.house != nil && s.house.Location().String() == loc.String() && s.snapshot() == s.currentSnapshot() {
		return nil
	}
	if err := s.close(); err != nil {
		return err
	}
	w, err := analytics.Open(ctx, s.a.Warehouse, s.a.Options(loc))
	if err != nil {
		return err
	}
	s.house = w
	if err := w.Define(ctx, s.views); err != nil {
		s.views = nil
		return fmt.Errorf("the views of this session are gone, since they do not fit the snapshot or the zone: %w", err)
	}
	if s.news == "" {
		s.news = s.snapshot()
	}
	return nil
}

func (s *Session) location() (*time.Location, error) {
	return answer.Zone(s.tz)
}

// snapshot is the name of the open snapshot, as in 000042.
func (s *Session) snapshot() string { return filepath.Base(s.house.Snapshot().Dir) }

// currentSnapshot is the name of the current snapshot; "" if it is not known.
func (s *Session) currentSnapshot() string {
	target, err := os.Readlink(filepath.Join(s.a.Warehouse, layout.CurrentName))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// tellNews says, once for each commit, that there is a new one.
func (s *Session) tellNews() {
	now := s.currentSnapshot()
	if now == "" || now == s.news {
		return
	}
	words.Fprintf(s.a.Stderr, "snapshot %s is committed: from now on statements read it\n", now)
	s.news = now
}

func (s *Session) greet(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	m := s.house.Snapshot().Manifest
	s.say("snapshot %s of %s, committed %s: %s", s.snapshot(), s.a.Warehouse,
		m.CommittedAt.In(s.house.Location()).Format("2006-01-02 15:04 MST"), cli.Plural(m.Rows("calls"), "call"))
	s.say("SQL ends with ; and reports run by name: sentiment --by week. More: .help")
	return nil
}

// isCommand reports whether a line that begins with word is not SQL.
func isCommand(word string) bool { return !slices.Contains(starts(), strings.ToUpper(word)) }

// starts are the words that statements of DuckDB begin with: those that read,
// and those that are refused.
func starts() []string {
	return append(reading(), "DESC", "UNPIVOT", "TABLE",
		"ABORT", "ALTER", "ANALYZE", "ANALYSE", "ATTACH", "BEGIN", "CHECKPOINT", "COMMENT", "COMMIT", "COPY", "CREATE", "DEALLOCATE",
		"DELETE", "DETACH", "DROP", "EXECUTE", "EXPORT", "FORCE", "GRANT", "IMPORT", "INSERT", "INSTALL", "LOAD", "MERGE", "PRAGMA", "PREPARE",
		"REINDEX", "RESET", "REVOKE", "ROLLBACK", "SET", "START", "TRUNCATE", "UPDATE", "USE", "VACUUM")
}

// reading are the words that completion offers at the beginning.
func reading() []string {
	return []string{"SELECT", "FROM", "WITH", "VALUES", "DESCRIBE", "SHOW", "SUMMARIZE", "EXPLAIN", "PIVOT"}
}

// script runs the content of r statement by statement, up to the first error. name
// is that of the file; "" for stdin.
func (s *Session) script(ctx context.Context, r io.Reader, name string) error {
	limited := &io.LimitedReader{R: r}
	in := bufio.NewReader(limited)
	text, line := "", 1
	for eof := false; !eof && !s.over; {
		limited.N = int64(guard.MaxText + 1 - len(text))
		more, err := in.ReadString('\n')
		if eof = errors.Is(err, io.EOF); err != nil && !eof {
			return fmt.Errorf("read the statements: %w", err)
		}
		text += more
		if len(text) > guard.MaxText {
			return located(cli.Usage("", "%v", answer.ErrLongText), shell.Input{Line: line}, name)
		}
		if !eof && strings.TrimSpace(text) != strings.TrimSpace(more) && !strings.Contains(more, ";") {
			continue // it ends no statement, nor begins one
		}
		inputs, rest := shell.Split(text, isCommand)
		if eof && rest.Text != "" { // as other shells do, which forgive the last semicolon
			inputs = append(inputs, rest)
		}
		for _, one := range inputs {
			one.Line += line - 1
			if err := s.run(ctx, one); err != nil {
				return located(err, one, name)
			}
			if s.over {
				return nil
			}
		}
		if rest.Text == "" {
			line += strings.Count(text, "\n")
			text = ""
			continue
		}
		cut := strings.LastIndex(text, rest.Text)
		line += strings.Count(text[:cut], "\n")
		text = text[cut:]
	}
	return nil
}

// located adds to an error where in the script it is.
func located(err error, in shell.Input, name string) error {
	if ctxEnded(err) {
		return err
	}
	if name == "" {
		name = "line"
	} else {
		name += ", line"
	}
	line, told := in.Line, answer.ExplainSQL(err)
	code, hint := cli.Code(told), cli.Hint(told)
	var d *duck.Error
	if errors.As(err, &d) && d.Line > 0 { // where the script has it, not the statement
		line, told = line+d.Line-1, errors.New(d.Text())
	}
	return cli.Fail(code, fmt.Errorf("%s %d: %w", name, line, told), hint)
}

func ctxEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted)
}
