package sink

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/commit"
	"callhouse/internal/sink/disk"
)

// Limits after which an import commits: lines (to bound the memory of the intake), and spooled
// bytes (to bound the disk space).
const (
	importLines = 250_000
	importParts = 256
	spoolBytes  = 1 << 30
)

// Import commits the calls of dumps. They bypass the journal: a dump is already on the disk. Each
// commit is atomic, and importing the same dump again changes no call.
type Import struct {
	w      *Warehouse
	row    func(commit.Stats, int64) schema.Run
	in     *commit.Intake
	taken  int64 // lines in the current part
	report func(commit.AsideError)

	Lines int64 // read so far, without empty ones
	Bytes int64 // read so far from plain files
	aside int64 // lines reported to aside
}

// SetAside returns the number of lines known so far not to be calls. Some are found only at their
// commit.
func (i *Import) SetAside() int64 {
	n := i.aside
	for _, p := range i.in.Parts {
		n += int64(len(p.Refused) + len(p.Aside))
	}
	return n
}

// NewImport begins an import. row is as for Commit; aside is called for every line that is not a
// call, before its part is committed.
func (w *Warehouse) NewImport(row func(total commit.Stats, commits int64) schema.Run, aside func(commit.AsideError)) *Import {
	return &Import{w: w, row: row, report: aside, in: commit.NewIntake(w.forgotten, false)}
}

// Add reads a dump, and commits whenever a limit is reached. tell is called from time to time.
func (i *Import) Add(ctx context.Context, d *commit.Dump, tell func()) error {
	if d.File == nil {
		return i.spool(ctx, d, tell)
	}
	_, err := i.scan(ctx, &commit.Part{Name: d.Name, File: d.File, To: d.Size, AsOf: d.AsOf, Kind: d.Kind}, tell)
	return err
}

// Finish commits everything since the last commit, and the import's last row.
func (i *Import) Finish(ctx context.Context, row func(total commit.Stats, commits int64) schema.Run) error {
	return errors.Join(i.commit(ctx, row), i.closeParts())
}

// scan reads a part of a dump. whole reports whether it was committed to its end.
func (i *Import) scan(ctx context.Context, p *commit.Part, tell func()) (whole bool, err error) {
	for {
		next, err := i.take(ctx, p, tell)
		if err != nil {
			return false, err
		}
		if i.taken < importLines && len(i.in.Parts) < importParts {
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

// take reads a part until it ends or a limit is reached, and returns the rest.
func (i *Import) take(ctx context.Context, p *commit.Part, tell func()) (rest *commit.Part, err error) {
	i.in.Parts = append(i.in.Parts, p)
	r, err := i.in.Read(ctx, p, i.w.opts.RunID, importLines-i.taken, tell)
	i.Lines += r.Lines
	i.taken += r.Lines
	i.Bytes += r.At - p.From
	end := p.To
	p.To = r.At
	if err != nil || r.At >= end {
		return nil, err
	}
	next := *p
	next.From, next.To, next.Line = r.At, end, r.Number
	return &next, nil
}

// commit commits the lines read so far.
func (i *Import) commit(ctx context.Context, row func(commit.Stats, int64) schema.Run) error {
	read := func(exact bool) (*commit.Intake, error) { return i.intake(ctx, exact) }
	if err := i.w.commitRun(ctx, row, read, func(*commit.Input) {}); err != nil {
		return err
	}
	for _, p := range i.in.Parts {
		aside := append(p.Refused, p.Aside...)
		slices.SortFunc(aside, func(a, b commit.AsideError) int { return cmp.Compare(a.Line, b.Line) })
		for _, a := range aside {
			i.report(a)
			i.aside++
		}
	}
	err := i.closeParts()
	i.taken, i.in = 0, commit.NewIntake(i.w.forgotten, false)
	return err
}

// intake returns the lines read so far. If exact, it reads the parts again and decodes every line.
func (i *Import) intake(ctx context.Context, exact bool) (*commit.Intake, error) {
	if !exact {
		return i.in, nil
	}
	in := commit.NewIntake(i.w.forgotten, true)
	for _, p := range i.in.Parts {
		in.Parts = append(in.Parts, p)
		if _, err := in.Read(ctx, p, i.w.opts.RunID, math.MaxInt64, nil); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (i *Import) closeParts() error {
	var errs []error
	for _, p := range i.in.Parts {
		if p.Close != nil {
			errs = append(errs, p.Close())
			p.Close = nil
		}
	}
	return errors.Join(errs...)
}

// spool reads a dump that can be read only once. It writes the storable data to a file without a
// name, which disappears when it is closed.
func (i *Import) spool(ctx context.Context, d *commit.Dump, tell func()) error {
	r := commit.NewLineReader(d.Lines)
	for ended := false; !ended; {
		p := &commit.Part{Name: d.Name, AsOf: d.AsOf, Kind: d.Kind, Line: r.Number}
		file, err := i.nameless()
		if err != nil {
			return err
		}
		p.File, p.Close = file, file.Close
		var failed error
		if ended, failed, err = i.fillSpool(ctx, p, file, r, tell); err != nil {
			return errors.Join(err, file.Close())
		}
		if failed != nil {
			ctx = context.WithoutCancel(ctx) // what was read can still be committed
		}
		before := i.Bytes
		whole, err := i.scan(ctx, p, nil)
		i.Bytes = before // only plain files count
		if err = errors.Join(failed, err); err != nil {
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

// nameless makes a file without a name, which a crash cannot leave behind.
func (i *Import) nameless() (disk.File, error) {
	path := filepath.Join(i.w.opts.Root, layout.TempName(layout.CurrentName, disk.NewID()))
	f, err := i.w.opts.FS.Create(path)
	if err == nil {
		err = i.w.opts.FS.Remove(path)
	}
	if err != nil {
		return nil, fmt.Errorf("spool a dump: %w", err)
	}
	return f, nil
}

// fillSpool writes lines to a part's file until a limit is reached, or until they cannot be read:
// failed is the reason, and the part has the whole lines before. It writes an empty line for a line
// that is not a call, so that line numbers stay right.
func (i *Import) fillSpool(ctx context.Context, p *commit.Part, file disk.File, r *commit.LineReader, tell func()) (
	ended bool, failed, err error) {
	out := bufio.NewWriterSize(file, commit.DumpRoom)
	lines := importLines - i.taken
	var room []byte
	ended, failed = r.Each(ctx, p.Name, tell, func(line []byte, _ int64, aside error) (bool, error) {
		clean := line
		room = room[:0]
		if aside == nil && len(bytes.TrimSpace(line)) > 0 {
			clean, _, aside = i.w.Clean(&room, line)
		}
		if aside != nil {
			p.Refused = append(p.Refused, commit.AsideError{Dump: p.Name, Line: r.Number, Err: aside})
			clean = nil
		}
		n, werr := out.Write(clean)
		if werr == nil {
			werr = out.WriteByte('\n')
		}
		if werr != nil {
			err = werr
			return false, nil
		}
		p.To += int64(n) + 1
		lines--
		return lines > 0 && p.To < spoolBytes, nil
	})
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return false, nil, fmt.Errorf("spool %s: %w", p.Name, err)
	}
	i.Lines += int64(len(p.Refused))
	return ended, failed, nil
}
