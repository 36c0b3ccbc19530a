package extractcmd

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
	"regexp"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sink"
	"callhouse/internal/words"
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
	r, err := s.lines(io.NewSectionReader(f, 0, s.size)) // a wrong file is refused before any is imported
	if err == nil {
		_ = r.Close()
	}
	return err
}

// forms are what people have instead of a call a line: how such a file begins, and what makes lines
// of it.
var forms = []struct{ begins, is, makes string }{
	{`\[`, "an array", "jq -c '.[]' %s"},
	{`\{("\w+":[^\[{]{0,300},)?\s*"(items|calls)":\s*\[`, "a page of a list", "jq -c '(.items // .calls)[]' %s"},
	{`\{\s*[\r\n]`, "JSON over several lines", "jq -c . %s"},
	{`\x{FFFD}\x{FFFD}|\x00?\{\x00`, "UTF-16", "iconv -f UTF-16 -t UTF-8 %s"},
}

// Magic numbers of compressed files. Some compressors begin with a frame that decoders skip.
var gzipMagic, zstdMagic, zstdSkipped = []byte("\x1f\x8b"), []byte("\x28\xb5\x2f\xfd"), []byte("*M\x18")

// lines returns the content of a source, decompressed if its first bytes are those of gzip or zstd,
// whatever its name. A content that is no lines of calls is an error.
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
	text := bufio.NewReaderSize(lines, 4096)
	head, _ := text.Peek(4096)
	for _, f := range forms {
		if regexp.MustCompile("^" + f.begins).Match(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\uFEFF")))) {
			_ = lines.Close() // it was only read
			return nil, cli.Usage("convert it: "+fmt.Sprintf(f.makes, words.Shell(s.path))+" | extract import - --as-of "+
				time.UnixMilli(s.asOf).UTC().Format(time.RFC3339), "%s is %s; import reads one JSON object a line", s.path, f.is)
		}
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
