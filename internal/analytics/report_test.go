package analytics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
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

// everyQuestion skips most of the questions to the oracle.
var everyQuestion = longtest.Int("every-question", 30, 2, "ask the oracle only every n-th question, from a random one on")

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

func open(t testing.TB, root string, loc *time.Location) *analytics.Warehouse {
	t.Helper()
	w, err := analytics.Open(t.Context(), root, analytics.Options{Options: database.Options{Location: loc, Threads: 1}}) // waking a second thread costs more than it gains
	test.OK(t, err)
	t.Cleanup(func() { test.OK(t, w.Close()) })
	return w
}

// warehouse returns a warehouse that holds d.
func warehouse(t testing.TB, d analyticstest.Data, loc *time.Location) *analytics.Warehouse {
	t.Helper()
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

// Every report equals the oracle to the last digit: over few and many calls, in several zones, by
// every dimension, with and without bounds.
func TestReportsEqualTheOracle(t *testing.T) {
	dims := []string{"", "agent", "agent_version", "day", "week", "month", "hour", "weekday", "call_type", "status",
		"disconnection_reason", "user_sentiment", "variant_label", "metadata.campaign", "metadata.n", "metadata.a/b~c",
		"metadata.nested", "metadata.absent", "dynamic_variables.campaign"}
	tried := longtest.Each(4)
	for seed, n := range []int{0, 1, 3, 40, 500} {
		if !tried(seed) {
			continue
		}
		t.Run(fmt.Sprint(n, " calls"), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			zones := []string{"UTC", "America/New_York", "Europe/Berlin", "Asia/Seoul", "Australia/Lord_Howe"}
			d := randomData(r, n)
			calls := d.Calls
			root := t.TempDir()
			analyticstest.Write(t, root, 1, d)
			every := 1
			if n <= 40 { // few calls make small groups of any kind
				every = 3
			}
			questions := 0
			for i, by := range dims {
				if (i+n)%every > 0 {
					continue
				}
				if i%len(zones) == 0 {
					r.Shuffle(len(zones), func(i, j int) { zones[i], zones[j] = zones[j], zones[i] })
				}
				p := question.Params{By: by}
				switch r.IntN(4) {
				case 0:
					p.Since = bound(r, calls)
				case 1:
					p.Until = bound(r, calls)
				case 2:
					p.Since = bound(r, calls)
					p.Until = p.Since.Add(time.Duration(r.IntN(48)) * time.Hour)
				}
				if n >= 40 && r.IntN(4) == 0 {
					p.Agent = "b-three"
				}
				if questions++; (questions-1)%min(*everyQuestion, len(dims)/every) != 0 {
					continue
				}
				checkReports(t, root, zone(t, zones[i%len(zones)]), d, p)
			}
		})
	}
}

// checkReports compares reports over the calls that p selects with the oracle.
func checkReports(t *testing.T, root string, loc *time.Location, data analyticstest.Data, p question.Params) {
	t.Helper()
	w := open(t, root, loc)
	tried := longtest.Each(2)
	for i, f := range sqlfiles.Reports() {
		if !tried(i) {
			continue
		}
		p := p
		switch f.Name {
		case "call": // see TestCall
			continue
		case "durations":
			p.Steps = len(p.By)%2 == 0
		case "calls":
			p.Limit, p.Skip = int64(len(p.By)%4), int64(len(p.Where)*3)
		case "search":
			p.Limit, p.Skip = int64(len(p.By)%4), int64(len(p.Where)*2)
			p.Words = [][]string{{"card"}, {"CREDIT", "card"}, {"환불"}, {"%"}, {"it's \\ '"}, {"no such words"}}[len(p.By)%6]
		}
		if !f.Grouped() {
			p.By = ""
		}
		rows, err := askFor(t.Context(), w, f.Name, p)
		got := all(t, rows, err)
		compare := diff
		if isNear(f.Name) {
			compare = diffNear
		}
		if d := compare(oracle(f.Name, data, p, loc), got); d != "" {
			t.Fatalf("%s of %d calls, %+v, %s (-oracle +report):\n%s", f.Name, len(data.Calls), p, loc, d)
		}
	}
}

// isNear reports whether a report has square roots, or shares of money.
func isNear(report string) bool {
	return slices.Contains([]string{"agents", "sentiment", "versions", "anomalies", "outcomes", "success", "costs", "callers", "transfers", "changes", "scorecards"}, report)
}

// bound returns the start of some call, to test on which side of a bound that is equal to it the
// call lies.
func bound(r *rand.Rand, calls []row) time.Time {
	for range 20 {
		if len(calls) == 0 {
			break
		}
		if ms, ok := pick(r, calls)["start_at"].(int64); ok {
			return time.UnixMilli(ms)
		}
	}
	return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
}

// The table of offsets and DuckDB's calendar agree at every instant until 2026. After that they
// depend on the age of their time zone databases: in that of DuckDB 1.5.6 Morocco has no summer
// time, in those of Go 1.26 and Debian 12 it has.
func TestLocalTimeEqualsTheCalendar(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	calls := randomCalls(r, 500)
	for i := range 60 { // far apart: many changes between them
		calls = append(calls, row{"call_id": fmt.Sprintf("x%d", i), "start_at": r.Int64N(60 * 365 * 86_400_000)})
	}
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: calls})
	tried := longtest.Each(3)
	for i, name := range []string{"UTC", "America/New_York", "Europe/Berlin", "Asia/Seoul", "Asia/Kathmandu", "Africa/Casablanca"} {
		if !tried(i) {
			continue
		}
		w := open(t, root, zone(t, name))
		rows, err := w.SQL(t.Context(), "SELECT count(*) FROM calls WHERE local_start IS DISTINCT FROM timezone(?1, start_at) AND (start_at < TIMESTAMP '2026-01-01' OR ?1 <> 'Africa/Casablanca')", name)
		if got := all(t, rows, err); got[0][0] != int64(0) {
			t.Errorf("%s: %v starts have another local time than the calendar's", name, got[0][0])
		}
	}
}

// Hours are whole hours of local time even before 1970 and in zones with offsets of half an hour.
func TestHoursOfAnyTime(t *testing.T) {
	var d analyticstest.Data
	for i, ms := range []int64{-1, 0, 1, -3_600_000, -3_600_001, -86_400_000 * 365 * 200, 86_400_000*365*200 + 1} {
		d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(i), "status": "ended", "start_at": ms})
	}
	for _, name := range []string{"UTC", "Asia/Kathmandu", "America/St_Johns"} {
		loc := zone(t, name)
		w := warehouse(t, d, loc)
		for _, p := range []question.Params{{}, {By: "day"}, {By: "week"}} {
			rows, err := askFor(t.Context(), w, "volume", p)
			test.NoDiff(t, diff(oracle("volume", d, p, loc), all(t, rows, err)), "%s, by %q (-oracle +report)", name, p.By)
		}
	}
}
