package maintain

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

// source is a file of calls that another program fetched.
type source struct {
	path string
	file *os.File // nil: standard input
	size int64    // -1: unknown; 0 for standard input
	asOf int64    // the time of its data
	// unpack is the command that decompresses it; empty if it is not compressed.
	unpack string
}

// open opens the file. It returns an error for a file that has no lines of JSON objects.
func (s *source) open() error {
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Usage("", "the file %s does not exist", s.path)
	}
	if err != nil {
		return cli.Usage("", "read a dump: %w", err)
	}
	st, err := f.Stat()
	if err != nil || st.IsDir() {
		_ = f.Close()
		return cli.Usage("name the files in it: "+filepath.Join(s.path, "*.ndjson"), "%s is a folder", s.path)
	}
	s.file, s.size, s.asOf = f, st.Size(), st.ModTime().UnixMilli()
	if !st.Mode().IsRegular() {
		s.size = -1
		return nil
	}
	r, err := s.lines(io.NewSectionReader(f, 0, s.size))
	if err == nil {
		_ = r.Close() // its lines are read later
	}
	return err
}

// Magic numbers of compressed files.
var gzipMagic, zstdMagic = []byte("\x1f\x8b"), []byte("\x28\xb5\x2f\xfd")

// lines returns the content of a source, decompressed if its first bytes are those of gzip or zstd,
// whatever its name. It returns an error if the beginning has no lines of JSON objects.
func (s *source) lines(in io.Reader) (io.ReadCloser, error) {
	raw := bufio.NewReader(in)
	magic, _ := raw.Peek(len(zstdMagic)) // an unreadable file is reported when its lines are read
	lines := io.NopCloser(raw)
	switch s.unpack = ""; {
	case bytes.HasPrefix(magic, gzipMagic):
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, cli.Fail(cli.ExitFailed, fmt.Errorf("unpack %s: %w", s.path, err), "")
		}
		lines, s.unpack = z, "gzip -dc"
	case bytes.HasPrefix(magic, zstdMagic):
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, cli.Fail(cli.ExitFailed, fmt.Errorf("unpack %s: %w", s.path, err), "")
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

// counted counts what is read.
type counted struct {
	in io.Reader
	n  *atomic.Int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n.Add(int64(n))
	return n, err
}
