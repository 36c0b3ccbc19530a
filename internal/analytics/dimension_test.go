package analytics_test

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// A report on a day, week or month only reads the calls and rows around it, and so does an export.
func TestConditionsOnTimeSpareOtherDays(t *testing.T) {
	longtest.Only(t)
	root := t.TempDir()
	d := randomData(longtest.Rand(t), 80)
	d.Compacted = nil
	analyticstest.Write(t, root, 1, d)
	snap, err := layout.Current(root)
	test.OK(t, err)
	w := open(t, root, zone(t, "Pacific/Kiritimati"))
	p := question.Params{Where: []string{"day=2026-10-25", "day=2026-10-24", "week=2026-10-19", "month=2026-10"}, Words: []string{"a"}}
	reports := map[string]time.Duration{"callers": 8 * 24 * time.Hour} // it reads the calls around
	for _, name := range strings.Fields("calls outcomes durations tools conversation early extracted success concurrency") {
		reports[name] = 0
	}
	for _, name := range []string{"calls", "transcript_turns", "tool_calls", "analysis_items"} {
		reports["export "+name] = 0
	}
	answer := func(w *analytics.Warehouse, name string) [][]any {
		if table, ok := strings.CutPrefix(name, "export "); ok {
			rows, err := w.Table(t.Context(), table, question.Params{Where: p.Where})
			return all(t, rows, err)
		}
		return rowsOf(t, w, name, p)
	}
	spared := 0
	for name, around := range longtest.Sorted(reports) {
		want := answer(w, name)
		fresh := open(t, root, w.Location())
		from := time.Date(2026, 10, 23, 0, 0, 0, 0, time.UTC).Add(-around).UnixMilli()
		until := time.Date(2026, 10, 27, 0, 0, 0, 0, time.UTC).Add(around).UnixMilli()
		var restore []func()
		for i := range snap.Manifest.Files {
			if f := &snap.Manifest.Files[i]; f.MinStart != nil && (*f.MaxStart < from || *f.MinStart >= until) {
				restore = append(restore, blank(t, snap.Path(f)))
			}
		}
		spared += len(restore)
		got := answer(fresh, name)
		for _, put := range restore {
			put()
		}
		test.NoDiff(t, diffNear(want, got), "%s reads other days (-want +got)", name)
	}
	if spared == 0 {
		t.Error("no file was damaged, which shows nothing")
	}
}

// An invalid group or condition is refused with the reason.
func TestGroupsThatThereAreNot(t *testing.T) {
	w := sharedWarehouse(t, false)
	for _, p := range []question.Params{
		{By: "agent,day,hour"}, {By: "day,day"}, {Where: []string{"agent"}},
		{Where: []string{"day=yesterday"}}, {Every: "second"}, {Where: []string{"hour=24"}}, {Where: []string{"weekday=mondy"}}, {Where: []string{"hour=9..25"}}, {Where: []string{"month=2026-11-01"}},
	} {
		_, err := askFor(t.Context(), w, "sentiment", p)
		var group *question.GroupError
		if !errors.As(err, &group) || group.Hint == "" || strings.Contains(group.What, "hour") && !strings.Contains(group.Hint, "0 to 23") {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for condition, nearest := range map[string]string{"outcome=complete": "completed", "outcome=x": "", "direction=in": "inbound"} {
		_, err := askFor(t.Context(), w, "sentiment", question.Params{Where: []string{condition}})
		var unknown *question.UnknownError
		if !errors.As(err, &unknown) || unknown.Nearest != nearest || len(unknown.Known) < 3 {
			t.Errorf("%s: %v", condition, err)
		}
	}
	for _, p := range []question.Params{{By: "agent,dya"}, {By: ","}, {Where: []string{"agnet=x"}}} {
		_, err := askFor(t.Context(), w, "sentiment", p)
		var unknown *question.UnknownError
		if !errors.As(err, &unknown) || unknown.What != "dimension" {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if got := fmt.Sprint(question.ByNames("metadata.a,b,day")); got != "[metadata.a,b day]" {
		t.Errorf("the names are %s", got)
	}
}

// Numbers are read as programs spell them, exactly or not at all.
func TestNumbersAreReadExactly(t *testing.T) {
	sums := map[string]string{ // by the value sent; empty: it is not read
		"-12.5": "-12.5", "0.50": "0.5", "125e1": "1250", "1e-05": "0.00001", "1.5E-06": "0.0000015", "9999.999999999e+9": "9999999999999",
		"9999999999999.999999999999999999": "9999999999999.999999999999999999",
		"10000000000000":                   "", "0.1234567890123456789": "", "1e12": "", "1e-18": "", "10000e1": "", `"+7"`: "",
	}
	var d analyticstest.Data
	for sent := range sums {
		d.Calls = append(d.Calls, row{"call_id": sent, "start_at": int64(0)})
		d.Items = append(d.Items, row{"call_id": sent, "position": int64(0), "name": sent, "type": "number", "value": sent})
	}
	w := warehouse(t, d, nil)
	rows, err := askFor(t.Context(), w, "extracted", question.Params{})
	test.OK(t, err)
	at := positions(rows)
	n := 0
	for _, line := range all(t, rows, nil) {
		want, isRead := sums[line[at["name"]].(string)], line[at["total"]] != nil
		got := fmt.Sprint(line[at["total"]])
		exact := func(text string) *big.Rat { v, _ := new(big.Rat).SetString(text); return v }
		if n++; isRead != (want != "") || isRead && exact(got).Cmp(exact(want)) != 0 {
			t.Errorf("%s: read %v, sum %v, want %q", line[at["name"]], isRead, got, want)
		}
	}
	if n != len(sums) {
		t.Errorf("%d of %d fields", n, len(sums))
	}
}

// A tool result sent as an object, which no text column holds, counts as its JSON.
func TestToolResultAsObject(t *testing.T) {
	d := analyticstest.Data{Calls: []row{{"call_id": "c", "start_at": int64(0)}}}
	for i, r := range []row{
		{"role": "tool_call_invocation", "tool_call_id": "1", "tool_name": "find"},
		{"role": "tool_call_result", "tool_call_id": "1", "extra": `{"content":{"status":"error"}}`},
		{"role": "tool_call_invocation", "tool_call_id": "2", "tool_name": "find"},
		{"role": "tool_call_result", "tool_call_id": "2", "extra": `{"content":{"status":"ok"},"more":1}`},
	} {
		r["call_id"], r["turn"], r["call_start_at"] = "c", int64(i), int64(0)
		d.Turns = append(d.Turns, r)
	}
	w := warehouse(t, d, nil)
	test.NoDiff(t, diff([][]any{{`{"status":"error"}`, true}, {`{"status":"ok"}`, false}}, sqlOf(t, w, "SELECT result, failed FROM tool_calls ORDER BY turn")), "(-want +got)")
	if got := fmt.Sprint(rowsOf(t, w, "call", question.Params{Call: "c"})); !strings.Contains(got, `✗ {"status":"error"}`) || !strings.Contains(got, `← {"status":"ok"}`) {
		t.Errorf("the conversation is %s", got)
	}
}

func TestCoverage(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2024, 11, n, 0, 0, 0, 0, time.UTC) }
	ms := func(n int) int64 { return day(n).UnixMilli() }
	one := func(settlement string, more row) row {
		r := row{"call_id": settlement, "status": "ended", "start_at": ms(10), "settlement": settlement}
		for k, v := range more {
			r[k] = v
		}
		return r
	}
	calls := []row{
		one("open", row{"status": "ongoing"}),
		one("ended", nil),
		one("ended", row{"user_sentiment": "positive"}),
		one("ended", row{"status": "not_connected"}), // no analysis is due
		one("expired", nil), one("expired", nil),
		one("settled", row{"duration_ms": int64(5), "opt_out_sensitive_data_storage": true}),
		one("settled", row{"start_at": nil, "user_sentiment": "neutral"}),
	}
	spans := []schema.Span{{From: ms(5), To: ms(8)}, {From: ms(9), To: ms(12)}}
	w := warehouse(t, analyticstest.Data{Calls: calls, Coverage: spans}, nil)
	for _, c := range []struct {
		report string
		p      question.Params
		want   string
	}{
		{"sentiment", question.Params{}, "of 8 calls, 1 is not over yet, 1 is waiting for its analysis, 2 never got an analysis, 1 opted out of analysis; " +
			"calls from 2024-11-08 00:00 to 2024-11-09 00:00 are not fully listed yet"},
		{"disconnections", question.Params{Since: day(9)}, "of 7 calls, 1 is not over yet; 1 call without a start is excluded"},
		{"durations", question.Params{Since: day(9), Until: day(12)}, "of 7 calls, 1 is not over yet, 5 have no known duration; 1 call without a start is excluded"},
		{"disconnections", question.Params{Since: day(10), Until: day(14)}, "of 7 calls, 1 is not over yet; 1 call without a start is excluded; " +
			"calls from 2024-11-12 00:00 on are not fully listed yet"},
		{"disconnections", question.Params{Since: day(11), Until: day(12)}, "1 call without a start is excluded"},
		{"disconnections", question.Params{Since: day(13)}, "1 call without a start is excluded; calls from 2024-11-13 00:00 on are not fully listed yet"},
		{"disconnections", question.Params{Since: day(4), Until: day(6)}, "1 call without a start is excluded; " +
			"calls from 2024-11-04 00:00 to 2024-11-05 00:00 are not fully listed yet"},
	} {
		got := coverageOf(t, w, c.report, c.p, day(13))
		if s := got.String(time.UTC); s != c.want {
			t.Errorf("%s %+v:\n got %s\nwant %s", c.report, c.p, s, c.want)
		}
	}
	// Future time is not missing.
	got := coverageOf(t, w, "disconnections", question.Params{Since: day(9), Until: day(30)}, day(12))
	if len(got.Unlisted) > 0 {
		t.Errorf("until the future: %+v", got)
	}
	// Files whose numbers were read in another country, whatever is selected.
	w.Snapshot().Manifest.Country = "KR"
	got = coverageOf(t, w, "callers", question.Params{Since: day(12), Until: day(13)}, day(12))
	const want = "; the country changed: the telephone numbers of 8 calls are still in their earlier form (extract compact rewrites them)"
	if !strings.HasSuffix(got.String(time.UTC), want) {
		t.Errorf("after a change of the country: %s", got.String(time.UTC))
	}
}

func coverageOf(t *testing.T, w *analytics.Warehouse, report string, p question.Params, now time.Time) *analytics.Coverage {
	t.Helper()
	r, err := w.Remarks(t.Context(), analytics.Question{Report: report, Params: p, Now: now})
	test.OK(t, err)
	return r.Coverage[0]
}
