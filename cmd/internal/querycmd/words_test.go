package querycmd_test

import (
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/longtest"
)

// Data quoted in a message does not control the terminal or begin a line.
func TestMessagesSteerNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CALLHOUSE_WAREHOUSE", "")
	const foul, shown = "a\x1b]0;owned\x07\u009b31m\u202e\nquery: all is well", `\x1b]0;owned\x07\u009b31m\u202e\nquery: all is well`
	first, _, _ := strings.Cut(shown, `\n`) // a DuckDB error is its first line
	analyticstest.Write(t, "warehouse", 1, analyticstest.Data{Calls: []row{{"call_id": foul, "agent_id": foul, "summary": foul}, {"call_id": "b", "agent_id": "ab" + foul}}})
	tried := longtest.Each(3)
	for i, c := range []struct {
		name  string
		args  []string
		stdin string
		code  int
		says  string
	}{
		{"error()", []string{"sql", "select error(summary) from calls where call_id <> 'b'"}, "", cli.ExitFailed, first},
		{"error() of --safe", []string{"sql", "--safe", "select error(summary) from calls where call_id <> 'b'"}, "", cli.ExitFailed, first},
		{"strptime", []string{"sql", "select strptime(summary, '%Y') from calls"}, "", cli.ExitFailed, `\x1b]0;owned`},
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
		{"the shell", []string{"shell"}, "select error(summary) from calls where call_id <> 'b';", cli.ExitFailed, first},
	} {
		if !tried(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.stdin, c.args...)
			if r.code != c.code || !strings.Contains(r.stderr, c.says) {
				t.Errorf("want exit code %d and %s: %s", c.code, c.says, r)
			}
			if strings.ContainsAny(r.out+r.stderr, "\x1b\x07\u009b\u202e") || strings.Contains(r.stderr, "\nquery: all is well") {
				t.Errorf("it steers the terminal: %q", r.stderr)
			}
		})
	}
}
