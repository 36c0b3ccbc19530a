package analytics_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// Every report equals the oracle by two dimensions and with conditions, in zones with half-hour
// offsets and clock changes, and its groups add up to the total.
func TestTwoDimensionsAndConditions(t *testing.T) {
	longtest.Only(t)
	d := randomData(rand.New(rand.NewPCG(11, 6)), 120)
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	for i, p := range []question.Params{
		{By: "agent,day"},
		{By: "hour,weekday", Where: []string{"agent=b-three"}},
		{By: "metadata.campaign,dynamic_variables.campaign", Where: []string{"metadata.n=1.5", "metadata.n="}},
		{By: "outcome,call_type", Where: []string{"call_type=outbound", "call_type=", "user_sentiment=positive"}},
		{By: "variant_label", Where: []string{"weekday=Sunday", "outcome=unknown"}, Since: time.Date(2026, 10, 25, 0, 15, 0, 0, time.UTC)},
		{By: "agent", Where: []string{"day=2026-10-25", "day=2026-11-20"}},
		{By: "hour", Where: []string{"week=2026-10-19", "month=2026-10"}},
		{By: "week,weekday", Where: []string{"month=2026-11"}},
	} {
		loc := zone(t, []string{"Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns", "Europe/Berlin"}[i%4])
		checkReports(t, root, loc, d, p)
		w := open(t, root, loc)
		whole := p
		whole.By = ""
		for _, report := range []string{"outcomes", "volume", "callers", "attempts", "concurrency"} {
			sum := func(p question.Params) (n int64) {
				rows, err := w.Report(t.Context(), report, p)
				test.OK(t, err)
				at := slices.IndexFunc(rows.Columns(), func(c value.Column) bool { return c.Name == "calls" })
				for _, line := range all(t, rows, nil) {
					n += line[at].(int64)
				}
				return n
			}
			if a, b := sum(p), sum(whole); a != b || b == 0 {
				t.Errorf("%s, %+v: the groups have %d calls, the whole has %d", report, p, a, b)
			}
		}
	}
}

// A report on a day, week or month only reads the calls and rows around it, and so does an export.
func TestConditionsOnTimeSpareOtherDays(t *testing.T) {
	root := t.TempDir()
	d := randomData(rand.New(rand.NewPCG(rand.Uint64N(1000), 9)), 200)
	d.Compacted = nil
	analyticstest.Write(t, root, 1, d)
	snap, err := layout.Current(root)
	test.OK(t, err)
	w := open(t, root, zone(t, "Pacific/Kiritimati"))
	p := question.Params{Where: []string{"day=2026-10-25", "day=2026-10-24", "week=2026-10-19", "month=2026-10"}, Words: []string{"a"}}
	reports := map[string]time.Duration{"callers": 8 * 24 * time.Hour, "attempts": 8 * 24 * time.Hour} // they read the calls around
	for _, name := range strings.Fields("calls outcomes durations tools conversation early extracted numbers success concurrency") {
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
		rows, err := w.Report(t.Context(), name, p)
		return all(t, rows, err)
	}
	spared, n, tried := 0, 0, longtest.Each(4)
	for name, around := range reports {
		if n++; !tried(n - 1) {
			continue
		}
		want := answer(w, name)
		fresh := open(t, root, w.Location())
		proven, err := fresh.SQL(t.Context(), "SELECT NULL FROM calls, transcript_turns, tool_calls, analysis_items LIMIT 0")
		all(t, proven, err) // compares all files, before some are damaged
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
	w := warehouse(t, analyticstest.Data{}, nil)
	for _, p := range []question.Params{
		{By: "agent,day,hour"}, {By: "day,day"}, {Where: []string{"agent"}}, {Where: []string{"hour=24"}},
		{Where: []string{"day=yesterday"}}, {Where: []string{"month=2026-11-01"}},
	} {
		_, err := w.Report(t.Context(), "sentiment", p)
		var group *question.GroupError
		if !errors.As(err, &group) || group.Hint == "" {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for condition, nearest := range map[string]string{"weekday=monday": "Monday", "outcome=complete": "completed", "outcome=x": "", "direction=in": "inbound"} {
		_, err := w.Report(t.Context(), "sentiment", question.Params{Where: []string{condition}})
		var unknown *question.UnknownError
		if !errors.As(err, &unknown) || unknown.Nearest != nearest || len(unknown.Known) < 3 {
			t.Errorf("%s: %v", condition, err)
		}
	}
	for _, p := range []question.Params{{By: "agent,dya"}, {By: ","}, {Where: []string{"agnet=x"}}} {
		_, err := w.Report(t.Context(), "sentiment", p)
		var unknown *question.UnknownError
		if !errors.As(err, &unknown) || unknown.What != "dimension" {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if got := fmt.Sprint(question.ByNames("metadata.a,b,day")); got != "[metadata.a,b day]" {
		t.Errorf("the names are %s", got)
	}
}
