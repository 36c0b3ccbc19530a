package analytics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the tests use little memory
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		for _, end := range analytics.AtEnd {
			end()
		}
		os.Exit(code)
	}))
}

// shared is a small warehouse for all tests that change nothing, by whether it is in safe mode: an
// open one with all definitions made costs a quarter of a second.
var shared = map[bool]*analytics.Warehouse{}

func sharedWarehouse(t *testing.T, safe bool) *analytics.Warehouse {
	t.Helper()
	if shared[safe] != nil {
		return shared[safe]
	}
	root, err := os.MkdirTemp("", "shared")
	test.OK(t, err)
	analyticstest.Write(t, root, 1, analyticstest.Data{
		Calls: []row{{"call_id": "c1", "start_at": int64(1_760_000_000_000), "metadata": `{"a":[1,2]}`, "agent_id": "a", "duration_ms": int64(5)}, {"call_id": "c2"}},
		Turns: []row{{"call_id": "c1", "turn": int64(0), "role": "tool_call_invocation"}, {"call_id": "c1", "turn": int64(1), "role": "agent", "content": "hello"}},
		Items: []row{{"call_id": "c1", "position": int64(0), "name": "resolved", "value": "true"}},
		Runs:  []row{{"run_id": "r"}}, Others: analyticstest.One(),
	})
	o := database.Options{Threads: 1}
	if safe {
		o.Safe = &database.Limits{Memory: 256 << 20, Temp: 1 << 20}
	}
	w, err := analytics.Open(t.Context(), root, analytics.Options{Options: o})
	test.OK(t, err)
	shared[safe], analytics.AtEnd = w, append(analytics.AtEnd, func() { _, _ = w.Close(), os.RemoveAll(root) })
	return w
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	test.OK(t, err)
	return loc
}

func open(t testing.TB, root string, loc *time.Location) *analytics.Warehouse {
	t.Helper()
	w, err := analytics.Open(t.Context(), root, analytics.Options{Options: database.Options{Location: loc, Threads: 1}}) // waking a second thread costs more than it gains
	test.OK(t, err)
	t.Cleanup(func() { test.OK(t, w.Close()) })
	return w
}

// warehouse returns a warehouse that holds d. In the quick tests its months are compacted.
func warehouse(t testing.TB, d analyticstest.Data, loc *time.Location) *analytics.Warehouse {
	t.Helper()
	if !longtest.On() {
		d.Compacted = byMonth
	}
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	return open(t, root, loc)
}

// all returns the rows of an answer, and closes it.
func all(t testing.TB, rows *analytics.Rows, err error) [][]any {
	t.Helper()
	test.OK(t, err)
	defer rows.Close()
	var out [][]any
	for {
		r, err := rows.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return out
		}
		test.OK(t, err)
		line := append([]any(nil), r...)
		for i, v := range line { // sums are HUGEINT
			switch v := v.(type) {
			case *big.Int:
				if v.IsInt64() {
					line[i] = v.Int64()
				}
			case value.Decimal:
				line[i] = v.String()
			case time.Time:
				line[i] = v.UnixMilli()
			case value.LocalTime:
				line[i] = time.Time(v).UnixMilli()
			}
		}
		out = append(out, line)
	}
}

// rowsOf returns the rows of a report.
func rowsOf(t testing.TB, w *analytics.Warehouse, report string, p question.Params) [][]any {
	t.Helper()
	rows, err := askFor(t.Context(), w, report, p)
	return all(t, rows, err)
}

// sqlOf returns the rows of a statement.
func sqlOf(t testing.TB, w *analytics.Warehouse, text string, args ...any) [][]any {
	t.Helper()
	rows, err := w.SQL(t.Context(), text, args...)
	return all(t, rows, err)
}

// positions returns where the columns are.
func positions(rows *analytics.Rows) map[string]int {
	at := map[string]int{}
	for i, c := range rows.Columns() {
		at[c.Name] = i
	}
	return at
}

// diffNear allows for rounding of square roots in intervals and scores, which the oracle computes
// with another formula. Everything else must be equal to the last digit.
func diffNear(want, got [][]any) string {
	same := func(a, b float64) bool {
		return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1)
	}
	return cmp.Diff(want, got, cmp.Comparer(func(a, b value.Date) bool { return time.Time(a).Equal(time.Time(b)) }), cmp.Comparer(same))
}

func diff(want, got [][]any) string {
	return cmp.Diff(want, got, cmp.Comparer(func(a, b value.Date) bool { return time.Time(a).Equal(time.Time(b)) }))
}

// questions are asked of every report in the oracle's test; the last ones need the tables of the organisation.
var questions, ofOrganisation = []question.Params{
	{}, {By: "agent,day", Field: "colour=true", Every: "hour"}, {By: "agent", Until: seoul, Steps: true, Every: "minute"},
	{By: "hour,weekday", Where: []string{"agent=b-three"}, Field: "colour=red"}, {By: "agent_version,call_type", Since: october, Until: seoul.AddDate(0, 0, 3)},
	{By: "metadata.campaign,dynamic_variables.campaign", Where: []string{"metadata.n=1.5", "metadata.n="}},
	{By: "outcome,call_type", Where: []string{"call_type=outbound", "call_type=", "user_sentiment=positive"}, Every: "minute"},
	{By: "variant_label", Where: []string{"weekday=Sunday", "outcome=unknown"}, Since: october, Steps: true},
	{By: "agent", Where: []string{"day=2026-10-25", "day=2026-11-20"}, Field: "size=1.5"},
	{By: "hour", Where: []string{"week=2026-10-19", "month=2026-10"}}, {By: "week,weekday", Where: []string{"month=2026-11"}, Field: "colour="},
	{By: "month", Agent: "b-three"}, {By: "user_sentiment,metadata.absent", Steps: true}, {By: "status", Since: october}, {By: "disconnection_reason", Field: "size=v7"},
	{By: "metadata.n,metadata.a/b~c", Until: seoul}, {By: "metadata.nested,outcome_kind"},
}, []question.Params{
	{By: "agent_type"}, {By: "number"}, {By: "agent_type,day"}, {By: "number,agent_type", Where: []string{"agent_type=flow", "agent_type="}},
	{By: "weekday", Where: []string{"number=+8215880000", "number=sip:777@10.0.0.1"}}, {By: "agent", Where: []string{"number=", "agent_type=single_prompt"}},
	{By: "weekday,call_type", Where: []string{"agent_type=flow"}}, {Where: []string{"status=none"}}, {Agent: "a1-one", Since: seoul.AddDate(0, 0, -1)},
}

var october, seoul = time.Date(2026, 10, 25, 0, 15, 0, 0, time.UTC), time.Date(2026, 11, 19, 15, 0, 0, 0, time.UTC) // a change of clocks, and midnight in Seoul

// Every report equals the oracle to the last digit: over few and many calls, in several zones, by every dimension, with
// and without conditions and bounds. The quick test asks each report one question.
func TestReportsEqualTheOracle(t *testing.T) {
	sizes := []int{120}
	if longtest.On() {
		sizes = []int{0, 1, 3, 40, 500}
	}
	for seed, n := range sizes {
		for company, asked := range [][]question.Params{questions, slices.Concat(questions, ofOrganisation)} {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(1+15*company)))
			d := randomData(r, n)
			for _, c := range d.Calls[:n/15] { // some last for days
				c["duration_ms"] = int64(100_000_000)
			}
			if company == 1 && n > 0 {
				organisation(r, &d)
			}
			if !longtest.On() {
				d.Compacted = byMonth
			}
			zones := []string{"Australia/Lord_Howe", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Asia/Seoul"}
			root, opened := t.TempDir(), make([]*analytics.Warehouse, len(zones))
			analyticstest.Write(t, root, 1, d)
			for i, p := range asked {
				if n < 40 && i%4 > 0 {
					continue
				}
				p.NamesInPlace = true // otherwise they have their own column
				at := i % len(zones)
				if !longtest.On() {
					at = company
				}
				for k, f := range sqlfiles.Reports() {
					versions := f.Name == "versions" // the oracle knows no publications
					if f.Name == "call" || versions && company == 1 || !longtest.On() && (i != (7*k+3)%len(asked) || company == 0 && !versions) {
						continue
					}
					if opened[at] == nil {
						opened[at] = open(t, root, zone(t, zones[at]))
					}
					checkReport(t, opened[at], f, d, p)
				}
			}
		}
	}
}

// checkReport compares a report over the calls that p selects with the oracle.
func checkReport(t *testing.T, w *analytics.Warehouse, f *sqlfiles.File, data analyticstest.Data, p question.Params) {
	t.Helper()
	switch f.Name {
	case "calls", "search":
		p.Limit, p.Skip = int64(len(p.By)%4), int64(len(p.Where)*2)
		p.Words = [][]string{{"card"}, {"CREDIT", "card"}, {"환불"}, {"%"}, {"it's \\ '"}, {"no such words"}}[len(p.By)%6]
	}
	if !slices.Contains(f.Flags, "field") {
		p.Field = ""
	}
	p.Steps = p.Steps && slices.Contains(f.Flags, "steps")
	if !f.Grouped() {
		p.By = ""
	}
	if slices.ContainsFunc(question.ByNames(p.By), func(name string) bool { return slices.Contains(f.Keys, name) }) {
		return // it has that group already
	}
	rows, err := askFor(t.Context(), w, f.Name, p)
	if len(data.Calls) < 40 && errors.As(err, new(*question.UnknownError)) {
		return // no call has that agent or field
	}
	got := all(t, rows, err)
	compare := diff
	if isNear(f.Name) {
		compare = diffNear
	}
	if d := compare(oracle(f.Name, data, p, w.Location()), got); d != "" {
		t.Fatalf("%s of %d calls, %+v, %s (-oracle +report):\n%s", f.Name, len(data.Calls), p, w.Location(), d)
	}
}

// byMonth compacts every month: few files are quick to read.
func byMonth(string) bool { return true }

// isNear reports whether a report has square roots, or shares of money.
func isNear(report string) bool {
	return slices.Contains([]string{"agents", "sentiment", "versions", "anomalies", "outcomes", "success", "costs", "callers", "transfers", "changes", "scorecards"}, report)
}

// The table of offsets and DuckDB's calendar agree at every instant until 2026. After that they
// depend on the age of their time zone databases: in that of DuckDB 1.5.6 Morocco has no summer
// time, in those of Go 1.26 and Debian 12 it has.
func TestLocalTimeEqualsTheCalendar(t *testing.T) {
	longtest.Only(t)
	r := rand.New(rand.NewPCG(9, 9))
	calls := randomCalls(r, 500)
	for i := range 60 { // far apart: many changes between them
		calls = append(calls, row{"call_id": fmt.Sprintf("x%d", i), "start_at": r.Int64N(60 * 365 * 86_400_000)})
	}
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: calls})
	for _, name := range []string{"America/New_York", "UTC", "Europe/Berlin", "Asia/Seoul", "Asia/Kathmandu", "Africa/Casablanca"} {
		w := open(t, root, zone(t, name))
		if got := sqlOf(t, w, "SELECT count(*) FROM calls WHERE local_start IS DISTINCT FROM timezone(?1, start_at) AND (start_at < TIMESTAMP '2026-01-01' OR ?1 <> 'Africa/Casablanca')", name); got[0][0] != int64(0) {
			t.Errorf("%s: %v starts have another local time than the calendar's", name, got[0][0])
		}
	}
}
