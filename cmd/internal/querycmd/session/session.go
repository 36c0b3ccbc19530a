// Package session is query's shell. It runs what is typed, or a script, statement
// by statement.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/safe"
	"callhouse/cmd/internal/querycmd/shell"
	"callhouse/internal/analytics"
	"callhouse/internal/scratch"
	"callhouse/internal/words"
)

// Session is one run of the shell: what its commands set, and the warehouse that
// is open.
type Session struct {
	a        *answer.Command // as the command was started
	commands func(answer.Command) *cobra.Command

	safe       safe.Mode
	tz, format string
	file       *outFile // nil: answers go to stdout
	params     map[string]string
	limit      int // rows of a table; 0: the default, below 0: all
	timer      bool
	pages      bool
	records    bool   // a table's rows are shown as lines of name and value
	last       string // the statement or report that was run last
	views      []analytics.View

	house   *analytics.Warehouse // nil: not open yet
	news    string               // the snapshot that the user knows of
	history *shell.History
	parted  bool // an answer stands above: a blank line parts the next from it

	interactive bool
	interrupts  chan os.Signal
	depth       int // of files that .read reads
	over        bool
}

// New returns a session with the settings of a command. commands makes query's
// commands with such settings.
func New(a *answer.Command, safe safe.Mode, commands func(answer.Command) *cobra.Command) (*Session, error) {
	s := &Session{a: a, safe: safe, commands: commands, tz: a.TZ, format: cmp.Or(a.Format, a.Usual), params: map[string]string{}, history: &shell.History{}}
	if _, err := a.Location(); err != nil {
		return nil, err
	}
	if _, err := a.OutputFormat(); err != nil {
		return nil, err
	}
	if a.Output != "" {
		s.redirect(a.Output)
	}
	return s, nil
}

// Run reads from the terminal until the user leaves, or runs stdin as a script if
// it is not a terminal. It keeps what is typed in a file, unless noHistory is set.
// On a terminal it calls freeSignals, so that signals have their usual effect
// again.
func (s *Session) Run(ctx context.Context, noHistory bool, freeSignals func()) error {
	if !cli.IsTerminal(s.a.Stdin) {
		return cmp.Or(s.script(ctx, s.a.Stdin, ""), s.close())
	}
	file := ""
	if !noHistory {
		file = historyFile()
	}
	return cmp.Or(s.interact(ctx, file, freeSignals), s.close())
}

// interact reads from the terminal until the user leaves. It prints errors and goes
// on.
func (s *Session) interact(ctx context.Context, historyFile string, freeSignals func()) error {
	s.interactive, s.timer, s.pages = true, true, true
	s.interrupts = make(chan os.Signal, 1)
	signal.Notify(s.interrupts, os.Interrupt)
	defer signal.Stop(s.interrupts)
	var err error
	if s.history, err = shell.OpenHistory(historyFile); err != nil {
		words.Fprintln(s.a.Stderr, "note:", err)
	}
	if err := s.greet(ctx); err != nil {
		return err
	}
	// From here on Ctrl-C cancels a statement only, and not ctx. The reader handles
	// the other signals.
	ctx = context.WithoutCancel(ctx)
	read, stop := s.reader(ctx)
	defer stop()
	freeSignals()
	for !s.over {
		s.tellNews()
		text, err := read()
		switch {
		case errors.Is(err, shell.ErrInterrupted):
			continue
		case errors.Is(err, io.EOF):
			words.Fprintln(s.a.Stderr)
			return nil
		case err != nil:
			return fmt.Errorf("read the terminal: %w", err)
		}
		if err := s.history.Add(text); err != nil {
			words.Fprintln(s.a.Stderr, "note:", err)
		}
		s.typed(ctx, text)
	}
	return nil
}

// typed runs what was typed, up to the first error.
func (s *Session) typed(ctx context.Context, text string) {
	inputs, rest := shell.Split(text, isCommand)
	if rest.Text != "" {
		inputs = append(inputs, rest)
	}
	for _, in := range inputs {
		if err := s.cancellable(ctx, func(ctx context.Context) error { return s.run(ctx, in) }); err != nil {
			s.showError(err, in)
			return
		}
	}
}

// errInterrupted is the error of a statement that the user cancelled.
var errInterrupted = errors.New("cancelled")

// patience is how long a statement may take to stop before the user is told how
// to leave it.
const patience = 2 * time.Second

// cancellable runs do, which Ctrl-C cancels. If that takes long, a second Ctrl-C
// ends the program.
func (s *Session) cancellable(ctx context.Context, do func(context.Context) error) error {
	for len(s.interrupts) > 0 { // of before
		<-s.interrupts
	}
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
			words.Fprintln(s.a.Stderr, "still stopping it; Ctrl-C leaves the shell")
		}
		for len(s.interrupts) > 0 {
			<-s.interrupts
		}
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

// restored calls restore, which resets the terminal, if a signal ends the program.
// stop ends that.
func restored(restore func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, cli.Terminating()...)
	go func() {
		select {
		case <-done:
		case sig := <-signals:
			restore()
			cli.EndBy(sig)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

func (s *Session) close() error {
	if s.house == nil {
		return nil
	}
	err := s.house.Close()
	s.house = nil
	return err
}

// historyFile is the file for what is typed, in the user's state folder (XDG); ""
// if there is none.
func historyFile() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "callhouse", "query_history")
}
