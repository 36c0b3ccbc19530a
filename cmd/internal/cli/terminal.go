package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

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
