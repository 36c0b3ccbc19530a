package querycmd_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/querycmd"
)

// complete requests completions like a shell, but waits for them: on a busy machine they may take
// longer than a Tab may block.
func complete(t *testing.T, args string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code := querycmd.Run(ctx, cmdtest.Env(), append([]string{"__complete"}, strings.Split(args, " ")...), strings.NewReader(""), &out, &errs)
	return result{code, out.String(), errs.String()}
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
		r := complete(t, args)
		if !strings.Contains("\n"+r.out, "\n"+want+"\n") {
			t.Errorf("query %s: does not offer %q:\n%s", args, want, r)
		}
	}
}

// Values of conditions are completed from the warehouse.
func TestCompletionFromData(t *testing.T) {
	house(t)
	for args, want := range map[string]string{
		"sentiment --where call_t":                     "call_type=",
		"sentiment --where call_type=":                 "call_type=outbound",
		"costs --since 7d --where outcome=comp":        "outcome=completed",
		"costs --where weekday=W":                      "weekday=Wednesday",
		"sentiment --since mon":                        "monday",
		"sentiment --agent " + firstAgent(t)[:4]:       firstAgent(t),
		"sentiment --where agent=" + firstAgent(t)[:4]: "agent=" + firstAgent(t),
	} {
		r := complete(t, args)
		if !strings.Contains("\n"+r.out, "\n"+want+"\n") {
			t.Errorf("query %s: does not offer %q:\n%s", args, want, r)
		}
	}
	for _, args := range []string{"sentiment --where nonsense=", "sentiment --where call_type=zzz", "sentiment --warehouse nowhere --agent a"} {
		if r := complete(t, args); r.out != ":4\n" {
			t.Errorf("query %s: offers %s", args, r)
		}
	}
}

// firstAgent returns an agent with calls.
func firstAgent(t *testing.T) string {
	t.Helper()
	r := run(t, "", "sql", "--format", "csv", "SELECT agent_id FROM calls WHERE agent_id IS NOT NULL LIMIT 1")
	_, id, _ := strings.Cut(strings.TrimSpace(r.out), "\n")
	return id
}

// --json is --format json, and --top counts the other rows.
func TestShortForms(t *testing.T) {
	house(t)
	if long, short := run(t, "", "sentiment", "--format", "json"), run(t, "", "sentiment", "--json"); long.out != short.out || short.out == "" {
		t.Errorf("--json: %s, want %s", short, long)
	}
	if r := run(t, "", "sentiment", "--json", "--format", "csv"); r.code != 2 || !strings.Contains(r.stderr, "--json conflicts with --format csv") {
		t.Errorf("--json --format csv: %s", r)
	}
	all := run(t, "", "sentiment", "--format", "csv", "--sort", "calls:asc")
	lines := strings.SplitAfter(all.out, "\n")
	n := len(lines) - 2 // a heading, and nothing after the last line
	for top := 1; top <= n+1; top++ {
		r := run(t, "", "sentiment", "--format", "csv", "--sort", "calls:asc", "--top", strconv.Itoa(top))
		want := ""
		if left := n - top; left == 1 {
			want = "and 1 more row\n"
		} else if left > 1 {
			want = fmt.Sprintf("and %d more rows\n", left)
		}
		if r.out != strings.Join(lines[:min(top, n)+1], "") || !strings.HasPrefix(r.stderr, want) || want == "" && strings.Contains(r.stderr, "more row") {
			t.Errorf("--top %d: %s", top, r)
		}
	}
}
