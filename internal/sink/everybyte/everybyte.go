// Package everybyte reads all bytes of a warehouse on the disk, for tests that check that certain
// data is absent.
package everybyte

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"callhouse/internal/test"
)

// Under calls see with all bytes of every file under a folder, both raw and decompressed: the values in
// a Parquet file's pages are whole in its zstd frames, and those of its metadata in the file.
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
