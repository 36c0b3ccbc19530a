package shell

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/safe"
	sqlfiles "callhouse/sql"
)

// dotCommand is a command of the shell with at most one argument.
type dotCommand struct {
	name, takes, says string
	others            string // its names in other shells
	flag              string // a flag of query, whose values complete the argument
	words             []string
	outside           bool // it writes files, so safe mode refuses it
	run               func(s *Session, ctx context.Context, word string) error
}

func dotCommands() []dotCommand {
	return []dotCommand{
		{name: ".schema", takes: "[NAME]", says: `reports and tables, or the columns of one; same as \d`,
			others: ".d .dt .dv .tables .reports .describe .desc",
			words:  append(answer.Names(sqlfiles.ViewsByName()), answer.Names(sqlfiles.Reports())...), run: (*Session).schema},
		{name: ".format", takes: "[FORMAT]", says: strings.Join(answer.FormatNames(), ", "), others: ".mode", flag: "format",
			run: (*Session).setFormat},
		{name: ".output", takes: "[FILE]", says: "write answers to a file; without FILE, to the terminal again", others: ".o .once",
			outside: true, run: (*Session).setOutput},
		{name: ".timer", takes: "[on | off]", says: "show rows and seconds below each answer", others: ".timing",
			words: []string{"on", "off"}, run: (*Session).setTimer},
		{name: ".tz", takes: "[ZONE]", says: "time zone of days, hours and printed times",
			others: ".timezone", flag: "tz", run: (*Session).setZone},
		{name: ".help", says: "show this list", others: ".? .h help", run: (*Session).help},
		{name: ".quit", says: "leave the shell; same as Ctrl-D", others: ".q .exit quit exit", run: (*Session).quit},
	}
}

// dotCommandOf returns the command for a word that begins with a dot or backslash; nil if there is
// none.
func dotCommandOf(word string) *dotCommand {
	name := strings.ToLower(word)
	if after, ok := strings.CutPrefix(name, `\`); ok {
		name = "." + after
	}
	for _, c := range dotCommands() {
		if c.name == name || slices.Contains(strings.Fields(c.others), name) {
			return &c
		}
	}
	return nil
}

// command runs a line that is not SQL: a shell command or a report.
func (s *Session) command(ctx context.Context, line string) error {
	words, _ := Words(line)
	c := dotCommandOf(words[0])
	if c == nil {
		if _, ok := sqlfiles.Report(words[0]); ok {
			return s.report(ctx, words)
		}
		return unknownInput(words[0])
	}
	if c.outside && s.safe.On {
		return safe.Refused(c.name)
	}
	if n := len(words) - 1; n > 1 || n == 1 && c.takes == "" {
		return cli.Usage(strings.TrimSpace(c.name+" "+c.takes)+": "+c.says, "%s does not take %s", c.name, cli.Plural(int64(n), "word"))
	}
	return c.run(s, ctx, strings.Join(words[1:], ""))
}

func unknownInput(word string) error {
	if word[0] == '.' || word[0] == '\\' {
		var known []string
		for _, c := range dotCommands() {
			known = append(append(known, c.name), strings.Fields(c.others)...)
		}
		return cli.Usage(cli.Suggest(word, known, ".help lists the commands"), "%s is not supported here; psql can connect to query serve", word)
	}
	known := answer.Names(sqlfiles.Reports())
	for _, w := range reading() {
		known = append(known, strings.ToLower(w))
	}
	hint := "SQL starts with SELECT, FROM, WITH …; .schema lists the reports, .help the commands"
	return cli.Usage(cli.Suggest(word, known, hint), "unknown statement or report %q", word)
}

func (s *Session) schema(ctx context.Context, name string) error {
	return s.answer(ctx, func(a *answer.Command) error {
		words := []string{"list"}
		if name != "" {
			words = []string{"describe", name}
		}
		err := s.invoke(ctx, a, words...)
		a.Shell.Wrote = nil // omit the line with rows and seconds
		return err
	})
}

func (s *Session) setFormat(_ context.Context, name string) error {
	if name == "" {
		s.say("format: %s", cmp.Or(s.format, "table"))
		return nil
	}
	a := &answer.Command{Config: config.Config{Values: config.Values{Format: name}}, Stdout: s.a.Stdout}
	if s.file != nil {
		a.Output = s.file.path // a file may have formats that a terminal cannot show
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

func (s *Session) setOutput(_ context.Context, path string) error {
	if path == "" {
		s.file = nil
		return nil
	}
	s.redirect(path)
	s.say("writing answers to %s as %s; .output without FILE returns to the terminal", path, cmp.Or(s.file.format, "table"))
	return nil
}

func (s *Session) setTimer(_ context.Context, word string) error {
	switch word {
	case "":
		s.say("timer: %s", map[bool]string{true: "on", false: "off"}[s.timer])
	case "on", "off":
		s.timer = word == "on"
	default:
		return cli.Usage("use .timer on or .timer off", "%q is neither on nor off", word)
	}
	return nil
}

func (s *Session) setZone(_ context.Context, name string) error {
	if name == "" {
		s.say("tz: %s", s.tz)
		return nil
	}
	_, err := answer.Zone(name)
	if err == nil {
		s.tz = name
	}
	return err
}

func (s *Session) help(context.Context, string) error {
	out := "SQL ends with a semicolon. A report runs by its name: sentiment --by week --since 4w\n\n"
	for _, c := range dotCommands() {
		out += fmt.Sprintf("  %-18s %s\n", strings.TrimSpace(c.name+" "+c.takes), c.says)
	}
	out += "\nTab completes, Ctrl-R searches the history, Ctrl-C cancels, Ctrl-D leaves.\nFor other features, connect psql to query serve.\n"
	_, err := io.WriteString(s.a.Stdout, out)
	return err
}

func (s *Session) quit(context.Context, string) error {
	s.over = true
	return nil
}
