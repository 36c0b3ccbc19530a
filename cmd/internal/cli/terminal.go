package cli

import (
	"io"
	"os"

	"golang.org/x/term"

	"callhouse/internal/words"
)

// IsTerminal reports whether r is a terminal.
func IsTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// File returns the file that w writes to, also through a words.Writer; nil if there is none.
func File(w io.Writer) *os.File {
	if guard, ok := w.(*words.Writer); ok {
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
