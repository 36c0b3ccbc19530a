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

// copied is a file of the warehouse as it is published: the same bytes, with another footer.
type copied struct {
	*parquet.File
	local  *os.File
	length int64 // of what comes before the footer
	footer []byte
}

// trailer is what a Parquet file ends with: the footer's length and four letters.
const trailer = 8

// copyOf returns the copy of a file. Iceberg knows no JSON: where the warehouse's file says
// that a text is JSON, the copy says that it is a text. Some engines refuse it otherwise.
func copyOf(local *os.File, file *layout.File) (*copied, error) {
	in, err := parquet.OpenFile(local, file.Bytes, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, &layout.DamageError{Path: local.Name(), What: err.Error()}
	}
	var end [trailer]byte
	if _, err := local.ReadAt(end[:], file.Bytes-trailer); err != nil {
		return nil, err
	}
	meta := *in.Metadata()
	meta.Schema = slices.Clone(meta.Schema)
	for i := range meta.Schema {
		if e := &meta.Schema[i]; e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Json {
			e.ConvertedType.V = deprecated.UTF8
			e.LogicalType = format.LogicalType{Value: &format.StringType{}}
		}
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", local.Name(), err)
	}
	length := file.Bytes - trailer - int64(binary.LittleEndian.Uint32(end[:]))
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	return &copied{in, local, length, append(footer, end[4:]...)}, nil
}

func (c *copied) size() int64 { return c.length + int64(len(c.footer)) }

// ReadAt implements io.ReaderAt.
func (c *copied) ReadAt(p []byte, off int64) (n int, err error) {
	if off < c.length {
		n, err = c.local.ReadAt(p[:min(int64(len(p)), c.length-off)], off)
		if err != nil || n == len(p) {
			return n, err
		}
	}
	rest := off + int64(n) - c.length
	if rest >= int64(len(c.footer)) {
		return n, io.EOF
	}
	m := copy(p[n:], c.footer[rest:])
	if n += m; n < len(p) {
		err = io.EOF
	}
	return n, err
}
