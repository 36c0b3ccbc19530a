package words

import (
	"io"
	"strings"
)

// Writer writes to a terminal or a log. It masks secrets, and makes everything visible except line
// breaks and tabs. It is a second line of defence after Fprintf, since it cannot distinguish our
// line breaks from external ones. Each write must contain whole characters and whole secrets.
type Writer struct {
	to      io.Writer
	secrets *Secrets
}

// NewWriter returns a Writer that masks these secrets, which may be nil.
func NewWriter(to io.Writer, secrets *Secrets) *Writer { return &Writer{to, secrets} }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, Lines(w.secrets.Redact(string(p)))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap returns the destination of w, for callers that draw on a terminal themselves.
func (w *Writer) Unwrap() io.Writer { return w.to }

// Over returns a Writer to another destination that masks what w masks, if w is a Writer.
func Over(w, to io.Writer) *Writer {
	if g, ok := w.(*Writer); ok {
		return NewWriter(to, g.secrets)
	}
	return NewWriter(to, nil)
}

// Head keeps the first bytes written to it, and drops the rest.
type Head struct {
	MaxBytes int // bytes
	strings.Builder
}

// Write implements io.Writer.
func (h *Head) Write(p []byte) (int, error) {
	h.Builder.Write(p[:min(len(p), h.MaxBytes-h.Len())])
	return len(p), nil
}
