// Package shell is query's shell, interactive or running a script statement by statement. For
// rarely used features, psql can connect to query serve.
package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/safe"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/lend"
	"callhouse/internal/scratch"
	"callhouse/internal/words"
)

// Session is one run of the shell: its settings and the lender of the warehouse.
type Session struct {
	a        *answer.Command // the command as started
	commands func(answer.Command) *cobra.Command

	safe       safe.Mode
	tz, format string
	file       *outFile // nil: answers go to stdout
	timer      bool

	houses *lend.Houses
	news   string // the last announced snapshot
	parted bool   // an answer was printed, so the next one needs an empty line

	interactive bool
	interrupts  chan os.Signal
	over        bool
}

// New returns a session with the settings of a command. commands makes query's commands with given
// settings.
func New(a *answer.Command, safe safe.Mode, commands func(answer.Command) *cobra.Command) (*Session, error) {
	s := &Session{a: a, safe: safe, commands: commands, tz: a.TZ, format: cmp.Or(a.Format, a.Usual)}
	if _, err := a.Location(); err != nil {
		return nil, err
	}
	if _, err := a.OutputFormat(); err != nil {
		return nil, err
	}
	if a.Output != "" {
		s.redirect(a.Output)
	}
	open := func(ctx context.Context, zone *time.Location, _ rights.Rights) (*analytics.Warehouse, error) {
		return analytics.Open(ctx, a.Warehouse, a.Options(zone))
	}
	s.houses = &lend.Houses{Root: a.Warehouse, Open: open}
	return s, nil
}

// Run reads from the terminal until the user leaves, or runs stdin as a script if it is not a
// terminal. It keeps the input in a file unless noHistory is set. On a terminal it calls
// freeSignals, which restores the default effect of signals.
func (s *Session) Run(ctx context.Context, noHistory bool, freeSignals func()) error {
	if !cli.IsTerminal(s.a.Stdin) {
		return cmp.Or(s.script(ctx), s.houses.Close())
	}
	file := ""
	if !noHistory {
		file = historyFile()
	}
	return cmp.Or(s.interact(ctx, file, freeSignals), s.houses.Close())
}

// script runs stdin statement by statement until an error.
func (s *Session) script(ctx context.Context) error {
	read, next := s.lineReader(), 1
	for {
		text, err := read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return located(err, Input{Line: next})
		}
		for _, in := range Split(text, isCommand) {
			in.Line += next - 1
			if err := s.run(ctx, in); err != nil {
				return located(err, in)
			}
			if s.over {
				return nil
			}
		}
		next += strings.Count(text, "\n")
	}
}

// interact reads from the terminal until the user leaves, continuing after errors.
func (s *Session) interact(ctx context.Context, file string, freeSignals func()) error {
	s.interactive, s.timer = true, true
	s.interrupts = make(chan os.Signal, 1)
	signal.Notify(s.interrupts, os.Interrupt)
	defer signal.Stop(s.interrupts)
	history, err := OpenHistory(file)
	if err != nil {
		s.say("note: %v", err)
	}
	if err := s.greet(ctx); err != nil {
		return err
	}
	// From here on Ctrl-C cancels only a statement, not ctx. The reader handles other signals.
	ctx = context.WithoutCancel(ctx)
	read, stop := s.reader(ctx, history)
	defer stop()
	freeSignals()
	for !s.over {
		s.tellNews()
		// Not later: once read has returned, Ctrl-C cancels the input even before it starts.
		s.forgetInterrupts()
		text, err := read()
		switch {
		case errors.Is(err, errInterrupted):
			continue
		case errors.Is(err, io.EOF):
			s.say("")
			return nil
		case err != nil:
			return fmt.Errorf("read the terminal: %w", err)
		}
		if err := history.Add(text); err != nil {
			s.say("note: %v", err)
		}
		for _, in := range Split(text, isCommand) {
			if err := s.cancellable(ctx, func(ctx context.Context) error { return s.run(ctx, in) }); err != nil {
				s.showError(err, in)
				break
			}
		}
	}
	return nil
}

// errInterrupted reports that Ctrl-C cancelled a statement or input.
var errInterrupted = errors.New("cancelled")

// patience is how long a statement may take to stop before the user is told how to leave.
const patience = 2 * time.Second

// cancellable runs do, which Ctrl-C cancels. If stopping takes long, a second Ctrl-C ends the
// program.
func (s *Session) cancellable(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-done:
			return
		case <-s.interrupts:
			cancel(errInterrupted)
		}
		select {
		case <-done:
			return
		case <-time.After(patience):
			s.say("still cancelling; press Ctrl-C again to leave the shell")
		}
		s.forgetInterrupts()
		select {
		case <-done:
		case <-s.interrupts:
			scratch.Clear()
			os.Exit(cli.ExitInterrupted)
		}
	}()
	err := do(ctx)
	close(done)
	<-stopped
	return err
}

func (s *Session) forgetInterrupts() {
	for len(s.interrupts) > 0 {
		<-s.interrupts
	}
}

// borrow returns the warehouse at the current snapshot.
func (s *Session) borrow(ctx context.Context) (w *analytics.Warehouse, giveBack func(), err error) {
	loc, err := answer.Zone(s.tz)
	if err != nil {
		return nil, nil, err
	}
	if w, giveBack, err = s.houses.Borrow(ctx, loc, rights.Rights{}); err == nil {
		s.news = cmp.Or(s.news, filepath.Base(w.Snapshot().Dir))
	}
	return w, giveBack, err
}

// tellNews announces each new commit once.
func (s *Session) tellNews() {
	if now := s.houses.Current(); now != "" && now != s.news {
		s.say("snapshot %s was committed: statements now read it", now)
		s.news = now
	}
}

func (s *Session) greet(ctx context.Context) error {
	w, giveBack, err := s.borrow(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	m := w.Snapshot().Manifest
	s.say("snapshot %s of %s, committed %s: %s", filepath.Base(w.Snapshot().Dir), s.a.Warehouse,
		m.CommittedAt.In(w.Location()).Format("2006-01-02 15:04 MST"), cli.Plural(m.Rows("calls"), "call"))
	s.say("End SQL with ;. Reports run by name: sentiment --by week. Help: .help")
	return nil
}

// say prints messages to stderr.
func (s *Session) say(text string, args ...any) { words.Fprintf(s.a.Stderr, text+"\n", args...) }
