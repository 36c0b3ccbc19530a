package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// english returns the page's texts in English.
func english(t testing.TB) *Texts {
	t.Helper()
	l, err := NewTexts("en", "")
	test.OK(t, err)
	return l
}

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the tests use little memory
	goleak.VerifyTestMain(m)
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	test.OK(t, err)
	return loc
}

// instant returns a time; zero for none.
func instant(t testing.TB, s string) time.Time {
	t.Helper()
	if s == "" {
		return time.Time{}
	}
	v, err := time.Parse(time.RFC3339, s)
	test.OK(t, err)
	return v
}

// The period of a page: whole days that are over and listed.
func TestPeriod(t *testing.T) {
	now := instant(t, "2026-11-21T20:30:00Z") // the 22nd in Seoul
	for _, c := range []struct {
		zone, since, until, listed string
		want                       string // empty: an error
	}{
		{"UTC", "", "", "2026-11-21T02:10:00Z", "--since 2026-10-24 --until 2026-11-21"},
		{"Asia/Seoul", "", "", "2026-11-21T20:10:00Z", "--since 2026-10-25 --until 2026-11-22"},
		{"Asia/Seoul", "", "", "2026-11-21T14:59:00Z", "--since 2026-10-24 --until 2026-11-21"}, // one minute of the 21st is not listed
		{"UTC", "", "", "2026-11-18T02:10:00Z", "--since 2026-10-21 --until 2026-11-18"},
		{"UTC", "", "", "", "--since 2026-10-24 --until 2026-11-21"},
		{"UTC", "", "", "2030-01-01T00:00:00Z", "--since 2026-10-24 --until 2026-11-21"},
		{"UTC", "2026-11-14T20:30:00Z", "", "2026-11-21T02:10:00Z", "--since 2026-11-14 --until 2026-11-21"},
		{"UTC", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", "2026-11-21T02:10:00Z", "--since 2026-11-01 --until 2026-12-01"},
		{"America/New_York", "2026-11-01T03:00:00Z", "2026-11-03T04:00:00Z", "", "--since 2026-10-31 --until 2026-11-02"},
		{"UTC", "", "2026-06-01T23:59:00Z", "2026-11-21T02:10:00Z", "--since 2026-05-04 --until 2026-06-01"},
		{"UTC", "2026-11-21T00:00:00Z", "", "2026-11-21T02:10:00Z", ""},
		{"UTC", "2026-11-20T01:00:00Z", "2026-11-20T23:00:00Z", "2026-11-21T02:10:00Z", ""},
	} {
		p, err := newPeriod(instant(t, c.since), instant(t, c.until), instant(t, c.listed), now, zone(t, c.zone))
		var none *PeriodError
		if c.want == "" {
			if !errors.As(err, &none) {
				t.Errorf("%+v: error %v, want a PeriodError", c, err)
			}
			continue
		}
		if err != nil || p.flags() != c.want {
			t.Errorf("%+v: %s, %v", c, p.flags(), err)
		}
	}
}

// The key figures are those of the last day that is over and listed.
func TestLastDay(t *testing.T) {
	for _, c := range []struct {
		since, until, at string
		want             string
		whole            bool
	}{
		{"2026-11-01", "2026-11-21", "2026-11-21T02:10:00Z", "Fri 2026-11-20", true},
		{"2026-11-01", "2026-12-24", "2026-11-21T02:10:00Z", "Fri 2026-11-20", true},
		{"2026-11-01", "2026-11-10", "2026-11-21T02:10:00Z", "Mon 2026-11-09", true},
		{"2026-11-21", "2026-11-22", "2026-11-21T02:10:00Z", "Sat 2026-11-21", false},
		{"2026-12-01", "2026-12-03", "2026-11-21T02:10:00Z", "Wed 2026-12-02", false},
	} {
		since, until := instant(t, c.since+"T00:00:00Z"), instant(t, c.until+"T00:00:00Z")
		day, whole := period{since, until, time.UTC}.last(instant(t, c.at))
		if english(t).period(day) != c.want || whole != c.whole {
			t.Errorf("%s to %s: %s, %v, want %s, %v", c.since, c.until, english(t).period(day), whole, c.want, c.whole)
		}
	}
}

// A day begins at its first instant, even if clocks change at midnight.
func TestBegin(t *testing.T) {
	for _, c := range []struct{ zone, day, want string }{
		{"UTC", "2026-11-21", "2026-11-21T00:00:00Z"}, {"Asia/Seoul", "2026-11-21", "2026-11-20T15:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z"}, // 00:00 is skipped
		{"America/Havana", "2026-11-01", "2026-11-01T04:00:00Z"},    // 00:00 happens twice
		{"Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z"},
	} {
		if got := question.DayBegin(instant(t, c.day+"T00:00:00Z"), zone(t, c.zone)).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("%s begins at %s in %s, want %s", c.day, got, c.zone, c.want)
		}
	}
}

func TestBins(t *testing.T) {
	days := func(since, until string) period {
		return period{instant(t, since+"T00:00:00Z"), instant(t, until+"T00:00:00Z"), time.UTC}
	}
	for _, c := range []struct {
		p      period
		listed string
		want   string // unit, number, first, last, partial ones
	}{
		{days("2026-11-01", "2026-11-02"), "", "day 1 2026-11-01 2026-11-01 "},
		{days("2026-08-21", "2026-11-21"), "", "day 92 2026-08-21 2026-11-20 "},
		{days("2026-11-01", "2026-11-05"), "2026-11-03T12:00:00Z", "day 4 2026-11-01 2026-11-04 2026-11-03 2026-11-04 "},
		{days("2026-08-20", "2026-11-21"), "", "week 14 2026-08-17 2026-11-16 2026-08-17 2026-11-16 "},
		{days("2025-10-17", "2026-11-21"), "", "week 58 2025-10-13 2026-11-16 2025-10-13 2026-11-16 "},
		{days("2025-10-13", "2026-11-16"), "", "week 57 2025-10-13 2026-11-09 "},
	} {
		bins := c.p.bins(instant(t, c.listed), english(t))
		got := fmt.Sprintf("%s %d %s %s ", c.p.unit(), len(bins), bins[0].key, bins[len(bins)-1].key)
		for _, b := range bins {
			if b.part {
				got += b.key + " "
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.p.flags(), got, c.want)
		}
	}
}

type row = analyticstest.Row

// made returns the summary and the text of the page of a warehouse.
func made(t *testing.T, d analyticstest.Data, o Options) (Summary, string) {
	t.Helper()
	root := t.TempDir()
	d.Compacted = func(string) bool { return !longtest.On() } // few files are quick to read
	analyticstest.Write(t, root, 7, d)
	w, err := analytics.Open(t.Context(), root, analytics.Options{Options: database.Options{Threads: 1}})
	test.OK(t, err)
	defer func() { test.OK(t, w.Close()) }()
	if o.Texts == nil {
		o.Texts = english(t)
	}
	var out bytes.Buffer
	s, err := Write(t.Context(), &out, w, o)
	test.OK(t, err)
	return s, out.String()
}

// wellFormed fails if the page's elements are not nested properly, or an id repeats.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	ids := map[string]bool{}
	d := xml.NewDecoder(strings.NewReader(text))
	d.Entity = xml.HTMLEntity
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if a.Name.Local == "id" && ids[a.Value] {
					t.Errorf("the id %q is there twice", a.Value)
				} else if a.Name.Local == "id" {
					ids[a.Value] = true
				}
			}
		}
	}
}

var (
	foreign = regexp.MustCompile(`(?i)(src|href|action|poster|srcset)\s*=\s*"([^#"][^"]*)"|url\(|@import|<script|<iframe|<link|<img|<object|<embed|\son[a-z]+\s*=`)
	policy  = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"/>`
)

// selfContained fails if the page refers to anything outside itself.
func selfContained(t *testing.T, text string) {
	t.Helper()
	if m := foreign.FindString(text); m != "" {
		t.Errorf("the page has %q in it", m)
	}
	if !strings.Contains(text, policy) {
		t.Error("the page does not forbid everything else")
	}
}

func TestEmptyWarehouse(t *testing.T) {
	now := instant(t, "2026-11-21T06:00:00Z")
	s, text := made(t, analyticstest.Data{Coverage: []schema.Span{}}, Options{Now: now})
	wellFormed(t, text)
	selfContained(t, text)
	if s.Calls != 0 || strings.Contains(text, "<svg") || !strings.Contains(text, "There are no calls in this period.") ||
		!strings.Contains(text, "No time range is fully listed yet") || !strings.Contains(text, "snapshot 7") {
		t.Errorf("%d calls:\n%s", s.Calls, text)
	}
}

// One call, with names that would break a page without escaping, and a condition.
func TestOneCall(t *testing.T) {
	now := instant(t, "2026-11-21T06:00:00Z")
	const nasty = `</title><script>alert("1")</script>&'`
	at := instant(t, "2026-11-20T10:00:00Z").UnixMilli()
	_, text := made(t, analyticstest.Data{
		Calls:    []row{{"call_id": "c1", "agent_id": nasty, "status": "ended", "disconnection_reason": nasty, "user_sentiment": nasty, "start_at": at, "duration_ms": int64(61_000), "total_cost": "1.5000"}},
		Coverage: []schema.Span{{From: 0, To: instant(t, "2026-11-21T02:10:00Z").UnixMilli()}},
	}, Options{Now: now, Title: nasty, Agent: nasty, Where: []string{"status=ended"}})
	wellFormed(t, text)
	selfContained(t, text)
	for _, want := range []string{"Yesterday, Fri 2026-11-20", "<data value=\"1.5000\"", "1 call of Fri 2026-11-20; permanently missing: known status and reason 1 (100.0%).",
		"· status=ended<", " --where status=ended<"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Late listing is reported. By default the page ends with the last whole day and begins with the first call.
func TestStale(t *testing.T) {
	at := instant(t, "2026-11-15T10:00:00Z").UnixMilli()
	_, text := made(t, analyticstest.Data{
		Calls:    []row{{"call_id": "c1", "status": "ended", "start_at": at, "duration_ms": int64(1_000)}},
		Coverage: []schema.Span{{From: 0, To: instant(t, "2026-11-18T02:10:00Z").UnixMilli()}},
	}, Options{Now: instant(t, "2026-11-21T06:00:00Z")})
	for _, want := range []string{"2026-11-15 to 2026-11-17", "Calls are listed only up to 2026-11-18 02:10; the newest complete day is Tue 2026-11-17."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "Yesterday") {
		t.Error("the page calls a day of last week yesterday")
	}
}

// Many agents, reasons and sentiments, with long names: the page names some and sums up the rest, and stays small.
func TestManyNames(t *testing.T) {
	longtest.Only(t)
	var calls []row
	begin := instant(t, "2026-07-01T00:00:00Z")
	for i := range 1_200 { // on twelve days of four months
		at := begin.AddDate(0, 0, i%12*10).Add(time.Duration(i) * time.Minute).UnixMilli()
		calls = append(calls, row{"call_id": fmt.Sprint("c", i), "agent_id": fmt.Sprintf("agent-%03d-%s", i%200, strings.Repeat("long", 30)), "status": "ended",
			"disconnection_reason": fmt.Sprintf("reason_%02d", i%40), "user_sentiment": fmt.Sprintf("feeling %02d", i%12), "start_at": at,
			"duration_ms": int64(i) * 2_000, "total_cost": "0.1250"})
	}
	_, text := made(t, analyticstest.Data{Calls: calls}, Options{Now: instant(t, "2026-11-21T06:00:00Z"), Since: begin, Until: instant(t, "2026-11-05T00:00:00Z")})
	wellFormed(t, text)
	selfContained(t, text)
	if len(text) > 600_000 {
		t.Errorf("the page has %d bytes", len(text))
	}
	for _, want := range []string{"Week by week", "The 20 of 200 agents with the most calls", "180 others", "28 others"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// The style sheet is short enough for mail clients that drop longer ones.
func TestStyleIsShort(t *testing.T) {
	style, err := files.ReadFile("style.css")
	test.OK(t, err)
	if len(style) > 8_192 {
		t.Errorf("style.css has %d bytes", len(style))
	}
}

// Changes in words.
func TestChangeWords(t *testing.T) {
	longtest.Only(t)
	day := func(n int, negative int, ms int64, at time.Time) (out []row) {
		for i := range n {
			feeling := "neutral"
			if i < negative {
				feeling = "negative"
			}
			out = append(out, row{"call_id": fmt.Sprint(at.Unix(), i), "status": "ended", "disconnection_reason": "user_hangup", "user_turns": int64(1), "start_at": at.UnixMilli(), "user_sentiment": feeling, "duration_ms": ms, "total_cost": "2.0000"})
		}
		return out
	}
	calls := append(day(100, 50, 60_000, instant(t, "2026-11-13T10:00:00Z")), day(80, 10, 90_000, instant(t, "2026-11-20T10:00:00Z"))...)
	of, _ := made(t, analyticstest.Data{Calls: calls}, Options{Now: instant(t, "2026-11-21T06:00:00Z"), Since: instant(t, "2026-11-20T00:00:00Z")})
	var got []string
	for _, f := range of.Figures {
		got = append(got, fmt.Sprintf("%s: %s %s, %s (%s)", f.Name, f.Day.Change.Arrow, f.Day.Change.By, f.Day.Change.Word, f.Day.Change.Class))
	}
	want := []string{
		"Calls: ▼ −20 (−20.0%), no clear change (same)",
		"Connect rate: = , unchanged (same)",
		"Completed: = , unchanged (same)",
		"Negative sentiment: ▼ −37.5 points, better (good)",
		"Cost per call: = , unchanged (same)",
	}
	test.Same(t, want, got, "changes (-want +got)")
	if want := "One thing improved: Negative sentiment −37.5 points."; of.Sentence != want {
		t.Error(of.Sentence)
	}
	// In a period of several days, the day is named; one mostly before the first call is compared with nothing.
	of, _ = made(t, analyticstest.Data{Calls: calls}, Options{Now: instant(t, "2026-11-21T06:00:00Z"), Since: instant(t, "2026-11-17T00:00:00Z")})
	if of.Sentence != "One thing improved: Negative sentiment (Friday) −37.5 points." || of.Figures[0].Period.Change != nil {
		t.Error(of.Sentence, of.Figures[0].Period)
	}
}
