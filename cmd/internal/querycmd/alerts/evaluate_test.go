package alerts

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// firstNight is the first night; the company is older.
var firstNight = time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)

// day is how an agent's calls differ from normal on a day.
type day struct {
	calls               float64 // factor of their number
	completed, negative float64 // shares of the answered calls, and of the rated ones
	longer              float64 // factor of their duration
}

// company returns the calls of a number of days. Every agent has the same number of calls.
func company(r *rand.Rand, from time.Time, days, agents int, perDay float64, of func(day time.Time, agent int) day) (out []analyticstest.Row) {
	for d := range days {
		begin := from.AddDate(0, 0, d)
		for agent := range agents {
			is := day{1, .8, .2, 1}
			if of != nil {
				is = of(begin, agent)
			}
			for i := range poisson(r, perDay*is.calls) {
				at := begin.Add(time.Duration(r.Int64N(int64(24 * time.Hour))))
				row := analyticstest.Row{"call_id": fmt.Sprint(d, "-", agent, "-", i), "agent_id": fmt.Sprintf("agent-%d", agent), "call_type": "inbound",
					"status": "ended", "start_at": at.UnixMilli(), "user_turns": int64(3), "duration_ms": int64(30_000 + 60_000*is.longer*r.ExpFloat64()),
					"disconnection_reason": "inactivity", "user_sentiment": "neutral", "settlement": "settled"}
				if r.Float64() < is.completed {
					row["disconnection_reason"] = "user_hangup"
				}
				if r.Float64() < is.negative {
					row["user_sentiment"] = "negative"
				}
				out = append(out, row)
			}
		}
	}
	return out
}

func poisson(r *rand.Rand, mean float64) (n int) {
	for sum := r.ExpFloat64(); sum < mean; sum += r.ExpFloat64() {
		n++
	}
	return n
}

// house writes a warehouse in which all calls are listed.
func house(t testing.TB, calls []analyticstest.Row) string {
	t.Helper()
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: calls,
		Coverage: []schema.Span{{From: 0, To: firstNight.AddDate(1, 0, 0).UnixMilli()}}})
	return root
}

// rules writes a file of rules, with a channel named out.
func rules(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "alerts.toml")
	text = "[channels.out]\ntype = \"stdout\"\n" + text
	test.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// over returns the command for a warehouse, at a given time.
func over(root, rules string, at time.Time) (c *command, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	a := &answer.Command{Stdout: stdout, Stderr: stderr}
	a.Warehouse, a.Alerts, a.TZ = root, rules, "UTC"
	return &command{Command: a, now: func() time.Time { return at }}, stdout, stderr
}

// A window that is not listed yet is not evaluated, which is not a failure. A rule that cannot be
// evaluated is a failure, but does not stop other rules.
func TestNotJudged(t *testing.T) {
	root := t.TempDir()
	night := firstNight.Add(3 * time.Hour)
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: company(rand.New(rand.NewPCG(3, 3)), firstNight.AddDate(0, 0, -3), 3, 1, 30, nil),
		Coverage: []schema.Span{{From: firstNight.AddDate(0, 0, -3).UnixMilli(), To: night.AddDate(0, 0, -1).UnixMilli()},
			{From: night.AddDate(0, 0, -1).UnixMilli(), To: night.UnixMilli()}}})
	few := "[[rules]]\nname = \"any\"\nreport = \"durations\"\ncolumn = \"calls\"\nabove = 1\nto = [\"out\"]\n"
	weeks := strings.NewReplacer("any", "weeks", "above = 1", "above = 1\nwindow = \"7d\"").Replace(few)
	nobody := strings.NewReplacer("any", "nobody", "above = 1", "above = 1\nagent = \"nobody\"").Replace(few)
	c, stdout, stderr := over(root, rules(t, weeks+few), night)
	if err := c.run(t.Context()); err != nil || !strings.Contains(stderr.String(), "not judged: weeks: the calls from 2026-10-13 to 2026-10-20 are not all listed") ||
		!strings.HasPrefix(stdout.String(), "any: ") || strings.Count(stdout.String(), "any: ") != 1 {
		t.Errorf("%v\n%s\n%s", err, stdout, stderr)
	}
	c, _, stderr = over(root, rules(t, nobody+few), night)
	if err := c.run(t.Context()); cli.Code(err) != cli.ExitIncomplete || !strings.Contains(stderr.String(), `not evaluated: nobody: unknown agent "nobody"`) ||
		!strings.Contains(stderr.String(), "1 alert running") {
		t.Errorf("%v\n%s", err, stderr)
	}
}
