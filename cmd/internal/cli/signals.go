package cli

import (
	"context"
	"io"
	"math"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"callhouse/internal/scratch"
)

// Context returns a context cancelled as by Signals.
func Context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	free := Signals(cancel, math.MaxInt64)
	return ctx, func() {
		free()
		cancel()
	}
}

// Signals calls cancel at the first terminating signal, including that of a closed terminal, unless
// nohup blocks it. A second signal ends the program at once. free, which may be called repeatedly,
// restores the default effect of signals. After grace, a program that goes on is ended: it may wait for a
// reader of its output that does not read.
func Signals(cancel func(), grace time.Duration) (free func()) {
	came, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(came, append(Terminating(), os.Interrupt)...)
	go func() {
		select {
		case <-came:
			cancel()
		case <-done:
			return
		}
		select {
		case sig := <-came:
			EndBy(sig)
		case <-time.After(grace):
			scratch.Clear()
			os.Exit(ExitInterrupted)
		case <-done:
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(came)
		close(done)
	})
}

// Terminating returns the signals that end the program.
func Terminating() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

// EndBy ends the program like the signal would, but first removes its temporary folders.
func EndBy(sig os.Signal) {
	scratch.Clear()
	signal.Reset(sig)
	if p, err := os.FindProcess(os.Getpid()); err != nil || p.Signal(sig) != nil {
		os.Exit(ExitInterrupted)
	}
}

// Every calls do at intervals until stop is called. stop waits for a call in progress.
func Every(interval time.Duration, do func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				do()
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// IsTerminal reports whether r is a terminal.
func IsTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// File returns the file that w writes to, also through writers that wrap it; nil if there is none.
func File(w io.Writer) *os.File {
	for guard, ok := w.(interface{ Unwrap() io.Writer }); ok; guard, ok = w.(interface{ Unwrap() io.Writer }) {
		w = guard.Unwrap()
	}
	f, _ := w.(*os.File)
	return f
}

// CanDraw reports whether w is a terminal that supports drawing.
func CanDraw(w io.Writer) bool {
	f := File(w)
	return f != nil && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}
