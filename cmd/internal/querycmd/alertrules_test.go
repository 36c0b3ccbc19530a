package querycmd

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/alert"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/words"
)

// Errors in rules name the rule, and how to fix it.
func TestWrongRules(t *testing.T) {
	const rule = "[channels.a]\ntype = \"stdout\"\n[[rules]]\nname = \"r\"\nto = [\"a\"]\n"
	const durations = rule + "report = \"durations\"\ncolumn = \"calls\"\n"
	for text, want := range map[string]string{
		"[[rules]\n":                         ":1: ",
		"titel = 1\n":                        `:1: unknown key "titel"`,
		rule + "abvoe = 1\n":                 `unknown key "rules.abvoe"`,
		"[[rules]]\nto = [\"a\"]\n":          "rule 1 has no name",
		durations:                            "needs one condition, and has 0",
		durations + "above = 1\nbelow = 2\n": "needs one condition, and has 2",
		durations + "above = 1\n[[rules]]\nname = \"r\"\nto = [\"a\"]\n":                              "the name is repeated",
		strings.Replace(durations, `"a"]`, `"b"]`, 1) + "above = 1\n":                                 `unknown channel "b"`,
		strings.Replace(durations, `to = ["a"]`, "", 1) + "above = 1\n":                               "it has no channel",
		durations + "above = \"1\"\n":                                                                 ":8: the value of rules.above has the wrong type",
		strings.Replace(durations, `["a"]`, `"a"`, 1) + "above = 1\n":                                 ":5: the value of rules.to has the wrong type",
		strings.Replace(durations, `"a"]`, `"aa"]`, 1) + "above = 1\n":                                "did you mean: a? add [channels.aa]",
		durations + "above = 1\nwindow = \"week\"\n":                                                  `"week" is not a duration`,
		durations + "above = 1\nwindow = \"1m\"\n":                                                    "window must be 5m or more",
		durations + "changed = \"up\"\n":                                                              "calls has none",
		durations + "changed = \"sideways\"\n":                                                        `unknown direction changed = "sideways"`,
		rule + "report = \"duration\"\ncolumn = \"calls\"\nabove = 1\n":                               "did you mean: durations?",
		rule + "report = \"durations\"\ncolumn = \"cals\"\nabove = 1\n":                               "did you mean: calls?",
		rule + "report = \"calls\"\ncolumn = \"duration_ms\"\nabove = 1\n":                            "no figures to compare",
		durations + "above = 1\nby = [\"day\"]\n":                                                     "a day, week or month lies in one period only",
		durations + "above = 1\nby = [\"agnet\"]\n":                                                   `unknown dimension "agnet"`,
		durations + "above = 1\nwhere = [\"call_type\"]\n":                                            "has no value",
		durations + "above = 1\nrow = {outcome = \"failed\"}\n":                                       `unknown column of the rows of durations "outcome"`,
		durations + "above = 1\nby = [\"number\"]\n":                                                  "number may be personal data",
		durations + "above = 1\nwhere = [\"metadata.customer=x\"]\n":                                  "metadata.customer may be personal data",
		"page = \"calls.example.com\"\n":                                                              "page is not an address",
		rule + "report = \"costs\"\ncolumn = \"per_success\"\nabove = 1\n":                            `unknown number of the report costs "per_success"`,
		rule + "report = \"costs\"\ncolumn = \"per_success\"\nfield = \"resolved=true\"\nabove = 1\n": "",
		durations + "above = 1\nby = [\"number\"]\npersonal = true\n":                                 "",
	} {
		path := filepath.Join(t.TempDir(), "alerts.toml")
		test.OK(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := readRules(path)
		if want == "" {
			if err != nil {
				t.Errorf("%s\n%v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error()+"\n"+cli.Hint(err), want) || cli.Code(err) != cli.ExitUsage || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s\n%v\n%s\nwant: %s", text, err, cli.Hint(err), want)
		}
	}
}

// Secrets come from files that only their owner can read.
func TestChannels(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		test.OK(t, errors.Join(os.WriteFile(filepath.Join(dir, name), []byte(text), mode), os.Chmod(filepath.Join(dir, name), mode)))
	}
	write("slack", "https://hooks.example.com/services/T0/B0/verysecret\n", 0o600)
	write("open", "https://hooks.example.com/services/T0/B0/verysecret\n", 0o644)
	for text, want := range map[string]string{
		"type = \"slack\"\nurl_file = \"slack\"":                                    "",
		"type = \"webhook\"\nurl = \"https://example.com\"":                         "",
		"type = \"slack\"\nurl = \"https://hooks.example.com/services/verysecret\"": "its address is a secret",
		"type = \"slack\"\nurl_file = \"none\"":                                     "does not exist",
		"type = \"slack\"\nurl_file = \"open\"":                                     "can be read by others",
		"type = \"slack\"":                                                          "not a URL",
		"type = \"pager\"":                                                          `unknown type "pager"`,
		"type = \"mail\"\nserver = \"smtp.example.com\"\nfrom = \"a@example.com\"":  "no recipients",
		"type = \"mail\"\nserver = \"smtp.example.com\"\nfrom = \"a@example.com\"\nto = [\"b@example.com\"]": "",
	} {
		write("alerts.toml", "[channels.a]\n"+text+"\n[[rules]]\nname = \"r\"\nreport = \"durations\"\ncolumn = \"calls\"\nabove = 1\nto = [\"a\"]\n", 0o600)
		f, err := readRules(filepath.Join(dir, "alerts.toml"))
		if err == nil {
			_, err = f.channels(config.Environment{}, stdoutChannel{}, words.NewSecrets())
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "verysecret")) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
	}
}

var everyNight = longtest.Int("every-night", 30, 1, "which nights are evaluated")

// The examples can be evaluated, are quiet on thirty normal nights with a release that changes nothing, and
// find a bad day of a carrier, and a bad release, the night after.
func TestExamplesFindBadDays(t *testing.T) {
	longtest.Only(t) // thirty nights for each rule
	const badDay = 30
	r, found := rand.New(rand.NewPCG(7, 7)), map[string]int{}
	calls := simulated(r, firstNight.AddDate(0, 0, -16), 16+badDay+8, 3, 60, func(at time.Time, agent int) day {
		is := day{1, .8, .1, 1}
		if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
			is.calls = .3
		}
		if agent == 0 && at.Equal(firstNight.AddDate(0, 0, badDay)) {
			is.completed = .3
		}
		return is
	})
	for _, c := range calls {
		night := int(time.UnixMilli(c["start_at"].(int64)).Sub(firstNight).Hours() / 24)
		if c["agent_version"] = "1"; night >= 0 {
			c["agent_version"] = fmt.Sprint(2 + night/badDay)
		}
		if c["disconnection_reason"] == "inactivity" {
			c["disconnection_reason"] = "call_transfer"
		}
		if r.Float64() < map[bool]float64{false: .02, true: .3}[night == badDay] {
			c["disconnection_reason"], c["status"], c["user_sentiment"], c["user_turns"] = "dial_failed", "not_connected", nil, nil
		}
	}
	nights(t, warehouse(t, calls), "../../../deploy/alerts.toml", badDay%*everyNight+1, badDay+1, *everyNight, false, func(r *alertRule, night int, m *alert.Message) {
		if found[r.Name] = night; night <= badDay {
			t.Errorf("night %d: %s: %+v", night, r.Name, m.Items)
		}
	})
	for _, name := range []string{"fewer calls connect", "more calls cannot be dialled", "a version completes fewer calls", "fewer calls completed than a week ago"} {
		if found[name] != badDay+1 {
			t.Errorf("%s: found in night %d, want %d; found: %v", name, found[name], badDay+1, found)
		}
	}
}

// nights evaluates the rules of a file in some nights, after the first one, and reports messages; alone is
// as if each group had its own rule.
func nights(t *testing.T, root, path string, from, to, step int, alone bool, report func(*alertRule, int, *alert.Message)) *alertFile {
	t.Helper()
	c, _, _ := alertsOver(root, path, time.Time{})
	f, err := fileOf(c.Command)
	test.OK(t, err)
	w, err := c.Open(t.Context())
	test.OK(t, err)
	defer func() { test.OK(t, w.Close()) }()
	e := newEvaluator(w, "")
	if alone {
		e.strict.Changes = 1
	}
	for _, r := range f.Rules {
		s, p := alert.State{Rules: map[string]*alert.Rule{}}, f.policy(r, "")
		for night := from; night <= to; night += step {
			at := firstNight.AddDate(0, 0, night)
			readings, err := e.readings(t.Context(), r, at)
			test.OK(t, err)
			for _, m := range s.Advance(p, readings, at, at) {
				report(r, night, m)
			}
		}
	}
	return f
}

// firstNight is the first night; the company is older.
var firstNight = time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)

// day is how an agent's calls differ from normal on a day.
type day struct {
	calls               float64 // factor of their number
	completed, negative float64 // shares of the answered calls, and of the rated ones
	longer              float64 // factor of their duration
}

// simulated returns the calls of a number of days. Every agent has the same number of calls.
func simulated(r *rand.Rand, from time.Time, days, agents int, perDay float64, of func(day time.Time, agent int) day) (out []analyticstest.Row) {
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

// warehouse writes a warehouse in which all calls are listed, with two releases of the first agent.
func warehouse(t testing.TB, calls []analyticstest.Row) string {
	t.Helper()
	root := t.TempDir()
	var versions []analyticstest.Row
	for i, days := range []int{-300, 0, 30} {
		versions = append(versions, analyticstest.Row{"agent_id": "agent-0", "version": fmt.Sprint(i + 1), "created_at": firstNight.AddDate(0, 0, days).UnixMilli()})
	}
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: calls, Others: map[*schema.Table][]analyticstest.Row{resource.AgentVersions.Table: versions},
		Coverage: []schema.Span{{From: 0, To: firstNight.AddDate(1, 0, 0).UnixMilli()}}, Compacted: func(string) bool { return true }})
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

// alertsOver returns the command for a warehouse, at a given time.
func alertsOver(root, rules string, at time.Time) (c *alerting, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	a := &answer.Command{Stdout: stdout, Stderr: stderr}
	a.Warehouse, a.Alerts, a.TZ = root, rules, "UTC"
	return &alerting{Command: a, now: func() time.Time { return at }}, stdout, stderr
}

// A window that is not listed yet is not evaluated, which is not a failure. A rule that cannot be
// evaluated is a failure, but does not stop other rules.
func TestNotJudged(t *testing.T) {
	longtest.Only(t)
	root := t.TempDir()
	night := firstNight.Add(3 * time.Hour)
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: simulated(rand.New(rand.NewPCG(3, 3)), firstNight.AddDate(0, 0, -3), 3, 1, 30, nil),
		Coverage: []schema.Span{{From: firstNight.AddDate(0, 0, -3).UnixMilli(), To: night.AddDate(0, 0, -1).UnixMilli()},
			{From: night.AddDate(0, 0, -1).UnixMilli(), To: night.UnixMilli()}}})
	few := "[[rules]]\nname = \"any\"\nreport = \"durations\"\ncolumn = \"calls\"\nabove = 1\nto = [\"out\"]\n"
	weeks := strings.NewReplacer("any", "weeks", "above = 1", "above = 1\nwindow = \"7d\"").Replace(few)
	nobody := strings.NewReplacer("any", "nobody", "above = 1", "above = 1\nagent = \"nobody\"").Replace(few)
	c, stdout, stderr := alertsOver(root, rules(t, weeks+few), night)
	if err := c.run(t.Context()); err != nil || !strings.Contains(stderr.String(), "not judged: weeks: the calls from 2026-10-13 to 2026-10-20 are not all listed") ||
		!strings.HasPrefix(stdout.String(), "any: ") || strings.Count(stdout.String(), "any: ") != 1 {
		t.Errorf("%v\n%s\n%s", err, stdout, stderr)
	}
	c, _, stderr = alertsOver(root, rules(t, nobody+few), night)
	if err := c.run(t.Context()); cli.Code(err) != cli.ExitIncomplete || !strings.Contains(stderr.String(), `not evaluated: nobody: unknown agent "nobody"`) ||
		!strings.Contains(stderr.String(), "1 alert running") {
		t.Errorf("%v\n%s", err, stderr)
	}
}
