package shell

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callhouse/cmd/internal/querycmd/answer"
	sqlfiles "callhouse/sql"
)

// vocabulary returns the words that Tab completes.
func (s *Session) vocabulary(ctx context.Context) *Vocabulary {
	v := &Vocabulary{Keywords: keywords, Starts: reading(), Functions: s.functions(ctx), IsCommand: isCommand, Follow: s.follow}
	for _, f := range sqlfiles.ViewsByName() {
		t := Table{Candidate: Candidate{Text: f.Name, Says: f.Answers, Group: "tables"}}
		for _, c := range f.Columns {
			says := strings.ToLower(strings.ReplaceAll(c.Type, "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")) + ", " + c.Meaning
			t.Columns = append(t.Columns, Candidate{Text: c.Name, Says: says, Group: "columns of " + f.Name})
		}
		v.Tables = append(v.Tables, t)
	}
	// calls, the most used table, comes first.
	slices.SortStableFunc(v.Tables, func(a, b Table) int {
		switch {
		case a.Text == "calls":
			return -1
		case b.Text == "calls":
			return 1
		}
		return 0
	})
	for _, f := range sqlfiles.Reports() {
		v.Commands = append(v.Commands, Candidate{Text: f.Name, Says: f.Answers, Group: "reports"})
	}
	for _, c := range dotCommands() {
		v.Commands = append(v.Commands, Candidate{Text: c.name, Says: c.says, Group: "commands"})
	}
	return v
}

// follow returns the completions of the last word of a shell command or report.
func (s *Session) follow(words []string) (out []Candidate) {
	root := s.commands(*s.a)
	if c := dotCommandOf(words[0]); c != nil {
		switch {
		case len(words) > 2:
			return nil
		case c.flag != "":
			return valuesOf(root, c.flag)
		}
		return candidates(c.words, "values")
	}
	cmd, _, err := root.Find(words[:1])
	if err != nil {
		return nil
	}
	cmd.InheritedFlags() // merges them into its flags
	if name, ok := strings.CutPrefix(words[len(words)-2], "--"); ok {
		if f := cmd.Flag(name); f != nil && f.NoOptDefVal == "" {
			if name == "where" || name == "agent" {
				return s.valuesInData(name, words[len(words)-1])
			}
			return valuesOf(cmd, name)
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			_, usage := pflag.UnquoteUsage(f)
			says, _, _ := strings.Cut(usage, "\n")
			out = append(out, Candidate{Text: "--" + f.Name, Says: says, Group: "flags"})
		}
	})
	return out
}

// valuesInData returns the completions of a flag that takes values of the warehouse.
func (s *Session) valuesInData(flag, typed string) []Candidate {
	if out, ok := answer.Conditions(flag, typed); ok {
		return candidates(out, "conditions")
	}
	ctx, cancel := answer.ForTab(context.Background())
	defer cancel()
	w, giveBack, err := s.borrow(ctx)
	if err != nil {
		return nil
	}
	defer giveBack()
	out := candidates(answer.Completions(ctx, w, flag, typed), "values")
	for i, c := range out {
		if strings.ContainsAny(c.Text, " '") {
			out[i].Text = "'" + strings.ReplaceAll(c.Text, "'", `'\''`) + "'"
		}
	}
	return out
}

func valuesOf(cmd *cobra.Command, flag string) []Candidate {
	complete, ok := cmd.GetFlagCompletionFunc(flag)
	if !ok {
		return nil
	}
	words, _ := complete(cmd, nil, "")
	return candidates(words, "values")
}

func candidates(words []string, group string) (out []Candidate) {
	for _, w := range words {
		out = append(out, Candidate{Text: strings.TrimSuffix(w, "KEY"), Group: group}) // metadata.KEY
	}
	return out
}

// functions returns DuckDB's functions and our macros. On an error, completion only offers fewer
// words.
func (s *Session) functions(ctx context.Context) (out []string) {
	w, giveBack, err := s.borrow(ctx)
	if err != nil {
		return nil
	}
	defer giveBack()
	rows, err := w.SQL(ctx, `SELECT DISTINCT function_name FROM duckdb_functions()
		WHERE regexp_full_match(function_name, '[a-z][a-z0-9_]*')
			AND (function_type IN ('scalar', 'aggregate', 'macro') OR function_name IN ('range', 'generate_series', 'unnest')) ORDER BY 1`)
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

// keywords are DuckDB's keywords common in queries.
var keywords = strings.Fields(`ALL AND ANTI ANY AS ASC ASOF BETWEEN BY CASE CAST COLUMNS CROSS CUBE CURRENT DATE DESC DISTINCT
	ELSE END EXCEPT EXCLUDE EXISTS EXPLAIN EXTRACT FALSE FILTER FIRST FOLLOWING FROM FULL GROUP GROUPING HAVING ILIKE IN INNER
	INTERSECT INTERVAL IS JOIN LAST LATERAL LEFT LIKE LIMIT NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT
	POSITIONAL PRECEDING QUALIFY RANGE RECURSIVE REPLACE RIGHT ROLLUP ROWS SAMPLE SELECT SEMI SETS SIMILAR SUMMARIZE THEN
	TIMESTAMP TIMESTAMPTZ TRUE UNBOUNDED UNION UNPIVOT USING VALUES WHEN WHERE WINDOW WITH WITHIN`)
