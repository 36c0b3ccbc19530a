package querycmd

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/reeflective/readline"
	"golang.org/x/term"

	"callhouse/cmd/internal/cli"
)

// restoring makes a signal that ends the program restore the terminal. stop ends that.
func (s *shell) restoring() (stop func()) {
	state, err := term.GetState(int(os.Stdin.Fd()))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, cli.Terminating()...)
	go func() {
		for sig := range signals {
			s.terminal <- struct{}{} // a statement that ends now must not bring the editor back
			if err == nil {
				_ = term.Restore(int(os.Stdin.Fd()), state)
			}
			cli.EndBy(sig)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// reserve ensures a row below the cursor, which the editor clears: one row down, scrolling at the
// bottom of the screen, and up again.
const reserve = "\x1bD\x1bM"

// editor returns the function that reads input from the terminal of the process. It honours
// ~/.inputrc. It returns errInterrupted after Ctrl-C, io.EOF after Ctrl-D.
func (s *shell) editor() func() (string, error) {
	rl := readline.NewShell()
	rl.Prompt.Primary(func() string {
		// Asking the terminal for the cursor position takes a round trip per key, and a key read
		// together with the answer is lost (fixed after v1.3.0 of the library: its pull request
		// 118). So it is asked only for a search.
		_ = rl.Config.Set("cursor-position-probe", rl.Keymap.Local() != "")
		return "query> "
	})
	rl.SyntaxHighlighter = func(line []rune) string { return string(line) + reserve }
	for name, v := range map[string]any{
		"convert-meta":            false, // non-ASCII letters are letters
		"enable-bracketed-paste":  true,  // pasted text waits for Enter
		"multiline-column":        true,
		"autopairs":               false,
		"echo-control-characters": false, // ^C would be drawn over the input
	} {
		_ = rl.Config.Set(name, v) // an unknown name would have no effect
	}
	rl.AcceptMultiline = func(line []rune) bool { return isWhole(string(line)) }
	if file, err := historyFile(); err != nil {
		s.say("note: save the history: %v", err)
	} else {
		rl.History.AddFromFile("history", file)
	}
	return func() (string, error) {
		text, err := rl.Readline()
		if err != nil && err.Error() == os.Interrupt.String() {
			return "", errInterrupted
		}
		return text, err
	}
}

// historyFile returns the history file in the user's state folder (XDG), which only its owner can
// read.
func historyFile() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the home folder: %w", err)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	dir = filepath.Join(dir, "callhouse")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	name := filepath.Join(dir, "query_history")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return "", err
	}
	return name, f.Close()
}
