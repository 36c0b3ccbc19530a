package querycmd

import (
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
	"callhouse/cmd/internal/querycmd/shell"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/format"
	"callhouse/internal/layout"
	"callhouse/internal/proven"
	"callhouse/internal/words"
)

// run runs one input. Its error is not told yet.
func (s *session) run(ctx context.Context, in shell.Input) error {
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
	return s.answer(ctx, func(a *app) error { return s.statement(ctx, a, in.Text) })
}

// statement runs SQL.
func (s *session) statement(ctx context.Context, a *app, text string) error {
	values := map[string]string{}
	for name := range shell.Params(text) {
		if v, ok := s.params[name]; ok {
			values[name] = v
		}
	}
	if s.safe.on {
		return a.runSafe(ctx, &s.safe, text, values, s.house.Location())
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
	r, err := a.write(ctx, rows, s.house.Location())
	if err != nil {
		return err
	}
	a.notes(r)
	return nil
}

// report runs a report as its command would be run, over the session's settings.
func (s *session) report(ctx context.Context, words []string) error {
	if s.safe.on {
		if err := staysInside(words[1:]); err != nil {
			return err
		}
	}
	return s.answer(ctx, func(a *app) error {
		args := []string{words[0], "--warehouse", a.Warehouse, "--tz", a.TZ, "--config", s.a.Path, "--profile", s.a.Profile, fmt.Sprintf("--group-readable=%t", a.GroupReadable)}
		toFile := slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--output") || strings.HasPrefix(w, "-o") })
		if a.Format != "" && !toFile { // a file's ending names the format
			args = append(args, "--format", a.Format)
		}
		root := a.root()
		root.SetArgs(append(args, words[1:]...))
		root.SetOut(a.stdout)
		root.SetErr(a.stderr)
		return a.explain(root.ExecuteContext(ctx))
	})
}

// shared is what a shell lends to what it runs.
type shared struct {
	root        string
	house       *analytics.Warehouse // open, at one snapshot
	width, rows int                  // of the terminal that the answer ends on; of a table
	records     bool
	wrote       *format.Result
}

// kept returns the shell's warehouse, if it is what is asked for.
func (a *app) kept(loc *time.Location) *analytics.Warehouse {
	if s := a.shared; s != nil && s.root == a.Warehouse && s.house.Location().String() == loc.String() {
		return s.house
	}
	return nil
}

// release closes a warehouse, unless a shell goes on with it.
func (a *app) release(w *analytics.Warehouse) error {
	if a.shared != nil && a.shared.house == w {
		return nil
	}
	return w.Close()
}

// drawing says how an answer is written: on stdout for whom it meets there.
func (a *app) drawing(loc *time.Location) format.Options {
	if a.output != "" {
		return format.Options{Location: loc}
	}
	o := format.Options{Location: loc, Width: a.width()}
	if a.shared != nil {
		o.Rows, o.Records, o.Instead = a.shared.rows, a.shared.records, ".format csv"
	}
	return o
}

// wrote tells a shell what was written.
func (a *app) wrote(r format.Result) {
	if a.shared != nil {
		a.shared.wrote = &r
	}
}

// answer lets do write an answer to where the session's answers go. All of it
// comes from the snapshot that is current now.
func (s *session) answer(ctx context.Context, do func(a *app) error) error {
	if err := s.open(ctx); err != nil {
		return s.a.explain(err)
	}
	a := &app{stdin: strings.NewReader(""), stdout: s.a.stdout, stderr: s.a.stderr,
		Config: config.Config{Values: config.Values{Warehouse: s.a.Warehouse, TZ: s.tz, Format: s.format, GroupReadable: s.a.GroupReadable}},
		shared: &shared{root: s.a.Warehouse, house: s.house, width: terminalWidth(s.a.stdout), rows: s.limit, records: s.records}}
	began := time.Now()
	paged := false
	var err error
	switch {
	case s.file != nil:
		a.shared.width = 0
		err = s.file.add(a, do)
	case s.pages && a.shared.width > 0:
		if s.limit == 0 && pagerCommand() != "" {
			a.shared.rows = -1 // who pages needs no limit
		}
		paged, err = s.paged(ctx, a, do)
	default:
		s.part(a)
		err = do(a)
	}
	if err == nil && s.timer && a.shared.wrote != nil {
		words.Fprintln(s.a.stderr, took(a.shared.wrote.Rows, time.Since(began), paged))
	}
	return err
}

// part parts tables from each other where no prompt does.
func (s *session) part(a *app) {
	kind := format.Format(a.Format)
	if !s.interactive && (kind == "" || kind == format.Table || kind == format.Markdown) {
		a.stdout = &parting{w: a.stdout, above: &s.parted}
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

// took is the line below an answer. The time of one that was paged would be the
// reader's own.
func took(rows int64, d time.Duration, paged bool) string {
	out := cli.Plural(rows, "row")
	if !paged {
		out += fmt.Sprintf(", %.3f s", d.Seconds())
	}
	return out
}

// open opens the warehouse, or its new snapshot after a commit, or in another zone.
func (s *session) open(ctx context.Context) error {
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
	w, err := analytics.Open(ctx, s.a.Warehouse, analytics.Options{Location: loc, Currency: s.a.Currency, Prover: proven.Open(s.a.Warehouse, time.Now)})
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

func (s *session) location() (*time.Location, error) {
	return location(s.tz)
}

// snapshot is the name of the one that is open, as in 000042.
func (s *session) snapshot() string { return filepath.Base(s.house.Snapshot().Dir) }

// currentSnapshot is the name of the one that is current; "" where that cannot be told.
func (s *session) currentSnapshot() string {
	target, err := os.Readlink(filepath.Join(s.a.Warehouse, layout.CurrentName))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// tellNews says once that there is a new commit.
func (s *session) tellNews() {
	now := s.currentSnapshot()
	if now == "" || now == s.news {
		return
	}
	words.Fprintf(s.a.stderr, "snapshot %s is committed: from now on statements read it\n", now)
	s.news = now
}

func (s *session) greet(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	m := s.house.Snapshot().Manifest
	s.say("snapshot %s of %s, committed %s: %s", s.snapshot(), s.a.Warehouse,
		m.CommittedAt.In(s.house.Location()).Format("2006-01-02 15:04 MST"), cli.Plural(m.Rows("calls"), "call"))
	s.say("SQL ends with ; and reports run by name: sentiment --by week. More: .help")
	return nil
}

// isCommand reports whether a line that begins with word is no SQL.
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
