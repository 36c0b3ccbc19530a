package crawler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// Polls are frequent while calls arrive or are open, and become rarer otherwise.
func TestPace(t *testing.T) {
	p := Pace{Least: time.Minute, Most: 10 * time.Minute}
	for range 3 {
		if w := p.Next(true); w != time.Minute {
			t.Errorf("in busy hours: %v", w)
		}
	}
	var all []time.Duration
	for range 8 {
		all = append(all, p.Next(false))
	}
	if all[0] != 90*time.Second || !slices.IsSorted(all) || all[7] != 10*time.Minute {
		t.Errorf("in quiet hours: %v", all)
	}
	if p.Backoff(1) != time.Minute || p.Backoff(3) != 4*time.Minute || p.Backoff(50) != 10*time.Minute {
		t.Errorf("after failures: %v, %v, %v", p.Backoff(1), p.Backoff(3), p.Backoff(50))
	}
}

// The sweep is once a day, even on days with clock changes.
func TestSweep(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	test.OK(t, err)
	for after, want := range map[string]string{
		"2026-11-24T01:00:00Z": "2026-11-24T02:00:00Z",
		"2026-11-24T02:00:00Z": "2026-11-25T02:00:00Z",
		"2026-11-24T23:30:00Z": "2026-11-25T02:00:00Z", // already the 25th there
		"2026-03-28T12:00:00Z": "2026-03-29T01:00:00Z",
		"2026-10-24T12:00:00Z": "2026-10-25T02:00:00Z",
		"2026-12-31T12:00:00Z": "2027-01-01T02:00:00Z",
	} {
		at, _ := time.Parse(time.RFC3339, after)
		if got := Sweep(at, berlin).UTC().Format(time.RFC3339); got != want {
			t.Errorf("after %s: %s, want %s", after, got, want)
		}
	}
}

func item(t *testing.T, text string) *calls.Call {
	t.Helper()
	var d calls.Decoder
	c := new(calls.Call)
	test.OK(t, d.Decode([]byte(text), schema.KindItem, c))
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
}

// record returns a call's own record, fetched at now.
func record(t *testing.T, text string, now int64) *calls.Call {
	t.Helper()
	var d calls.Decoder
	c := new(calls.Call)
	test.OK(t, d.Decode([]byte(text), schema.KindDetail, c))
	c.Fetched(now, now, nil)
	calls.Merge(nil, c, schema.KindDetail)
	c.Settle(now)
	return c
}

const spoken = `,"transcript":[{"role":"agent","content":"Hello.","start_at":1,"end_at":2}]}`

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
