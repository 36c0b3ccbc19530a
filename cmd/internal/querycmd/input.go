package querycmd

import (
	"errors"
	"io"
	"os"

	"callhouse/internal/analytics"
)

// errLongText says that what is given as a statement is too long to be one.
var errLongText = errors.New("it has more than 1 MiB, and a statement may not")

// readText reads a statement. It stops at what is too long.
func readText(r io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, analytics.MaxText+1))
	if err == nil && len(raw) > analytics.MaxText {
		err = errLongText
	}
	return string(raw), err
}

// readFile is readText for a file.
func readFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := readText(f)
	if err != nil {
		return "", &os.PathError{Op: "read", Path: name, Err: err}
	}
	return text, nil
}
