package sink

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// readAhead is how many rows a tableReader decodes at a time.
const readAhead = 64

// tableReader streams the rows of one data file in their order.
type tableReader struct {
	file   File
	table  *schema.Table
	groups []parquet.RowGroup
	rows   parquet.RowReadSeekCloser
	reader *schema.RowReader
	id     int   // position of call_id in a row of the file; -1: none
	start  int   // and of start_at
	picked []int // the columns that are read; nil: all
	// current says that the file's columns are those of today, so that its rows
	// may be copied as they are.
	current bool
	unknown []string // columns that this program does not know
	version int      // the format version that the file says; 0: none
	columns *parquet.Schema
	buf     []parquet.Row
	n, at   int
	path    string
}

// openTable opens a data file. A file of a later format is refused.
func openTable(fsys FS, path string, table *schema.Table) (*tableReader, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a data file: %w", err)
	}
	t := &tableReader{file: f, table: table, path: path, buf: make([]parquet.Row, readAhead)}
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
		return &DamageError{Path: t.path, What: err.Error()}
	}
	if v, ok := p.Lookup(layout.FormatKey); ok {
		if t.version, err = strconv.Atoi(v); err != nil || t.version > layout.FormatVersion {
			return &layout.VersionError{Got: t.version}
		}
	}
	if t.reader, err = schema.NewRowReader(p.Schema(), table); err != nil {
		return &DamageError{Path: t.path, What: err.Error()}
	}
	t.id, t.start = column(p.Schema(), "call_id"), column(p.Schema(), "start_at")
	t.groups = p.RowGroups()
	t.columns, t.unknown = p.Schema(), t.reader.Unknown(p.Schema())
	t.current = t.version == layout.FormatVersion && sameColumns(p.Schema(), schema.ParquetSchema(table))
	return nil
}

// sameColumns says whether a file has just the declared columns: their names,
// field ids and types, in their order.
func sameColumns(file, declared *parquet.Schema) bool {
	return slices.EqualFunc(file.Fields(), declared.Fields(), func(a, b parquet.Field) bool {
		return a.Name() == b.Name() && a.ID() == b.ID() && a.Leaf() && a.Optional() == b.Optional() &&
			a.Repeated() == b.Repeated() && typeName(a.Type()) == typeName(b.Type())
	})
}

// typeName names a type the same whether it was declared or read from a file,
// where plain integers have their logical type written out.
func typeName(t parquet.Type) string {
	switch s := t.String(); s {
	case "INT32":
		return "INT(32,true)"
	case "INT64":
		return "INT(64,true)"
	default:
		return s
	}
}

// pick narrows what next returns to these columns of the file, in this order,
// call_id first: then no page of the others is read, nor held.
func (t *tableReader) pick(names ...string) {
	t.picked = make([]int, 0, len(names))
	for _, name := range names {
		if at := column(t.columns, name); at >= 0 {
			t.picked = append(t.picked, at)
		}
	}
	t.id = 0
}

// open begins to read a row group.
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

// next returns the next row, or nil at the end. The row is valid until next is
// called again; the bytes that its values point at stay valid after that, since
// the Parquet reader never uses the memory of byte arrays again.
func (t *tableReader) next() (parquet.Row, error) {
	for t.at == t.n {
		if t.rows == nil {
			if len(t.groups) == 0 {
				return nil, nil
			}
			t.rows, t.groups = t.open(t.groups[0]), t.groups[1:]
		}
		n, err := t.rows.ReadRows(t.buf)
		t.at, t.n = 0, n
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, &DamageError{Path: t.path, What: err.Error()}
		}
		if n == 0 {
			if err := t.rows.Close(); err != nil {
				return nil, fmt.Errorf("read %s: %w", t.path, err)
			}
			t.rows = nil
		}
	}
	row := t.buf[t.at]
	t.at++
	return row, nil
}

// eachRow visits the rows of a row group in their order, each with the values of
// some columns that have one value a row, until visit says to stop. A row is
// valid until visit returns.
func eachRow(g parquet.RowGroup, columns []int, visit func(at int64, row []parquet.Value) (on bool)) (err error) {
	const ahead = 512
	readers := make([]parquet.ColumnChunkValueReader, len(columns))
	bufs := make([][]parquet.Value, len(columns))
	for i, c := range columns {
		readers[i] = parquet.NewColumnChunkValueReader(g.ColumnChunks()[c])
		defer func() { err = errors.Join(err, readers[i].Close()) }()
		bufs[i] = make([]parquet.Value, ahead)
	}
	row := make([]parquet.Value, len(columns))
	for at, rows := int64(0), g.NumRows(); at < rows; {
		n := int(min(rows-at, ahead))
		for i, r := range readers {
			if err := readFull(r, bufs[i][:n]); err != nil {
				return err
			}
		}
		for j := range n {
			for i := range bufs {
				row[i] = bufs[i][j]
			}
			if !visit(at+int64(j), row) {
				return nil
			}
		}
		at += int64(n)
	}
	return nil
}

func readFull(r parquet.ValueReader, values []parquet.Value) error {
	for len(values) > 0 {
		n, err := r.ReadValues(values)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		values = values[n:]
	}
	return nil
}

// column returns the position of a column in the rows of a file, or -1.
func column(s *parquet.Schema, name string) int {
	if leaf, ok := s.Lookup(name); ok {
		return leaf.ColumnIndex
	}
	return -1
}

// callID returns the id of the call that a row belongs to.
func (t *tableReader) callID(row parquet.Row) []byte { return row[t.id].ByteArray() }

func (t *tableReader) close() error {
	var err error
	if t.rows != nil {
		err = t.rows.Close()
	}
	return errors.Join(err, t.file.Close())
}
