package alerts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
)

// firstNight is the first of the nights; the company is older.
var firstNight = time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)

// day is what is wrong with the calls of an agent on a day.
type day struct {
	calls               float64 // times as many
	completed, negative float64 // share of the answered calls, and of the rated ones
	longer              float64 // times as long
}

// company returns the calls of some days. Every agent has the same number of calls.
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

// receiver records what webhooks send.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	heads  []http.Header
	status func(n int) int // of the n-th request; nil: 200
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies, r.heads = append(r.bodies, body), append(r.heads, req.Header.Clone())
	if r.status != nil {
		w.WriteHeader(r.status(len(r.bodies)))
	}
}

// told returns the messages as "event rule".
func (r *receiver) told(t *testing.T) (out []string) {
	t.Helper()
	for _, body := range r.bodies {
		var m struct{ Event, Rule string }
		if err := json.Unmarshal(body, &m); err != nil {
			t.Fatal(err)
		}
		out = append(out, m.Event+" "+m.Rule)
	}
	return out
}

// house writes a warehouse with calls, which are all listed.
func house(t testing.TB, calls []analyticstest.Row) string {
	t.Helper()
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: calls, Compacted: func(string) bool { return true },
		Coverage: []schema.Span{{From: 0, To: firstNight.AddDate(1, 0, 0).UnixMilli()}}})
	return root
}

// rules writes a file of rules, with a webhook called hook.
func rules(t testing.TB, hook, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "alerts.toml")
	text = "[channels.hook]\ntype = \"webhook\"\nurl = \"" + hook + "\"\n" + text
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// over returns the command over a warehouse, as of a time.
func over(root, rules string, at time.Time, vars map[string]string) (c *command, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	a := &answer.Command{Config: config.Config{Env: config.Environment{Vars: vars}}, Stdout: stdout, Stderr: stderr}
	a.Warehouse, a.Alerts, a.TZ = root, rules, "UTC"
	return &command{Command: a, now: func() time.Time { return at }}, stdout, stderr
}

const nightly = `
[[rules]]
name = "completed low"
report = "agents"
by = ["agent"]
column = "completed_percent"
below = 65
to = ["hook"]

[[rules]]
name = "silent more often"
report = "early"
by = ["agent"]
column = "silent_percent"
changed = "up"
window = "3d"
to = ["hook"]

[[rules]]
name = "few calls"
report = "durations"
column = "calls"
below = 100
to = ["hook"]

[[rules]]
name = "calls unusual"
column = "calls"
unusual = "down"
to = ["hook"]

[[rules]]
name = "negative"
report = "sentiment"
row = {user_sentiment = "negative"}
column = "rated_percent"
above = 30
to = ["hook"]

[[rules]]
name = "longer"
report = "durations"
column = "handle_ms"
window = "7d"
above = 120000
to = ["hook"]
`

// Over thirty nights with three incidents, each rule that one concerns starts an alert once and ends
// it once, and the others start none. The quick test is of the first incident and two rules.
func TestThirtyNights(t *testing.T) {
	nights, past, text := 30, 70, nightly
	if !longtest.On() {
		nights, past, text = 10, 10, nightly[:strings.Index(nightly, "[[rules]]\nname = \"few calls\"")]
	}
	root := house(t, company(rand.New(rand.NewPCG(7, 7)), firstNight.AddDate(0, 0, -past), past+nights, 3, 100, func(at time.Time, agent int) day {
		is := day{1, .8, .2, 1}
		switch night := int(at.Sub(firstNight) / (24 * time.Hour)); {
		case agent == 1 && night >= 4 && night < 8:
			is.completed = .4
		case night >= 13 && night < 15:
			is.calls = .2
		case night >= 20 && night < 24:
			is.negative = .45
		}
		return is
	}))
	hook := newReceiver(t)
	path := rules(t, hook.URL, text)
	for night := range nights {
		c, _, stderr := over(root, path, firstNight.AddDate(0, 0, night).Add(3*time.Hour), nil)
		if err := c.run(t.Context()); err != nil {
			t.Fatalf("night %d: %v\n%s", night, err, stderr)
		}
	}
	want := []string{"started completed low", "ended completed low", "started few calls", "started calls unusual", "ended few calls",
		"ended calls unusual", "started negative", "ended negative"}
	if !longtest.On() {
		want = want[:2]
	}
	if got := hook.told(t); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("told:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		for _, b := range hook.bodies {
			t.Logf("%s", b)
		}
	}
	var first struct {
		Items []struct{ Group, Command string }
	}
	if err := json.Unmarshal(hook.bodies[0], &first); err != nil || len(first.Items) != 1 || first.Items[0].Group != "agent agent-1" ||
		first.Items[0].Command != "query calls --since 2026-10-24 --until 2026-10-25 --tz UTC --agent agent-1" {
		t.Errorf("the first message: %v\n%s", err, hook.bodies[0])
	}
}

// A window that is not listed is not judged, which is no failure; a rule that cannot be evaluated is
// one, and stops no other.
func TestNotJudged(t *testing.T) {
	root := t.TempDir()
	night := firstNight.Add(3 * time.Hour)
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: company(rand.New(rand.NewPCG(3, 3)), firstNight.AddDate(0, 0, -3), 3, 1, 30, nil),
		Coverage: []schema.Span{{From: firstNight.AddDate(0, 0, -3).UnixMilli(), To: night.UnixMilli()}}})
	hook := newReceiver(t)
	few := "[[rules]]\nname = \"any\"\nreport = \"durations\"\ncolumn = \"calls\"\nabove = 1\nto = [\"hook\"]\n"
	weeks := strings.NewReplacer("any", "weeks", "above = 1", "above = 1\nwindow = \"7d\"").Replace(few)
	nobody := strings.NewReplacer("any", "nobody", "above = 1", "above = 1\nagent = \"nobody\"").Replace(few)
	c, _, stderr := over(root, rules(t, hook.URL, weeks+few), night, nil)
	if err := c.run(t.Context()); err != nil || !strings.Contains(stderr.String(), "not judged: weeks: the calls from 2026-10-13 to 2026-10-20 are not all listed") ||
		len(hook.bodies) != 1 {
		t.Errorf("%v, %d messages\n%s", err, len(hook.bodies), stderr)
	}
	c, _, stderr = over(root, rules(t, hook.URL, nobody+few), night, nil)
	if err := c.run(t.Context()); cli.Code(err) != cli.ExitIncomplete || !strings.Contains(stderr.String(), `not evaluated: nobody: unknown agent "nobody"`) ||
		!strings.Contains(stderr.String(), "1 alert running") {
		t.Errorf("%v\n%s", err, stderr)
	}
}
