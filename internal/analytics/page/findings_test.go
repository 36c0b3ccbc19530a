package page

import (
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// The findings are the significant changes only, the clearest first: of many agents one got worse,
// and two only seem to.
func TestFindings(t *testing.T) {
	var calls []row
	add := func(agent string, day time.Time, n, completed int) {
		for i := range n {
			c := row{"call_id": fmt.Sprint(agent, day.Unix(), "-", i), "agent_id": agent, "status": "ended", "disconnection_reason": "user_hangup", "user_turns": int64(1),
				"start_at": day.UnixMilli(), "duration_ms": int64(60_000), "transcript_state": "present"}
			if i >= completed {
				c["disconnection_reason"] = "inactivity"
			}
			calls = append(calls, c)
		}
	}
	before, now := instant(t, "2026-11-13T10:00:00Z"), instant(t, "2026-11-20T10:00:00Z")
	add("falls", before, 100, 90)
	add("falls", now, 100, 40)
	for i := range 20 { // each alone is significant, but not among 21: TestQuantiles has the two shares
		drop := 0
		if i < 2 {
			drop = 12
		}
		add(fmt.Sprint("steady", i), before, 100, 90)
		add(fmt.Sprint("steady", i), now, 100, 90-drop)
	}
	add("new", now, 50, 10)
	_, text := made(t, analyticstest.Data{Calls: calls}, Options{Now: instant(t, "2026-11-21T06:00:00Z"), Since: instant(t, "2026-11-17T00:00:00Z")})
	if m := regexp.MustCompile(`The period before begins on [^<]*`).FindString(text); !strings.HasSuffix(m,
		"but the first call was on Fri 2026-11-13: its numbers cover 1 of 4 days.") {
		t.Errorf("the page says %q of the days before the first call", m)
	}
	_, found, _ := strings.Cut(text, `id="changes-h"`)
	found, _, _ = strings.Cut(found, "</section>")
	var got []string
	for _, m := range regexp.MustCompile(`(?s)<tr><th scope="row" align="left">(.*?)</th>.*?>([\d.]+%)</data>.*?>([\d.]+%)</data>.*?</span> (.*?)</span>`).FindAllStringSubmatch(found, -1) {
		got = append(got, html.UnescapeString(strings.Join(m[1:], " | ")))
	}
	want := []string{
		"Completed <small>of the answered calls</small> | 90.0% | 84.9% | −5.1 points, worse",
		"Agent falls: completed <small>of its answered calls</small> | 90.0% | 40.0% | −50.0 points, worse",
		"Ended by Silence (timed out) <small>of the calls</small> | 10.0% | 15.1% | +5.1 points, worse",
		"Ended by Caller hung up <small>of the calls</small> | 90.0% | 84.9% | −5.1 points, fewer",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("findings (-want +got):\n%s\n%s", d, found)
	}
	if !longtest.On() {
		return
	}
	// A month is compared with the month before, as with --compare previous; a condition that only
	// one period can match allows no comparison.
	_, text = made(t, analyticstest.Data{Calls: calls}, Options{Now: instant(t, "2026-12-21T06:00:00Z"), Since: instant(t, "2026-11-01T00:00:00Z"),
		Until: instant(t, "2026-12-01T00:00:00Z"), Where: []string{"month=2026-11"}})
	for _, want := range []string{"Nothing needs attention."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of a month lacks %q", want)
		}
	}
}

// Fewer calls that end by a reason without a connection are an improvement.
func TestFewerUnansweredCallsAreBetter(t *testing.T) {
	var calls []row
	for day, unanswered := range map[string]int{"2026-11-13T10:00:00Z": 40, "2026-11-20T10:00:00Z": 5} {
		for i := range 100 {
			c := row{"call_id": fmt.Sprint(day, i), "status": "ended", "disconnection_reason": "user_hangup", "user_turns": int64(1),
				"start_at": instant(t, day).UnixMilli(), "duration_ms": int64(60_000), "transcript_state": "present"}
			if i < unanswered {
				c["status"], c["disconnection_reason"] = "not_connected", "dial_no_answer"
			}
			calls = append(calls, c)
		}
	}
	_, text := made(t, analyticstest.Data{Calls: calls},
		Options{Now: instant(t, "2026-11-21T06:00:00Z"), Since: instant(t, "2026-11-17T00:00:00Z")})
	_, found, _ := strings.Cut(text, "Ended by No answer")
	if found, _, _ = strings.Cut(found, "</tr>"); !strings.Contains(found, "−35.0 points, better") {
		t.Errorf("the page says %q", found)
	}
	if !strings.Contains(text, " things improved. First: Connect rate") {
		t.Error("the first sentence does not say what improved")
	}
}

// The first sentence asks for attention only for what got worse.
func TestSentence(t *testing.T) {
	change := func(name, class string) finding {
		return finding{Name: name, Change: &change{By: "+9.0 points", Class: class}}
	}
	good, bad, neutral := change("A", "good"), change("B", "bad"), change("C", "same")
	for _, c := range []struct {
		lang, want string
		found      []finding
		warnings   []string
		notes      int
	}{
		{"en", "An ordinary Friday. Nothing needs attention.", nil, nil, 0},
		{"en", "An ordinary Friday, but some data is missing.", nil, []string{"gap"}, 0},
		{"en", "An ordinary Friday. Nothing needs attention.", nil, []string{"fewer weekend days before"}, 1},
		{"en", "One thing improved: A +9.0 points.", []finding{good}, []string{"gap"}, 0},
		{"en", "2 things improved. First: A +9.0 points.", []finding{good, good}, nil, 0},
		{"en", "One thing needs attention: B +9.0 points.", []finding{good, bad}, nil, 0},
		{"en", "One thing needs attention: B +9.0 points.", []finding{good, neutral, bad}, nil, 0},
		{"en", "2 things need attention. First: B +9.0 points.", []finding{good, bad, change("D", "bad")}, nil, 0},
		{"en", "One thing improved: A +9.0 points.", []finding{neutral, good}, nil, 0},
		{"en", "2 things changed. First: C +9.0 points.", []finding{neutral, neutral}, nil, 0},
		{"ko", "개선된 사항 2건. 먼저: A +9.0 points.", []finding{good, good}, nil, 0},
	} {
		l, err := newLang(c.lang, "")
		test.OK(t, err)
		composer := &composer{reader: reader{l: l}, d: &document{Findings: &findings{Rows: c.found}, Off: &table{}, Warnings: c.warnings}, notes: c.notes,
			last: period{since: instant(t, "2026-11-20T00:00:00Z"), until: instant(t, "2026-11-21T00:00:00Z"), loc: time.UTC}}
		if got := composer.sentence(); got != c.want {
			t.Errorf("%s: %q, want %q", c.lang, got, c.want)
		}
	}
}

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
	test.Same(t, shown(want), shown(got), "(-report +comparison)")
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
	if want != 8 {
		t.Errorf("%d questions are asked ahead, want 8", want)
	}
	for _, b := range []board{ended, reasons, tools, versions} {
		_, err := r.board(t.Context(), b, p)
		test.OK(t, err)
	}
	_, err := heat(t.Context(), r, p)
	test.OK(t, err)
	_, err = r.ask(t.Context(), latency.report, p, "day")
	test.OK(t, err)
	_, err = r.findings(t.Context(), p, nil, &beside{before: &span{period: p.back(7)}})
	test.OK(t, err)
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
	test.Same(t, want, got, "(-want +got)")
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

// Facts about the whole warehouse are under its name and not under a day, none is truncated, and a
// bound reads as a share.
func TestFactsOfTheWarehouse(t *testing.T) {
	at := instant(t, "2026-11-20T10:00:00Z").UnixMilli()
	d := analyticstest.Data{
		Calls: []row{{"call_id": "c1", "status": "ended", "start_at": at, "duration_ms": int64(61_000)}},
		Runs: []row{{"run_id": "r1", "started_at": at, "calls_set_aside": int64(3), "total_count": int64(6860),
			"bulk_transcripts": int64(6857), "bulk_compared": int64(34), "bulk_differing": int64(0), "bulk_unverified": int64(6757),
			"redacted": `{"phone":1204,"card":31,"member":7,"unchecked":2}`}},
		Coverage: []schema.Span{{From: 0, To: instant(t, "2026-11-21T02:10:00Z").UnixMilli()}},
	}
	tried := longtest.Each(2)
	for i, lang := range []string{"en", "ko"} {
		if !tried(i) {
			continue
		}
		heading := []string{"calls of the whole warehouse", "웨어하우스 전체 통화"}[i]
		_, text := made(t, d, Options{Now: instant(t, "2026-11-21T06:00:00Z"), Lang: lang})
		if bad := regexp.MustCompile(`[^>]{0,20}(%!|NOVERB|579).{0,40}`).FindString(text); bad != "" {
			t.Errorf("%s: the page has %q", lang, bad)
		}
		section := text[strings.Index(text, `id="coverage"`):]
		at := strings.Index(section, heading)
		if at < 0 {
			t.Fatalf("%s: no board for the warehouse", lang)
		}
		l, err := newLang(lang, "")
		test.OK(t, err)
		for _, fact := range []string{"set aside by the last run", "counted by the service", "transcript from a page of v2", "page of v2 compared with v3",
			"transcript of v2 that differed", "transcript of v2 that may differ, at most"} {
			name := html.EscapeString(l.Say("fact." + fact))
			if strings.Contains(section[:at], name) || !strings.Contains(section[at:], name) {
				t.Errorf("%s: %q does not stand under %q", lang, name, heading)
			}
		}
		for _, redacted := range [][]string{{"personal data redacted by the last run: phone numbers", "마지막 실행에서 가린 개인정보: 전화번호", "1,204"},
			{"redacted by the last run: payment cards", "가린 개인정보: 카드번호", "31"}, {"redacted by the last run: member", "가린 개인정보: member", "7"},
			{"redacted by the last run: not checked", "가린 개인정보: 확인하지 못한 기록", "2"}} {
			if _, row, ok := strings.Cut(section[at:], redacted[i]); !ok || !strings.Contains(row[:strings.Index(row, "</tr>")], ">"+redacted[2]+"<") {
				t.Errorf("%s: %q is not shown", lang, redacted[i])
			}
		}
		if !strings.Contains(section[at:], "8.4%") {
			t.Errorf("%s: no bound of 1 - 0.05^(1/34) = 8.4 %%", lang)
		}
	}
}

// walking returns calls of two agents, one of which has a graph: calls move backwards in it, and
// end anywhere.
func walking(t *testing.T) analyticstest.Data {
	now := instant(t, "2026-11-20T06:00:00Z")
	d := analyticstest.Data{Coverage: []schema.Span{{From: 0, To: now.UnixMilli()}}, Others: map[*schema.Table][]row{resource.Agents.Table: {
		{"agent_id": "a1", "flow": `{"nodes":[{"id":"greet","data":{"name":"Greet <them>"}},{"id":"ask"}]}`}, {"agent_id": "a2"}}}}
	for i := range 12 {
		c := row{"call_id": fmt.Sprint("c", i), "agent_id": []string{"a1", "a1", "a2"}[i%3], "call_type": "inbound", "status": "ended", "disconnection_reason": "user_hangup", "user_turns": int64(1),
			"settlement": "settled", "duration_ms": int64(60_000), "transcript_state": "present", "start_at": now.Add(-time.Duration(7+i) * time.Hour).UnixMilli()}
		d.Calls = append(d.Calls, c)
		for n, node := range []string{"greet", "ask", "greet", "ask"}[:i%5] {
			if c["agent_id"] == "a1" {
				d.Turns = append(d.Turns, row{"call_id": c["call_id"], "turn": int64(n), "role": "tool_call_invocation", "tool_name": "transition_to_node", "arguments": fmt.Sprintf(`{"node":%q}`, node), "call_start_at": c["start_at"]})
			}
		}
	}
	return d
}

// The section of an agent with a graph draws its paths, and has every row of the report behind
// them; other agents have no such section.
func TestPaths(t *testing.T) {
	root := t.TempDir()
	analyticstest.Write(t, root, 1, walking(t))
	w, err := analytics.Open(t.Context(), root, analytics.Options{Options: opened.Options{Threads: 1}})
	test.OK(t, err)
	defer w.Close()
	p := period{since: instant(t, "2026-11-19T00:00:00Z"), until: instant(t, "2026-11-20T00:00:00Z"), loc: time.UTC}
	part := func(agent string) *section {
		s, err := reader{w: w, l: english(t), agent: agent, known: new(sync.Map)}.flows(t.Context(), p)
		test.OK(t, err)
		return s
	}
	s := part("a1")
	rows, err := w.Ask(t.Context(), analytics.Question{Report: "flows", Params: question.Params{Agent: "a1"}})
	test.OK(t, err)
	defer rows.Close()
	lines := s.Details[0].Rows
	for n, l := range lines {
		row, err := rows.Next(t.Context())
		test.OK(t, err)
		if l.Name != row[1] {
			t.Errorf("line %d is from %s, not %v", n, l.Name, row[1])
		}
		for i, at := range []int{2, 3, 4, 5, 8, 9, 10, 11} { // to, calls, passes, share, completed, transferred, lost, hung up
			if l.Cells[i].Exact != fmt.Sprint(row[at]) {
				t.Errorf("line %d has %s for %v", n, l.Cells[i].Exact, row[at])
			}
		}
	}
	if _, err := rows.Next(t.Context()); !errors.Is(err, io.EOF) || len(lines) < 5 || len(s.Charts) != 3 || !strings.HasPrefix(s.Lead, "8 calls passed through") ||
		!strings.Contains(string(s.Charts[0]), "<title>Greet &lt;them&gt; → ask: 6</title>") {
		t.Errorf("%v, %d rows of the report, %s %v", err, len(lines), s.Lead, s.Charts)
	}
	for _, agent := range []string{"", "a2"} {
		if part(agent) != nil {
			t.Errorf("the page of agent %q has paths", agent)
		}
	}
}
