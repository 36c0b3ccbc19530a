package sandbox

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"callhouse/internal/test"
)

// TestListsGoWrong follows the list of 300 calls of 30 days with each mode of lists.
func TestListsGoWrong(t *testing.T) {
	type seen struct {
		ids    []string
		last   string // the members of the last page but for the number of its items
		status int
	}
	follow := func(s *Server, query string) (all seen) {
		cursor := ""
		for range 40 {
			w := do(s, "GET", "/v3/calls?limit=10"+query+cursor)
			var p struct {
				Items []struct{ ID string }
				Next  json.RawMessage `json:"next_cursor"`
				Total int64           `json:"total_count"`
			}
			decode(t, w.Body.Bytes(), &p)
			for _, c := range p.Items {
				all.ids = append(all.ids, c.ID)
			}
			items := "items"
			if p.Items == nil {
				items = "null"
			}
			next, _ := strconv.Unquote(string(p.Next))
			all.last, all.status = items+" "+string(p.Next)+" "+strconv.FormatInt(p.Total, 10), w.Code
			if len(next) < 40 || "&cursor="+next == cursor {
				break
			}
			cursor = "&cursor=" + next
		}
		return all
	}
	right := newServer(t, Options{World: Config{Calls: 300}})
	whole := follow(right, "").ids
	week := 0
	for v := range right.World().Visible(busy) {
		if v.Started && v.StartAt > busy.AddDate(0, 0, -7).UnixMilli() {
			week++
		}
	}
	n := len(whole)
	total := " " + strconv.Itoa(n)
	for _, c := range []struct {
		modes, query string
		calls        int
		last         string
	}{
		{"", "", n, "items null" + total},
		{"depth=100", "", 100, "items null" + total},
		{"depth=100", "&sort_order=asc", 100, "items null" + total},
		{"total-most=100", "", n, "items null 100"},
		{"total-extra=-5", "", n, "items null " + strconv.Itoa(n-5)},
		{"total-extra=5", "", n, "items null " + strconv.Itoa(n+5)},
		{"window=7", "", week, "items null " + strconv.Itoa(week)},
		{"window=7", "&start_at_before=1895084200000", n, "items null" + total},
		{"404", "", n, "items null" + total},
		{"404", "&start_at_before=1", 0, "null  0"},
		{"null", "", n, "null null" + total},
		{"last=0", "", n, "items 0" + total},
		{"last=false", "", n, "items false" + total},
		{`last=""`, "", n, `items ""` + total},
		{"last=same", "", n, ""},
	} {
		for _, offset := range []bool{false, true} {
			lists, err := ParseLists(c.modes)
			test.OK(t, err)
			s := newServer(t, Options{World: Config{Calls: 300}, Lists: lists, OffsetPaging: offset})
			got := follow(s, c.query)
			slices.Sort(got.ids)
			if distinct := len(slices.Compact(got.ids)); distinct != c.calls || c.last != "" && got.last != c.last {
				t.Errorf("%s%s, offset %v: %d calls, %s, want %d, %s", c.modes, c.query, offset, distinct, got.last, c.calls, c.last)
			}
		}
	}
	for _, bad := range []string{"depth", "depth=-1", "last=maybe", "ends"} {
		if _, err := ParseLists(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// TestLatenciesHaveALongTail looks at the delays of many requests.
func TestLatenciesHaveALongTail(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 10}, Latency: 100 * time.Millisecond, Tail: 1, Counted: AtArrival})
	var all []float64
	for n := range int64(2000) {
		_, after := s.latency(n)
		all = append(all, after.Seconds())
	}
	slices.Sort(all)
	if half, most := all[1000], all[1980]; math.Abs(half-.1) > .01 || most < .7 || most > 1.5 {
		t.Errorf("half of the requests take %v s, one of a hundred %v s", half, most)
	}
}

// TestEmptyListIs404 reads the error of an empty list.
func TestEmptyListIs404(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 0}, Lists: Lists{None: true}})
	if w := do(s, "GET", "/v3/calls"); w.Code != 404 || !strings.Contains(w.Body.String(), `{"error":{"code":"NO_CALLS_FOUND"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
