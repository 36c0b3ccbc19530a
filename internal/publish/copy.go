package publish

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/layout"
)

// copied is a file of the warehouse in its published form: its bytes up to the footer, followed by
// a new end.
type copied struct {
	*parquet.File
	local  *os.File
	length int64 // length of the part before the footer
	tail   []byte
}

// trailer is the end of a Parquet file: the footer's length, and four letters.
const trailer = 8

// copyOf returns the copy of a file. Iceberg has no JSON type, so JSON columns of the warehouse's
// file are text in the copy; some engines would refuse them otherwise. No page is rewritten.
func copyOf(local *os.File, file *layout.File) (*copied, error) {
	in, err := parquet.OpenFile(local, file.Bytes, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, &layout.DamageError{Path: local.Name(), What: err.Error()}
	}
	var end [trailer]byte
	if _, err := local.ReadAt(end[:], file.Bytes-trailer); err != nil {
		return nil, err
	}
	c := &copied{File: in, local: local, length: file.Bytes - trailer - int64(binary.LittleEndian.Uint32(end[:]))}
	meta := *in.Metadata()
	meta.Schema = slices.Clone(meta.Schema)
	for i := range meta.Schema {
		if e := &meta.Schema[i]; e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Json {
			e.ConvertedType.V, e.LogicalType = deprecated.UTF8, textType
		}
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", local.Name(), err)
	}
	c.tail = append(c.tail, footer...)
	c.tail = binary.LittleEndian.AppendUint32(c.tail, uint32(len(footer)))
	c.tail = append(c.tail, end[4:]...)
	return c, nil
}

var textType = format.LogicalType{Value: &format.StringType{}}

func (c *copied) size() int64 { return c.length + int64(len(c.tail)) }

// ReadAt implements io.ReaderAt.
func (c *copied) ReadAt(p []byte, off int64) (n int, err error) {
	if off < c.length {
		n, err = c.local.ReadAt(p[:min(int64(len(p)), c.length-off)], off)
		if err != nil || n == len(p) {
			return n, err
		}
	}
	rest := off + int64(n) - c.length
	if rest >= int64(len(c.tail)) {
		return n, io.EOF
	}
	if n += copy(p[n:], c.tail[rest:]); n < len(p) {
		err = io.EOF
	}
	return n, err
}
