package querycmd

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"callhouse/internal/scratch"
)

// signals calls cancel at the first signal that asks the program to end; that its
// terminal was closed is one, unless nohup lets it outlive that. A second one ends
// it at once. free, which may be called more than once, gives the signals back.
func signals(cancel func()) (free func()) {
	came, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(came, append(terminating(), os.Interrupt)...)
	go func() {
		select {
		case <-came:
			cancel()
		case <-done:
			return
		}
		select {
		case sig := <-came:
			endBy(sig)
		case <-done:
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(came)
		close(done)
	})
}

// terminating are the signals that are to end the program, whatever it does.
func terminating() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

// endBy ends the program as the signal does by itself, but with nothing left in
// the temporary folder.
func endBy(sig os.Signal) {
	scratch.Clear()
	signal.Reset(sig)
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Signal(sig)
	}
}
