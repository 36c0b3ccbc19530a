package recording_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"callhouse/internal/recording"
	"callhouse/internal/sandbox/recordings"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

// TestSandbox archives a company's recordings with and without each fault.
func TestSandbox(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	company, err := world.New(world.Config{Calls: 60, Agents: 3, Origin: now})
	test.OK(t, err)
	h := &recordings.Host{World: company, Now: func() time.Time { return now }}
	s, third := httptest.NewServer(h), httptest.NewServer(&recordings.Host{World: company, Now: h.Now})
	t.Cleanup(s.Close)
	t.Cleanup(third.Close)
	h.Third = third.URL
	// -1: stored
	for fault, want := range map[recordings.Fault]recording.Problem{
		"": -1, recordings.Cut: -1, recordings.Once: -1, recordings.Redirect: -1, recordings.Slow: recording.Failed,
		recordings.Length: recording.Failed, recordings.Busy: recording.Failed, recordings.Forbidden: recording.Expired,
		recordings.Missing: recording.Gone, recordings.Page: recording.NotAudio,
		recordings.Truncated: -1, // nothing reveals that half of it is missing
	} {
		h.Faults = recordings.Faults{{Kind: fault, Rate: 1}}
		a, _ := archive(t, func(c *recording.Config) {
			c.Stall, c.Attempts = 10*time.Second, 3
			if fault == recordings.Slow {
				c.Stall, c.Attempts = 20*time.Millisecond, 1
			}
		})
		n := 0
		for i := range int64(60) {
			v, ok := company.View(i, now)
			if !ok || !v.Recording || (fault != "" && n > 2) {
				continue
			}
			n++
			got, err := a.Fetch(t.Context(), recording.Call{ID: v.ID.String(), Start: time.UnixMilli(v.StartAt),
				Link: string(recordings.AppendLink(nil, s.URL, v))})
			if problem(err) != want || want == -1 && (err != nil || got.Format != recording.MP3 || got.Remark != "") {
				t.Errorf("%s: %+v %v, want %d", fault, got, err, want)
			}
		}
		if n == 0 {
			t.Error("no recording")
		}
	}
}
