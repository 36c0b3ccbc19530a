package analytics_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

// wholes are the denominators of shares: a column of the row, possibly less another one; or its sum
// over all rows of the group, or over those whose key contains a word.
var wholes = map[string]string{
	"agents.completed_percent": "answered_calls", "agents.goal_percent": "answered_calls", "agents.connected_percent": "calls", "agents.negative_percent": "rated_calls",
	"agents.positive_percent": "rated_calls", "agents.success_percent": "known_calls", "agents.transferred_percent": "answered_calls",
	"callers.completed_percent": "judged_calls", "callers.first_contact_percent": "judged_calls",
	"callers.repeat_24h_percent": "known_24h_callers", "callers.repeat_7d_percent": "known_7d_callers",
	"conversation.interrupted_percent": "calls",
	"disconnections.connected_percent": "calls", "disconnections.share_percent": "all: calls", "durations.share_percent": "all: calls",
	"early.hung_up_5s_percent": "answered_calls", "early.hung_up_10s_percent": "answered_calls", "early.silent_percent": "answered_calls",
	"flows.completed_percent": "answered_calls", "flows.hung_up_percent": "answered_calls", "flows.lost_percent": "answered_calls",
	"flows.transferred_percent": "answered_calls",
	"scorecards.share_percent":  "judged",
	"funnel.answered_percent":   "answered_calls", "funnel.attempted_percent": "attempted: calls", "funnel.connected_percent": "connected: calls",
	"outcomes.answered_percent": "all: answered_calls", "outcomes.share_percent": "all: calls",
	"sentiment.negative_percent": "rated_calls", "sentiment.neutral_percent": "rated_calls", "sentiment.positive_percent": "rated_calls",
	"sentiment.other_percent": "rated_calls", "sentiment.unrated_percent": "reached_calls", "success.success_percent": "known_calls",
	"tools.failed_percent": "uses less unanswered_uses", "tools.share_percent": "all: uses",
	"transfers.answered_percent": "answered_calls", "transfers.transferred_percent": "all: transferred_calls",
	"versions.completed_percent": "answered_calls", "versions.positive_percent": "rated_calls", "versions.success_percent": "known_calls", "volume.share_percent": "all: calls",
}

// comparedRows is a report's answer, with its rows by key.
type comparedRows struct {
	names []string
	keys  []string // of the rows, in order
	rows  map[string][]any
	group map[string]string
}

func ask(t *testing.T, w *analytics.Warehouse, f *sqlfiles.File, p question.Params) comparedRows {
	t.Helper()
	rows, err := askFor(t.Context(), w, f.Name, p)
	if err != nil {
		t.Fatalf("%s, %+v: %v", f.Name, p, err)
	}
	a := comparedRows{rows: map[string][]any{}, group: map[string]string{}}
	groups := len(question.ByNames(p.By))
	for i, c := range rows.Columns() {
		if i < groups {
			c.Name = fmt.Sprint("key ", i)
		}
		a.names = append(a.names, c.Name)
	}
	for _, r := range all(t, rows, nil) {
		group, key := "", ""
		for i, name := range a.names {
			switch {
			case i < groups:
				group += fmt.Sprintf("%s=%#v ", name, r[i])
			case slices.Contains(f.Keys, name):
				key += fmt.Sprintf("%s=%#v ", name, r[i])
			}
		}
		if key = group + key; a.rows[key] != nil {
			t.Fatalf("%s, %+v: two rows have the keys %s", f.Name, p, key)
		}
		a.keys, a.rows[key], a.group[key] = append(a.keys, key), r, group
	}
	return a
}

func (a comparedRows) at(key, name string) any {
	if row, i := a.rows[key], slices.Index(a.names, name); row != nil && i >= 0 {
		return row[i]
	}
	return nil
}

// whole returns the denominator of a row's share; that of its group if the rule names one.
func (a comparedRows) whole(key, group, rule string) int {
	number := func(k, name string) int {
		n, _ := a.at(k, name).(int64)
		return int(n)
	}
	of, name, ofGroup := strings.Cut(rule, ": ")
	if !ofGroup {
		name, less, _ := strings.Cut(rule, " less ")
		return number(key, name) - number(key, less)
	}
	sum := 0
	for _, k := range a.keys {
		if a.group[k] == group && (of == "all" || strings.Contains(k, `"`+of+`"`)) {
			sum += number(k, name)
		}
	}
	return sum
}

// A comparison has the answers for both periods side by side, and the figures derived from them.
func TestComparisonEqualsTwoReports(t *testing.T) {
	longtest.Only(t)
	r := longtest.Rand(t)
	d := randomData(r, 300)
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ zone, by, since, until, before string }{
		{"Europe/Berlin", "", "2026-11-01T00:00:00+01:00", "2026-12-01T00:00:00+01:00", "2026-10-01T00:00:00+02:00"},
		{"America/New_York", "agent", "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00", "2026-10-25T00:00:00-04:00"},
		{"Australia/Lord_Howe", "hour,call_type", "2026-10-25T12:00:00+11:00", "2026-11-03T09:00:00+11:00", "2026-10-11T12:00:00+11:00"},
		{"Asia/Kathmandu", "metadata.campaign", "2026-11-19T12:00:00Z", "2026-11-19T20:00:00Z", "2026-11-12T12:00:00Z"},
	} {
		w := open(t, root, zone(t, c.zone))
		steps, _ := sqlfiles.Steps("durations")
		for _, f := range append(sqlfiles.Reports(), steps) {
			if !f.Comparable() {
				continue
			}
			if strings.HasPrefix(c.by, "hour") && f.Name == "volume" { // has it already
				continue
			}
			p, err := compare(w, w.Location(), f.Name, question.Params{By: c.by, Field: "colour=true", Steps: f == steps, Since: parse(t, c.since), Until: parse(t, c.until)}, now)
			if err != nil || !p.PreviousSince.Equal(parse(t, c.before)) {
				t.Fatalf("%s: the period before %s to %s begins at %s, %v, want %s", c.zone, c.since, c.until, p.PreviousSince, err, c.before)
			}
			q, _ := p.Previous()
			is, was, got := ask(t, w, f, question.Params{By: p.By, Field: p.Field, Steps: p.Steps, Since: p.Since, Until: p.Until}), ask(t, w, f, q), ask(t, w, f, p)
			checkComparison(t, f, c.zone, is, was, got)
		}
	}
}

func checkComparison(t *testing.T, f *sqlfiles.File, zone string, is, was, got comparedRows) {
	t.Helper()
	inOrder := slices.DeleteFunc(slices.Clone(got.keys), func(k string) bool { return is.rows[k] == nil })
	both := len(was.keys)
	for _, k := range is.keys {
		if was.rows[k] == nil {
			both++
		}
	}
	if !slices.Equal(inOrder, is.keys) || len(got.keys) != both {
		t.Fatalf("%s, %s: the rows\n%q are not those of\n%q and\n%q", f.Name, zone, got.keys, is.keys, was.keys)
	}
	z := quantile(judgedOf(f, is, was, got))
	for _, key := range got.keys {
		want := map[string]any{}
		for _, c := range f.Columns {
			if slices.Contains(f.Keys, c.Name) || c.Name == "key" {
				continue
			}
			rule := wholes[f.Name+"."+c.Name]
			if (c.Whole == "") != (rule == "") {
				t.Fatalf("%s.%s is a share, or none, of what wholes does not tell", f.Name, c.Name)
			}
			n, m := is.whole(key, got.group[key], rule), was.whole(key, got.group[key], rule)
			now, before := is.at(key, c.Name), was.at(key, c.Name)
			if missing := is.rows[key] == nil; missing && before != nil && now == nil {
				now = zeroOf(c, rule, n)
			} else if was.rows[key] == nil && now != nil && before == nil {
				before = zeroOf(c, rule, m)
			}
			want[c.Name], want["previous_"+c.Name] = now, before
			if c.Unit == "percent" && c.Of != "" || slices.Contains([]string{"count", "ms", "money", "number"}, c.Unit) {
				want["change_"+c.Name] = minus(now, before)
			}
			if isWhole(key, rule) {
				n = 0 // no bounds
			}
			if rule != "" && c.Unit == "percent" {
				want["change_low_"+c.Name], want["change_high_"+c.Name] = newcombe(now, n, before, m, z)
			}
			if c.Spread != "" { // TestMeansAreJudged checks the amounts
				want["change_low_"+c.Name], want["change_high_"+c.Name] = got.at(key, "change_low_"+c.Name), got.at(key, "change_high_"+c.Name)
			}
		}
		line := map[string]any{}
		for i, name := range got.names {
			if !strings.HasPrefix(name, "key ") && !slices.Contains(f.Keys, name) {
				line[name] = got.rows[key][i]
			}
		}
		for name := range want {
			test.NoDiff(t, diffNear([][]any{{want[name]}}, [][]any{{line[name]}}), "%s, %s, %s: %s (-two reports +comparison)", f.Name, zone, key, name)
		}
		if len(line) != len(want) {
			t.Fatalf("%s has the columns %q", f.Name, got.names)
		}
	}
}

// isWhole reports whether a row is the denominator of its own share, which is thus 100 %.
func isWhole(key, rule string) bool {
	of, _, ofGroup := strings.Cut(rule, ": ")
	return ofGroup && strings.Contains(key, `"`+of+`"`)
}

// judgedOf returns the number of changes of an answer that have bounds.
func judgedOf(f *sqlfiles.File, is, was, got comparedRows) (judged int) {
	for _, key := range got.keys {
		for _, c := range f.Columns {
			rule := wholes[f.Name+"."+c.Name]
			n, m := is.whole(key, got.group[key], rule), was.whole(key, got.group[key], rule)
			switch there := is.rows[key] != nil && was.rows[key] != nil; {
			case isWhole(key, rule):
			case c.Spread != "" && got.at(key, "change_low_"+c.Name) != nil,
				c.Unit == "percent" && c.Whole != "" && n > 0 && m > 0 && (there && is.at(key, c.Name) != nil && was.at(key, c.Name) != nil ||
					!there && strings.Contains(rule, ": ") && (is.at(key, c.Name) != nil || was.at(key, c.Name) != nil)):
				judged++
			}
		}
	}
	return judged
}

// quantile returns the quantile of the normal distribution that leaves 5 % in both tails together,
// divided among n changes.
func quantile(n int) float64 { return math.Sqrt2 * math.Erfinv(1-.05/float64(max(n, 1))) }

// zeroOf returns a figure of a row that the period lacks.
func zeroOf(c sqlfiles.Column, rule string, whole int) any {
	switch {
	case c.Unit == "count":
		return int64(0)
	case strings.Contains(rule, ": ") && whole > 0:
		return 0.0
	}
	return nil
}

func minus(a, b any) any {
	if a == nil || b == nil {
		return nil
	}
	switch a := a.(type) {
	case int64:
		return a - b.(int64)
	case float64:
		return a - b.(float64)
	}
	x, _ := new(big.Rat).SetString(a.(string))
	y, _ := new(big.Rat).SetString(b.(string))
	return decimalOf(x.Sub(x, y))
}

// newcombe returns the bounds of the difference of two shares: each is the root of the sum of the
// squared distances to the two Wilson bounds on that side.
func newcombe(p any, n int, q any, m int, z float64) (low, high any) {
	if p == nil || q == nil || n == 0 || m == 0 {
		return nil, nil
	}
	a, b := p.(float64), q.(float64)
	aLow, aHigh := wilsonAt(int(math.Round(a*float64(n)/100)), n, z)
	bLow, bHigh := wilsonAt(int(math.Round(b*float64(m)/100)), m, z)
	return a - b - math.Hypot(a-aLow.(float64), bHigh.(float64)-b), a - b + math.Hypot(aHigh.(float64)-a, b-bLow.(float64))
}

// A question without a previous period, or without figures, fails with an explanation. An unfinished
// period ends now, or where the list ends.
func TestWhatIsNotCompared(t *testing.T) {
	w := warehouse(t, randomData(rand.New(rand.NewPCG(1, 1)), 5), nil)
	since := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	now := since.AddDate(0, 0, 30)
	for _, c := range []struct {
		report, says string
		p            question.Params
	}{
		{"costs", "the start of the period", question.Params{}}, {"costs", "in the future", question.Params{Since: now.AddDate(1, 0, 0)}},
		{"costs", "not begin before", question.Params{Since: since, PreviousSince: since}},
		{"costs", "one period only", question.Params{Since: since, By: "agent,week"}},
		{"costs", "one period only", question.Params{Since: since, Where: []string{"month=2026-11"}}},
		{"anomalies", "cannot be compared", question.Params{Since: since}},
		{"extracted", "cannot be compared", question.Params{Since: since}},
		{"search", "no figures", question.Params{Since: since, Words: []string{"card"}}},
		{"call", "no figures", question.Params{Call: "x"}},
	} {
		_, err := compare(w, time.UTC, c.report, c.p, now)
		var g *question.GroupError
		if !errors.As(err, &g) || !strings.Contains(g.What, c.says) || g.Hint == "" {
			t.Errorf("%s, %+v: %v", c.report, c.p, err)
		}
	}
	for _, c := range []struct{ since, until, before, beforeEnds, zone string }{
		{"2026-10-20T00:00:00Z", "2026-11-19T00:00:00Z", "2026-09-15T00:00:00Z", "2026-10-15T00:00:00Z", "UTC"}, // 30 days
		{"2026-11-01T00:00:00Z", "2026-11-08T00:00:00Z", "2026-10-25T00:00:00Z", "2026-11-01T00:00:00Z", "UTC"},
		{"2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", "UTC"},
		{"2026-01-01T00:00:00Z", "2026-07-01T00:00:00Z", "2025-07-01T00:00:00Z", "2026-01-01T00:00:00Z", "UTC"},
		{"2026-11-20T09:00:00Z", "2026-11-20T15:00:00Z", "2026-11-13T09:00:00Z", "2026-11-13T15:00:00Z", "UTC"},
		{"2026-11-20T00:00:00Z", "2026-12-20T00:00:00Z", "2026-11-06T00:00:00Z", "2026-11-17T00:00:00Z", "UTC"}, // until now
		{"2026-11-13T09:30:00Z", "2026-11-20T02:00:00Z", "2026-11-06T09:30:00Z", "2026-11-13T02:00:00Z", "UTC"},
		{"2026-10-26T00:00:00+01:00", "2026-10-27T00:00:00+01:00", "2026-10-19T00:00:00+02:00", "2026-10-20T00:00:00+02:00", "Europe/Berlin"},
		{"2024-09-08T01:00:00-03:00", "2024-09-09T00:00:00-03:00", "2024-09-01T00:00:00-04:00", "2024-09-02T00:00:00-04:00", "America/Santiago"}, // midnight is skipped in this zone
	} {
		p, err := compare(w, zone(t, c.zone), "costs", question.Params{Since: parse(t, c.since), Until: parse(t, c.until)}, now)
		if err != nil || !p.PreviousSince.Equal(parse(t, c.before)) || !p.PreviousUntil.Equal(parse(t, c.beforeEnds)) {
			t.Errorf("%s to %s is compared with %s to %s, %v", c.since, c.until, p.PreviousSince, p.PreviousUntil, err)
		}
	}
}

// The previous period may be before all calls, even with two groups, whose keys have their own type.
func TestComparedWithNothing(t *testing.T) {
	longtest.Only(t)
	w := warehouse(t, randomData(rand.New(rand.NewPCG(1, 1)), 30), nil)
	first := w.Snapshot().Manifest.FilesOf("calls")[0].Period // a month or a day
	month := parse(t, first[:len("2026-03")]+"-01T00:00:00Z")
	compared := 0
	for _, f := range sqlfiles.Reports() {
		if !f.Comparable() {
			continue
		}
		p, err := compare(w, time.UTC, f.Name, question.Params{By: "agent,hour", Field: "colour=true", Since: month, Until: month.AddDate(0, 1, 0)}, month.AddDate(1, 0, 0))
		if err != nil {
			continue // it cannot have two groups
		}
		rowsOf(t, w, f.Name, p)
		compared++
	}
	if compared < 10 {
		t.Errorf("%d reports are compared by two groups", compared)
	}
}

// Days of the comparison period before the first call are counted.
func TestHeldDays(t *testing.T) {
	start := parse(t, "2026-10-28T23:30:00Z").UnixMilli() // the 29th in Berlin
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: []row{{"call_id": "a", "status": "ended", "start_at": start, "settlement": "settled"}}})
	w := open(t, root, time.UTC)
	for _, c := range []struct {
		zone, since, until string
		held, of           int
	}{
		{"UTC", "2026-10-30T00:00:00Z", "2026-11-27T00:00:00Z", 2, 28}, {"UTC", "2026-11-04T00:00:00Z", "2026-11-11T00:00:00Z", 7, 7},
		{"Europe/Berlin", "2026-10-30T00:00:00+01:00", "2026-11-27T00:00:00+01:00", 1, 28}, // over a change of clocks
		{"UTC", "2026-10-28T00:00:00Z", "2026-11-04T00:00:00Z", 0, 7}, {"UTC", "2026-11-04T23:00:00Z", "2026-11-05T01:00:00Z", 2, 2},
	} {
		w := w
		if c.zone != "UTC" {
			w = open(t, root, zone(t, c.zone))
		}
		if got := comparedOf(t, w, c.since, c.until); got.Held != c.held || got.Of != c.of || got.FirstCall.Month() != time.October {
			t.Errorf("%s, %s to %s: %+v", c.zone, c.since, c.until, got)
		}
	}
}

func comparedOf(t *testing.T, w *analytics.Warehouse, since, until string) analytics.Compared {
	t.Helper()
	p := question.Params{Since: parse(t, since), Until: parse(t, until)}
	r, err := w.Remarks(t.Context(), analytics.Question{Report: "costs", Params: p, Compare: true, Now: time.Now()})
	test.OK(t, err)
	return r.Compared
}

// compare returns p with the previous period.
func compare(w *analytics.Warehouse, loc *time.Location, report string, p question.Params, now time.Time) (question.Params, error) {
	f, err := question.Report(report)
	if err != nil {
		return p, err
	}
	return question.Compare(f, p, w.Snapshot().Manifest.ListedTo(), now, loc)
}

func parse(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	test.OK(t, err)
	return v
}

// For people, a group that is compared has one row: that of the stage or outcome that the header names, else the
// clearest change. Its bounds are those of the whole answer.
func TestGroupsHaveOneRow(t *testing.T) {
	longtest.Only(t)
	w := warehouse(t, randomData(rand.New(rand.NewPCG(1, 1)), 200), nil)
	p := question.Params{By: "call_type", Since: parse(t, "2026-10-15T00:00:00Z"), Until: parse(t, "2026-11-25T00:00:00Z")}
	for name, row := range longtest.Sorted(map[string]string{"funnel": `stage="completed"`, "outcomes": `outcome="completed"`, "disconnections": "", "tools": "", "costs": "", "agents": "all"}) {
		f, err := question.Report(name)
		test.OK(t, err)
		q := p.WithPrevious(time.UTC)
		whole := ask(t, w, f, q)
		q.OneRow = true
		got := ask(t, w, f, q)
		groups := map[string]int{}
		for _, key := range whole.keys {
			groups[whole.group[key]] = 0
		}
		for _, key := range got.keys {
			groups[got.group[key]]++
			if !strings.Contains(key, row) && row != "all" && whole.rows[got.group[key]+row+" "] != nil {
				t.Errorf("%s: %s has the row %s", name, got.group[key], key)
			}
			test.NoDiff(t, diff([][]any{whole.rows[key]}, [][]any{got.rows[key]}), "%s, %s (-all rows +one)", name, key)
			for _, other := range whole.keys {
				if row == "" && whole.group[other] == got.group[key] && clearness(whole, other, f.Main) > clearness(got, key, f.Main)+1e-9 {
					t.Errorf("%s: %s is clearer than %s", name, other, key)
				}
			}
		}
		for group, n := range groups {
			if n != 1 && row != "all" || len(groups) < 3 {
				t.Errorf("%s: %s has %d rows of %d groups", name, group, n, len(groups))
			}
		}
	}
}

// clearness is a change in units of its distance to the bound that is nearer to 0.
func clearness(a comparedRows, key, figure string) float64 {
	change, ok := a.at(key, "change_"+figure).(float64)
	low, _ := a.at(key, "change_low_"+figure).(float64)
	high, judged := a.at(key, "change_high_"+figure).(float64)
	if !ok || !judged {
		return 0
	}
	return max(change/(change-low), change/(change-high))
}
