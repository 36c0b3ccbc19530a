package words

import "io"

// Writer writes to a terminal or a log what passes through it: secrets masked,
// and all but line breaks and tabs made visible. So it is the net below Fprintf:
// it cannot tell a line break of ours from one that is not. What is written at
// once must be whole characters, and whole secrets.
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

// Unwrap returns what w writes to, for who draws on a terminal himself.
func (w *Writer) Unwrap() io.Writer { return w.to }

// Over returns a Writer to another place that masks what w masks, where w is a
// Writer.
func Over(w, to io.Writer) *Writer {
	if g, ok := w.(*Writer); ok {
		return NewWriter(to, g.secrets)
	}
	return NewWriter(to, nil)
}
