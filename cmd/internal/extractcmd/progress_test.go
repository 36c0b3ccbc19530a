package extractcmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"callhouse/internal/crawler"
	"callhouse/internal/sink"
)

// Without a terminal, long work logs its progress once a minute; short work and
// --quiet log nothing.
func TestProgressOffTheTerminal(t *testing.T) {
	for _, tc := range []struct {
		quiet bool
		want  string
	}{
		{false, `msg=progress of=2026-10 status="4,096 of 9,000 calls"`},
		{true, ""},
	} {
		var out bytes.Buffer
		b := newScreen(&out, tc.quiet)
		b.show(sink.Progress{What: "2026-09", Done: 5, Total: 5})
		if out.Len() > 0 {
			t.Errorf("short work says %q", out.String())
		}
		b.logged = b.logged.Add(-2 * time.Minute)
		for range 2 {
			b.show(sink.Progress{What: "2026-10", Done: 4096, Total: 9000})
		}
		b.close()
		if got := out.String(); !strings.HasSuffix(strings.TrimSpace(got), tc.want) || strings.Count(got, "\n") != min(1, len(tc.want)) {
			t.Errorf("it says %q, want %q once", got, tc.want)
		}
	}
}

// A total is an estimate, and grows if more than that is done; without one, none is shown. While the list
// is being read, the number of transcripts is unknown, so nothing claims that none is left.
func TestCrawlStatus(t *testing.T) {
	for _, tc := range []struct {
		phase       crawler.Phase
		done, total int64
		left        time.Duration
		want        string
	}{
		{crawler.Starting, 3, 9, 0, ""},
		{crawler.Listing, 3, -1, 0, "pages 3, 90 of 120 requests per minute"},
		{crawler.Listing, 3, 2, -1, "pages 3 of 3, 90 of 120 requests per minute"},
		{crawler.Listing, 3, 5, 90 * time.Second, "pages 3 of 5, 90 of 120 requests per minute, 1m 30s left for the list"},
	} {
		p := crawler.Progress{Phase: tc.phase, TimeLeft: tc.left, PagesTotal: tc.total, LastMinute: 90, Allowed: 120}
		p.Pages = tc.done
		if what, status := crawlStatus(&p); strings.TrimSpace(what+" "+status) != tc.want {
			t.Errorf("%s: %s %s, want %s", tc.phase, what, status, tc.want)
		}
	}
	// A page of v2 takes its time, in which the line says what it waits for.
	for ago, want := range map[time.Duration]string{0: "3h 00m left", 12 * time.Second: "awaiting a page for 12s", -1: "comparing a sample with v3: 7"} {
		p := crawler.Progress{Phase: crawler.Bulk, TimeLeft: 3 * time.Hour, LastMinute: 90, Allowed: 120}
		p.Bulk.Transcripts, p.Bulk.Due, p.Bulk.Compared = 1500, 20_000, 7
		if ago >= 0 {
			p.Bulk.Asked = time.Now().Add(-ago)
		}
		if what, status := crawlStatus(&p); what+" "+status != "bulk transcripts 1,500 of 20,000, 90 of 120 requests per minute, "+want {
			t.Errorf("%s %s, want %s", what, status, want)
		}
	}
	for code, want := range map[int]string{0: "no response for 31s", 503: "only errors (status 503) for 31s"} {
		p := crawler.Progress{Failing: 31 * time.Second, FailedStatus: code}
		if what, status := crawlStatus(&p); what+status != "waiting:"+want {
			t.Errorf("%s %s, want %s", what, status, want)
		}
	}
}
