// Package everybyte reads all bytes of a warehouse on the disk, for tests that check that certain
// data is absent.
package everybyte

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/test"
)

// Under calls see with all bytes of every file under a folder, both raw and decompressed.
func Under(t testing.TB, root string, see func(where string, raw []byte)) {
	t.Helper()
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	test.OK(t, err)
	defer d.Close()
	err = filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		raw := test.Read(t, path)
		at, _ := filepath.Rel(root, path)
		see(at, raw)
		if bytes.HasPrefix(raw, []byte("PAR1")) {
			everyPage(t, at, raw, see)
		}
		for rest := raw; ; {
			i := bytes.Index(rest, []byte{0x28, 0xB5, 0x2F, 0xFD})
			if i < 0 {
				return nil
			}
			rest = rest[i:]
			if d.Reset(bytes.NewReader(rest)) == nil {
				var out bytes.Buffer
				_, _ = out.ReadFrom(d) // until the end of the valid frames
				see(at+" decompressed", out.Bytes())
			}
			rest = rest[4:]
		}
	})
	test.OK(t, err)
}

// everyPage is Under for a Parquet file: all values, dictionaries and the metadata.
func everyPage(t testing.TB, at string, raw []byte, see func(where string, raw []byte)) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	test.OK(t, err)
	see(at+" metadata", fmt.Appendf(nil, "%+v %+v", f.Metadata(), f.ColumnIndexes()))
	for _, g := range f.RowGroups() {
		for i, c := range g.ColumnChunks() {
			pages := c.Pages()
			for {
				p, err := pages.ReadPage()
				if err != nil {
					break
				}
				values := make([]parquet.Value, p.NumValues())
				n, _ := p.Values().ReadValues(values)
				if d := p.Dictionary(); d != nil {
					for k := range d.Len() {
						values = append(values, d.Index(int32(k)))
					}
				} else if int64(n) != p.NumValues() {
					t.Errorf("%s: only %d values of %d", at, n, p.NumValues())
				}
				var all []byte
				for _, v := range values {
					all = append(append(all, v.String()...), 0)
				}
				see(at+" "+f.Schema().Columns()[i][0], all)
			}
			_ = pages.Close()
		}
	}
}
