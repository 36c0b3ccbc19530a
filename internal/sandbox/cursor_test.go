package sandbox

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
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
			if (w.Code == 200) != (from == to) {
				t.Errorf("cursor of %s in %s: %d", from, to, w.Code)
			}
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
