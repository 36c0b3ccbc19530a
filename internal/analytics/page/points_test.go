package page

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/longtest"
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
	of, text := made(t, analyticstest.Data{Calls: calls}, Options{Now: instant(t, "2026-11-21T06:00:00Z"), Since: instant(t, "2026-11-19T00:00:00Z")})
	if m := regexp.MustCompile(`The period before begins on [^<]*`).FindString(text); !strings.HasSuffix(m,
		"but the first call was on Fri 2026-11-13: its numbers cover 1 of 2 days.") {
		t.Errorf("the page says %q of the days before the first call", m)
	}
	var got []string
	for _, x := range of.Points {
		got = append(got, x.Text+", "+x.Change.Word)
	}
	want := []string{"Completed −5.1 points, worse", "Completed (Friday) −5.1 points, worse", "Agent falls: completed −50.0 points, worse", "End reason: silence (timed out) +5.1 points, worse",
		"End reason: caller hung up −5.1 points, fewer"}
	test.Same(t, want, got, "points (-want +got)")
	if of.Sentence != "4 things need attention. First: Completed −5.1 points." {
		t.Error(of.Sentence)
	}
	if !longtest.On() {
		return
	}
	// A month is compared with the month before, as with --compare previous; a condition that only
	// one period can match allows no comparison.
	_, text = made(t, analyticstest.Data{Calls: calls}, Options{Now: instant(t, "2026-12-21T06:00:00Z"), Since: instant(t, "2026-11-01T00:00:00Z"),
		Until: instant(t, "2026-12-01T00:00:00Z"), Where: []string{"month=2026-11"}})
	if !strings.Contains(text, "Nothing needs attention.") {
		t.Error("the page of a month lacks it")
	}
}

// Fewer calls that end by a reason without a connection are an improvement.
func TestFewerUnansweredCallsAreBetter(t *testing.T) {
	longtest.Only(t)
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
		Options{Now: instant(t, "2026-11-21T06:00:00Z"), Since: instant(t, "2026-11-19T00:00:00Z")})
	if !strings.Contains(text, `<li class="good">End reason: no answer −35.0 points, better</li>`) {
		t.Error("the page does not say that fewer calls had no answer")
	}
	if !strings.Contains(text, " things improved. First: Connect rate") {
		t.Error("the first sentence does not say what improved")
	}
}

// A day that is unusual says so in its figures, too, not only in the first sentence: there it differs
// from the week before by chance only. An unusually good share needs no attention.
func TestUnusualDay(t *testing.T) {
	longtest.Only(t)
	var calls []row
	for day := range 63 { // the last is a Friday
		n, completed := 100, 50
		switch day {
		case 55, 62:
			n, completed = 30, 30
		}
		for i := range n {
			c := row{"call_id": fmt.Sprint(day, "-", i), "status": "ended", "disconnection_reason": "user_hangup", "user_turns": int64(1),
				"start_at":    instant(t, "2026-09-19T10:00:00Z").AddDate(0, 0, day).UnixMilli(),
				"duration_ms": int64(60_000), "transcript_state": "present"}
			if i >= completed {
				c["disconnection_reason"] = "inactivity"
			}
			calls = append(calls, c)
		}
	}
	of, _ := made(t, analyticstest.Data{Calls: calls}, Options{Now: instant(t, "2026-11-21T06:00:00Z")})
	got := []string{of.Sentence}
	for _, x := range of.Points[:min(len(of.Points), 2)] {
		got = append(got, x.Text+" ("+x.Change.Class+")")
	}
	for _, f := range of.Figures[:3] {
		got = append(got, f.Name+": "+f.Day.String()+" ("+f.Day.Change.Class+")")
	}
	want := []string{"One thing needs attention: calls 30, usually 100.", "calls 30, usually 100 (bad)", "completed of answered 100.0%, usually 50.0% (good)",
		"Calls: 30 → 30 (unchanged, unusual, usually 100) (bad)", "Connect rate: 100.0% → 100.0% (unchanged) (same)",
		"Completed: 100.0% → 100.0% (unchanged, unusual, usually 50.0%) (good)"}
	test.Same(t, want, got, "unusual day (-want +got)")
}

// The first sentence asks for attention only for what got worse.
func TestSentence(t *testing.T) {
	change := func(name, class string) point {
		return point{Text: name + " +9.0 points", Change: &change{Class: class}}
	}
	good, bad, neutral := change("A", "good"), change("B", "bad"), change("C", "same")
	for _, c := range []struct {
		lang, want string
		points     []point // the worse ones first
		lacks      bool
	}{
		{"en", "An ordinary Friday. Nothing needs attention.", nil, false},
		{"en", "An ordinary Friday, but some data is missing.", nil, true},
		{"en", "One thing improved: A +9.0 points.", []point{good, neutral}, true},
		{"en", "2 things improved. First: A +9.0 points.", []point{good, good}, false},
		{"en", "One thing needs attention: B +9.0 points.", []point{bad, good, neutral}, false},
		{"en", "2 things changed. First: C +9.0 points.", []point{neutral, neutral}, false},
		{"ko", "개선된 사항 2건. 먼저: A +9.0 points.", []point{good, good}, false},
	} {
		l, err := NewTexts(c.lang, "")
		test.OK(t, err)
		p := &page{source: source{l: l}, document: document{Points: c.points}, last: period{since: instant(t, "2026-11-20T00:00:00Z")}}
		if got := p.sentence(c.lacks); got != c.want {
			t.Errorf("%s: %q, want %q", c.lang, got, c.want)
		}
	}
}

// usesOf returns the page of the second of two weeks with a call a day.
func usesOf(t *testing.T, limits rights.Rights) *page {
	t.Helper()
	p := period{since: instant(t, "2026-11-13T00:00:00Z"), until: instant(t, "2026-11-20T00:00:00Z"), loc: time.UTC}
	var d analyticstest.Data
	for day := range 14 {
		at := p.since.AddDate(0, 0, day-7).Add(10 * time.Hour).UnixMilli()
		id := fmt.Sprint("c", day)
		c := row{"call_id": id, "agent_id": "a", "status": "ended", "disconnection_reason": "user_hangup", "user_turns": int64(2),
			"start_at": at, "duration_ms": int64(60_000), "transcript_state": "present", "user_sentiment": "negative", "total_cost": "1.5000"}
		if day%2 == 0 {
			c["summary"], c["recording_url"] = "The summary of "+id, "https://recordings.example/"+id
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
	d.Compacted = func(string) bool { return true }
	analyticstest.Write(t, root, 1, d)
	w, err := analytics.Open(t.Context(), root, analytics.Options{Options: database.Options{Threads: 1, Rights: limits}})
	test.OK(t, err)
	t.Cleanup(func() { w.Close() })
	return &page{source: source{w: w, l: english(t)}, period: p, o: Options{Since: p.since, Until: p.until}}
}

// The calls worth listening to have their summaries and last words.
func TestLastWords(t *testing.T) {
	longtest.Only(t)
	p := usesOf(t, rights.Rights{})
	a, err := p.ask(t.Context(), "worst", p.params(p.period, ""))
	test.OK(t, err)
	s, err := p.worst(t.Context(), a, p.period)
	test.OK(t, err)
	got := map[string]string{}
	for _, l := range s.Tables[0].Rows {
		got[l.Key] = fmt.Sprint(l.Summary, l.Said)
	}
	if !strings.HasSuffix(s.Lead, p.l.Say("worst.link")) {
		t.Errorf("the links to recordings are not mentioned: %s", s.Lead)
	}
	none := p.l.Say("worst.no_summary")
	want := map[string]string{
		"c9":  none + "[]",
		"c10": "The summary of c10[{Caller second of c10} {Agent third of c10}]",
		"c11": none + "[{Caller second of c11} {Agent third of c11}]",
		"c12": "The summary of c12[]",
		"c13": none + "[{Caller second of c13} {Agent third of c13}]",
	}
	test.Same(t, want, got, "(-want +got)")
	p = usesOf(t, rights.Rights{Tables: []string{"calls"}})
	if err := p.read(t.Context()); err != nil || p.Sections[0].ID == "worst" {
		t.Errorf("the page of a reader who may not see transcripts: %v", err)
	}
}

// Facts about the whole warehouse are under its name and not under a day, none is truncated, and a
// bound reads as a share.
func TestFactsOfTheWarehouse(t *testing.T) {
	longtest.Only(t)
	at := instant(t, "2026-11-20T10:00:00Z").UnixMilli()
	d := analyticstest.Data{
		Calls: []row{{"call_id": "c1", "status": "ended", "start_at": at, "duration_ms": int64(61_000)}},
		Runs: []row{{"run_id": "r1", "started_at": at, "calls_set_aside": int64(3), "total_count": int64(6860),
			"bulk_transcripts": int64(6857), "bulk_compared": int64(34), "bulk_differing": int64(0), "bulk_unverified": int64(6757),
			"redacted": `{"phone":1204,"card":31,"member":7,"unchecked":2}`}},
		Coverage: []schema.Span{{From: 0, To: instant(t, "2026-11-21T02:10:00Z").UnixMilli()}},
	}
	for i, lang := range []string{"en", "ko"} {
		heading := []string{"calls of the whole warehouse", "웨어하우스 전체 통화"}[i]
		l, err := NewTexts(lang, "")
		test.OK(t, err)
		_, text := made(t, d, Options{Now: instant(t, "2026-11-21T06:00:00Z"), Texts: l})
		if bad := regexp.MustCompile(`[^>]{0,20}(%!|NOVERB|579).{0,40}`).FindString(text); bad != "" {
			t.Errorf("%s: the page has %q", lang, bad)
		}
		section := text[strings.Index(text, `id="coverage"`):]
		at := strings.Index(section, heading)
		if at < 0 {
			t.Fatalf("%s: no board for the warehouse", lang)
		}
		for _, fact := range []string{"set aside by the last run", "counted by the service", "transcript fetched in bulk"} {
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
	}
}
