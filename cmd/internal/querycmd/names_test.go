package querycmd_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// A name shared by several agents, ignoring case, selects none of them: wherever an agent can be
// named, the command exits with code 2 and a list of ids.
func TestNameOfSeveralAgents(t *testing.T) {
	longtest.Only(t)
	t.Chdir(t.TempDir())
	agents := [][2]string{{"a1111111-0001", "Same"}, {"a1111111-0002", "Same"}, {"b2222222-0003", "same"}, {"c3333333-0004", "Alone"}}
	d := analyticstest.Data{Others: map[*schema.Table][]row{}}
	for _, a := range agents {
		d.Calls = append(d.Calls, row{"call_id": "of " + a[0], "agent_id": a[0], "status": "ended"})
		d.Others[resource.Agents.Table] = append(d.Others[resource.Agents.Table], row{"agent_id": a[0], "name": a[1]})
	}
	analyticstest.Write(t, "warehouse", 1, d)
	for _, args := range [][]string{
		{"durations", "--agent", "same"}, {"durations", "--agent", "Same"}, {"export", "out", "--agent", "Same"},
		{"calls", "--where", "agent=SAME"}, {"serve", "user", "add", "agency", "--users", "users.json", "--only-agents", "c3333333-0004,Same"},
	} {
		r := run(t, "a long password\n", args...)
		if r.code != cli.ExitUsage || r.out != "" {
			t.Errorf("%v: %v", args, r)
		}
		for _, a := range agents[:3] {
			if !strings.Contains(r.stderr, a[1]+": "+a[0]) {
				t.Errorf("%v does not name %v: %s", args, a, r.stderr)
			}
		}
	}
	for _, name := range []string{"users.json", "out"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if r := run(t, "", "durations", "--by", "agent"); strings.Count(r.out, "Same (a1111111-0001)") != 1 || strings.Count(r.out, "Same (a1111111-0002)") != 1 || strings.Count(r.out, "same (b2222222-000") != 1 {
		t.Errorf("labels: %v", r)
	}

	// A whole name of one agent works like its id, which must be complete.
	for _, c := range [][2]string{{"alone", `["c3333333-0004"]`}, {"c3333333-0004", `["c3333333-0004"]`}, {"c3333333", `["c3333333"]`},
		{"nobody", `["nobody"]`}} {
		given, want := c[0], c[1]
		r := run(t, "a long password\n", "serve", "user", "add", "agency", "--users", "users.json", "--only-agents", given)
		raw, err := os.ReadFile("users.json")
		if r.code != cli.ExitOK || err != nil || !strings.Contains(strings.Join(strings.Fields(string(raw)), ""), want) {
			t.Errorf("%s: %v %v\n%s", given, r, err, raw)
		}
		if found := given == "alone" || given == "c3333333-0004"; found == strings.Contains(r.stderr, "no agent") {
			t.Errorf("%s: %v", given, r)
		}
	}
	run(t, "a long password\n", "serve", "user", "add", "x", "--users", "users.json", "--only-agents", "id", "--warehouse", "nowhere").reports(t, cli.ExitOK,
		"no warehouse")
}

// Data quoted in a message does not control the terminal or begin a line.
func TestMessagesSteerNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CALLHOUSE_WAREHOUSE", "")
	const foul, shown = "a\x1b]0;owned\x07\u009b31m\u202e\nquery: all is well", `\x1b]0;owned\x07\u009b31m\u202e\nquery: all is well`
	first, _, _ := strings.Cut(shown, `\n`) // a DuckDB error is its first line
	analyticstest.Write(t, "warehouse", 1, analyticstest.Data{Calls: []row{{"call_id": foul, "agent_id": foul, "summary": foul}, {"call_id": "b", "agent_id": "ab" + foul}}})
	for _, c := range longtest.Some(6, []struct {
		name  string
		args  []string
		stdin string
		code  int
		says  string
	}{
		{"error()", []string{"sql", "select error(summary) from calls where call_id <> 'b'"}, "", cli.ExitFailed, first},
		{"error() of --safe", []string{"sql", "--safe", "select error(summary) from calls where call_id <> 'b'"}, "", cli.ExitFailed, first},
		{"strptime", []string{"sql", "select strptime(summary, '%Y') from calls"}, "", cli.ExitFailed, `\x1b]0;owned`},
		{"a cast", []string{"sql", "select cast(summary as integer) from calls"}, "", cli.ExitFailed, `\x1b]0;owned`},
		{"a relation", []string{"sql", "from \"" + foul + "\""}, "", cli.ExitUsage, `\x1b]0;owned`},
		{"no SQL", []string{"sql", "select '" + foul + "' form calls"}, "", cli.ExitUsage, `near "calls"`},
		{"a flag", []string{"--" + foul}, "", cli.ExitUsage, `\x1b]0;owned`},
		{"a check", []string{"check", foul}, "", cli.ExitUsage, `\x1b]0;owned`},
		{"an unknown agent", []string{"sentiment", "--agent", "zz"}, "", cli.ExitUsage, shown},
		{"an ambiguous agent", []string{"sentiment", "--agent", "a"}, "", cli.ExitUsage, shown},
		{"a column's name", []string{"sql", "select 1 as \"" + foul + "\", * from calls where nope"}, "", cli.ExitUsage, "nope"},
		{"a condition", []string{"sentiment", "--where", "status=" + foul}, "", cli.ExitOK, ""},
		{"a condition in Markdown", []string{"sentiment", "--where", "status=" + foul, "--format", "markdown"}, "", cli.ExitOK, ""},
		{"two periods under a condition", []string{"sentiment", "--where", "status=" + foul, "--since", "7d", "--compare", "previous"}, "", cli.ExitOK, ""},
		{"a field", []string{"success", "--field", foul}, "", cli.ExitUsage, `\x1b]0;owned`},
		{"a report", []string{foul}, "", cli.ExitUsage, `\x1b]0;owned`},
		{"a warehouse", []string{"sentiment", "--warehouse", foul}, "", cli.ExitFailed, `\x1b]0;owned`},
		{"a file", []string{"sql", "--file", foul}, "", cli.ExitUsage, `\x1b]0;owned`},
		{"an output", []string{"sentiment", "--output", "nowhere/" + foul + ".csv"}, "", cli.ExitFailed, `\x1b]0;owned`},
		{"a time", []string{"sentiment", "--since", foul}, "", cli.ExitUsage, `\x1b]0;owned`},
		{"a zone", []string{"sentiment", "--tz", foul}, "", cli.ExitUsage, `\x1b]0;owned`},
		{"a group", []string{"sentiment", "--by", foul}, "", cli.ExitUsage, `\x1b]0;owned`},
		{"a parameter", []string{"sql", "select 1", "--param", foul + "=1"}, "", cli.ExitUsage, `\x1b]0;owned`},
		{"words", []string{"search", foul}, "", cli.ExitOK, ""},
		{"a table", []string{"describe", foul}, "", cli.ExitUsage, `\x1b]0;owned`},
		{"a call", []string{"call", foul + "x"}, "", cli.ExitUsage, `\x1b]0;owned`},
	}) {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.stdin, c.args...)
			r.reports(t, c.code, c.says)
			if strings.ContainsAny(r.out+r.stderr, "\x1b\x07\u009b\u202e") || strings.Contains(r.stderr, "\nquery: all is well") {
				t.Errorf("it steers the terminal: %q", r.stderr)
			}
		})
	}
}

// Shells complete the values of flags.
func TestCompletionOfValues(t *testing.T) {
	t.Chdir(t.TempDir())
	for args, want := range map[string]string{
		"sentiment --by ":       "agent",
		"sentiment --format ":   "markdown",
		"sql --format ":         "csv-excel",
		"costs --compare ":      "previous",
		"sentiment --tz ":       "Asia/Seoul",
		"describe transcript_t": "transcript_turns",
	} {
		r := run(t, "", append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if !strings.Contains("\n"+r.out, "\n"+want+"\n") {
			t.Errorf("query %s: does not offer %q:\n%s", args, want, r)
		}
	}
}

// The help fits a screen of 80 columns and 24 lines, and has every command once.
func TestHelpFitsAScreen(t *testing.T) {
	out := run(t, "", "--help").out
	if lines := strings.Split(out, "\n"); len(lines) > 24 || slices.ContainsFunc(lines, func(line string) bool { return len(line) > 80 }) {
		t.Errorf("%d lines, or a long one:\n%s", len(lines), out)
	}
	_, names, _ := strings.Cut(out, "Reports:")
	names, _, _ = strings.Cut(strings.ReplaceAll(names, "\n", " \n"), "\n \n")
	for _, cmd := range querycmd.Command().Commands() {
		if n := strings.Count(names, " "+cmd.Name()+" "); !cmd.Hidden && cmd.Name() != "flags" && n != 1 {
			t.Errorf("%s is in it %d times", cmd.Name(), n)
		}
	}
	run(t, "", "help", "flags").prints(t, 0, "--where NAME=VALUE", "dynamic_variables.KEY", "--warehouse DIR")
	run(t, "", "durations", "--help").prints(t, 0, "Look at the median", "--steps", "query help flags")
}

// People see at most seven columns of every report, programs all of them, and both those requested.
func TestColumns(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
	heads := func(format string, args ...string) []string {
		out := run(t, "", append(args, "--format", format)...).out
		if _, below, ok := strings.Cut(out, "\n\n"); ok { // a heading for people
			out = below
		}
		first, _, _ := strings.Cut(out, "\n")
		return strings.Split(strings.Trim(first, "| "), map[string]string{"markdown": " | ", "csv": ","}[format])
	}
	for _, f := range sqlfiles.Reports() {
		args := strings.Fields(f.Name + map[string]string{"CALL_ID": " c1", "WORD...": " ann"}[f.Arguments])
		for _, more := range [][]string{nil, {"--by", "agent,call_type"}, {"--by", "agent,call_type", "--field", "callback=true"}} {
			if more != nil && !f.Grouped() || len(more) > 2 && !slices.Contains(f.Flags, "field") {
				continue
			}
			if got := heads("markdown", append(args, more...)...); len(got) > 7 || len(got) < 2 {
				t.Errorf("%s %v shows %d columns: %q", f.Name, more, len(got), got)
			}
		}
		all := heads("csv", args...)
		people := len(heads("markdown", append(args, "--verbose")...))
		if slices.Contains(all, "part") { // people see it in place
			people++
		}
		if !slices.Equal(all, heads("csv", append(args, "--columns", "all")...)) || len(all) != people ||
			len(all) < len(f.Columns)-1-len(f.Fielded)-len(f.Hidden) {
			t.Errorf("%s: not all columns: %q", f.Name, all)
		}
	}
	for _, c := range [][2]string{
		{"durations --by agent --columns p99_ms,calls", "agent,p99_ms,calls"}, {"durations --columns p99,mean,p99_ms", "p99_ms,mean_ms"},
		{"agents --columns agent,agent_name,completed_of_answered", "agent_id,completed_percent"},
		{"changes --columns agent_name,before_completed_of_answered,verdict", "agent_id,before_completed_percent,verdict"},
		{"outcomes --since 2024-11-19 --until 2024-11-20 --compare previous --columns calls", "outcome,kind,calls,previous_calls,change_calls"},
	} {
		if got := heads("csv", strings.Fields(c[0])...); strings.Join(got, ",") != c[1] {
			t.Errorf("%s has the columns %q", c[0], got)
		}
	}
	run(t, "", "agents", "--columns", "completed of answered").prints(t, 0, "completed of answered")
	run(t, "", "durations", "--columns", "calls,mena_ms").reports(t, cli.ExitUsage, `unknown column "mena_ms"`, "did you mean: mean_ms?")
	run(t, "", "agents", "--columns", "success_percent").reports(t, cli.ExitUsage, "requires --field")
}
