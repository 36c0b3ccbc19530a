package sink

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// An import commits when it has taken up so many lines (they bound the memory of
// the intake), or spooled so many bytes (they bound the room on the disk).
const (
	importLines = 250_000
	importParts = 256
	spoolBytes  = 1 << 30
)

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

// part is a stretch of a dump that one commit takes in.
type part struct {
	name     string
	file     io.ReaderAt
	from, to int64
	line     int64 // number of the line before
	asOf     int64
	kind     schema.Kind
	close    func() error // nil: the file is the caller's
	// Lines that are no calls: by what its lines say, and those that were not even
	// spooled.
	aside, refused []AsideError
}

// Import commits the calls of dumps. They do not go through the journal: a dump
// is on the disk already. Each commit is all or nothing, and a second import of
// the same dump changes no call.
type Import struct {
	w      *Warehouse
	row    func(Stats, int64) schema.Run
	in     *intake
	taken  int64 // lines in it
	report func(AsideError)

	Lines int64 // read so far, but for empty ones
	Bytes int64 // read so far of plain files
	aside int64 // lines that were reported
}

// SetAside returns how many lines are no calls, as far as is known: a line that
// looks like one shows when it is committed.
func (i *Import) SetAside() int64 {
	n := i.aside
	for _, p := range i.in.parts {
		n += int64(len(p.refused) + len(p.aside))
	}
	return n
}

// NewImport begins an import. row is that of Commit; aside is called for every
// line that is no call, before its part is committed.
func (w *Warehouse) NewImport(row func(total Stats, commits int64) schema.Run, aside func(AsideError)) *Import {
	return &Import{w: w, row: row, report: aside, in: newIntake(w.forgotten, false)}
}

// Add takes up a dump, and commits whenever enough has come together. tell is
// called now and then.
func (i *Import) Add(ctx context.Context, d *Dump, tell func()) error {
	if d.File == nil {
		return i.spool(ctx, d, tell)
	}
	_, err := i.scan(ctx, &part{name: d.Name, file: d.File, to: d.Size, asOf: d.AsOf, kind: d.Kind}, tell)
	return err
}

// Finish commits what was taken up since the last commit, and the import's last
// row.
func (i *Import) Finish(ctx context.Context, row func(total Stats, commits int64) schema.Run) error {
	return errors.Join(i.commit(ctx, row), i.closeParts())
}

// scan takes up a stretch of a dump; whole says that it was committed to its
// end.
func (i *Import) scan(ctx context.Context, p *part, tell func()) (whole bool, err error) {
	for {
		next, err := i.take(ctx, p, tell)
		if err != nil {
			return false, err
		}
		if i.taken < importLines && len(i.in.parts) < importParts {
			return false, nil
		}
		if err := i.commit(ctx, i.row); err != nil {
			return false, err
		}
		if next == nil {
			return true, nil
		}
		p = next
	}
}

// take takes up a part until it ends or enough has come together, and returns
// the rest.
func (i *Import) take(ctx context.Context, p *part, tell func()) (rest *part, err error) {
	i.in.parts = append(i.in.parts, p)
	began := p.line
	r, err := i.in.read(p, i.w.opts.RunID, func(r *lineReader) (bool, error) {
		if r.number%tellEvery == 0 {
			if tell != nil {
				tell()
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
		}
		return i.taken+r.number-began >= importLines, nil
	})
	i.Lines += r.lines
	i.taken += r.lines
	i.Bytes += r.at - p.from
	end := p.to
	p.to = r.at
	if err != nil || r.at >= end {
		return nil, err
	}
	next := *p
	next.from, next.to, next.line = r.at, end, r.number
	return &next, nil
}

// reading is how far a part was read.
type reading struct {
	lines  int64 // that were not empty
	number int64 // of the last line
	at     int64 // behind it
}

// read notes the calls of the last part of the intake. enough is asked before
// every line.
func (in *intake) read(p *part, run string, enough func(*lineReader) (bool, error)) (done reading, err error) {
	p.aside = nil
	index := ^int32(len(in.parts) - 1)
	r := &lineReader{in: io.NewSectionReader(p.file, p.from, p.to-p.from), offset: p.from, number: p.line}
	for {
		done.number, done.at = r.number, r.offset
		if stop, err := enough(r); stop || err != nil {
			return done, err
		}
		line, at, err := r.next()
		if errors.Is(err, io.EOF) {
			done.at = p.to
			return done, nil
		}
		if err != nil && !errors.Is(err, errLongLine) {
			return done, fmt.Errorf("read %s: %w", p.name, err)
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		done.lines++
		var id []byte
		var start schema.Opt[int64]
		if err == nil {
			id, start, err = in.lookAtLine(line, p.kind)
		}
		if err != nil {
			p.aside = append(p.aside, AsideError{Dump: p.name, Line: r.number, Err: err})
			continue
		}
		in.add(entry{at: at, in: index, line: int32(len(line)), kind: p.kind}, id, start, p.asOf, run)
	}
}

// lookAtLine is look for a line that nobody has checked. Most of what is
// damaged was cut off, so what does not end as an object is decoded at once.
func (in *intake) lookAtLine(line []byte, kind schema.Kind) (id []byte, start schema.Opt[int64], err error) {
	if !bytes.HasSuffix(bytes.TrimRight(line, " \t\r"), []byte("}")) {
		if err := in.dec.Decode(line, kind, &in.call); err != nil {
			return nil, start, err
		}
	}
	return in.look(line, kind)
}

// commit commits what was taken up.
func (i *Import) commit(ctx context.Context, row func(Stats, int64) schema.Run) error {
	err := i.w.commitRun(ctx, row, func(c *commit) { c.taken, c.again = i.in, i.again })
	if err != nil {
		return err
	}
	for _, p := range i.in.parts {
		aside := append(p.refused, p.aside...)
		slices.SortFunc(aside, func(a, b AsideError) int { return cmp.Compare(a.Line, b.Line) })
		for _, a := range aside {
			i.report(a)
			i.aside++
		}
	}
	err = i.closeParts()
	i.taken, i.in = 0, newIntake(i.w.forgotten, false)
	return err
}

// again reads the parts anew, and decodes every line.
func (i *Import) again() (*intake, error) {
	in := newIntake(i.w.forgotten, true)
	for _, p := range i.in.parts {
		in.parts = append(in.parts, p)
		never := func(*lineReader) (bool, error) { return false, nil }
		if _, err := in.read(p, i.w.opts.RunID, never); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (i *Import) closeParts() error {
	var errs []error
	for _, p := range i.in.parts {
		if p.close != nil {
			errs = append(errs, p.close())
			p.close = nil
		}
	}
	return errors.Join(errs...)
}

// spool takes up a dump that can be read only once: it writes what may be kept
// of it to a file without a name, which is gone when it is closed.
func (i *Import) spool(ctx context.Context, d *Dump, tell func()) error {
	r := &lineReader{in: d.Lines}
	for ended := false; !ended; {
		p := &part{name: d.Name, asOf: d.AsOf, kind: d.Kind, line: r.number}
		file, err := i.nameless()
		if err != nil {
			return err
		}
		p.file, p.close = file, file.Close
		ended, err = i.fillSpool(ctx, p, file, r, tell)
		if err != nil {
			return errors.Join(err, file.Close())
		}
		before := i.Bytes
		whole, err := i.scan(ctx, p, nil)
		i.Bytes = before // of plain files alone
		if err != nil {
			return err
		}
		if !whole && !ended {
			if err := i.commit(ctx, i.row); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameless makes a file that nobody else can open and no crash leaves behind.
func (i *Import) nameless() (File, error) {
	path := filepath.Join(i.w.opts.Root, layout.TempName(layout.CurrentName, newID()))
	f, err := i.w.opts.FS.Create(path)
	if err == nil {
		err = i.w.opts.FS.Remove(path)
	}
	if err != nil {
		return nil, fmt.Errorf("spool a dump: %w", err)
	}
	return f, nil
}

// fillSpool writes lines to a part's file until they are enough for a commit.
// A line that is no call leaves an empty one, so that the numbers stay right.
func (i *Import) fillSpool(ctx context.Context, p *part, file File, r *lineReader, tell func()) (ended bool, err error) {
	out := bufio.NewWriterSize(file, dumpRoom)
	for lines := int64(0); i.taken+lines < importLines && p.to < spoolBytes; lines++ {
		if r.number%tellEvery == 0 {
			if tell != nil {
				tell()
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
		}
		line, _, err := r.next()
		if errors.Is(err, io.EOF) {
			ended = true
			break
		}
		if err != nil && !errors.Is(err, errLongLine) {
			return false, fmt.Errorf("read %s: %w", p.name, err)
		}
		clean := line
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			clean, _, err = i.w.Clean(line)
		}
		if err != nil {
			i.Lines++
			p.refused = append(p.refused, AsideError{Dump: p.name, Line: r.number, Err: err})
			clean = nil
		}
		n, err := out.Write(clean)
		if err == nil {
			err = out.WriteByte('\n')
		}
		p.to += int64(n) + 1
		if err != nil {
			return false, fmt.Errorf("spool %s: %w", p.name, err)
		}
	}
	if err := out.Flush(); err != nil {
		return false, fmt.Errorf("spool %s: %w", p.name, err)
	}
	return ended, nil
}
