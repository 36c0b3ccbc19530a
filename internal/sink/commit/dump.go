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

// maxLine bounds a line of a dump, as the service's answers are bounded.
const maxLine = 64 << 20

// DumpRoom is how much of a dump is read at a time.
const DumpRoom = 1 << 20

// byteOrderMark begins some files that Windows programs write.
var byteOrderMark = []byte("\xef\xbb\xbf")

// ErrLongLine says that a line was passed over.
var ErrLongLine = errors.New("a line of more than 64 MiB")

// LineReader reads lines.
type LineReader struct {
	in     *bufio.Reader
	long   []byte // a line that is longer than the buffer
	offset int64  // of the next line in what is read
	Number int64  // of the line last returned, from 1
}

// NewLineReader returns a reader of lines.
func NewLineReader(in io.Reader) *LineReader {
	return &LineReader{in: bufio.NewReaderSize(in, DumpRoom)}
}

// Next returns the next line, without its end, and where it starts; io.EOF at
// the end. The line is valid until Next is called again. ErrLongLine stands for
// one line, and the next call goes on behind it.
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
	if rest, ok := bytes.CutPrefix(line, byteOrderMark); ok && r.Number == 1 {
		line, at = rest, at+int64(len(byteOrderMark))
	}
	return line, at, nil
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
	r := NewLineReader(in)
	var dec calls.Decoder
	var call calls.Call
	for {
		line, _, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, ErrLongLine):
		case err != nil:
			return fmt.Errorf("read %s: %w", name, err)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		default:
			err = dec.Decode(line, schema.KindItem, &call)
		}
		if err != nil {
			return &AsideError{Dump: name, Line: r.Number, Err: err}
		}
		if r.Number%snapshot.ProgressEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Dump is a file of calls, one JSON object a line, as somebody else fetched
// them: details or list items of the API's v3, or objects of its v2.
type Dump struct {
	Name string // for messages
	// File is a plain file, read where it is. Its size must not shrink until the
	// import is over.
	File io.ReaderAt
	Size int64
	// Lines is what can be read only once, where File is nil: it is spooled.
	Lines io.Reader
	// AsOf is when the calls were as the dump says, ms UTC, at the latest. What
	// the warehouse fetched later than that is not overwritten, only added to.
	AsOf int64
	// Kind is KindDetail where the objects are calls' own records, so that an
	// empty transcript says that there is none; and else KindItem.
	Kind schema.Kind
}

// Part is a stretch of a dump that one commit takes in.
type Part struct {
	Name     string
	File     io.ReaderAt
	From, To int64
	Line     int64 // number of the line before
	AsOf     int64
	Kind     schema.Kind
	Close    func() error // nil: the file is the caller's
	// Lines that are no calls; refused ones were not even spooled.
	Aside, Refused []AsideError
}

// reading is how far a part was read.
type reading struct {
	Lines  int64 // that were not empty
	Number int64 // of the last line
	At     int64 // behind it
}

// Read notes the calls of the last part of the intake. enough is asked before
// every line.
func (in *Intake) Read(p *Part, run string, enough func(*LineReader) (bool, error)) (done reading, err error) {
	p.Aside = nil
	index := ^int32(len(in.Parts) - 1)
	r := NewLineReader(io.NewSectionReader(p.File, p.From, p.To-p.From))
	r.offset, r.Number = p.From, p.Line
	for {
		done.Number, done.At = r.Number, r.offset
		if stop, err := enough(r); stop || err != nil {
			return done, err
		}
		line, at, err := r.Next()
		if errors.Is(err, io.EOF) {
			done.At = p.To
			return done, nil
		}
		if err != nil && !errors.Is(err, ErrLongLine) {
			return done, fmt.Errorf("read %s: %w", p.Name, err)
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		done.Lines++
		var id []byte
		var start sentStart
		if err == nil {
			id, start, err = in.peekLine(line, p.Kind)
		}
		if err != nil {
			p.Aside = append(p.Aside, AsideError{Dump: p.Name, Line: r.Number, Err: err})
			continue
		}
		in.add(entry{at: at, in: index, line: int32(len(line)), kind: p.Kind}, id, start, p.AsOf, run)
	}
}

// peekLine is peek for a line that nobody has checked. Most damaged lines are cut off,
// so a line that does not end as an object is decoded at once.
func (in *Intake) peekLine(line []byte, kind schema.Kind) (id []byte, start sentStart, err error) {
	if !bytes.HasSuffix(bytes.TrimRight(line, " \t\r"), []byte("}")) {
		if err := in.dec.Decode(line, kind, &in.call); err != nil {
			return nil, start, err
		}
	}
	return in.peek(line, kind)
}
