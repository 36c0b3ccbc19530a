package crawler

import (
	"hash/maphash"
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

// A poll stores only changes: a new signature of a link is not one. A call that ends is due at once.
func TestFollowing(t *testing.T) {
	f := &following{calls: map[string]followedCall{}, from: 5_000_000, seed: maphash.MakeSeed(), whole: true}
	see := func(text string, now int64) bool {
		call := new(calls.Call)
		test.OK(t, new(calls.Decoder).Decode([]byte(text), schema.KindItem, call))
		return f.see(call, now)
	}
	call := `{"id":"a","status":"ongoing","start_at":1000000,"recording_url":null}`
	ended := `{"id":"a","status":"ended","start_at":1000000,"end_at":1060000,"recording_url":"https://r/x?sig=1"}`
	f.begin(1_010_000)
	if !see(call, 1_010_000) || see(call, 1_011_000) {
		t.Error("a new call is not stored once")
	}
	if down := f.begin(1_012_000); down != 1_000_000 {
		t.Errorf("the next poll lists down to %d", down)
	}
	if !see(ended, 1_070_000) || !f.news || len(f.due) != 1 || f.due[0].CallID != "a" {
		t.Errorf("the end of a call: news %v, due %+v", f.news, f.due)
	}
	if down := f.begin(1_080_000); down != 5_000_000 {
		t.Errorf("after its end, the next poll lists down to %d", down)
	}
	if see(strings.Replace(ended, "sig=1", "sig=2", 1), 1_200_000) || f.news || f.changes {
		t.Error("another signature is stored")
	}
	if !see(strings.Replace(ended, `"ended"`, `"error"`, 1), 1_200_000) || f.news || !f.changes || len(f.due) > 0 {
		t.Errorf("a change is not stored, or is news; due: %+v", f.due)
	}
}
