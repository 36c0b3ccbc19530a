// Package progress shows the progress of long work: drawn on a terminal, logged elsewhere.
package progress

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

// Screen is the destination of a run's messages. On a terminal they appear above progress bars;
// elsewhere there are no bars.
type Screen struct {
	bars *mpb.Progress // nil: no terminal
	Out  io.Writer
}

// NewScreen returns the screen of a new run.
func NewScreen(stderr io.Writer, quiet bool) *Screen {
	if quiet || !cli.CanDraw(stderr) {
		return &Screen{Out: stderr}
	}
	bars := newBars(stderr)
	return &Screen{bars: bars, Out: words.Over(stderr, bars)}
}

func newBars(stderr io.Writer) *mpb.Progress {
	return mpb.New(mpb.WithOutput(cli.File(stderr)), mpb.WithWidth(32), mpb.WithRefreshRate(drawEvery))
}

// Draws reports whether there are bars.
func (s *Screen) Draws() bool { return s.bars != nil }

// Logger returns the logger of a run with this screen. With bars, the log has only warnings.
func (s *Screen) Logger(out io.Writer, quiet bool) *slog.Logger {
	return Logger(out, quiet || s.Draws())
}

// Close draws the bars a last time.
func (s *Screen) Close() {
	if s.bars != nil {
		s.bars.Wait()
	}
}

// Watch shows the progress returned by poll until stop is called.
func (s *Screen) Watch(log *slog.Logger, poll func() crawler.Progress) (stop func()) {
	if s.bars == nil {
		return cli.Every(drawEvery, logProgress(log, poll))
	}
	d := &drawing{bars: s.bars, poll: poll}
	drawn := cli.Every(drawEvery, d.draw)
	return func() {
		drawn()
		d.end()
	}
}

// drawing has one bar per phase.
type drawing struct {
	bars  *mpb.Progress
	poll  func() crawler.Progress
	bar   *mpb.Bar // nil: no bar yet
	phase crawler.Phase
}

func (d *drawing) draw() {
	p := d.poll()
	if p.Phase != d.phase {
		d.end()
		d.phase = p.Phase
	}
	done, total, what := work(&p)
	if what == "" {
		return
	}
	if d.bar == nil {
		// With an unknown length, SetTotal can change it.
		d.bar = d.bars.New(0, mpb.BarStyle(), mpb.PrependDecorators(decor.Any(func(s decor.Statistics) string {
			return fmt.Sprintf("%-11s %9s %-11s", what, humanize.Comma(s.Current), ofTotal(s.Total))
		})), mpb.AppendDecorators(decor.Any(func(s decor.Statistics) string {
			if s.Completed || s.Aborted {
				return ""
			}
			return status(d.poll())
		})))
	}
	if total > 0 {
		d.bar.SetTotal(total, false)
	}
	d.bar.SetCurrent(done)
}

func (d *drawing) end() {
	if d.bar != nil {
		d.bar.Abort(false) // no effect on a full bar
		d.bar = nil
	}
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

// status formats the use of the budget and the time left.
func status(p crawler.Progress) string {
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

// Logger writes to out; when quiet, only warnings. The text handler escapes control characters
// itself.
func Logger(out io.Writer, quiet bool) *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if quiet {
		opts.Level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(out, opts))
}

// Bar shows the progress of work on files: a bar on a terminal, a log line per minute elsewhere.
type Bar struct {
	bars *mpb.Progress // nil: no terminal
	bar  *mpb.Bar
	what string

	log  *slog.Logger // nil: quiet
	told time.Time    // time of the last line, or of the start
}

// NewBar returns a bar for a piece of work.
func NewBar(stderr io.Writer, quiet bool) *Bar {
	switch {
	case quiet:
		return &Bar{}
	case !cli.CanDraw(stderr):
		return &Bar{log: Logger(stderr, false), told: time.Now()}
	}
	return &Bar{bars: newBars(stderr)}
}

// Show draws the progress. It must not be called concurrently.
func (b *Bar) Show(p snapshot.Progress) {
	if b.log != nil && time.Since(b.told) >= tellEvery {
		b.told = time.Now()
		b.log.Info("progress", "of", p.What, "calls", p.Done, "total", p.Total)
	}
	if b.bars == nil {
		return
	}
	if b.bar == nil || b.what != p.What {
		b.end()
		b.what = p.What
		b.bar = b.bars.New(p.Total, mpb.BarStyle(), mpb.PrependDecorators(decor.Any(func(s decor.Statistics) string {
			return fmt.Sprintf("%s  %s of %s calls", p.What, humanize.Comma(s.Current), humanize.Comma(s.Total))
		})))
	}
	b.bar.SetCurrent(p.Done)
}

func (b *Bar) end() {
	if b.bar != nil {
		b.bar.Abort(false) // no effect on a full bar
		b.bar = nil
	}
}

// Close draws a last time.
func (b *Bar) Close() {
	if b.bars != nil {
		b.end()
		b.bars.Wait()
	}
}

// Bytes returns functions that draw how many bytes are read, and that end the drawing. tell is nil
// if nothing is drawn.
func Bytes(stderr io.Writer, quiet bool, total int64, read func() int64) (tell, done func()) {
	if quiet || !cli.CanDraw(stderr) {
		return nil, func() {}
	}
	bars := newBars(stderr)
	bar := bars.New(total, mpb.BarStyle(), mpb.PrependDecorators(decor.Any(func(s decor.Statistics) string {
		return fmt.Sprintf("%s of %s", humanize.Bytes(uint64(s.Current)), humanize.Bytes(uint64(total)))
	})))
	return func() { bar.SetCurrent(read()) }, func() {
		bar.Abort(false)
		bars.Wait()
	}
}
