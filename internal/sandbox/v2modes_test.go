package sandbox

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/test"
)

// v2Statuses requests a list at both paths, and one call.
func v2Statuses(s *Server, id string) []int {
	return []int{
		post(s, bulkPath, `{"limit":3}`).Code, post(s, "/functions/v1/v1/list-calls", `{"limit":3}`).Code,
		do(s, "GET", "/v2/calls/"+id).Code,
	}
}

func mode(t testing.TB, text string) V2 {
	t.Helper()
	v, err := ParseV2(text)
	test.OK(t, err)
	return v
}

func TestV2Off(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 30}, V2: mode(t, "off")})
	id := s.World().ID(3).String()
	for _, c := range []struct {
		mode  string
		first []int
		then  []int
	}{
		{"off", []int{404, 404, 404}, []int{404, 404, 404}},
		{"off=410", []int{410, 410, 410}, []int{410, 410, 410}},
		{"off=403", []int{403, 403, 403}, []int{403, 403, 403}},
		{"off=400", []int{400, 400, 400}, []int{400, 400, 400}},
		{"removed-after=3", []int{200, 200, 200}, []int{200, 404, 404}},
		{"removed-after=1,off=410", []int{200, 410, 410}, []int{410, 410, 410}},
		{"422", []int{422, 422, 200}, []int{422, 422, 200}},
		{"", []int{200, 200, 200}, []int{200, 200, 200}},
	} {
		test.OK(t, s.SetV2(mode(t, c.mode)))
		if first, then := v2Statuses(s, id), v2Statuses(s, id); !slices.Equal(first, c.first) || !slices.Equal(then, c.then) {
			t.Errorf("%s: %v and %v", c.mode, first, then)
		}
		if post(s, "/v2/campaigns/list", "{}").Code != 200 || do(s, "GET", "/v3/calls/"+id).Code != 200 {
			t.Errorf("%s: not of calls of v2 alone", c.mode)
		}
	}
	test.OK(t, s.SetV2(mode(t, "422")))
	if w := post(s, bulkPath, "{}"); !strings.Contains(w.Body.String(), `"detail":[{"loc":`) {
		t.Errorf("%s", w.Body)
	}
}

// TestV2WrongTurns finds every wrong transcript by comparison with v3, and no other.
func TestV2WrongTurns(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 300}, V2: mode(t, "wrong-turns=.3")})
	missing, changed := 0, 0
	for _, c := range getAllBulk(t, s, bulkPath, `{"limit":500}`) {
		id := c["call_id"].(string)
		view, _ := s.World().Find(id, busy)
		var detail, single map[string]any
		decode(t, do(s, "GET", "/v3/calls/"+id).Body.Bytes(), &detail)
		decode(t, do(s, "GET", "/v2/calls/"+id).Body.Bytes(), &single)
		right, _ := detail["transcript"].([]any)
		items, _ := c["transcript_with_tool_calls"].([]any)
		if !reflect.DeepEqual(c["transcript"], single["transcript"]) ||
			!reflect.DeepEqual(c["transcript_with_tool_calls"], single["transcript_with_tool_calls"]) {
			t.Errorf("%s is another one alone", id)
		}
		spoken := slices.DeleteFunc(slices.Clone(items), func(it any) bool { return it.(map[string]any)["tool_call_id"] != nil })
		if got, _ := c["transcript"].([]any); !reflect.DeepEqual(got, spoken) && len(got)+len(spoken) > 0 {
			t.Errorf("%s: the two transcripts of v2 differ", id)
		}
		differ := 0
		for i := range min(len(right), len(items)) {
			if !reflect.DeepEqual(right[i], items[i]) {
				differ++
			}
		}
		switch wrong := s.V2Wrong(&view.Call) && view.Transcript; {
		case len(items) == len(right) && differ == 0:
			if wrong {
				t.Errorf("%s is right", id)
			}
		case !wrong:
			t.Errorf("%s is wrong: %s", id, cmp.Diff(right, items))
		case len(items) == len(right)-1:
			missing++
		case len(items) == len(right) && differ == 1:
			changed++
		default:
			t.Errorf("%s: %d items for %d, %d are others", id, len(items), len(right), differ)
		}
	}
	if missing < 10 || changed < 10 {
		t.Errorf("%d lack a turn, %d have another character", missing, changed)
	}
	test.OK(t, s.SetV2(V2{}))
	for v := range s.World().Visible(busy) {
		if s.V2Wrong(&v.Call) {
			t.Fatalf("%s is wrong by no mode", v.ID)
		}
	}
}

// TestV2Shifts reads two pages, between which calls appear.
func TestV2Shifts(t *testing.T) {
	for _, text := range []string{"", "shift"} {
		clock := NewManualClock(busy)
		s := newServer(t, Options{World: Config{Calls: 100_000}, Clock: clock, V2: mode(t, text)})
		first := getBulk(t, s, bulkPath, `{"limit":20}`, "")
		clock.Advance(time.Minute)
		second := getBulk(t, s, bulkPath, `{"limit":20}`, *first.Next)
		again := 0
		for _, id := range bulkIDs(second.Calls) {
			if slices.Contains(bulkIDs(first.Calls), id) {
				again++
			}
		}
		if want := min(20, s.World().Count(clock.Now())-s.World().Count(busy)); text == "" && again != 0 ||
			text != "" && (again != int(want) || again == 0) {
			t.Errorf("%q: %d calls come again, %d are new", text, again, want)
		}
	}
}

func TestV2DuplicateKeys(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 40}, V2: mode(t, "duplicate-keys")})
	var page struct{ Calls []json.RawMessage }
	decode(t, post(s, bulkPath, `{"limit":10}`).Body.Bytes(), &page)
	for i, it := range getPage(t, s, "limit=10", "").Items {
		first := fmt.Sprintf(`"call_type":%q,"status":%q,`, it["call_type"], it["status"])
		if c := string(page.Calls[i]); !strings.Contains(c, first) || strings.Count(c, `,"status":"ringing",`) != 1 {
			t.Errorf("%s", c)
		}
	}
}

func TestV2IgnoresTheStart(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 100}, V2: mode(t, "ignore-filter")})
	all := getBulk(t, s, bulkPath, "{}", "")
	window := getBulk(t, s, bulkPath, fmt.Sprintf(`{"filter_criteria":{"start_timestamp":{"upper_threshold":%d}}}`, s.World().Start(5)), "")
	test.Same(t, all, window, "(-want +got)")
}

// TestV2ExtraCalls checks that v2 has the calls of v3 and the given number of others, now and
// later.
func TestV2ExtraCalls(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 200}, V2: mode(t, "extra-calls=6")})
	for range 2 {
		known, extra := map[string]bool{}, 0
		for _, id := range ids(getAll(t, s, "limit=100")) {
			known[id] = true
		}
		all := getAllBulk(t, s, bulkPath, `{"limit":50}`)
		for _, id := range bulkIDs(all) {
			if known[id] {
				continue
			}
			extra++
			if do(s, "GET", "/v3/calls/"+id).Code != 404 || do(s, "GET", "/v2/calls/"+id).Code != 200 {
				t.Errorf("%s is known to v3, or is not to v2", id)
			}
		}
		if extra != 6 || len(all) != len(known)+6 || int64(len(known)) != s.Truth().Calls || int64(len(all)) != s.api.list2.world.Count(s.Now()) {
			t.Errorf("%d calls, %d of them extra, %d in v3", len(all), extra, len(known))
		}
		s.opts.Clock.Advance(100 * time.Hour)
	}
	if err := s.SetV2(V2{}); err == nil {
		t.Error("extra calls can be taken back")
	}
	if _, err := New(Options{World: Config{Calls: 5, Origin: busy}, V2: V2{ExtraCalls: 6}}); err == nil {
		t.Error("more extra calls than calls")
	}
}

func TestParseV2(t *testing.T) {
	got := mode(t, "off=410, removed-after=3,422,other-shape,wrong-turns=.5,spoken-only,duplicate-keys=true,shift,ignore-filter,extra-calls=2,slow-above=200:cut,")
	want := V2{
		Off: 410, RemovedAfter: 3, OtherShape: true, Refused: true, WrongTurns: .5, SpokenOnly: true, DuplicateKeys: true,
		Shift: true, IgnoreStart: true, ExtraCalls: 2, SlowAbove: 200, Slow: "cut",
	}
	test.Same(t, want, got, "(-want +got)")
	for _, bad := range []string{
		"on", "off=200", "off=x", "removed-after", "removed-after=-1", "wrong-turns", "wrong-turns=2", "wrong-turns=NaN", "shift=maybe",
		"extra-calls=1.5",
		"slow-above=9:nap", "slow-above=:cut",
	} {
		if v, err := ParseV2(bad); err == nil {
			t.Errorf("%q: %+v", bad, v)
		}
	}
	if _, err := New(Options{V2: V2{WrongTurns: -1}, World: Config{Origin: busy}}); err == nil {
		t.Error("options are not checked")
	}
}
