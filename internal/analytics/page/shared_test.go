package page

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/test"
)

// usesOf returns a warehouse of a call a day for two weeks, which use some tools in both weeks and
// some in one of them, and a reader of it.
func usesOf(t *testing.T, limits rights.Rights) (reader, period) {
	t.Helper()
	p := period{since: instant(t, "2026-11-13T00:00:00Z"), until: instant(t, "2026-11-20T00:00:00Z"), loc: time.UTC}
	var d analyticstest.Data
	for day := range 14 {
		at := p.back(7).since.AddDate(0, 0, day).Add(10 * time.Hour).UnixMilli()
		id := fmt.Sprint("c", day)
		c := row{"call_id": id, "agent_id": "a", "status": "ended", "disconnection_reason": "user_hangup", "user_turns": int64(2),
			"start_at": at, "duration_ms": int64(60_000), "transcript_state": "present", "user_sentiment": "negative", "total_cost": "1.5000"}
		if day%2 == 0 {
			c["summary"] = "The summary of " + id
		}
		d.Calls = append(d.Calls, c)
		add := func(role, name, content string) {
			d.Turns = append(d.Turns, row{"call_id": id, "turn": int64(len(d.Turns)), "role": role, "content": content, "tool_name": name,
				"tool_call_id": name, "call_start_at": at})
		}
		for n, name := range map[bool][]string{true: {"both", "earlier"}, false: {"both", "later", "later2"}}[day < 7] {
			add("tool_call_invocation", name, "")
			if n != 1 {
				add("tool_call_result", name, `{"error":"no"}`)
			}
		}
		if day%3 > 0 {
			add("agent", "", "first of "+id)
			add("user", "", "second of "+id)
			add("user", "", "")
			add("agent", "", "third of "+id)
		}
	}
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	w, err := analytics.Open(t.Context(), root, analytics.Options{Options: opened.Options{Threads: 1, Rights: limits}})
	test.OK(t, err)
	t.Cleanup(func() { w.Close() })
	return reader{w: w, l: english(t), known: new(sync.Map)}, p
}

// A comparison that is known answers the question about its later period: the same rows in the same
// order, with the same command, as the report itself.
func TestComparisonHasItsPeriod(t *testing.T) {
	r, p := usesOf(t, rights.Rights{})
	want, err := r.ask(t.Context(), "tools", p, "")
	test.OK(t, err)
	both, err := r.compare(t.Context(), "tools", p)
	test.OK(t, err)
	got := r.part("tools", p, want.params)
	if got == nil {
		t.Fatal("the comparison does not answer for its period")
	}
	if len(both.rows) != 4 || len(want.rows) != 3 || got.Command != want.Command || got.period != p {
		t.Errorf("%d rows, %d of the period; %v and %v; %v", len(both.rows), len(want.rows), got.Command, want.Command, got.period)
	}
	shown := func(a *asked) (out [][]string) {
		for i, row := range a.rows {
			var texts []string
			for _, c := range used["tools"] {
				texts = append(texts, a.text(row[a.index(c)]), a.id(i, c))
			}
			out = append(out, texts)
		}
		return out
	}
	if d := cmp.Diff(shown(want), shown(got)); d != "" {
		t.Errorf("(-report +comparison):\n%s", d)
	}
	if r.part("tools", p.back(7), want.params) != nil {
		t.Error("the comparison answers for another period")
	}
}

// What is asked ahead answers the sections: they put no further question to the warehouse.
func TestSectionsAreAskedAhead(t *testing.T) {
	r, p := usesOf(t, rights.Rights{})
	c := &composer{reader: r, p: p, before: p.back(7)}
	questions := func() (n int) {
		r.known.Range(func(_, v any) bool {
			if _, isQuestion := v.(func() (*asked, error)); isQuestion {
				n++
			}
			return true
		})
		return n
	}
	c.asks(t.Context())
	want := questions()
	if want != 9 {
		t.Errorf("%d questions are asked ahead, want 9", want)
	}
	for _, b := range []board{ended, reasons, tools, versions} {
		if _, err := r.board(t.Context(), b, p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := heat(t.Context(), r, p); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ask(t.Context(), latency.report, p, "day"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.findings(t.Context(), p, nil, &beside{before: &span{period: p.back(7)}}); err != nil {
		t.Fatal(err)
	}
	if got := questions(); got != want {
		t.Errorf("the sections ask %d more questions", got-want)
	}
}

// The calls worth listening to have their summaries and last words.
func TestLastWords(t *testing.T) {
	r, p := usesOf(t, rights.Rights{})
	s, err := r.listen(t.Context(), p)
	test.OK(t, err)
	got := map[string]string{}
	for _, l := range s.Boards[0].Rows {
		got[l.Key] = fmt.Sprint(l.Summary, l.Said)
	}
	none := r.l.Say("worst.no_summary")
	want := map[string]string{
		"c9":  none + "[]",
		"c10": "The summary of c10[{Caller second of c10} {Agent third of c10}]",
		"c11": none + "[{Caller second of c11} {Agent third of c11}]",
		"c12": "The summary of c12[]",
		"c13": none + "[{Caller second of c13} {Agent third of c13}]",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	r, p = usesOf(t, rights.Rights{Tables: []string{"calls"}})
	if _, err := r.w.Said(t.Context(), map[string]time.Time{"c13": p.since}); !analytics.Denied(err) {
		t.Errorf("what was said is not denied: %v", err)
	}
}

// The link to the calls of a row is the same each time.
func TestLinkOfSeveralConditions(t *testing.T) {
	a := &asked{address: func(_ string, p question.Params) string { return fmt.Sprint(p.Where) }}
	where := map[string]string{"campaign": "spring", "direction": "inbound", "outcome": "completed", "status": "ended"}
	for range 20 {
		if got, want := a.calls(where), "[campaign=spring direction=inbound outcome=completed status=ended]"; got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}
