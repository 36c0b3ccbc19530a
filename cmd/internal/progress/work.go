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
	"callhouse/internal/sink/snapshot"
)

// Bar shows the progress of work on files: a bar on a terminal, elsewhere a log
// line for every minute.
type Bar struct {
	bars *mpb.Progress // nil: no terminal
	bar  *mpb.Bar
	what string

	log  *slog.Logger // nil: nothing is said
	told time.Time    // when it was last, or when the work began
}

// NewBar starts to show the progress of a piece of work.
func NewBar(stderr io.Writer, format string, quiet bool) *Bar {
	switch {
	case quiet:
		return &Bar{}
	case !cli.CanDraw(stderr):
		return &Bar{log: Logger(stderr, format, false), told: time.Now()}
	}
	return &Bar{bars: newBars(stderr)}
}

// Show draws how far the work is. It is called by one goroutine at a time.
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
		b.bar.Abort(false) // a no-op where it is full
		b.bar = nil
	}
}

// Close draws for the last time.
func (b *Bar) Close() {
	if b.bars != nil {
		b.end()
		b.bars.Wait()
	}
}

// Bytes returns functions that draw how many bytes are read, and that end the
// drawing; tell is nil if nothing is drawn.
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
