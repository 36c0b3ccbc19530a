package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// A row group is closed when it has rowGroupRows rows or rowGroupBytes bytes of
// values: the first suits readers, the second bounds the writer's memory.
const (
	rowGroupRows  = 122_880
	rowGroupBytes = 32 << 20
	pageBytes     = 1 << 20
	// filterBits is what a call's place in the filter of call_id takes. One id in
	// some hundred thousand passes by mistake, so that of the files that do not
	// hold a night's new calls a commit reads hardly any; look-ups gain as well.
	filterBits = 40
)

// tableWriter writes one data file of a snapshot. The file is made at the
// first row; a table without rows has no file.
type tableWriter struct {
	b     *builder
	codec *libzstd
	table *schema.Table
	info  layout.File // Table, Period and Path are set; the rest as rows come

	file   File
	hash   hash.Hash
	w      *parquet.GenericWriter[any]
	group  *parquet.ConcurrentRowGroupWriter
	cols   [][]parquet.Value // rows added, not yet handed to the group
	held   int64             // rows in group, and bytes of their values
	weight int64
	// pending is about how many bytes of values lie in cols.
	pending int64
}

func newTableWriter(b *builder, codec *libzstd, table *schema.Table, period string) *tableWriter {
	return &tableWriter{b: b, codec: codec, table: table, info: layout.File{
		Table: table.Name, Period: period, Path: layout.DataFile(table.Name, period, newID()),
	}}
}

// newRunsWriter writes the table runs, which is not partitioned.
func newRunsWriter(b *builder, codec *libzstd) *tableWriter {
	return &tableWriter{b: b, codec: codec, table: &schema.Runs, info: layout.File{
		Table: schema.Runs.Name, Path: layout.RunsFile,
	}}
}

// Write implements io.Writer for the Parquet writer: to the file, the checksum
// and the count.
func (t *tableWriter) Write(p []byte) (int, error) {
	n, err := t.file.Write(p)
	t.hash.Write(p[:n])
	t.info.Bytes += int64(n)
	return n, err
}

func (t *tableWriter) open() error {
	path, err := t.b.place(t.info.Path)
	if err != nil {
		return err
	}
	if t.file, err = t.b.fsys.Create(path); err != nil {
		return fmt.Errorf("make %s: %w", t.info.Path, err)
	}
	t.hash = sha256.New()
	options := []parquet.WriterOption{
		schema.ParquetSchema(t.table),
		parquet.Compression(t.codec),
		parquet.PageBufferSize(pageBytes),
		parquet.CreatedBy("callhouse", strconv.Itoa(layout.FormatVersion), ""),
		parquet.KeyValueMetadata(layout.FormatKey, strconv.Itoa(layout.FormatVersion)),
	}
	if t.table == &schema.Calls {
		options = append(options, parquet.BloomFilters(parquet.SplitBlockFilter(filterBits, "call_id")))
	}
	t.w = parquet.NewGenericWriter[any](t, options...)
	t.cols = make([][]parquet.Value, len(t.table.Columns))
	return nil
}

// add takes one row. What its values point at must stand until the next flush.
func (t *tableWriter) add(row parquet.Row) error {
	if t.w == nil {
		if err := t.open(); err != nil {
			return err
		}
	}
	size := int64(16 * len(row))
	for i, v := range row {
		t.cols[i] = append(t.cols[i], v)
		if v.Kind() == parquet.ByteArray {
			size += int64(len(v.ByteArray()))
		}
	}
	t.weight += size
	t.pending += size
	t.info.Rows++
	t.held++
	return nil
}

// flush hands the added rows on; afterwards the caller may reuse their bytes.
func (t *tableWriter) flush() error {
	if t.w == nil || len(t.cols[0]) == 0 {
		return nil
	}
	if t.group == nil {
		t.group = t.w.BeginRowGroup()
	}
	for i, w := range t.group.ColumnWriters() {
		if _, err := w.WriteRowValues(t.cols[i]); err != nil {
			return fmt.Errorf("write %s: %w", t.info.Path, err)
		}
		clear(t.cols[i]) // or they would hold on to journal frames
		t.cols[i] = t.cols[i][:0]
	}
	t.pending = 0
	if t.held >= rowGroupRows || t.weight >= rowGroupBytes {
		return t.closeGroup()
	}
	return nil
}

func (t *tableWriter) closeGroup() error {
	if t.group == nil {
		return nil
	}
	if _, err := t.group.Commit(); err != nil {
		return fmt.Errorf("write %s: %w", t.info.Path, err)
	}
	t.group, t.held, t.weight = nil, 0, 0
	return nil
}

// close makes the file durable and returns its line of the manifest, or nil
// when it has no rows.
func (t *tableWriter) close() (*layout.File, error) {
	if t.w == nil {
		return nil, nil
	}
	err := t.flush()
	if err == nil {
		err = t.closeGroup()
	}
	if err == nil {
		err = t.w.Close()
	}
	if err == nil {
		err = t.file.Sync()
	}
	if err = errors.Join(err, t.file.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", t.info.Path, err)
	}
	t.info.SHA256 = hex.EncodeToString(t.hash.Sum(nil))
	return &t.info, nil
}

// discard removes the file: it turned out to hold nothing new.
func (t *tableWriter) discard() error {
	if t.w == nil {
		return nil
	}
	path, err := t.b.place(t.info.Path)
	if err != nil {
		return err
	}
	return errors.Join(t.file.Close(), t.b.fsys.Remove(path))
}
