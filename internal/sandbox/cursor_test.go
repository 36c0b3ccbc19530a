package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"callhouse/internal/test"
)

func TestForgedCursorsAreRefused(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 300}})
	good := *getPage(t, s, "limit=5", "").NextCursor
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(good)-1).Draw(t, "at")
		forged := good[:at] + string(letters[rapid.IntRange(0, 63).Draw(t, "letter")]) + good[at+1:]
		if w := do(s, "GET", "/v3/calls?limit=5&cursor="+forged); forged != good && w.Code != 400 {
			t.Fatalf("%s for %s: %d", forged, good, w.Code)
		}
	})
	for _, bad := range []string{good + "A", good[1:], strings.Repeat("A", len(good)), good + "="} {
		if w := do(s, "GET", "/v3/calls?cursor="+bad); w.Code != 400 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
}

func TestCursorBelongsToItsList(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 300}})
	other := newServer(t, Options{World: Config{Calls: 300, Seed: 2}})
	lists := []string{
		"sort_order=desc", "sort_order=asc", "status=ended", "status=ended&call_type=web", "call_type=web", "start_at_after=1",
		"start_at_before=1795080600000", "agent_id=x", "disconnection_reason=x", "call_from=x", "call_to=x", "call_to=xx",
	}
	for _, from := range lists {
		e := getPage(t, s, "limit=1&"+from, "")
		if e.NextCursor == nil {
			continue
		}
		if w := do(other, "GET", "/v3/calls?"+from+"&cursor="+*e.NextCursor); w.Code != 400 {
			t.Errorf("another sandbox takes the cursor of %s", from)
		}
		for _, to := range lists {
			w := do(s, "GET", "/v3/calls?limit=50&"+to+"&cursor="+*e.NextCursor)
			test.Same(t, from == to, w.Code == 200, "cursor of %s in %s: %d", from, to, w.Code)
		}
	}
}

func TestCursorExpires(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 300}, CursorTTL: time.Minute})
	cursor := *getPage(t, s, "limit=5", "").NextCursor
	for _, c := range []struct {
		pass   time.Duration
		status int
	}{{0, 200}, {time.Minute, 200}, {time.Millisecond, 400}} {
		s.opts.Clock.Advance(c.pass)
		if w := do(s, "GET", "/v3/calls?limit=5&cursor="+cursor); w.Code != c.status {
			t.Errorf("after %v more: %d, want %d", c.pass, w.Code, c.status)
		}
	}
}

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

// TestEmptyListIs404 reads the error of an empty list.
func TestEmptyListIs404(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 0}, Lists: Lists{None: true}})
	if w := do(s, "GET", "/v3/calls"); w.Code != 404 || !strings.Contains(w.Body.String(), `{"error":{"code":"NO_CALLS_FOUND"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestPageGoesOnBehindWhatNoLongerMatches changes the last campaign of a page before the next one is requested.
func TestPageGoesOnBehindWhatNoLongerMatches(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 60, Campaigns: -1}})
	var ids []string
	for range 3 {
		ids = append(ids, newCampaign(t, s, 1, "")["id"].(string))
		s.opts.Clock.Advance(time.Second)
	}
	const pending = `{"limit":1,"filter_criteria":{"status":["pending"]}`
	_, first := send(t, s, "POST", "/v2/campaigns/list", pending+"}")
	send(t, s, "POST", "/v2/campaigns/"+ids[2]+"/pause", "")
	_, second := send(t, s, "POST", "/v2/campaigns/list", fmt.Sprintf(`%s,"pagination_key":%q}`, pending, first["next_cursor"]))
	if first["next_cursor"] != ids[2] || member(second["campaigns"].([]any)[0], "id") != ids[1] || second["total_count"] != 2.0 {
		t.Errorf("%v, then %v", first, second)
	}
}
