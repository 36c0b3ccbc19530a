package commit

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
	offset int64  // offset of the next line in the bytes read
	Number int64  // number of the last returned line, from 1
}

// NewLineReader returns a reader of lines.
func NewLineReader(in io.Reader) *LineReader {
	return &LineReader{in: bufio.NewReaderSize(in, DumpRoom)}
}

// Next returns the next line, without its end, and its offset; io.EOF at the end. The line is valid
// until Next is called again. ErrLongLine stands for one line, and the next call continues after
// it.
func (r *LineReader) Next() (line []byte, at int64, err error) {
	at = r.offset
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
		return nil, at, err
	}
	r.offset += int64(n)
	r.Number++
	if n > maxLine+1 {
		return nil, at, ErrLongLine
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	if rest, ok := bytes.CutPrefix(line, byteOrderMark); ok { // of joined files, every first line
		line, at = rest, at+int64(len(byteOrderMark))
	}
	return line, at, nil
}

// Each visits the lines until visit returns false, and reports whether it reached the end. It
// passes a line that is too long as an ErrLongLine. name is used in messages; tell, if given, is
// called from time to time.
func (r *LineReader) Each(ctx context.Context, name string, tell func(),
	visit func(line []byte, at int64, err error) (more bool, _ error)) (ended bool, err error) {
	for more := true; more; {
		if r.Number%snapshot.ProgressEvery == 0 {
			if tell != nil {
				tell()
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
		}
		line, at, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil && !errors.Is(err, ErrLongLine):
			return false, fmt.Errorf("read %s: %w", name, err)
		}
		if more, err = visit(line, at, err); err != nil {
			return false, err
		}
	}
	return false, nil
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
	_, err := r.Each(ctx, name, nil, func(line []byte, _ int64, err error) (bool, error) {
		if err == nil && !blank(line) {
			err = dec.Decode(line, schema.KindItem, &call)
		}
		if err != nil {
			return false, &AsideError{Dump: name, Line: r.Number, Err: err}
		}
		return true, nil
	})
	return err
}

// Dump is a file of calls, one JSON object per line, that another program fetched: details or list
// items of the API's v3, or objects of its v2.
type Dump struct {
	Name string // for messages
	// File is a plain file, read in place. Its size must not shrink until the import is over.
	File io.ReaderAt
	Size int64
	// Lines is a stream that can be read only once; it is used if File is nil, and spooled.
	Lines io.Reader
	// AsOf is the latest time, ms UTC, at which the calls were as in the dump. The dump only adds
	// to data that the warehouse fetched later, and does not overwrite it.
	AsOf int64
	// Kind is KindDetail if the objects are calls' own records, so that an empty transcript means
	// that there is none; otherwise it is KindItem.
	Kind schema.Kind
}

// Part is the part of a dump for one commit.
type Part struct {
	Name     string
	File     io.ReaderAt
	From, To int64
	Line     int64 // number of the line before
	AsOf     int64
	Kind     schema.Kind
	Close    func() error // nil: the file belongs to the caller
	// Lines that are not calls; refused lines were not even spooled.
	Aside, Refused []AsideError
}

// reading is the progress in reading a part.
type reading struct {
	Lines  int64 // without empty lines
	Number int64 // of the last line
	At     int64 // offset after it
}

// Read reads up to the given number of lines of the intake's last part.
func (in *Intake) Read(ctx context.Context, p *Part, run string, lines int64, tell func()) (done reading, err error) {
	p.Aside = nil
	index := ^int32(len(in.Parts) - 1)
	r := NewLineReader(io.NewSectionReader(p.File, p.From, p.To-p.From))
	r.offset, r.Number = p.From, p.Line
	ended, err := r.Each(ctx, p.Name, tell, func(line []byte, at int64, err error) (bool, error) {
		more := r.Number-p.Line < lines
		if err == nil && blank(line) {
			return more, nil
		}
		done.Lines++
		var id []byte
		var start sentStart
		if err == nil {
			id, start, err = in.peekLine(line, p.Kind)
		}
		if err != nil {
			p.Aside = append(p.Aside, AsideError{Dump: p.Name, Line: r.Number, Err: err})
		} else {
			in.add(entry{at: at, in: index, line: int32(len(line)), kind: p.Kind}, id, start, p.AsOf, run)
		}
		return more, nil
	})
	if done.Number, done.At = r.Number, r.offset; ended {
		done.At = p.To
	}
	return done, err
}

// peekLine is peek for an unchecked line. Most damaged lines are truncated, so a line that does not
// end like an object is decoded at once.
func (in *Intake) peekLine(line []byte, kind schema.Kind) (id []byte, start sentStart, err error) {
	if !bytes.HasSuffix(bytes.TrimRight(line, " \t\r"), []byte("}")) {
		if err := in.dec.Decode(line, kind, &in.call); err != nil {
			return nil, start, err
		}
	}
	return in.peek(line, kind)
}
