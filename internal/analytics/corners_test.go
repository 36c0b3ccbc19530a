package analytics_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

// St. John's changed its clocks at one minute past midnight, and Liberia was 44 and a half minutes behind. If a
// broken clock dates a call centuries ahead, the zone has too many changes for a table of its offsets.
func TestDaysInOddZones(t *testing.T) {
	for _, c := range []struct {
		zone string
		cut  time.Time
		far  bool
	}{
		{"America/St_Johns", time.Date(2010, 11, 7, 2, 31, 0, 0, time.UTC), false}, // 00:01, back to 23:01 of the previous day
		{"America/St_Johns", time.Date(2010, 11, 7, 2, 31, 0, 0, time.UTC), true},
		{"Africa/Monrovia", time.Date(1971, 6, 1, 0, 44, 30, 0, time.UTC), false}, // midnight
	} {
		var calls []row
		for i := range 8 {
			calls = append(calls, row{"call_id": fmt.Sprint(i), "start_at": c.cut.UnixMilli() + int64(i-4)*30_000, "user_sentiment": "positive"})
		}
		groups := map[string]int{"day": 2, "hour": 2}
		if c.far {
			groups["day"]++ // its hour counts as one of the two
			calls = append(calls, row{"call_id": "far", "start_at": c.cut.AddDate(300, 0, 0).UnixMilli(), "user_sentiment": "positive"})
		}
		d := analyticstest.Data{Calls: calls}
		root := t.TempDir()
		analyticstest.Write(t, root, 1, d)
		loc := zone(t, c.zone)
		w := open(t, root, loc)
		for by, groups := range groups {
			got := rowsOf(t, w, "sentiment", question.Params{By: by})
			want := oracle("sentiment", d, question.Params{By: by}, loc)
			if d := diffNear(want, got); d != "" || len(want) != groups {
				t.Errorf("%s by %s, far %v, in %d groups (-oracle +report):\n%s", c.zone, by, c.far, len(want), d)
			}
		}
	}
}

// less compares two values of a column; null is last in either direction.
func less(t *testing.T, c value.Column, a, b any, desc bool) int {
	t.Helper()
	if a == nil || b == nil {
		return cmp.Compare(fmt.Sprint(a == nil), fmt.Sprint(b == nil))
	}
	n := 0
	switch x := a.(type) {
	case int64:
		n = cmp.Compare(x, b.(int64))
	case float64:
		n = cmp.Compare(x, b.(float64))
	case string:
		n = cmp.Compare(x, b.(string))
		if at := slices.Index(value.Weekdays[:], x); at >= 0 { // in their natural order
			n = cmp.Compare(at, slices.Index(value.Weekdays[:], b.(string)))
		}
		if c.Kind == value.Exact {
			exactly := func(s any) *big.Rat { r, _ := new(big.Rat).SetString(s.(string)); return r }
			n = exactly(a).Cmp(exactly(b))
		}
	case bool:
		n = cmp.Compare(fmt.Sprint(x), fmt.Sprint(b))
	case value.Date:
		n = time.Time(x).Compare(time.Time(b.(value.Date)))
	default:
		t.Fatalf("a column of %T", a)
	}
	if desc {
		return -n
	}
	return n
}

// Every report can be sorted by every column of figures and words, in either direction, with and without a
// comparison; ties keep the report's order, and the first N rows are those of the whole answer.
func TestSort(t *testing.T) {
	longtest.Only(t)
	d := randomData(rand.New(rand.NewPCG(23, 1)), 60)
	w := warehouse(t, d, nil)
	tried := 0
	for i, f := range sqlfiles.Reports() {
		p := question.Params{}
		if f.Arguments != "" {
			continue
		}
		if f.Grouped() && i%2 == 0 {
			p.By = []string{"call_type", "status,call_type"}[i/2%2]
		}
		rows, err := askFor(t.Context(), w, f.Name, p)
		test.OK(t, err)
		columns := rows.Columns()
		whole := all(t, rows, nil)
		for at, c := range columns {
			desc := (at+i)%2 == 0
			p.Sort, p.Top = c.Name+map[bool]string{true: ":desc", false: ":asc"}[desc], 0
			rows, err := askFor(t.Context(), w, f.Name, p)
			if group := (*question.GroupError)(nil); errors.As(err, &group) && strings.Contains(c.Name, "agent") || strings.HasSuffix(c.Name, "_name") && err != nil {
				continue
			}
			got := all(t, rows, err)
			want := slices.Clone(whole)
			slices.SortStableFunc(want, func(a, b []any) int { return less(t, c, a[at], b[at], desc) })
			if d := diff(want, got); d != "" {
				t.Fatalf("%s --by %q --sort %s (-want +got):\n%s", f.Name, p.By, p.Sort, d)
			}
			p.Top = 3
			if d := diff(want[:min(3, len(want))], rowsOf(t, w, f.Name, p)); d != "" {
				t.Fatalf("%s --by %q --sort %s --top 3 (-want +got):\n%s", f.Name, p.By, p.Sort, d)
			}
			tried++
		}
	}
	if tried < 100 {
		t.Errorf("only %d columns were tried", tried)
	}
	for sort, nearest := range map[string]string{"call": "calls", "calls:up": "", "agent": "", "agent_id:asc": ""} {
		_, err := askFor(t.Context(), w, "agents", question.Params{Sort: sort})
		var unknown *question.UnknownError
		var group *question.GroupError
		if nearest != "" && (!errors.As(err, &unknown) || unknown.Nearest != nearest) || nearest == "" && (!errors.As(err, &group) || group.Hint == "") {
			t.Errorf("--sort %s: %v", sort, err)
		}
	}
}
