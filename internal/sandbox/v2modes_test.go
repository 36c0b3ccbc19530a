package sandbox

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/test"

	"callhouse/internal/longtest"
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
		s := newServer(t, Options{World: Config{Calls: 30}, V2: mode(t, c.mode)})
		id := s.World().ID(3).String()
		if first, then := v2Statuses(s, id), v2Statuses(s, id); !slices.Equal(first, c.first) || !slices.Equal(then, c.then) {
			t.Errorf("%s: %v and %v", c.mode, first, then)
		}
		if post(s, "/v2/campaigns/list", "{}").Code != 200 || do(s, "GET", "/v3/calls/"+id).Code != 200 {
			t.Errorf("%s: not of calls of v2 alone", c.mode)
		}
	}
	s := newServer(t, Options{World: Config{Calls: 30}, V2: mode(t, "422")})
	if w := post(s, bulkPath, "{}"); !strings.Contains(w.Body.String(), `"detail":[{"loc":`) {
		t.Errorf("%s", w.Body)
	}
}

// TestV2WrongTurns compares transcripts with v3's: some lack a turn, some have another character.
func TestV2WrongTurns(t *testing.T) {
	longtest.Only(t)
	s := newServer(t, Options{World: Config{Calls: 300}, V2: mode(t, "wrong-turns=.3")})
	missing, changed := 0, 0
	for _, c := range getAllBulk(t, s, bulkPath, `{"limit":500}`) {
		id := c["call_id"].(string)
		var detail, single map[string]any
		decode(t, do(s, "GET", "/v3/calls/"+id).Body.Bytes(), &detail)
		decode(t, do(s, "GET", "/v2/calls/"+id).Body.Bytes(), &single)
		test.Same(t, c["transcript_with_tool_calls"], single["transcript_with_tool_calls"], "%s alone", id)
		right, _ := detail["transcript"].([]any)
		items, _ := c["transcript_with_tool_calls"].([]any)
		if len(items) < len(right) {
			missing++
		} else if !reflect.DeepEqual(right, items) {
			changed++
		}
	}
	if missing < 10 || changed < 10 || missing+changed > 120 {
		t.Errorf("%d lack a turn, %d have another character", missing, changed)
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
	if _, err := New(Options{World: Config{Calls: 5, Origin: busy}, V2: V2{ExtraCalls: 6}}); err == nil {
		t.Error("more extra calls than calls")
	}
}

func TestParseV2(t *testing.T) {
	for _, bad := range []string{
		"on", "off=200", "off=x", "removed-after", "removed-after=-1", "wrong-turns", "wrong-turns=2", "wrong-turns=NaN", "shift=maybe",
		"extra-calls=1.5",
		"slow-above=9:nap", "slow-above=:cut",
	} {
		if v, err := ParseV2(bad); err == nil {
			t.Errorf("%q: %+v", bad, v)
		}
	}
}
