package sink

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// maxLine is the maximum length of a line of a dump, the same as for the service's answers.
const maxLine = 64 << 20

// eachLine visits the lines of a dump that are not blank, with their numbers from 1. A line is valid
// until visit returns. name is used in messages.
func eachLine(ctx context.Context, name string, in io.Reader, visit func(n int64, line []byte) error) error {
	lines, n := bufio.NewScanner(in), int64(0)
	lines.Buffer(make([]byte, 1<<20), maxLine)
	for lines.Scan() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n++
		line := bytes.TrimPrefix(lines.Bytes(), []byte("\uFEFF")) // begins files of Windows programs, joined ones too
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := visit(n, line); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%w %s: line %d has more than 64 MiB", ErrRead, name, n+1)
	case err != nil:
		return fmt.Errorf("%w %s: %w", ErrRead, name, err)
	}
	return nil
}

// ErrRead begins the error of a dump that cannot be read to its end.
var ErrRead = errors.New("read")

// AsideError is a line of a dump that is not a call.
type AsideError struct {
	Dump string
	Line int64
	Err  error
}

func (a *AsideError) Error() string { return fmt.Sprintf("%s:%d: %v", a.Dump, a.Line, a.Err) }

func (a *AsideError) Unwrap() error { return a.Err }
