// Package dump reads files of calls that were fetched by other programs.
package dump

import (
	"bufio"
	"bytes"
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
	// unpack is the command that decompresses it; empty if it is not compressed.
	unpack string
}

// Open opens the file. It returns an error for a file that has no lines of JSON objects.
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
		return nil
	}
	r, err := s.Lines(io.NewSectionReader(f, 0, s.Size))
	if err == nil {
		_ = r.Close() // its lines are read later
	}
	return err
}

// InPlace reports whether a source is a plain file, which several readers can share.
func (s *Source) InPlace() bool { return s.File != nil && s.Size >= 0 && s.unpack == "" }

// Magic numbers of compressed files.
var gzipMagic, zstdMagic = []byte("\x1f\x8b"), []byte("\x28\xb5\x2f\xfd")

// Lines returns the content of a source, decompressed if its first bytes are those of gzip or zstd,
// whatever its name. It returns an error if the beginning has no lines of JSON objects.
func (s *Source) Lines(in io.Reader) (io.ReadCloser, error) {
	raw := bufio.NewReader(in)
	magic, _ := raw.Peek(len(zstdMagic)) // an unreadable file is reported when its lines are read
	lines := io.NopCloser(raw)
	switch s.unpack = ""; {
	case bytes.HasPrefix(magic, gzipMagic):
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, cli.Fail(cli.ExitFailed, fmt.Errorf("unpack %s: %w", s.Path, err), "")
		}
		lines, s.unpack = z, "gzip -dc"
	case bytes.HasPrefix(magic, zstdMagic):
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, cli.Fail(cli.ExitFailed, fmt.Errorf("unpack %s: %w", s.Path, err), "")
		}
		lines, s.unpack = z.IOReadCloser(), "zstd -dc"
	}
	text := bufio.NewReaderSize(lines, headSize)
	head, _ := text.Peek(headSize)
	if err := s.mistake(head); err != nil {
		_ = lines.Close() // it was only read
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{text, lines}, nil
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
