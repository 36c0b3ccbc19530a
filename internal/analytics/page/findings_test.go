package page

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/longtest"
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
