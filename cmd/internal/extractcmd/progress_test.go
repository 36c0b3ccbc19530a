package extractcmd

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vbauerster/mpb/v8"

	"callhouse/internal/crawler"
	"callhouse/internal/sink/snapshot"
)

// Without a terminal, long work logs its progress once a minute; short work and
// --quiet log nothing.
func TestProgressOffTheTerminal(t *testing.T) {
	for _, tc := range []struct {
		quiet bool
		want  string
	}{
		{false, `msg=progress of=2026-10 calls=4096 total=9000`},
		{true, ""},
	} {
		var out bytes.Buffer
		b := newScreen(&out, tc.quiet)
		b.show(snapshot.Progress{What: "2026-09", Done: 5, Total: 5})
		if out.Len() > 0 {
			t.Errorf("short work says %q", out.String())
		}
		b.told = b.told.Add(-2 * time.Minute)
		for range 2 {
			b.show(snapshot.Progress{What: "2026-10", Done: 4096, Total: 9000})
		}
		b.close()
		if got := out.String(); !strings.HasSuffix(strings.TrimSpace(got), tc.want) || strings.Count(got, "\n") != min(1, len(tc.want)) {
			t.Errorf("it says %q, want %q once", got, tc.want)
		}
	}
}

// While the list is being read, the number of transcripts is unknown, so no line claims that
// nothing is left.
func TestProgressTellsWhatIsLeft(t *testing.T) {
	for _, tc := range []struct {
		phase        crawler.Phase
		left         time.Duration
		line, screen string
	}{
		{crawler.Listing, 0, "", ""},
		{crawler.Listing, 90 * time.Second, "list_left=1m 30s", ", 1m 30s left for the list"},
		{crawler.Listing, -1, "", ""},
		{crawler.Details, 3 * time.Hour, "left=3h 00m", ", 3h 00m left"},
		{crawler.Details, 0, "", ""},
	} {
		p := crawler.Progress{Phase: tc.phase, TimeLeft: tc.left, PagesTotal: 9, DetailsTotal: 9}
		args := progressLine(&p)
		line := ""
		for i := 0; i < len(args); i += 2 {
			if name := args[i].(string); strings.HasSuffix(name, "left") {
				line = fmt.Sprintf("%s=%s", name, args[i+1])
			}
		}
		if screen := strings.TrimPrefix(budgetText(p), " 0 of 0 requests per minute"); line != tc.line || screen != tc.screen {
			t.Errorf("%s, %s left: %q and %q", tc.phase, tc.left, line, screen)
		}
	}
}

// A total is an estimate, and grows if more than that is done. Without an estimate, none is shown.
func TestProgressIsWithinItsTotal(t *testing.T) {
	for total, want := range map[int64]int64{-1: 0, 0: 0, 2: 3, 5: 5} {
		p := crawler.Progress{Phase: crawler.Bulk}
		p.Bulk.Pages, p.Bulk.Total = 3, total
		if done, of, _ := work(&p); done != 3 || of != want {
			t.Errorf("%d of %d, estimated %d", done, of, total)
		}
	}
}

// Watching ends when stopped, with and without bars.
func TestWatchStops(t *testing.T) {
	for _, screen := range []*screen{{out: io.Discard}, {out: io.Discard, bars: mpb.New(mpb.WithOutput(io.Discard))}} {
		polled := make(chan struct{})
		once := sync.OnceFunc(func() { close(polled) })
		stop := screen.watch(slog.New(slog.DiscardHandler), func() crawler.Progress {
			once()
			return crawler.Progress{Phase: crawler.Listing, PagesTotal: 9}
		})
		<-polled
		stop()
		screen.close()
	}
}
