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
)

// Limits after which an import commits: records (to bound the memory of the intake), and bytes (to
// bound the journal). putBytes is how much it makes durable at a time.
const (
	importRecords = 250_000
	importBytes   = 1 << 30
	putBytes      = 1 << 20
)

// Dump is a file of calls, one JSON object per line, that another program fetched: details or list
// items of the API's v3, or objects of its v2.
type Dump struct {
	Name  string // for messages
	Lines io.Reader
	// AsOf is the latest time, ms UTC, at which the calls were as in the dump.
	AsOf int64
	// Kind is KindDetail if the objects are calls' own records, so that an empty transcript means
	// that there is none; otherwise it is KindItem.
	Kind schema.Kind
}

// Import puts the calls of dumps into the journal, and commits them. Importing the same dump again
// changes no call.
type Import struct {
	w      *Warehouse
	row    func(Stats, int64) schema.Run
	report func(AsideError)
	dec    calls.Decoder
	call   calls.Call
	batch  []schema.Record
	bytes  int // of the batch

	Lines    int64 // read so far, without empty ones
	SetAside int64 // lines that are not calls
}

// NewImport begins an import. row is as for Commit; aside is called for every line that is not a call.
func (w *Warehouse) NewImport(row func(total Stats, commits int64) schema.Run, aside func(AsideError)) *Import {
	return &Import{w: w, row: row, report: aside}
}

// Add reads a dump, and commits whenever a limit is reached. What was read before an error is kept.
func (i *Import) Add(ctx context.Context, d *Dump) error {
	err := eachLine(ctx, d.Name, d.Lines, func(n int64, line []byte) error {
		i.Lines++
		if err := i.take(line, d); err != nil {
			i.SetAside++
			i.report(AsideError{Dump: d.Name, Line: n, Err: err})
			return nil
		}
		if i.bytes < putBytes {
			return nil
		}
		return i.put(ctx)
	})
	return errors.Join(err, i.flush(context.WithoutCancel(ctx)))
}

// take adds a line to the batch. It returns an error if the line is not a call.
func (i *Import) take(line []byte, d *Dump) error {
	if err := i.dec.Decode(line, d.Kind, &i.call); err != nil {
		return err
	}
	rec := schema.Record{Kind: d.Kind, CallID: string(i.call.ID()), FetchedAt: d.AsOf, Imported: true, Body: bytes.Clone(line),
		Start: i.call.StartAt(), Started: i.call.CarriesStart()}
	i.batch = append(i.batch, rec)
	i.bytes += len(line)
	return nil
}

// put makes the batch durable, and commits if a limit is reached.
func (i *Import) put(ctx context.Context) error {
	if err := i.flush(ctx); err != nil {
		return err
	}
	if records, bytes := i.w.Uncommitted(); records < importRecords && bytes < importBytes {
		return nil
	}
	return i.w.Commit(ctx, i.row)
}

func (i *Import) flush(ctx context.Context) error {
	err := i.w.Put(ctx, i.batch...)
	clear(i.batch)
	i.batch, i.bytes = i.batch[:0], 0
	return err
}

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
		return fmt.Errorf("%s: line %d has more than 64 MiB", name, n+1)
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
