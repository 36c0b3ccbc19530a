package sink

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
)

// maxLine is the maximum length of a line of a dump, the same as for the service's answers.
const maxLine = 64 << 20

// DumpRoom is how much of a dump is read at a time.
const DumpRoom = 1 << 20

// byteOrderMark starts some files that Windows programs write.
var byteOrderMark = []byte("\xef\xbb\xbf")

// ErrLongLine means that a line was skipped because it is too long.
var ErrLongLine = errors.New("a line of more than 64 MiB")

// LineReader reads lines.
type LineReader struct {
	in     *bufio.Reader
	long   []byte // a line longer than the buffer
	Number int64  // number of the last returned line, from 1
}

// NewLineReader returns a reader of lines.
func NewLineReader(in io.Reader) *LineReader {
	return &LineReader{in: bufio.NewReaderSize(in, DumpRoom)}
}

// Next returns the next line, without its end; io.EOF at the end. The line is valid until Next is
// called again. ErrLongLine stands for one line, and the next call continues after
// it.
func (r *LineReader) Next() (line []byte, err error) {
	line, err = r.in.ReadSlice('\n')
	n := len(line)
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = r.long[:0]
		for ; errors.Is(err, bufio.ErrBufferFull); n += len(line) {
			if n <= maxLine {
				r.long = append(r.long, line...)
			}
			line, err = r.in.ReadSlice('\n')
		}
		line = append(r.long, line...)
	}
	if err != nil && (n == 0 || !errors.Is(err, io.EOF)) {
		return nil, err
	}
	r.Number++
	if n > maxLine+1 {
		return nil, ErrLongLine
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimPrefix(line, byteOrderMark), nil // of joined files, every first line has one
}

// Each visits the lines. It passes a line that is too long as an ErrLongLine. name is used in
// messages.
func (r *LineReader) Each(ctx context.Context, name string, visit func(line []byte, err error) error) error {
	for {
		if r.Number%snapshot.ProgressEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		line, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, ErrLongLine):
			return fmt.Errorf("read %s: %w", name, err)
		}
		if err = visit(line, err); err != nil {
			return err
		}
	}
}

// blank reports whether a line has nothing but white space.
func blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// AsideError is a line of a dump that is not a call.
type AsideError struct {
	Dump string
	Line int64
	Err  error
}

func (a *AsideError) Error() string { return fmt.Sprintf("%s:%d: %v", a.Dump, a.Line, a.Err) }

func (a *AsideError) Unwrap() error { return a.Err }

// CheckDump reads a whole dump, and returns an *AsideError for the first line that is not a call.
func CheckDump(ctx context.Context, name string, in io.Reader) error {
	r := NewLineReader(in)
	var dec calls.Decoder
	var call calls.Call
	return r.Each(ctx, name, func(line []byte, err error) error {
		if err == nil && !blank(line) {
			err = dec.Decode(line, schema.KindItem, &call)
		}
		if err != nil {
			return &AsideError{Dump: name, Line: r.Number, Err: err}
		}
		return nil
	})
}
