package extractcmd

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/klauspost/compress/zstd"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sink"
)

// source is a file of calls that another program fetched.
type source struct {
	path string
	file *os.File // nil: standard input
	size int64    // -1: unknown; 0 for standard input
	asOf int64    // the time of its data
}

// open opens the file.
func (s *source) open(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Usage("", "the file %s does not exist", path)
	}
	if err != nil {
		return cli.Usage("", "read a dump: %w", err)
	}
	st, err := f.Stat()
	if err != nil || st.IsDir() {
		_ = f.Close()
		return cli.Usage("name the files in it: "+filepath.Join(path, "*.ndjson"), "%s is a folder", path)
	}
	s.path, s.file, s.size, s.asOf = path, f, st.Size(), st.ModTime().UnixMilli()
	if !st.Mode().IsRegular() {
		s.size = -1
		return nil
	}
	return nil
}

// Magic numbers of compressed files. Some compressors begin with a frame that decoders skip.
var gzipMagic, zstdMagic, zstdSkipped = []byte("\x1f\x8b"), []byte("\x28\xb5\x2f\xfd"), []byte("*M\x18")

// lines returns the content of a source, decompressed if its first bytes are those of gzip or zstd,
// whatever its name.
func (s *source) lines(in io.Reader) (_ io.ReadCloser, err error) {
	raw := bufio.NewReader(in)
	magic, _ := raw.Peek(len(zstdMagic)) // an unreadable file is reported when its lines are read
	lines := io.NopCloser(raw)
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		lines, err = gzip.NewReader(raw)
	case bytes.HasPrefix(magic, zstdMagic), bytes.HasSuffix(magic, zstdSkipped):
		var z *zstd.Decoder
		if z, err = zstd.NewReader(raw, zstd.WithDecoderConcurrency(1)); err == nil {
			lines = z.IOReadCloser()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", sink.ErrRead, s.path, err)
	}
	return lines, nil
}

// watched shows how many bytes are read.
type watched struct {
	in     io.Reader
	screen *screen
	log    *slog.Logger
	read   *int64
	total  int64 // 0: unknown
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.in.Read(p)
	*w.read += int64(n)
	status := humanize.Bytes(uint64(*w.read))
	if w.total > 0 {
		status += " of " + humanize.Bytes(uint64(w.total))
	}
	w.screen.report(w.log, "read", status)
	return n, err
}
