// Package dump reads files of calls that were fetched by other programs.
package dump

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"callhouse/cmd/internal/cli"
)

// Source is one of the files.
type Source struct {
	Path string
	File *os.File // nil: standard input
	Size int64    // -1: unknown; 0 for standard input
	AsOf int64    // the time of its data
}

// Open opens the file.
func (s *Source) Open() error {
	f, err := os.Open(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Usage("", "the file %s does not exist", s.Path)
	}
	if err != nil {
		return cli.Usage("", "read a dump: %w", err)
	}
	st, err := f.Stat()
	if err != nil || st.IsDir() {
		_ = f.Close()
		return cli.Usage("name the files in it: "+filepath.Join(s.Path, "*.ndjson"), "%s is a folder", s.Path)
	}
	s.File, s.Size, s.AsOf = f, st.Size(), st.ModTime().UnixMilli()
	if !st.Mode().IsRegular() {
		s.Size = -1
	}
	return nil
}

// InPlace reports whether a source is a plain file, which several readers can share.
func (s *Source) InPlace() bool { return s.File != nil && s.Size >= 0 && unpacker(s.Path) == nil }

// unpacker returns the function that decompresses a file; nil for a plain one.
func unpacker(path string) func(io.Reader) (io.ReadCloser, error) {
	switch filepath.Ext(path) {
	case ".gz":
		return func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }
	case ".zst":
		return func(r io.Reader) (io.ReadCloser, error) {
			d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
			if err != nil {
				return nil, err
			}
			return d.IOReadCloser(), nil
		}
	}
	return nil
}

// Lines returns the decompressed content of a source.
func (s *Source) Lines(in io.Reader) (io.ReadCloser, error) {
	if unpack := unpacker(s.Path); unpack != nil {
		r, err := unpack(in)
		if err != nil {
			return nil, cli.Fail(cli.ExitFailed, fmt.Errorf("unpack %s: %w", s.Path, err), "the file name ends like a compressed file's")
		}
		return r, nil
	}
	return io.NopCloser(in), nil
}

// Counted counts what is read.
type Counted struct {
	R io.Reader
	N *atomic.Int64
}

// Read implements io.Reader.
func (c *Counted) Read(p []byte) (int, error) {
	n, err := c.R.Read(p)
	c.N.Add(int64(n))
	return n, err
}
