package extractcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// noWarehouse explains that there is nothing to work on.
func (s *settings) noWarehouse() error {
	return cli.Fail(cli.ExitFailed, fmt.Errorf("no warehouse at %s yet", s.warehouse), "run: extract run --warehouse "+s.warehouse)
}

// current returns the committed snapshot, for commands that only read.
func (s *settings) current() (*layout.Snapshot, error) {
	snapshot, err := layout.Current(s.warehouse)
	if errors.Is(err, layout.ErrNoWarehouse) {
		return nil, s.noWarehouse()
	}
	return snapshot, explain(err)
}

// open opens the warehouse for a command that works on what is there.
func (s *settings) open(do func(*sink.Warehouse) error) error {
	if _, err := s.current(); err != nil {
		return err
	}
	return s.openWith(s.options(layout.RunID(time.Now(), rand.Uint32())), do)
}

func (s *settings) openWith(opts sink.Options, do func(*sink.Warehouse) error) (err error) {
	w, err := sink.Open(opts)
	if err != nil {
		return explain(err)
	}
	defer func() {
		for _, what := range w.Notices() {
			words.Fprintf(s.stderr, "%s\n", what)
		}
		if cerr := w.Close(); cerr != nil && err == nil {
			err = explain(cerr)
		}
	}()
	return explain(do(w))
}

// maintain is open for commands that need all that was fetched to be committed:
// it takes in what a killed run left.
func (s *settings) maintain(ctx context.Context, do func(*sink.Warehouse) error) error {
	return s.open(func(w *sink.Warehouse) error {
		if _, err := w.Recover(ctx); err != nil {
			return err
		}
		return do(w)
	})
}

// bar shows the progress of work on files: drawn on a terminal, elsewhere as a
// line of the log for every minute that it takes.
type bar struct {
	bars *mpb.Progress // nil: no terminal
	bar  *mpb.Bar
	what string

	log  *slog.Logger // nil: nothing is said
	told time.Time    // when it was last, or when the work began
}

// bar starts to show the progress of a piece of work.
func (s *settings) bar(stderr io.Writer) *bar {
	switch {
	case s.quiet:
		return &bar{}
	case !cli.CanDraw(stderr):
		return &bar{log: logger(stderr, s.logFormat, false), told: time.Now()}
	}
	return &bar{bars: mpb.New(mpb.WithOutput(cli.File(stderr)), mpb.WithWidth(32), mpb.WithRefreshRate(drawEvery))}
}

// show draws how far the work is. It is called by one goroutine at a time.
func (b *bar) show(p sink.Progress) {
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

func (b *bar) end() {
	if b.bar != nil {
		b.bar.Abort(false) // a no-op where it is full
		b.bar = nil
	}
}

// close draws for the last time.
func (b *bar) close() {
	if b.bars != nil {
		b.end()
		b.bars.Wait()
	}
}

// maintenance returns the commands that work on what the warehouse holds.
func maintenance(s *settings, stderr io.Writer) []*cobra.Command {
	return []*cobra.Command{statusCommand(s), importCommand(s, stderr), compactCommand(s, stderr), rollbackCommand(s, stderr), verifyCommand(s, stderr), showCommand(s), forgetCommand(s, stderr), migrateCommand(s, stderr)}
}
