package follow

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// Polls are frequent while calls arrive or are open, and become rarer otherwise.
func TestPace(t *testing.T) {
	p := Pace{Least: time.Minute, Most: 10 * time.Minute}
	for range 3 {
		if w := p.Next(true, false); w != time.Minute {
			t.Errorf("in busy hours: %v", w)
		}
	}
	if w := p.Next(false, true); w != 10*time.Minute {
		t.Errorf("if hints bring all news: %v", w)
	}
	p.Next(true, true)
	var all []time.Duration
	for range 8 {
		all = append(all, p.Next(false, false))
	}
	if all[0] != 90*time.Second || !slices.IsSorted(all) || all[7] != 10*time.Minute {
		t.Errorf("in quiet hours: %v", all)
	}
	if p.Backoff(1) != time.Minute || p.Backoff(3) != 4*time.Minute || p.Backoff(50) != 10*time.Minute {
		t.Errorf("after failures: %v, %v, %v", p.Backoff(1), p.Backoff(3), p.Backoff(50))
	}
}

// The sweep is once a day, even on days with clock changes.
func TestDaily(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ at, after, want string }{
		{"03:00", "2026-11-24T01:00:00Z", "2026-11-24T02:00:00Z"},
		{"03:00", "2026-11-24T02:00:00Z", "2026-11-25T02:00:00Z"},
		{"03:00", "2026-11-24T23:30:00Z", "2026-11-25T02:00:00Z"}, // already the 25th there
		{"02:30", "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"}, // 02:30 does not occur
		{"02:30", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"}, // 02:30 occurs twice
		{"02:30", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"00:00", "2026-12-31T22:59:59Z", "2026-12-31T23:00:00Z"},
	} {
		d, err := ParseDaily(tc.at, berlin)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := time.Parse(time.RFC3339, tc.after)
		if got := d.Next(after).UTC().Format(time.RFC3339); got != tc.want {
			t.Errorf("%s after %s: %s, want %s", tc.at, tc.after, got, tc.want)
		}
	}
	for _, bad := range []string{"", "3", "24:00", "03:60", "now"} {
		if _, err := ParseDaily(bad, time.UTC); err == nil {
			t.Errorf("%q is taken for a time of day", bad)
		}
	}
}

const (
	one   = "7d3c1a52-8f7e-4b11-9a34-0d6a1c2b3e4f"
	two   = "11111111-2222-4333-8444-555555555555"
	three = "99999999-2222-4333-8444-555555555555"
)

// The id of a call is found anywhere, and other ids are not mistaken for it.
func TestFind(t *testing.T) {
	known := func(id string) bool { return id == "call_abc123" }
	for body, want := range map[string][]string{
		`{"event":"call_ended","call":{"call_id":"` + one + `","agent":{"agent_id":"` + two + `"}}}`: {one},
		`{"callId":"` + one + `","id":"` + two + `"}`:                                                {one},
		`{"data":{"call":{"id":"` + one + `"}},"id":"` + two + `"}`:                                  {one},
		`[{"call_id":"` + one + `"},{"call_id":"` + two + `"},{"call_id":"` + one + `"}]`:            {two, one},
		`{"x":["deep",{"y":"` + one + `"}]}`:                                                         {one},
		`{"x":"call_abc123","call_id":"` + one + `"}`:                                                {"call_abc123"},
		`{"call_id":"../../v3/agents","text":"hello there"}`:                                         nil,
		`"` + one + `"`: {one},
		`{}`:            nil,
		`null`:          nil,
	} {
		got, err := Find([]byte(body), known)
		if slices.Sort(want); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", body, got, err, want)
		}
	}
	if _, err := Find([]byte(`{"call_id":`), known); err == nil {
		t.Error("what is no JSON is accepted")
	}
}

// Only senders that know the secret can hint. Ids are queued together, once each, up to a limit.
func TestHints(t *testing.T) {
	const secret = "a secret of some length"
	h := &Hints{Secret: secret, Signature: "X-Signature", Known: func(string) bool { return false }}
	body := `{"call_id":"` + one + `"}`
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	sum := mac.Sum(nil)
	post := func(path, body string, header ...string) int {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for _, tc := range []struct {
		what string
		got  int
		want int
	}{
		{"no secret", post(HintPath, body), 401},
		{"a wrong one", post(HintPath, body, "X-Callhouse-Secret", "a secret of some lengti"), 401},
		{"an empty one", post(HintPath, body, "X-Callhouse-Secret", ""), 401},
		{"a wrong one in the path", post(HintPath+"/wrong", body), 404},
		{"another path", post("/", body, "X-Callhouse-Secret", secret), 404},
		{"a wrong signature", post(HintPath, body, "X-Signature", hex.EncodeToString(sum[:31])+"00"), 401},
		{"the signature of another body", post(HintPath, body+" ", "X-Signature", hex.EncodeToString(sum)), 401},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %d, want %d", tc.what, tc.got, tc.want)
		}
	}
	if h.Came() {
		t.Error("a hint without the secret counts")
	}
	for what, got := range map[string]int{
		"header": post(HintPath, body, "X-Callhouse-Secret", secret), "bearer": post(HintPath, body, "Authorization", "Bearer "+secret),
		"path": post(HintPath+"/"+strings.ReplaceAll(secret, " ", "%20"), body), "hex": post(HintPath, body, "X-Signature", "sha256="+hex.EncodeToString(sum)),
		"base64": post(HintPath, body, "X-Signature", base64.StdEncoding.EncodeToString(sum)),
		"no id":  post(HintPath, "{}", "X-Callhouse-Secret", secret),
	} {
		if got != 204 {
			t.Errorf("%s: %d", what, got)
		}
	}
	if got := post(HintPath, "call", "X-Callhouse-Secret", secret); got != 400 {
		t.Errorf("no JSON: %d", got)
	}
	if got := post(HintPath, `"`+strings.Repeat("x", MaxHint)+`"`, "X-Callhouse-Secret", secret); got != 413 {
		t.Errorf("a large body: %d", got)
	}
	if ids, _ := h.Take(10); !slices.Equal(ids, []string{one}) {
		t.Errorf("taken: %v", ids)
	}
	for i := range 2 * mostPending {
		post(HintPath, fmt.Sprintf(`{"call_id":"call-%08d"}`, i), "X-Callhouse-Secret", secret)
	}
	if ids, overflow := h.Take(30); len(ids) != 30 || !overflow {
		t.Errorf("%d are taken, %v", len(ids), overflow)
	}
	if ids, overflow := h.Take(mostPending); len(ids) != mostPending-30 || overflow {
		t.Errorf("%d wait, %v", len(ids), overflow)
	}
}

func item(t *testing.T, text string) *calls.Call {
	t.Helper()
	var d calls.Decoder
	c := new(calls.Call)
	if err := d.Decode([]byte(text), schema.KindItem, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// A poll stores only changes: a new signature of a link is not one.
func TestMemory(t *testing.T) {
	m := NewMemory(1_000_000)
	see := func(text string, now int64) bool { return m.Changed(item(t, text), now) }
	call := `{"id":"a","status":"ongoing","start_at":1000000,"recording_url":null}`
	ended := `{"id":"a","status":"ended","start_at":1000000,"end_at":1060000,"recording_url":"https://r/x?sig=1"}`
	m.Poll()
	if !see(call, 1_010_000) || see(call, 1_011_000) {
		t.Error("a new call is not stored once")
	}
	if news := m.News(1_012_000); news != (News{Open: true}) {
		t.Errorf("the first poll: %+v", news)
	}
	if down := m.Down(5_000_000, 1_012_000); down != 1_000_000 {
		t.Errorf("the next poll lists down to %d", down)
	}
	m.Poll()
	if !see(ended, 1_070_000) {
		t.Error("the end of a call is not stored")
	}
	if news := m.News(1_070_000); news != (News{Calls: 1}) {
		t.Errorf("after its end: %+v", news)
	}
	m.Committed(1_100_000)
	if lag, _ := m.Lag(); lag != 40_000 {
		t.Errorf("the lag is %d", lag)
	}
	m.Poll()
	if see(strings.Replace(ended, "sig=1", "sig=2", 1), 1_200_000) {
		t.Error("another signature is stored")
	}
	if news := m.News(1_200_000); news != (News{}) {
		t.Errorf("a poll that found nothing: %+v", news)
	}
	if !see(strings.Replace(ended, `"ended"`, `"error"`, 1), 1_200_000) {
		t.Error("a change is not stored")
	}
	m.Poll()
	see(`{"id":"b","status":"ended","start_at":1300000,"end_at":1310000}`, 1_320_000)
	see(`{"id":"c","status":"ended","start_at":1250000,"end_at":1260000}`, 1_320_000)
	if news := m.News(1_320_000); news != (News{Calls: 2, Missed: 1}) {
		t.Errorf("of two calls, for one of which a hint may still come: %+v", news)
	}
}

// record returns a call's own record, fetched at now.
func record(t *testing.T, text string, now int64) *calls.Call {
	t.Helper()
	var d calls.Decoder
	c := new(calls.Call)
	if err := d.Decode([]byte(text), schema.KindDetail, c); err != nil {
		t.Fatal(err)
	}
	c.Fetched(now, now, nil)
	calls.Merge(nil, c, schema.KindDetail)
	c.Settle(now)
	return c
}

const spoken = `,"transcript":[{"role":"agent","content":"Hello.","start_at":1,"end_at":2}]}`

// A hint costs a request only if the call has probably ended. This is learned separately for the
// first hint of a call and for later ones.
func TestHinted(t *testing.T) {
	m := NewMemory(0)
	m.Poll()
	open := func(id string) string {
		return `{"id":"` + id + `","status":"ongoing","start_at":1000,"transcript":null}`
	}
	over := func(id string) string {
		return `{"id":"` + id + `","status":"ended","start_at":1000,"end_at":2000` + spoken
	}
	fetched := 0
	for n := range 200 { // a sender that reports the start and the end
		id := fmt.Sprintf("call-%04d", n)
		if m.Hinted(id, 1500) == Fetch {
			fetched++
			m.Fetched(record(t, open(id), 1500), 1500)
		}
		if a := m.Hinted(id, 3000); a != Fetch {
			t.Fatalf("the end of call %d: %v", n, a)
		}
		m.Fetched(record(t, over(id), 3000), 3000)
	}
	if fetched < 4 || fetched > 30 {
		t.Errorf("%d of 200 records were fetched when their calls began", fetched)
	}
	m.Poll()
	if news := m.News(3000); news.Hinted != 200 {
		t.Errorf("hints showed the end of 200 calls: %+v", news)
	}
	if m.Changed(item(t, over("call-0000")), 4000); m.News(4000).Calls > 0 {
		t.Error("a call that a hint has shown is news")
	}
	if a := m.Hinted("call-0000", 4000); a != Wait {
		t.Errorf("a hint for a call with transcript, which polls list: %v", a)
	}
	if a := m.Hinted("call-0001", 4000); a != Fetch {
		t.Errorf("a hint for a call with transcript, which polls do not list: %v", a)
	}
	m = NewMemory(0) // a sender that reports other events before the end
	m.Poll()
	polls, wasted := 0, 0
	for n := range 300 {
		switch id := fmt.Sprintf("call-%04d", n%3); m.Hinted(id, 1500) {
		case Fetch:
			wasted++
			m.Fetched(record(t, open(id), 1500), 1500)
		case Poll:
			polls++
		}
	}
	if wasted > 40 || polls < 200 {
		t.Errorf("of 300 hints for calls in progress %d cost a request, %d wait for a poll", wasted, polls)
	}
	if m.Knows("call-0000"); m.Knows("call-9999") {
		t.Error("a call is known that is not")
	}
}

// Transcripts that usually come some time after the end are requested then. A call that never has
// one changes nothing.
func TestRipe(t *testing.T) {
	m := NewMemory(0)
	m.Poll()
	end := int64(10_000_000)
	requests := 0
	call := func(n int, there int64) {
		id := fmt.Sprintf("call-%04d", n)
		m.Changed(item(t, fmt.Sprintf(`{"id":"%s","status":"ended","start_at":%d,"end_at":%d,"call_analysis":null}`, id, end-1000, end)), end)
		for age := int64(20_000); ; age *= 2 { // ms
			if !m.Ripe(id, end+age) {
				continue
			}
			requests++
			text := fmt.Sprintf(`{"id":"%s","status":"ended","start_at":%d,"end_at":%d,"call_analysis":null`, id, end-1000, end)
			if age >= there {
				m.Fetched(record(t, text+spoken, end+age), end+age)
				return
			}
			m.Fetched(record(t, text+`,"transcript":null}`, end+age), end+age)
			if age > 100_000_000 {
				return
			}
		}
	}
	for n := range 100 {
		call(n, 0)
	}
	if requests != 100 {
		t.Errorf("%d requests for 100 transcripts that are there at once", requests)
	}
	requests = 0
	call(999, 1e15)
	if never := requests; never < 5 || !m.Ripe("call-0000", end) {
		t.Errorf("a transcript that never comes: %d requests, %d ms", never, m.ripe)
	}
	requests = 0
	for n := range 200 {
		call(1000+n, 60_000)
	}
	if requests > 240 {
		t.Errorf("%d requests for 200 transcripts that come a minute after the end", requests)
	}
	m.Changed(item(t, `{"id":"d","status":"ended","start_at":1,"end_at":2,"call_analysis":{"summary":"S"}}`), 3)
	if !m.Ripe("d", 3) {
		t.Error("a call with an analysis waits")
	}
}
