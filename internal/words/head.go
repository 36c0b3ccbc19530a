package words

import "strings"

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
