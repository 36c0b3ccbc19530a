package extractcmd

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/words"
)

// Intervals of redrawing and of log lines.
const (
	drawEvery = 200 * time.Millisecond
	tellEvery = time.Minute
)

// screen is the destination of the messages about long work. On a terminal they appear above a
// progress bar; elsewhere, log lines report the progress.
type screen struct {
	out   io.Writer
	quiet bool
	bars  *mpb.Progress // nil: no terminal
	bar   *mpb.Bar      // of the present work; nil: none yet
	what  string        // the present work
	told  time.Time     // time of the last log line, or of the start
}

// newScreen returns the screen of a command.
func newScreen(stderr io.Writer, quiet bool) *screen {
	s := &screen{out: stderr, quiet: quiet, told: time.Now()}
	if !quiet && cli.CanDraw(stderr) {
		s.bars = mpb.New(mpb.WithOutput(cli.File(stderr)), mpb.WithWidth(32), mpb.WithRefreshRate(drawEvery))
		s.out = words.Over(stderr, s.bars)
	}
	return s
}

// draws reports whether there are bars.
func (s *screen) draws() bool { return s.bars != nil }

// logger returns a logger for this screen. With bars, the log has only warnings.
func (s *screen) logger(out io.Writer) *slog.Logger { return newLogger(out, s.quiet || s.draws()) }

// close draws a last time.
func (s *screen) close() {
	if s.bars != nil {
		s.end()
		s.bars.Wait()
	}
}

// draw draws the bar of some work, of which the total may be unknown. head and tail are printed
// before and after the bar.
func (s *screen) draw(what string, done, total int64, head func(done, total int64) string, tail func() string) {
	if s.bar == nil || s.what != what {
		s.end()
		s.what = what
		before := decor.Any(func(st decor.Statistics) string { return head(st.Current, st.Total) })
		after := decor.Any(func(st decor.Statistics) string {
			if st.Completed || st.Aborted {
				return ""
			}
			return tail()
		})
		// With an unknown length, SetTotal can change it.
		s.bar = s.bars.New(0, mpb.BarStyle(), mpb.PrependDecorators(before), mpb.AppendDecorators(after))
	}
	if total > 0 {
		s.bar.SetTotal(total, false)
	}
	s.bar.SetCurrent(done)
}

func (s *screen) end() {
	if s.bar != nil {
		s.bar.Abort(false) // no effect on a full bar
		s.bar = nil
	}
}

// watch shows the progress of a crawl, returned by poll, until stop is called.
func (s *screen) watch(log *slog.Logger, poll func() crawler.Progress) (stop func()) {
	if s.bars == nil {
		return cli.Every(drawEvery, logProgress(log, poll))
	}
	drawn := cli.Every(drawEvery, func() {
		p := poll()
		done, total, what := work(&p)
		if what == "" {
			s.end()
			return
		}
		s.draw(what, done, total, func(done, total int64) string {
			return fmt.Sprintf("%-11s %9s %-11s", what, humanize.Comma(done), ofTotal(total))
		}, func() string { return budgetText(poll()) })
	})
	return func() {
		drawn()
		s.end()
	}
}

// show shows the progress of work on files. It must not be called concurrently.
func (s *screen) show(p snapshot.Progress) {
	if s.bars != nil {
		s.draw(p.What, p.Done, p.Total, func(done, total int64) string {
			return fmt.Sprintf("%s  %s of %s calls", p.What, humanize.Comma(done), humanize.Comma(total))
		}, func() string { return "" })
	} else if time.Since(s.told) >= tellEvery {
		s.told = time.Now()
		s.logger(s.out).Info("progress", "of", p.What, "calls", p.Done, "total", p.Total)
	}
}

// showBytes draws how many bytes are read until stop is called.
func (s *screen) showBytes(total int64, read func() int64) (stop func()) {
	if s.bars == nil {
		return func() {}
	}
	return cli.Every(drawEvery, func() {
		s.draw("bytes", read(), total, func(done, total int64) string {
			return fmt.Sprintf("%s of %s", humanize.Bytes(uint64(done)), humanize.Bytes(uint64(total)))
		}, func() string { return "" })
	})
}

func ofTotal(total int64) string {
	if total <= 0 {
		return ""
	}
	return "of " + humanize.Comma(total)
}

// work returns the completed amount of a phase, the total, 0 if unknown, and the unit. Totals are
// estimates; a total below the completed amount is never shown.
func work(p *crawler.Progress) (done, total int64, what string) {
	switch p.Phase {
	case crawler.Listing:
		done, total, what = p.Pages, p.PagesTotal, "pages"
	case crawler.Bulk:
		done, total, what = p.Bulk.Pages, p.Bulk.Total, "v2 pages"
	case crawler.Details:
		done, total, what = p.DetailsDone(), p.DetailsTotal, "transcripts"
	case crawler.Archiving:
		done, what = p.Recorded, "recordings"
	}
	if total > 0 {
		return done, max(total, done), what
	}
	return done, 0, what
}

// budgetText formats the use of the budget and the time left.
func budgetText(p crawler.Progress) string {
	text := fmt.Sprintf(" %d of %d requests per minute", p.LastMinute, p.Allowed)
	switch wait := time.Until(p.WaitingUntil); {
	case wait > 0:
		return text + ", rate limited for " + cli.Clock(wait)
	case p.TimeLeft > 0 && p.Phase == crawler.Listing:
		return text + ", " + cli.Clock(p.TimeLeft) + " left for the list"
	case p.TimeLeft > 0:
		return text + ", " + cli.Clock(p.TimeLeft) + " left"
	}
	return text
}

// progressLine is the log line about a run's progress. While the list is being read, the number of
// transcripts is unknown, so the time left is that of the list.
func progressLine(p *crawler.Progress) []any {
	done, total, _ := work(p)
	args := []any{"phase", p.Phase.String(), "done", done}
	if total > 0 {
		args = append(args, "of", total)
	}
	args = append(args, "requests_last_minute", p.LastMinute, "allowed", p.Allowed)
	switch {
	case p.TimeLeft <= 0: // unknown, or the estimated total was too low
	case p.Phase == crawler.Listing:
		args = append(args, "list_left", cli.Clock(p.TimeLeft))
	default:
		args = append(args, "left", cli.Clock(p.TimeLeft))
	}
	return args
}

// logProgress logs the beginning of each phase, and a line every minute.
func logProgress(log *slog.Logger, poll func() crawler.Progress) func() {
	var phase crawler.Phase
	last := time.Now()
	return func() {
		p := poll()
		if _, _, what := work(&p); what == "" || (p.Phase == phase && time.Since(last) < tellEvery) {
			return
		}
		phase, last = p.Phase, time.Now()
		log.Info("progress", progressLine(&p)...)
	}
}

// newLogger writes to out; when quiet, only warnings. The text handler escapes control characters
// itself.
func newLogger(out io.Writer, quiet bool) *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if quiet {
		opts.Level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(out, opts))
}
