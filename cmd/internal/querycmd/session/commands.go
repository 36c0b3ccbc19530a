package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/safe"
	"callhouse/cmd/internal/querycmd/shell"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/format"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

// dotCommand is a command of the shell itself.
type dotCommand struct {
	name, takes, says string
	least, most       int // words that it takes; most below 0: any number
	completes         []shell.Candidate
	file              bool // it takes a file's name
	outside           bool // it reaches files or programs, and is refused in safe mode
	run               func(s *Session, ctx context.Context, words []string) error
}

func dotCommands() []dotCommand {
	onOff := candidates([]string{"on", "off"}, "values")
	tables := candidates(answer.Names(analytics.Tables()), "tables")
	reports := candidates(answer.Names(analytics.Reports()), "reports")
	return []dotCommand{
		{name: ".tables", says: "the tables that SQL can read", run: (*Session).tables},
		{name: ".schema", takes: "[TABLE]", says: "columns, with type, unit and meaning; .describe is the same", most: 1, completes: tables, run: (*Session).schema},
		{name: ".reports", says: "the reports", run: (*Session).reports},
		{name: ".report", takes: "NAME [FLAGS]", says: "run a report; its name alone will do: sentiment --by day", least: 1, most: -1, completes: reports, run: (*Session).namedReport},
		{name: ".format", takes: "[FORMAT]", says: strings.Join(answer.FormatNames(), ", "), most: 1, completes: candidates(answer.FormatNames(), "formats"), run: (*Session).setFormat},
		{name: ".output", takes: "[FILE]", says: "answers go to a file; without one, to the terminal again", most: 1, file: true, outside: true, run: (*Session).setOutput},
		{name: ".limit", takes: "[N | all]", says: "rows that a table on the terminal shows; the others are counted", most: 1, run: (*Session).setLimit},
		{name: ".expanded", takes: "[on | off]", says: "each row as lines of name and value; alone, or as \\x, the other way round", most: 1, completes: onOff, run: (*Session).setExpanded},
		{name: ".pager", takes: "[on | off]", says: "long answers through PAGER, or less", most: 1, completes: onOff, run: (*Session).setPager},
		{name: ".timer", takes: "[on | off]", says: "rows and seconds below each answer", most: 1, completes: onOff, run: (*Session).setTimer},
		{name: ".tz", takes: "[ZONE]", says: "zone of days, hours and printed times", most: 1, run: (*Session).setZone},
		{name: ".param", takes: "[NAME [VALUE]]", says: "value of the parameter $NAME; without one it is dropped", most: 2, run: (*Session).setParam},
		{name: ".read", takes: "FILE", says: "run the statements and commands in a file", least: 1, most: 1, file: true, outside: true, run: (*Session).readFile},
		{name: ".edit", says: "write the last statement anew in EDITOR, and run it; \\e is the same", outside: true, run: (*Session).edit},
		{name: ".save", takes: "NAME", says: "keep the last statement under a name", least: 1, most: 1, outside: true, run: (*Session).save},
		{name: ".run", takes: "NAME", says: "run what was kept", least: 1, most: 1, completes: candidates(savedNames(), "saved"), outside: true, run: (*Session).runSaved},
		{name: ".saved", says: "what was kept, and where", outside: true, run: (*Session).saved},
		{name: ".snapshot", says: "the commit that statements read", run: (*Session).describeSnapshot},
		{name: ".history", takes: "[N]", says: "what was typed lately", most: 1, run: (*Session).listHistory},
		{name: ".help", says: "this list", run: (*Session).help},
		{name: ".quit", says: "leave; as Ctrl-D does", run: (*Session).quit},
	}
}

// otherNames are names that people know from other shells.
func otherNames() map[string]string {
	return map[string]string{".describe": ".schema", ".desc": ".schema", ".mode": ".format", ".once": ".output", ".parameter": ".param", ".exit": ".quit", ".q": ".quit", ".timing": ".timer",
		`\q`: ".quit", `\d`: ".schema", `\dt`: ".tables", `\dv`: ".tables", `\?`: ".help", `\h`: ".help", `\i`: ".read", `\o`: ".output", `\timing`: ".timer", `\pset`: ".format", `\x`: ".expanded", `\e`: ".edit",
		"help": ".help", "quit": ".quit", "exit": ".quit"}
}

// command runs a line that is not SQL: a command of the shell, or a report.
func (s *Session) command(ctx context.Context, line string) error {
	words := shell.Words(line)
	if len(words) == 0 {
		return nil
	}
	name := strings.ToLower(words[0])
	if other, ok := otherNames()[name]; ok {
		name = other
	} else if name[0] == '\\' {
		name = "." + name[1:]
	}
	for _, c := range dotCommands() {
		if c.name != name {
			continue
		}
		if c.outside && s.safe.On {
			return safe.Refused(c.name)
		}
		if n := len(words) - 1; n < c.least || c.most >= 0 && n > c.most {
			return cli.Usage(strings.TrimSpace(c.name+" "+c.takes)+": "+c.says, "%s does not take %s", c.name, cli.Plural(int64(n), "word"))
		}
		return c.run(s, ctx, words[1:])
	}
	if _, ok := sqlfiles.Report(words[0]); ok {
		s.last = line
		return s.report(ctx, words)
	}
	return unknownInput(words[0])
}

func unknownInput(word string) error {
	known := answer.Names(analytics.Reports())
	what := "statement or report"
	hint := "SQL begins with SELECT, FROM, WITH …; .reports lists the reports, .help the rest"
	if word[0] == '.' || word[0] == '\\' {
		known, what, hint = nil, "command", ".help lists them"
		for _, c := range dotCommands() {
			known = append(known, c.name)
		}
	} else {
		for _, w := range reading() {
			known = append(known, strings.ToLower(w))
		}
	}
	return cli.Usage(cli.Suggest(word, known, hint), "there is no %s %q", what, word)
}

func (s *Session) tables(ctx context.Context, _ []string) error {
	return s.list(ctx, analytics.Tables(), "table")
}

func (s *Session) reports(ctx context.Context, _ []string) error {
	return s.list(ctx, analytics.Reports(), "report")
}

func (s *Session) list(ctx context.Context, files []*sqlfiles.File, head string) error {
	var rows [][]any
	for _, f := range files {
		rows = append(rows, []any{f.Name, f.Answers})
	}
	if head == "table" {
		for _, v := range s.views {
			rows = append(rows, []any{v.Name, "view of this session: " + strings.Join(strings.Fields(v.SQL), " ")})
		}
	}
	return s.facts(ctx, []string{head, "answers"}, rows)
}

// facts writes rows of text, without a line below them.
func (s *Session) facts(ctx context.Context, heads []string, rows [][]any) error {
	return s.answer(ctx, func(a *answer.Command) error {
		err := a.WriteStatic(ctx, heads, rows)
		a.Shell.Wrote = nil
		return err
	})
}

func (s *Session) schema(ctx context.Context, words []string) error {
	return s.answer(ctx, func(a *answer.Command) error {
		err := s.invoke(ctx, a, append([]string{"describe"}, words...)...)
		a.Shell.Wrote = nil
		return err
	})
}

func (s *Session) namedReport(ctx context.Context, words []string) error {
	if _, ok := sqlfiles.Report(words[0]); !ok {
		hint := cli.Suggest(words[0], answer.Names(analytics.Reports()), ".reports lists them")
		return cli.Usage(hint, "there is no report %q", words[0])
	}
	return s.report(ctx, words)
}

func (s *Session) setFormat(_ context.Context, words []string) error {
	if len(words) == 0 {
		s.say("format: %s", cmp.Or(s.format, "table"))
		return nil
	}
	a := &answer.Command{Config: config.Config{Values: config.Values{Format: words[0]}}, Stdout: s.a.Stdout}
	if s.file != nil {
		a.Output = s.file.path // what a file can hold, a terminal need not
	}
	f, err := a.OutputFormat()
	if err != nil {
		return err
	}
	s.format = string(f)
	if s.file != nil {
		s.file.format = s.format
	}
	return nil
}

func (s *Session) setOutput(_ context.Context, words []string) error {
	if len(words) == 0 {
		s.file = nil
		return nil
	}
	s.redirect(words[0])
	s.say("answers go to %s as %s; .output alone brings them back", words[0], cmp.Or(s.file.format, "table"))
	return nil
}

func (s *Session) setLimit(_ context.Context, words []string) error {
	if len(words) == 0 {
		if s.limit < 0 {
			s.say("limit: all")
			return nil
		}
		if s.limit == 0 {
			s.say("limit: %d without a pager, none with one", format.TableRows)
			return nil
		}
		s.say("limit: %d", s.limit)
		return nil
	}
	if words[0] == "all" {
		s.limit = -1
		return nil
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 {
		return cli.Usage("write a number of rows, or: .limit all", "%q is no number of rows", words[0])
	}
	s.limit = n
	return nil
}

func (s *Session) setPager(_ context.Context, words []string) error {
	if err := s.toggle("pager", &s.pages, words); err != nil {
		return err
	}
	if s.pages && pagerCommand() == "" {
		s.say("no pager: set PAGER, or install less")
	}
	return nil
}

func (s *Session) setTimer(_ context.Context, words []string) error {
	return s.toggle("timer", &s.timer, words)
}

func (s *Session) setExpanded(_ context.Context, words []string) error {
	if len(words) == 0 {
		s.records = !s.records
	}
	return s.toggle("expanded", &s.records, words)
}

func (s *Session) toggle(name string, on *bool, words []string) error {
	switch {
	case len(words) == 0:
		s.say("%s: %s", name, map[bool]string{true: "on", false: "off"}[*on])
	case words[0] == "on", words[0] == "off":
		*on = words[0] == "on"
	default:
		return cli.Usage("write: ."+name+" on, or ."+name+" off", "%q is neither on nor off", words[0])
	}
	return nil
}

func (s *Session) setZone(_ context.Context, words []string) error {
	if len(words) == 0 {
		s.say("tz: %s", s.tz)
		return nil
	}
	if _, err := answer.Zone(words[0]); err != nil {
		return err
	}
	s.tz = words[0]
	return nil
}

func (s *Session) setParam(ctx context.Context, words []string) error {
	switch len(words) {
	case 0:
		var rows [][]any
		for _, name := range slices.Sorted(maps.Keys(s.params)) {
			rows = append(rows, []any{"$" + name, s.params[name]})
		}
		return s.facts(ctx, []string{"parameter", "value"}, rows)
	case 1:
		delete(s.params, strings.TrimPrefix(words[0], "$"))
	default:
		s.params[strings.TrimPrefix(words[0], "$")] = words[1]
	}
	return nil
}

// mostDeep limits how deep files may read files.
const mostDeep = 16

func (s *Session) readFile(ctx context.Context, words []string) (err error) {
	if s.depth == mostDeep {
		return cli.Usage("does one read itself?", "%d files read each other", mostDeep)
	}
	f, err := os.Open(words[0])
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return cli.Usage(".read takes a file of statements and commands", "read %s: %v", words[0], err)
	}
	defer f.Close()
	s.depth++
	defer func() { s.depth-- }()
	return s.script(ctx, f, words[0])
}

func (s *Session) describeSnapshot(ctx context.Context, _ []string) error {
	if err := s.open(ctx); err != nil {
		return s.a.Explain(err)
	}
	snap := s.house.Snapshot()
	m := snap.Manifest
	rows := [][]any{
		{"snapshot", s.snapshot()},
		{"folder", snap.Dir},
		{"committed", m.CommittedAt.In(s.house.Location()).Format("2006-01-02 15:04:05 MST")},
	}
	for _, t := range []string{"calls", "transcript_turns", "analysis_items", "runs"} {
		rows = append(rows, []any{t, cli.Plural(m.Rows(t), "row")})
	}
	return s.facts(ctx, []string{"fact", "value"}, rows)
}

func (s *Session) listHistory(ctx context.Context, args []string) error {
	n := 20
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil || n < 1 {
			return cli.Usage("write: .history 50", "%q is no number of entries", args[0])
		}
	}
	entries := s.history.Entries()
	return s.answer(ctx, func(a *answer.Command) error {
		for _, e := range entries[max(len(entries)-n, 0):] {
			if _, err := io.WriteString(a.Stdout, words.Lines(e)+"\n"); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Session) help(ctx context.Context, _ []string) error {
	return s.answer(ctx, func(a *answer.Command) error {
		const head = "SQL ends with a semicolon. A report is run by its name: sentiment --by week --since 4w\n\n"
		out := head
		for _, c := range dotCommands() {
			out += fmt.Sprintf("  %-22s %s\n", strings.TrimSpace(c.name+" "+c.takes), c.says)
		}
		out += "\nTab completes, Ctrl-R searches what was typed, Ctrl-C cancels, Ctrl-D leaves.\n"
		_, err := io.WriteString(a.Stdout, out)
		return err
	})
}

func (s *Session) quit(context.Context, []string) error {
	s.over = true
	return nil
}

// say prints what is not data.
func (s *Session) say(text string, args ...any) { words.Fprintf(s.a.Stderr, text+"\n", args...) }
