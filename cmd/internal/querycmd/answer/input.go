package answer

import (
	"errors"
	"io"
	"os"

	"callhouse/internal/analytics"
)

// ErrLongText says that what is given as a statement is too long to be one.
var ErrLongText = errors.New("it has more than 1 MiB, and a statement may not")

// ReadText reads a statement. It stops at what is too long.
func ReadText(r io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, analytics.MaxText+1))
	if err == nil && len(raw) > analytics.MaxText {
		err = ErrLongText
	}
	return string(raw), err
}

// ReadFile is readText for a file.
func ReadFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := ReadText(f)
	if err != nil {
		return "", &os.PathError{Op: "read", Path: name, Err: err}
	}
	return text, nil
}
