package sink

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// Reader reads the tables of a snapshot. A nil Reader stands for a warehouse without a commit, and
// has no files.
type Reader struct {
	*layout.Snapshot
	fsys     disk.FS
	verified *verifiedFiles
}

// NewReader returns the reader of a snapshot; nil if s is nil. With nil verified files are read
// unproven.
func NewReader(fsys disk.FS, s *layout.Snapshot, p *verifiedFiles) *Reader {
	if s == nil {
		return nil
	}
	return &Reader{s, fsys, p}
}

// readOf returns the reader of a snapshot on the disk.
func readOf(s *layout.Snapshot) (*Reader, error) {
	fsys, err := disk.OpenToRead(s.Root())
	return NewReader(fsys, s, new(verifiedFiles)), err
}

// Files returns the files of a table.
func (r *Reader) Files(table string) []*layout.File {
	if r == nil {
		return nil
	}
	return r.Manifest.FilesOf(table)
}

// File returns the file of a table and period, or nil.
func (r *Reader) File(table, period string) *layout.File {
	if r == nil {
		return nil
	}
	return r.Manifest.FileOf(table, period)
}

// Open verifies a file and opens it.
func (r *Reader) Open(f *layout.File) (*tableReader, error) {
	if err := r.VerifyChecksum(f); err != nil {
		return nil, err
	}
	return r.OpenAsIs(f)
}

// Read verifies a file, and opens it while read reads it.
func (r *Reader) Read(f *layout.File, read func(*tableReader) error) error {
	t, err := r.Open(f)
	if err != nil {
		return err
	}
	return errors.Join(read(t), t.Close())
}

// OpenAsIs opens an unproven file, for its columns and filters.
func (r *Reader) OpenAsIs(f *layout.File) (*tableReader, error) {
	return openTable(r.fsys, r.Path(f), tableByName(f.Table))
}

// Period opens the files of a period; nil if there are none. only are the tables whose rows are read;
// nil: all of them. If it is Recordings, calls have only the columns that show whether a recording is
// due.
func (r *Reader) Period(period string, only []*schema.Table) (*objectReader, error) {
	open := r.opener(period)
	o, err := openObjects(schema.CallResource, isCallID, func(t *schema.Table) (*tableReader, error) {
		if only != nil && t != &schema.Calls && !slices.Contains(only, t) {
			return nil, nil
		}
		return open(t)
	})
	if o != nil && slices.Equal(only, []*schema.Table{&schema.Recordings}) {
		o.rows.Pick(calls.RecordingColumns...)
	}
	return o, err
}

// Objects opens the files of a resource; nil if there are none.
func (r *Reader) Objects(of *resource.Resource) (*objectReader, error) {
	return openObjects(of.Resource, of.IsKey, r.opener(""))
}

// opener returns a function that opens a table's file of a period, or returns nil.
func (r *Reader) opener(period string) func(*schema.Table) (*tableReader, error) {
	return func(t *schema.Table) (*tableReader, error) {
		if f := r.File(t.Name, period); f != nil {
			return r.Open(f)
		}
		return nil, nil
	}
}

// EachObject visits the objects of a resource, if any, in the order of their keys. The visitor may
// keep an object.
func (r *Reader) EachObject(of *resource.Resource, visit func(*schema.Object) error) (err error) {
	in, err := r.Objects(of)
	if err != nil || in == nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for {
		o := new(schema.Object)
		if more, err := in.Next(o); err != nil {
			return err
		} else if !more {
			return in.Done()
		}
		if err := visit(o); err != nil {
			return err
		}
	}
}

// Runs returns the rows of the table runs.
func (r *Reader) Runs() (out []schema.Run, err error) {
	for _, f := range r.Files(schema.Runs.Name) {
		err = r.Read(f, func(t *tableReader) error {
			return t.All(func(row parquet.Row) error {
				var run schema.Run
				run.Set(row)
				out = append(out, run)
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// verifiedFiles remembers the data files that were compared with their checksums in the manifest. Each is
// compared once, before its content is used: a file never changes under its name.
type verifiedFiles struct{ done sync.Map }

// verifiedFile identifies a compared file. The file of runs has the same path in every snapshot.
type verifiedFile struct{ path, sum string }

// Add adds files that this process has just written.
func (p *verifiedFiles) Add(files []layout.File) {
	for i := range files {
		p.done.Store(verifiedFile{files[i].Path, files[i].SHA256}, true)
	}
}

// VerifyChecksum compares a file with its checksum, once.
func (r *Reader) VerifyChecksum(f *layout.File) error {
	if r.verified == nil {
		return nil
	}
	if _, known := r.verified.done.Load(verifiedFile{f.Path, f.SHA256}); known {
		return nil
	}
	path := r.Path(f)
	file, err := r.fsys.Open(path)
	if disk.IsGone(err) {
		return &layout.DamageError{Path: path, What: "it is not there"}
	}
	if err != nil {
		return fmt.Errorf("open a data file: %w", err)
	}
	if err := errors.Join(layout.VerifyChecksum(file, path, f), file.Close()); err != nil {
		return err
	}
	r.verified.Add([]layout.File{*f})
	return nil
}

// Calls yields the calls of a snapshot with their turns and items, in the order of the files: by
// period, within a period by start, those without a start last. only are the tables whose rows are
// read; none: all of them. A call is valid until the next one is requested.
func Calls(ctx context.Context, s *layout.Snapshot, only ...*schema.Table) iter.Seq2[*calls.Call, error] {
	return func(yield func(*calls.Call, error) bool) {
		r, err := readOf(s)
		enough := errors.New("enough")
		for _, f := range s.Manifest.FilesOf(schema.Calls.Name) {
			if err != nil {
				break
			}
			err = r.EachCall(ctx, f.Period, only, func(call *calls.Call) error {
				if !yield(call, nil) {
					return enough
				}
				return nil
			})
		}
		if err != nil && !errors.Is(err, enough) {
			yield(nil, err)
		}
	}
}

// EachCall visits the calls of a period with their turns and items, until ctx is done. only are the
// tables whose rows are read; nil: all of them.
func (r *Reader) EachCall(ctx context.Context, period string, only []*schema.Table, visit func(*calls.Call) error) error {
	in, err := r.Period(period, only)
	if err != nil || in == nil {
		return err
	}
	err = in.EachCall(func(call *calls.Call) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return visit(call)
	})
	if err == nil {
		err = in.Done()
	}
	return errors.Join(err, in.Close())
}

// EachChange visits the rows of the table of changes. A row is valid until the next one.
func (r *Reader) EachChange(visit func(schema.Row) error) error {
	for _, f := range r.Files(resource.Changes.Name) {
		var rows schema.Rows
		err := r.Read(f, func(t *tableReader) error {
			return t.All(func(in parquet.Row) error {
				rows.Empty(&resource.Changes)
				rows.AddRow(in)
				return visit(rows.At(0))
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Find reads one call of a snapshot with all its turns and items; nil if the snapshot has no such
// call.
func Find(ctx context.Context, s *layout.Snapshot, id string) (*calls.Call, error) {
	r, err := readOf(s)
	if err != nil {
		return nil, err
	}
	return r.Find(ctx, id)
}

// Find is the function Find for a reader. The files' filters show which files to read.
func (r *Reader) Find(ctx context.Context, id string) (found *calls.Call, err error) {
	ids := new(idFilter)
	ids.Add(id)
	for _, f := range r.Files(schema.Calls.Name) {
		t, err := r.OpenAsIs(f)
		if err != nil {
			return nil, err
		}
		var has, some bool
		if some, err = ids.Narrow(t); err == nil && some {
			if err = errors.Join(ctx.Err(), r.VerifyChecksum(f)); err == nil {
				err = t.Each([]string{"call_id"}, func(row []parquet.Value) { has = has || string(row[0].ByteArray()) == id })
			}
		}
		if err = errors.Join(err, t.Close()); err == nil && has {
			err = r.EachCall(ctx, f.Period, nil, func(c *calls.Call) error {
				if string(c.ID()) == id {
					found = c.Copy()
					found.Own()
				}
				return nil
			})
		}
		if err != nil || found != nil {
			return found, err
		}
	}
	return nil, nil
}
