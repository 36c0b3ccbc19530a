package session

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/shell"
	"callhouse/internal/analytics"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

const (
	prompt     = "query> "
	promptMore = "  ...> "
)

// reader returns the function that reads the next input: the line editor or,
// without a capable terminal, a plain prompt on stderr.
func (s *Session) reader(ctx context.Context) (read func() (string, error), stop func()) {
	if s.a.Stdin != os.Stdin || s.a.Stdout != os.Stdout || answer.TerminalWidth(s.a.Stdout) == 0 {
		return s.plainReader(), restored(func() {})
	}
	stop = func() {}
	if state, err := term.GetState(int(os.Stdin.Fd())); err == nil {
		stop = restored(func() { _ = term.Restore(int(os.Stdin.Fd()), state) })
	}
	v := s.vocabulary(ctx)
	return shell.NewEditor(shell.EditorConfig{
		Prompt:   prompt,
		Whole:    whole,
		Complete: v.Complete,
		History:  s.history,
		Colour:   os.Getenv("NO_COLOR") == "",
	}).Read, stop
}

// whole reports whether text can be run: it consists of commands, and of statements
// with their semicolons.
func whole(text string) bool {
	_, rest := shell.Split(text, isCommand)
	return rest.Text == ""
}

func (s *Session) plainReader() func() (string, error) {
	in := bufio.NewReader(s.a.Stdin)
	return func() (string, error) {
		text := ""
		for p := prompt; ; p = promptMore {
			words.Fprintf(s.a.Stderr, "%s", p)
			line, err := in.ReadString('\n')
			text += line
			if err != nil {
				return "", err
			}
			if whole(text) {
				return text, nil
			}
		}
	}
}

// vocabulary is what Tab completes.
func (s *Session) vocabulary(ctx context.Context) *shell.Vocabulary {
	v := &shell.Vocabulary{Keywords: keywords(), Starts: reading(), OtherNames: otherNames(), IsCommand: isCommand, Glob: glob}
	for _, f := range analytics.Tables() {
		t := shell.Table{Name: f.Name, Says: f.Answers}
		for _, c := range f.Columns {
			t.Columns = append(t.Columns, shell.Column{Name: c.Name, Says: columnSays(c)})
		}
		v.Tables = append(v.Tables, t)
	}
	// calls, which most questions are about, comes first.
	if at := slices.IndexFunc(v.Tables, func(t shell.Table) bool { return t.Name == "calls" }); at > 0 {
		calls := v.Tables[at]
		copy(v.Tables[1:], v.Tables[:at])
		v.Tables[0] = calls
	}
	for _, f := range analytics.Reports() {
		v.Commands = append(v.Commands, reportCompletion(f))
	}
	for _, c := range dotCommands() {
		v.Commands = append(v.Commands, shell.Command{Name: c.name, Says: c.says, Words: c.completes, Files: c.file})
	}
	v.Functions = s.functions(ctx)
	return v
}

func columnSays(c sqlfiles.Column) string {
	return strings.ToLower(strings.ReplaceAll(c.Type, "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")) + ", " + c.Meaning
}

// reportCompletion completes a report's flags, and what they take.
func reportCompletion(f *sqlfiles.File) shell.Command {
	c := shell.Command{Name: f.Name, Says: f.Answers, Flags: map[string][]shell.Candidate{}}
	flag := func(name, says string, values ...string) {
		c.Words = append(c.Words, shell.Candidate{Text: name, Says: says, Group: "flags"})
		c.Flags[name] = candidates(values, "values")
	}
	if f.Grouped() {
		var by []string
		for _, d := range analytics.Dimensions() {
			by = append(by, strings.TrimSuffix(d, "KEY"))
		}
		flag("--by", "one group of rows for each value", by...)
	}
	if f.Selects() {
		flag("--since", "calls that start at a time or after: 2026-11-01, 7d", "today", "yesterday", "7d", "4w")
		flag("--until", "calls that start before a time", "today", "yesterday")
		flag("--agent", "calls of an agent, by its id or the beginning of it")
	}
	flag("--format", "how the answer is written", answer.FormatNames()...)
	flag("--output", "the file that it is written to")
	flag("--tz", "the zone of days, hours and times")
	flag("--help", "what the report counts")
	delete(c.Flags, "--help") // it takes no value
	return c
}

func candidates(words []string, group string) (out []shell.Candidate) {
	for _, w := range words {
		out = append(out, shell.Candidate{Text: w, Group: group})
	}
	return out
}

// functions are DuckDB's functions and our own macros. Without them completion only
// offers less.
func (s *Session) functions(ctx context.Context) (out []string) {
	rows, err := s.house.SQL(ctx, `SELECT DISTINCT function_name FROM duckdb_functions()
		WHERE regexp_full_match(function_name, '[a-z][a-z0-9_]*') AND (function_type IN ('scalar', 'aggregate', 'macro') OR function_name IN ('range', 'generate_series', 'unnest')) ORDER BY 1`)
	if err != nil {
		return nil
	}
	defer rows.Close()
	for {
		row, err := rows.Next(ctx)
		if err != nil {
			return out
		}
		if name, ok := row[0].(string); ok {
			out = append(out, name)
		}
	}
}

// glob returns the files whose paths begin with start, folders with a slash.
func glob(start string) (out []string) {
	folder, base := filepath.Split(start)
	entries, err := os.ReadDir(filepath.Join(".", folder))
	if filepath.IsAbs(folder) {
		entries, err = os.ReadDir(folder)
	}
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), base) || base == "" && e.Name()[0] == '.' {
			continue
		}
		name := folder + e.Name()
		if e.IsDir() {
			name += "/"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// keywords are the keywords of DuckDB that occur in questions.
func keywords() []string {
	return strings.Fields(`ALL AND ANTI ANY AS ASC ASOF BETWEEN BY CASE CAST COLUMNS CROSS CUBE CURRENT DATE DESC DISTINCT ELSE END EXCEPT
		EXCLUDE EXISTS EXPLAIN EXTRACT FALSE FILTER FIRST FOLLOWING FROM FULL GROUP GROUPING HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN
		LAST LATERAL LEFT LIKE LIMIT NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT POSITIONAL PRECEDING QUALIFY
		RANGE RECURSIVE REPLACE RIGHT ROLLUP ROWS SAMPLE SELECT SEMI SETS SIMILAR SUMMARIZE THEN TIMESTAMP TIMESTAMPTZ TRUE
		UNBOUNDED UNION UNPIVOT USING VALUES WHEN WHERE WINDOW WITH WITHIN`)
}
