package analytics_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

func TestCall(t *testing.T) {
	turn := func(n int64, more row) row {
		r := row{"call_id": "abc-1", "turn": n, "call_start_at": int64(1000)}
		for k, v := range more {
			r[k] = v
		}
		return r
	}
	w := warehouse(t, analyticstest.Data{
		Calls: []row{{"call_id": "abc-1", "start_at": int64(1000)}, {"call_id": "abc-2"}, {"call_id": "b", "start_at": int64(5)}, {"call_id": "b-2"}},
		Turns: []row{
			turn(0, row{"role": "agent", "content": "Hello?", "start_at": int64(1300)}),
			turn(1, row{"role": "tool_call_invocation", "tool_call_id": "x", "tool_name": "find", "arguments": `{"a":1}`}),
			turn(2, row{"role": "tool_call_result", "tool_call_id": "x", "content": `{"status":"error"}`}),
			turn(3, row{"role": "tool_call_invocation", "tool_call_id": "y", "tool_name": "book"}),
			turn(4, row{"role": "tool_call_result", "tool_call_id": "y", "content": "done"}),
			turn(5, row{"role": "tool_call_result", "content": "lost"}),
			turn(6, row{"role": "user", "start_at": int64(1900)}),
		},
	}, nil)
	want := [][]any{
		{int64(0), int64(300), "agent", "Hello?"}, {int64(1), nil, "find", `→ {"a":1}`}, {int64(2), nil, "find", `✗ {"status":"error"}`},
		{int64(3), nil, "book", "→ "}, {int64(4), nil, "book", "← done"}, {int64(5), nil, "tool", "← lost"},
		{int64(6), int64(900), "user", nil},
	}
	for start, want := range map[time.Time][][]any{{}: want, time.UnixMilli(1000): want, time.UnixMilli(1001): nil} {
		test.NoDiff(t, diff(want, rowsOf(t, w, "call", question.Params{Call: "abc-1", CallStart: start})), "with the start %v (-want +got)", start)
	}
	type call struct {
		id    string
		start time.Time
	}
	for prefix, want := range longtest.Sorted(map[string]call{"abc-1": {"abc-1", time.UnixMilli(1000)}, "abc-2": {id: "abc-2"}, "b": {"b", time.UnixMilli(5)}, "b-": {id: "b-2"},
		"ab…-1": {"abc-1", time.UnixMilli(1000)}, "a…c-2…": {id: "abc-2"}, "b-…": {id: "b-2"}}, 3) {
		if id, start, err := w.FindCall(t.Context(), prefix); id != want.id || !start.Equal(want.start) || err != nil {
			t.Errorf("FindCall(%q) = %q, %v, %v", prefix, id, start, err)
		}
	}
	var ambiguous *question.AmbiguousError
	for _, prefix := range longtest.Some(3, []string{"ab…-", "abc", "…-2"}) {
		if _, _, err := w.FindCall(t.Context(), prefix); !errors.As(err, &ambiguous) || len(ambiguous.IDs) != 2 {
			t.Errorf("several: %v", err)
		}
	}
	var unknown *question.UnknownError
	for _, prefix := range longtest.Some(3, []string{"z", "", "_", "%", `\`, "a…z", "' OR true --"}) {
		if _, _, err := w.FindCall(t.Context(), prefix); !errors.As(err, &unknown) {
			t.Errorf("none: %v", err)
		}
	}
}

func TestCosts(t *testing.T) {
	w := warehouse(t, analyticstest.Data{Calls: []row{
		{"call_id": "a", "start_at": int64(1), "total_cost": "0.0000"}, {"call_id": "b", "start_at": int64(1), "status": "not_connected"},
		{"call_id": "c", "start_at": int64(1), "settlement": "ended"}, {"call_id": "d", "start_at": int64(1), "settlement": "expired"},
		{"call_id": "e", "status": "queued", "settlement": "open"},
	}}, nil)
	test.NoDiff(t, diff([][]any{{"a", "known"}, {"b", "none"}, {"c", "awaited"}, {"d", "never"}, {"e", "awaited"}}, sqlOf(t, w, "SELECT call_id, cost_state FROM costs ORDER BY call_id")), "(-want +got)")
}

// A search ignores case, also of letters with several lower or upper forms, and treats the words as
// plain text, not as a pattern.
func TestSearchInAnyCase(t *testing.T) {
	longtest.Only(t)
	contents := []string{"İSTANBUL", "istanbul", "a.b", "axb", "50% (of) [it]", "two\nlines", "C:\\temp", "ΟΔΟΣ", "οδός", "fullstop", "zero\x00byte"}
	for r := range unicode.MaxRune {
		if unicode.ToLower(r) != r || unicode.ToUpper(r) != r {
			contents = append(contents, string(r))
		}
	}
	var d analyticstest.Data
	for i, content := range contents {
		id := fmt.Sprintf("%05d", i)
		d.Calls = append(d.Calls, row{"call_id": id, "start_at": int64(1000)})
		d.Turns = append(d.Turns, row{"call_id": id, "turn": int64(0), "role": "user", "content": content, "call_start_at": int64(1000)})
	}
	w := warehouse(t, d, nil)
	for _, words := range [][]string{
		{"o\x00B"}, {"i"}, {"İ"}, {"ı"}, {"I"}, {"K"}, {"k"}, {"Σ"}, {"ς"}, {"ß"}, {"ẞ"}, {"Å"}, {"ǅ"}, {"Ꭰ"}, {"é"}, {"ſ"}, {"µ"},
		{"istanbul"}, {"İstanbul", "bul"}, {"a.b"}, {"(OF)", "%"}, {"[it]"}, {"o\nl"}, {"c:\\T"}, {"."}, {"\\"}, {"stop", "ull"}, {"$"}, {""}, {" "},
	} {
		var want [][]any
		for _, c := range d.Turns {
			found := true
			for _, word := range words {
				found = found && strings.Contains(strings.ToLower(c["content"].(string)), strings.ToLower(word))
			}
			if found {
				want = append(want, []any{c["call_id"]})
			}
		}
		var got [][]any
		for _, r := range rowsOf(t, w, "search", question.Params{Words: words}) {
			got = append(got, r[:1])
		}
		test.NoDiff(t, diff(want, got), "search %q (-want +got)", words)
	}
}

// Texts are equal however their letters are composed, in what is stored and in what is asked: macOS
// writes names with letters apart.
func TestTextsInAnyComposition(t *testing.T) {
	longtest.Only(t)
	var d analyticstest.Data
	forms := []string{"한글 각 Café ệ Å", norm.NFD.String("한글 각 Café ệ Å"), "한글 각 Cafe\u0301 \u00ea\u0323 \u212b"}
	for i, text := range forms {
		id, form := fmt.Sprint(i), []norm.Form{norm.NFC, norm.NFD}[i%2]
		d.Calls = append(d.Calls, row{"call_id": id, "start_at": int64(1000), "variant_label": text, "status": "ended", "user_turns": int64(1),
			"metadata": fmt.Sprintf(`{"%s":"%s"}`, form.String("도시"), text)})
		d.Turns = append(d.Turns, row{"call_id": id, "turn": int64(0), "role": "user", "content": "- " + text + " -", "call_start_at": int64(1000)})
		d.Items = append(d.Items, row{"call_id": id, "name": form.String("해결"), "value": `"` + text + `"`, "call_start_at": int64(1000)})
	}
	w := warehouse(t, d, nil)
	ask := func(report string, p question.Params) [][]any {
		return rowsOf(t, w, report, p)
	}
	for _, text := range forms[:2] {
		for _, where := range []string{"variant_label=" + strings.ToUpper(text), "metadata.도시=" + text, norm.NFD.String("metadata.도시=") + text} {
			if got := ask("calls", question.Params{Where: []string{where}}); len(got) != 3 {
				t.Errorf("%+q: %d calls, want 3", where, len(got))
			}
		}
		if got := ask("success", question.Params{Field: norm.NFD.String("해결=") + text}); len(got) != 1 {
			t.Errorf("the field: %v", got)
		}
		for _, word := range append(strings.Fields(text), strings.ToLower(text), "글 각") {
			if got := ask("search", question.Params{Words: []string{word}}); len(got) != 3 {
				t.Errorf("search %+q: %d turns, want 3", word, len(got))
			}
		}
	}
	for word, want := range longtest.Sorted(map[string]int{"가": 0, "하": 0, "글각": 0, "한글x": 0, "e": 2}) { // e is one of its own where it is apart
		if got := ask("search", question.Params{Words: []string{word}}); len(got) != want {
			t.Errorf("search %q: %d turns, want %d", word, len(got), want)
		}
	}
	if got := ask("durations", question.Params{By: "metadata.도시"}); len(got) != 1 {
		t.Errorf("the groups are %v", got)
	}
}

// The turns found are counted from the newest call on, those of calls without a start last.
func TestSearchByPages(t *testing.T) {
	var d analyticstest.Data
	for _, c := range []struct {
		id    string
		start any
		said  []string
	}{
		{"early", int64(1_700_000_000_000), []string{"a refund", "yes", "no", "refund?"}},
		{"late", int64(1_705_000_000_000), []string{"hello", "refund", "Refund"}}, {"never", nil, []string{"hello", "refund", "bye"}},
	} {
		d.Calls = append(d.Calls, row{"call_id": c.id, "start_at": c.start})
		for i, text := range c.said {
			d.Turns = append(d.Turns, row{"call_id": c.id, "turn": int64(i), "role": "user", "content": text, "call_start_at": c.start})
		}
	}
	w := warehouse(t, d, nil)
	for _, x := range []struct {
		most, skip int64
		want       string
	}{
		{1, 0, "late 0, late 1 found, late 2"}, {2, 1, "late 1, late 2 found, early 0 found, early 1"},
		{2, 3, "early 2, early 3 found, never 0, never 1 found, never 2"},
		{0, 2, "early 0 found, early 1, early 2, early 3 found, never 0, never 1 found, never 2"}, {3, 9, ""},
	} {
		var got []string
		for _, r := range rowsOf(t, w, "search", question.Params{Words: []string{"refund"}, Limit: x.most, Skip: x.skip}) {
			line := fmt.Sprint(r[0], " ", r[7])
			if r[3] == true {
				line += " found"
			}
			got = append(got, line)
		}
		if joined := strings.Join(got, ", "); joined != x.want {
			t.Errorf("%d after %d: %s, want %s", x.most, x.skip, joined, x.want)
		}
	}
}

// Turns that end before they start, or start before their call, make no time negative.
func TestBackwardTurnsMakeNoTimeNegative(t *testing.T) {
	item := func(turn int, role string, from, to any) row {
		return row{"call_id": "a", "call_start_at": int64(10_000), "turn": int64(turn), "role": role, "content": "x", "tool_call_id": nil,
			"start_at": from, "end_at": to}
	}
	tool := func(turn int, role string, from, to any) row {
		r := item(turn, role, from, to)
		r["tool_call_id"], r["tool_name"] = "t", "find"
		return r
	}
	d := analyticstest.Data{
		Calls: []row{{"call_id": "a", "start_at": int64(10_000), "status": "ended", "disconnection_reason": "user_hangup",
			"settlement": "settled", "transcript_state": "present", "turn_count": int64(6), "user_turns": int64(1), "duration_ms": int64(60_000)}},
		Turns: []row{item(0, "agent", int64(7000), int64(5000)), item(1, "user", int64(12_000), int64(14_000)), item(2, "agent", int64(15_000), int64(0)),
			tool(3, "tool_call_invocation", int64(16_000), nil), tool(4, "tool_call_result", int64(15_500), int64(15_000)),
			item(5, "agent", int64(20_000), nil)},
	}
	w := warehouse(t, d, nil)
	rows, err := w.SQL(t.Context(), "SELECT turn, talk_ms, (SELECT duration_ms FROM tool_calls) FROM transcript_turns ORDER BY turn")
	want := [][]any{{int64(0), int64(0), int64(0)}, {int64(1), int64(2000), int64(0)}, {int64(2), int64(0), int64(0)}, {int64(3), nil, int64(0)},
		{int64(4), int64(0), int64(0)}, {int64(5), nil, int64(0)}}
	test.NoDiff(t, diff(want, all(t, rows, err)), "(-want +got)")
	for name, want := range map[string]string{
		"conversation": "[[1 3 0 1000 <nil> 0 0 0 5000 5000 1]]", // turns, talk ratio, latencies
		"early":        "[[1 0 0 0 0 0 0 0 <nil> <nil> 1]]",
		"tools":        "[[find 1 100 1 0 0 0 6000 <nil> 0]]",
	} {
		if got := fmt.Sprint(rowsOf(t, w, name, question.Params{})); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// The answer for people has the column that the rows are sorted by, says how many more were found, and names the zone
// of a best hour.
func TestWhatPeopleSee(t *testing.T) {
	var d analyticstest.Data
	for i := range 3 {
		d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(i), "start_at": int64(i), "duration_ms": int64(i)})
		d.Turns = append(d.Turns, row{"call_id": fmt.Sprint(i), "turn": int64(0), "role": "user", "content": "yes", "call_start_at": int64(i)})
	}
	d.Others = analyticstest.One()
	w := warehouse(t, d, zone(t, "Asia/Seoul"))
	for _, c := range []struct {
		report, labels string
		p              question.Params
	}{
		{"calls", "call id, duration, start at, agent id, outcome, summary", question.Params{Sort: "duration_ms", Limit: 2}},
		{"calls", "call id, start at, agent id, outcome, summary", question.Params{Sort: "outcome:desc", Limit: 2}},
		{"search", "call id, start at, agent id, found, who, what", question.Params{Words: []string{"yes"}, Limit: 2}},
		{"campaigns", "name, status, total calls, progress of total, attempts, reached of known, best hour (Seoul)", question.Params{}},
	} {
		a, err := w.Ask(t.Context(), analytics.Question{Report: c.report, Params: c.p})
		test.OK(t, err)
		test.OK(t, a.Show(nil))
		var labels []string
		for _, col := range a.Columns() {
			labels = append(labels, col.Label)
		}
		if got := strings.Join(labels, ", "); got != c.labels {
			t.Errorf("%s: %s, want %s", c.report, got, c.labels)
		}
		if c.p.Limit > 0 {
			if n, err := a.Found(t.Context()); n != 3 || err != nil {
				t.Errorf("%s: %d found, %v", c.report, n, err)
			}
		}
		a.Close()
	}
}
