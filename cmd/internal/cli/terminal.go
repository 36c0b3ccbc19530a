package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether r is a terminal, where a person can answer.
func IsTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// CanDraw reports whether w is a terminal that can be drawn on.
func CanDraw(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}
