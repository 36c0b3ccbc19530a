package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"callhouse/internal/schema"
)

// maxLine bounds a line of a dump, as the service's answers are bounded.
const maxLine = 64 << 20

// dumpRoom is how much of a dump is read at a time.
const dumpRoom = 1 << 20

// byteOrderMark begins some files that Windows programs write.
var byteOrderMark = []byte("\xef\xbb\xbf")

// errLongLine says that a line was passed over.
var errLongLine = errors.New("a line of more than 64 MiB")

// lineReader reads lines. Its zero value with in set is ready for use.
type lineReader struct {
	in     io.Reader
	buf    []byte
	lo, hi int   // what of buf was not handed out yet
	offset int64 // of buf[lo] in what is read
	number int64 // of the line last returned, from 1
	err    error
}

// next returns the next line, without its end, and where it starts; io.EOF at
// the end. The line is valid until next is called again. errLongLine stands for
// one line, and the next call goes on behind it.
func (r *lineReader) next() (line []byte, at int64, err error) {
	seen := 0 // of the line, without an end
	for {
		if i := bytes.IndexByte(r.buf[r.lo+seen:r.hi], '\n'); i >= 0 {
			return r.take(seen+i, 1)
		}
		if seen = r.hi - r.lo; seen > maxLine {
			return r.skip()
		}
		if r.err != nil {
			if seen == 0 || !errors.Is(r.err, io.EOF) {
				return nil, r.offset, r.err
			}
			return r.take(seen, 0)
		}
		r.fill()
	}
}

// take hands out the next n bytes as a line, with an end of so many bytes.
func (r *lineReader) take(n, end int) ([]byte, int64, error) {
	line, at := r.buf[r.lo:r.lo+n], r.offset
	r.lo += n + end
	r.offset += int64(n + end)
	if r.number++; r.number == 1 {
		if rest, ok := bytes.CutPrefix(line, byteOrderMark); ok {
			line, at = rest, at+int64(len(byteOrderMark))
		}
	}
	return line, at, nil
}

// skip passes over a line that is too long.
func (r *lineReader) skip() ([]byte, int64, error) {
	for at := r.offset; ; r.fill() {
		if i := bytes.IndexByte(r.buf[r.lo:r.hi], '\n'); i >= 0 || r.err != nil {
			if i < 0 {
				i = r.hi - r.lo - 1
			}
			r.lo, r.offset = r.lo+i+1, r.offset+int64(i+1)
			r.number++
			return nil, at, errLongLine
		}
		r.offset += int64(r.hi - r.lo)
		r.lo = r.hi
	}
}

func (r *lineReader) fill() {
	if r.lo > 0 {
		r.hi = copy(r.buf, r.buf[r.lo:r.hi])
		r.lo = 0
	}
	if r.hi == len(r.buf) {
		r.buf = append(r.buf, make([]byte, max(dumpRoom, len(r.buf)))...)
	}
	n, err := r.in.Read(r.buf[r.hi:])
	r.hi += n
	r.err = err
}

// AsideError is a line of a dump that is no call.
type AsideError struct {
	Dump string
	Line int64
	Err  error
}

func (a *AsideError) Error() string { return fmt.Sprintf("%s:%d: %v", a.Dump, a.Line, a.Err) }

func (a *AsideError) Unwrap() error { return a.Err }

// CheckDump reads a dump through, and returns an *AsideError for the first line that
// is no call.
func CheckDump(ctx context.Context, name string, in io.Reader) error {
	r := lineReader{in: in}
	var dec schema.Decoder
	var call schema.Call
	for {
		line, _, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLongLine):
		case err != nil:
			return fmt.Errorf("read %s: %w", name, err)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		default:
			err = dec.Decode(line, schema.KindItem, &call)
		}
		if err != nil {
			return &AsideError{Dump: name, Line: r.number, Err: err}
		}
		if r.number%tellEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
