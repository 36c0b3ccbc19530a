package extractcmd

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/term"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// Intervals of redrawing and of log lines.
const (
	drawEvery = 200 * time.Millisecond
	logEvery  = time.Minute
)

// screen shows the progress of long work. On a terminal that is one status line, which is redrawn in
// place below the messages; elsewhere it is a log line a minute.
type screen struct {
	out    io.Writer // for messages
	quiet  bool
	term   *os.File // nil: no terminal
	mu     sync.Mutex
	status string    // present status line; empty: none
	logged time.Time // time of the last log line, or of the start
}

// newScreen returns the screen of a command.
func newScreen(stderr io.Writer, quiet bool) *screen {
	s := &screen{out: stderr, quiet: quiet, logged: time.Now()}
	if !quiet && cli.CanDraw(stderr) {
		s.term = cli.File(stderr)
		s.out = words.Over(stderr, s)
	}
	return s
}

// logger returns a logger for this screen. On a terminal, the log has only warnings.
func (s *screen) logger(out io.Writer) *slog.Logger { return newLogger(out, s.quiet || s.term != nil) }

// clearLine returns to the begin of a terminal's line and erases it.
const clearLine = "\r\x1b[K"

// Write writes messages, which are whole lines, above the status line.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.WriteString(s.term, clearLine+string(p)+s.status); err != nil {
		return 0, err
	}
	return len(p), nil
}

// draw replaces the status line; an empty one erases it. A line that wraps could not be erased.
func (s *screen) draw(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if width, _, err := term.GetSize(int(s.term.Fd())); err == nil && width > 0 {
		status = status[:min(len(status), width-1)]
	}
	if status != s.status {
		s.status = status
		_, _ = io.WriteString(s.term, clearLine+status) // the work matters more
	}
}

// report shows the present status of some work: on a terminal now, elsewhere once a minute.
func (s *screen) report(log *slog.Logger, what, status string) {
	switch {
	case what == "":
	case s.term != nil:
		s.draw(what + " " + status)
	case time.Since(s.logged) >= logEvery:
		s.logged = time.Now()
		log.Info("progress", "of", what, "status", status)
	}
}

// close erases the status line.
func (s *screen) close() {
	if s.term != nil {
		s.draw("")
	}
}

// watch shows the progress of a crawl, returned by poll, until stop is called.
func (s *screen) watch(log *slog.Logger, poll func() crawler.Progress) (stop func()) {
	ended := cli.Every(drawEvery, func() {
		p := poll()
		what, status := crawlStatus(&p)
		s.report(log, what, status)
	})
	return func() {
		ended()
		s.close()
	}
}

// show shows the progress of work on files. It must not be called concurrently.
func (s *screen) show(p sink.Progress) {
	s.report(s.logger(s.out), p.What, humanize.Comma(p.Done)+" of "+humanize.Comma(p.Total)+" calls")
}

// crawlStatus describes the work of a crawl's phase: how much of it is done, the use of the budget and
// the time left. what is empty if there is nothing to show. Totals are estimates; a total below the completed
// amount is never shown. While the list is being read, the number of transcripts is unknown, so the time
// left is that of the list.
func crawlStatus(p *crawler.Progress) (what, status string) {
	var done, total int64
	switch p.Phase {
	case crawler.Listing:
		done, total, what = p.Pages, p.PagesTotal, "pages"
	case crawler.Bulk:
		done, total, what = p.Bulk.Transcripts, p.Bulk.Due, "bulk transcripts"
	case crawler.Details:
		done, total, what = p.DetailsDone(), p.DetailsTotal, "transcripts"
	case crawler.Archiving:
		done, what = p.Recorded, "recordings"
	default:
		if p.Failing < saidAfter {
			return "", ""
		}
		return "waiting:", failing(p)
	}
	status = humanize.Comma(done)
	if total > 0 {
		status += " of " + humanize.Comma(max(total, done))
	}
	status += fmt.Sprintf(", %d of %d requests per minute", p.LastMinute, p.Allowed)
	switch wait := time.Until(p.WaitingUntil); {
	case p.Failing >= saidAfter:
		status += ", " + failing(p)
	case p.Phase == crawler.Bulk && p.Bulk.Asked.IsZero() && wait <= 0:
		status += fmt.Sprintf(", comparing a sample with v3: %d", p.Bulk.Compared)
	case p.Phase == crawler.Bulk && time.Since(p.Bulk.Asked) >= saidAfter:
		status += ", awaiting a page for " + cli.Clock(time.Since(p.Bulk.Asked))
	case wait > 0:
		status += ", rate limited for " + cli.Clock(wait)
	case p.TimeLeft > 0 && p.Phase == crawler.Listing:
		status += ", " + cli.Clock(p.TimeLeft) + " left for the list"
	case p.TimeLeft > 0: // otherwise unknown, or the estimated total was too low
		status += ", " + cli.Clock(p.TimeLeft) + " left"
	}
	return what, status
}

// saidAfter is how long requests fail before the status says so.
const saidAfter = 3 * time.Second

// failing describes a service of which all requests fail.
func failing(p *crawler.Progress) string {
	what := "no response"
	if p.FailedStatus != 0 {
		what = fmt.Sprintf("only errors (status %d)", p.FailedStatus)
	}
	return what + " for " + cli.Clock(p.Failing)
}

// newLogger returns a logger to out; when quiet, of warnings only. The text handler escapes control
// characters itself.
func newLogger(out io.Writer, quiet bool) *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if quiet {
		opts.Level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(out, opts))
}
