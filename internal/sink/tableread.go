package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/bloom"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// readAhead is the number of rows that a tableReader decodes at a time.
const readAhead = 64

// tableReader streams the rows of one data file in their order.
type tableReader struct {
	file   disk.File
	Groups []parquet.RowGroup
	rows   parquet.RowReadSeekCloser
	left   int64 // rows of the row group that rows has not returned yet
	picked []int // the columns to read; nil: all
	schema *parquet.Schema
	buf    []parquet.Row
	n, at  int
	Path   string
}

// openTable opens a data file. It returns an error for a file of a later format, and for one with other
// columns than the table.
func openTable(fsys disk.FS, path string, table *schema.Table) (*tableReader, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a data file: %w", err)
	}
	t := &tableReader{file: f, Path: path, buf: make([]parquet.Row, readAhead)}
	if err := t.init(table); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return t, nil
}

func (t *tableReader) init(table *schema.Table) error {
	st, err := t.file.Stat()
	if err != nil {
		return fmt.Errorf("open a data file: %w", err)
	}
	p, err := parquet.OpenFile(t.file, st.Size(), parquet.SkipPageIndex(true))
	if err != nil {
		return &layout.DamageError{Path: t.Path, What: err.Error()}
	}
	if v, ok := p.Lookup(layout.FormatKey); ok {
		if version, err := strconv.Atoi(v); err != nil || version > layout.FormatVersion {
			return &layout.VersionError{Got: version}
		}
	}
	if err := schema.SameColumns(p.Schema(), table); err != nil {
		return &layout.DamageError{Path: t.Path, What: err.Error()}
	}
	t.schema = p.Schema()
	t.Groups = p.RowGroups()
	return nil
}

// Pick limits the result of Next to these columns of the file, in this order, call_id first. Pages
// of the other columns are neither read nor kept in memory.
func (t *tableReader) Pick(names ...string) {
	t.picked = make([]int, 0, len(names))
	for _, name := range names {
		if at := t.Column(name); at >= 0 {
			t.picked = append(t.picked, at)
		}
	}
}

// open starts reading a row group.
func (t *tableReader) open(g parquet.RowGroup) parquet.RowReadSeekCloser {
	if t.picked == nil {
		return g.Rows()
	}
	all := g.ColumnChunks()
	chunks := make([]parquet.ColumnChunk, len(t.picked))
	for i, at := range t.picked {
		chunks[i] = all[at]
	}
	return parquet.NewColumnChunkRowReader(chunks)
}

// Next returns the next row, or nil at the end. The row is valid until Next is called again; the
// bytes of its values stay valid after that, since the Parquet reader never reuses the memory of
// byte arrays.
func (t *tableReader) Next() (parquet.Row, error) {
	for t.at == t.n {
		if t.rows == nil {
			if len(t.Groups) == 0 {
				return nil, nil
			}
			t.rows, t.left, t.Groups = t.open(t.Groups[0]), t.Groups[0].NumRows(), t.Groups[1:]
		}
		// For every row beyond the last one, ReadRows would look for another page in every column.
		n, err := t.rows.ReadRows(t.buf[:min(t.left, readAhead)])
		t.at, t.n, t.left = 0, n, t.left-int64(n)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, &layout.DamageError{Path: t.Path, What: err.Error()}
		}
		if n == 0 {
			if err := t.rows.Close(); err != nil {
				return nil, fmt.Errorf("read %s: %w", t.Path, err)
			}
			t.rows = nil
		}
	}
	row := t.buf[t.at]
	t.at++
	return row, nil
}

// All calls visit for the remaining rows.
func (t *tableReader) All(visit func(parquet.Row) error) error {
	for {
		row, err := t.Next()
		if err == nil && row != nil {
			err = visit(row)
		}
		if err != nil || row == nil {
			return err
		}
	}
}

// Each visits the values of some columns of the remaining rows. They are valid until visit returns.
func (t *tableReader) Each(columns []string, visit func(row []parquet.Value)) error {
	t.Pick(columns...)
	return t.All(func(row parquet.Row) error { visit(row); return nil })
}

// Column returns the position of a column in the rows of the file, or -1.
func (t *tableReader) Column(name string) int {
	if leaf, ok := t.schema.Lookup(name); ok {
		return leaf.ColumnIndex
	}
	return -1
}

// Texts returns the columns of the file that hold texts.
func (t *tableReader) Texts() (names []string) {
	for _, f := range t.schema.Fields() {
		if f.Leaf() && f.Type().Kind() == parquet.ByteArray {
			names = append(names, f.Name())
		}
	}
	return names
}

// Call reads a row of calls.
func (t *tableReader) Call(row parquet.Row, to *calls.Call) error {
	if err := to.Read(row); err != nil {
		return &layout.DamageError{Path: t.Path, What: err.Error()}
	}
	return nil
}

// EachCall visits the remaining rows of calls, until ctx is done. A call is valid until visit
// returns.
func (t *tableReader) EachCall(ctx context.Context, visit func(*calls.Call)) error {
	var call calls.Call
	return t.All(func(row parquet.Row) error {
		if err := errors.Join(ctx.Err(), t.Call(row, &call)); err != nil {
			return err
		}
		visit(&call)
		return nil
	})
}

// Close closes the file.
func (t *tableReader) Close() error {
	var err error
	if t.rows != nil {
		err = t.rows.Close()
	}
	return errors.Join(err, t.file.Close())
}

// compareKey orders calls as the tables are sorted: by start, nulls last, then
// by id.
func compareKey(aStart schema.Opt[int64], aID string, bStart schema.Opt[int64], bID string) int {
	switch {
	case aStart.OK && !bStart.OK:
		return -1
	case !aStart.OK && bStart.OK:
		return 1
	case aStart.V != bStart.V && aStart.OK:
		return cmp.Compare(aStart.V, bStart.V)
	}
	return strings.Compare(aID, bID)
}

// tableByName returns a table, or nil.
func tableByName(name string) *schema.Table {
	for _, t := range resource.Tables {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// idFilter is a set of calls to look for in the filters of many row groups.
type idFilter struct {
	hashes []uint64
	buf    []byte // memory for a filter
}

// Add adds a call.
func (s *idFilter) Add(id string) { s.hashes = append(s.hashes, bloom.XXH64{}.Sum64([]byte(id))) }

// Narrow limits a file to the row groups that may hold one of the calls, according to their filters,
// and reports whether there are any.
func (s *idFilter) Narrow(t *tableReader) (some bool, err error) {
	t.Groups = slices.DeleteFunc(slices.Clone(t.Groups), func(g parquet.RowGroup) bool {
		may, gerr := s.mayBeIn(t, g)
		err = errors.Join(err, gerr)
		return !may
	})
	return len(t.Groups) > 0, err
}

// mayBeIn checks the filter of a row group, which it reads at once, for any of the calls. It
// returns true if there is no filter.
func (s *idFilter) mayBeIn(t *tableReader, g parquet.RowGroup) (bool, error) {
	filter := g.ColumnChunks()[t.Column("call_id")].BloomFilter()
	if filter == nil {
		return true, nil
	}
	size := int(filter.Size())
	s.buf = slices.Grow(s.buf[:0], size)[:size]
	n, err := filter.ReadAt(s.buf, 0)
	if err == nil || errors.Is(err, io.EOF) {
		if err = nil; n < max(size, bloom.BlockSize) { // an empty filter cannot be checked
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		return false, &layout.DamageError{Path: t.Path, What: err.Error()}
	}
	return slices.ContainsFunc(s.hashes, bloom.MakeSplitBlockFilter(s.buf).Check), nil
}
