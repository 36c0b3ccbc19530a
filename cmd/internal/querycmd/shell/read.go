package shell

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/words"
)

// reader returns the function that reads input: the line editor or, without a capable terminal, a
// plain prompt on stderr.
func (s *Session) reader(ctx context.Context, h *History) (read func() (string, error), stop func()) {
	if s.a.Stdin != os.Stdin || s.a.Stdout != os.Stdout || answer.TerminalWidth(s.a.Stdout) == 0 {
		return s.lineReader(), restored(func() {})
	}
	stop = func() {}
	if state, err := term.GetState(int(os.Stdin.Fd())); err == nil {
		stop = restored(func() { _ = term.Restore(int(os.Stdin.Fd()), state) })
	}
	return newEditor(s.vocabulary(ctx), h).read, stop
}

// restored calls restore, which resets the terminal, if a signal ends the program. stop cancels
// this.
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

// lineReader returns a function that reads stdin line by line until the input is complete. At the
// end of stdin the last semicolon may be missing.
func (s *Session) lineReader() func() (string, error) {
	limited := &io.LimitedReader{R: s.a.Stdin}
	in := bufio.NewReader(limited)
	return func() (text string, err error) {
		for prompt := "query> "; ; prompt = "  ...> " {
			if s.interactive {
				words.Fprintf(s.a.Stderr, "%s", prompt)
			}
			limited.N = int64(guard.MaxText + 1 - len(text))
			line, err := in.ReadString('\n')
			begins := strings.TrimSpace(text) == ""
			if text += line; len(text) > guard.MaxText {
				return "", cli.Usage("", "%v", answer.ErrLongText)
			}
			switch {
			case errors.Is(err, io.EOF) && text != "" && !s.interactive:
				return text, nil
			case err != nil:
				return "", err
			case (begins || strings.Contains(line, ";")) && whole(text): // another line cannot complete the statement
				return text, nil
			}
		}
	}
}
