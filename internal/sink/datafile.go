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
	"callhouse/internal/sink/disk"
)

// A row group is closed when it has rowGroupRows rows or rowGroupBytes bytes of values: the first
// limit suits readers, the second bounds the writer's memory.
const (
	rowGroupRows  = 122_880
	rowGroupBytes = 32 << 20
	// pageBytes is the size at which a column's page is encoded. A writer holds one page per column;
	// half of it takes 3 % more space on the disk, and a third less memory.
	pageBytes = 1 << 20
)

// dataFolder is where the data files of a snapshot are made, by their paths inside it.
type dataFolder interface {
	Create(path string) (disk.File, error)
	Remove(path string) error
}

// dataFile writes one data file of a snapshot. The file is created with the first row; a table
// without rows has no file.
type dataFile struct {
	in    dataFolder
	table *schema.Table
	info  layout.File // Table, Period and Path are set; the rest is derived from the rows

	file disk.File
	hash hash.Hash
	rows *columnWriter
}

// newDataFile returns a writer, in a folder, of a table's file for a period.
func newDataFile(in dataFolder, table *schema.Table, period string) *dataFile {
	path := layout.RunsFile
	if table != &schema.Runs {
		path = layout.DataFile(table.Name, period, disk.NewID())
	}
	return &dataFile{in: in, table: table, info: layout.File{Table: table.Name, Period: period, Path: path}}
}

// Write implements io.Writer for the Parquet writer: it writes to the file, the checksum and the
// count.
func (t *dataFile) Write(p []byte) (int, error) {
	n, err := t.file.Write(p)
	t.hash.Write(p[:n])
	t.info.Bytes += int64(n)
	return n, err
}

func (t *dataFile) open() error {
	var err error
	if t.file, err = t.in.Create(t.info.Path); err != nil {
		return fmt.Errorf("make %s: %w", t.info.Path, err)
	}
	t.hash = sha256.New()
	version := strconv.Itoa(layout.FormatVersion)
	t.rows = newColumnWriter(t, t.table, pageBytes, "callhouse", version)
	t.rows.SetKeyValueMetadata(layout.FormatKey, version)
	return nil
}

// ready makes room for n rows, which are then added to rows.
func (t *dataFile) ready(n int) error {
	if t.rows == nil {
		if err := t.open(); err != nil {
			return err
		}
	}
	if rows, bytes := t.rows.Held(); rows >= rowGroupRows || bytes >= rowGroupBytes {
		if err := t.rows.EndGroup(); err != nil {
			return fmt.Errorf("write %s: %w", t.info.Path, err)
		}
	}
	t.info.Rows += int64(n)
	return nil
}

// Add adds a row.
func (t *dataFile) Add(row parquet.Row) error {
	if err := t.ready(1); err != nil {
		return err
	}
	if err := t.rows.AddRow(row); err != nil {
		return fmt.Errorf("write %s: %w", t.info.Path, err)
	}
	return nil
}

// addList adds the rows of one of an object's lists.
func (t *dataFile) addList(o *schema.Object, list int) error {
	if err := t.ready(o.Lists[list].Len()); err != nil {
		return err
	}
	if err := t.rows.AddList(o, list); err != nil {
		return fmt.Errorf("write %s: %w", t.info.Path, err)
	}
	return nil
}

// Close makes the file durable and returns its manifest entry, or nil if it has no rows.
func (t *dataFile) Close() (*layout.File, error) {
	if t.rows == nil {
		return nil, nil
	}
	err := t.rows.Close()
	if err == nil {
		err = t.file.Sync()
	}
	if err = errors.Join(err, t.file.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", t.info.Path, err)
	}
	t.info.SHA256 = hex.EncodeToString(t.hash.Sum(nil))
	return &t.info, nil
}

// Discard removes the file, which has no new data.
func (t *dataFile) Discard() error {
	if t.rows == nil {
		return nil
	}
	return errors.Join(t.file.Close(), t.in.Remove(t.info.Path))
}

// dataFiles writes the data files of one part of a snapshot.
type dataFiles []*dataFile

// newDataFiles returns writers, in a folder, of tables' files for a period; an empty period means none.
func newDataFiles(in dataFolder, period string, tables ...*schema.Table) (fs dataFiles) {
	for _, t := range tables {
		fs = append(fs, newDataFile(in, t, period))
	}
	return fs
}

// ReadIn records the region in which the national telephone numbers of the first table were read.
func (fs dataFiles) ReadIn(country string) dataFiles {
	fs[0].info.Country = country
	return fs
}

// Write writes an object with all its rows.
func (fs dataFiles) Write(o *schema.Object) error {
	err := fs[0].Add(o.Row)
	for i := range o.Lists {
		if err == nil && o.Lists[i].Len() > 0 {
			err = fs[i+1].addList(o, i)
		}
	}
	return err
}

// Close makes the files durable and returns their manifest entries.
func (fs dataFiles) Close() (out []layout.File, err error) {
	for _, f := range fs {
		info, ferr := f.Close()
		if err = errors.Join(err, ferr); info != nil {
			out = append(out, *info)
		}
	}
	return out, err
}

// Discard removes the files.
func (fs dataFiles) Discard() (err error) {
	for _, f := range fs {
		err = errors.Join(err, f.Discard())
	}
	return err
}
