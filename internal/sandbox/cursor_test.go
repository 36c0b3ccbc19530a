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

func TestPagingWhileCallsArrive(t *testing.T) {
	page := func(offset bool) (seen, twice int) {
		s := newServer(t, Options{World: Config{Calls: 100_000, Origin: busy}, OffsetPaging: offset})
		known := map[string]bool{}
		cursor := ""
		for range 20 {
			e := getPage(t, s, "limit=10", cursor)
			for _, id := range ids(e.Items) {
				if known[id] {
					twice++
				}
				known[id] = true
			}
			cursor = *e.NextCursor
			s.opts.Clock.Advance(time.Minute)
		}
		return len(known), twice
	}
	if seen, twice := page(false); seen != 200 || twice != 0 {
		t.Errorf("keyset paging saw %d calls, %d of them again", seen, twice)
	}
	if seen, twice := page(true); twice == 0 {
		t.Errorf("offset paging did not shift: %d calls, %d again", seen, twice)
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

// listedV2 follows next_cursor through a list of v2, and returns the ids in order.
func listedV2(t *testing.T, s *Server, path, name, id, body string) (all []string) {
	t.Helper()
	key := ""
	for {
		status, o := send(t, s, "POST", path, "{"+body+key+"}")
		if status != 200 {
			t.Fatalf("%s %s: %d %v", path, body, status, o)
		}
		for _, item := range o[name].([]any) {
			all = append(all, member(item, id).(string))
		}
		if o["next_cursor"] == nil {
			test.Same(t, any(float64(len(all))), o["total_count"], "%s %s: total_count", path, body)
			return all
		}
		key = fmt.Sprintf(`,"pagination_key":%q`, o["next_cursor"])
	}
}

// TestListsOfV2 requests campaigns and agents with filters and thresholds, in both orders, page by
// page.
func TestListsOfV2(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 600, Agents: 12, Campaigns: 6}})
	for _, name := range []string{"agents", "campaigns"} {
		path, id := "/v2/"+name+"/list", "id"
		if name == "agents" {
			id = "agent_id"
		}
		var want []string // newest first
		truth := s.Organisation().Truth(name, s.Now())
		created := func(i int) int64 { return truth[i].Object["created_at"].(int64) }
		order := make([]int, len(truth))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return int(created(b)/1000 - created(a)/1000) })
		for _, i := range order {
			want = append(want, truth[i].ID)
		}
		list := func(body string) []string { return listedV2(t, s, path, name, id, body) }
		if got := list(`"limit":4`); !slices.Equal(got, want) || len(got) < 6 {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
		ascending := list(`"limit":5,"sort_order":"ascending"`)
		slices.Reverse(ascending)
		test.Same(t, want, ascending, "%s, the oldest first", name)
		for body, status := range map[string]int{
			``: 200, `"limit":500`: 200, `"limit":0`: 422, `"limit":501`: 422, `"sort_order":"asc"`: 422, `"pagination_key":"7"`: 422,
			`"pagination_key":null`: 200, `"filter_criteria":{"colour":[]}`: 422,
			`"filter_criteria":{"agent_id":[]}`: 200,
		} {
			if got, o := send(t, s, "POST", path, "{"+body+"}"); got != status {
				t.Errorf("%s {%s}: %d %v", name, body, got, o)
			}
		}
		agent := member(truth[0].Object, "agent", "agent_id")
		if name == "agents" {
			agent = truth[0].ID
		}
		got := list(fmt.Sprintf(`"limit":1,"filter_criteria":{"agent_id":[%q,"none"]}`, agent))
		if len(got) == 0 || !slices.Contains(got, truth[0].ID) || name == "agents" && len(got) != 1 {
			t.Errorf("%s of %v: %v", name, agent, got)
		}
		if name == "agents" {
			continue
		}
		from, to := created(order[4]), created(order[2])
		between := fmt.Sprintf(`"filter_criteria":{"start_timestamp":{"lower_threshold":%d,"upper_threshold":%d}}`, from, to)
		seconds := fmt.Sprintf(`"filter_criteria":{"start_timestamp":{"lower_threshold":%d,"upper_threshold":%d}}`, from/1000, to/1000+1)
		for _, body := range []string{between, seconds} {
			test.Same(t, want[2:5], list(body), "%s", body)
		}
	}
}

// TestPageGoesOnBehindWhatNoLongerMatches changes the last campaign of a page before the next one
// is requested.
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

// TestTotalsKnowCallsOfTheSameMillisecond requests the same list before and after ordering a call.
func TestTotalsKnowCallsOfTheSameMillisecond(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 20}})
	before := getPage(t, s, "limit=1", "").TotalCount
	send(t, s, "POST", "/v3/calls", fmt.Sprintf(`{"from_number":"021","to_number":"010","agent":{"agent_id":%q}}`,
		s.World().Agents()[0].ID))
	test.Same(t, before+1, getPage(t, s, "limit=1", "").TotalCount, "%d calls, then", before)
}
