package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// DamageError says that a file of the warehouse does not hold what was once
// made durable in it.
type DamageError struct {
	Path string
	What string
}

func (e *DamageError) Error() string { return fmt.Sprintf("%s is damaged: %s", e.Path, e.What) }

// segment is a sealed segment, open for reading.
type segment struct {
	path string
	file File
	size int64
}

func openSegment(fsys FS, root string, ref segmentRef) (*segment, error) {
	path := ref.path(root)
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the journal: %w", err), f.Close())
	}
	return &segment{path: path, file: f, size: st.Size()}, nil
}

// scan calls visit for every record of the segment, in the order in which they
// were put: where its frame starts in the file, where its line starts in the
// frame, and the record, which is valid during the call. The torn end of a
// segment, which nobody was told is durable, is passed over.
func (s *segment) scan(visit func(frame int64, line int, r *schema.Record) error) error {
	var buf []byte
	for at := int64(0); at < s.size; {
		lines, next, err := readFrame(s.file, at, s.size, buf)
		if errors.Is(err, errTorn) {
			later, err := laterFrame(s.file, at, s.size)
			if err != nil {
				return err
			}
			if later {
				return &DamageError{Path: s.path, What: fmt.Sprintf("the journal frame at byte %d is broken, and whole ones follow", at)}
			}
			return nil
		}
		if err != nil {
			return err
		}
		for pos := 0; pos < len(lines); {
			end := bytes.IndexByte(lines[pos:], '\n')
			if end < 0 {
				return &DamageError{Path: s.path, What: "a record without an end"}
			}
			r, err := parseRecord(lines[pos : pos+end])
			if err != nil {
				return err
			}
			if err := visit(at, pos, &r); err != nil {
				return err
			}
			pos += end + 1
		}
		buf, at = lines, next
	}
	return nil
}

// frameCache gives random access to the records of several segments. It keeps
// a few decoded frames, since neighbours in time are neighbours in the journal.
// It is safe for concurrent use.
type frameCache struct {
	segments []*segment
	limit    int // bytes of lines to keep

	mu     sync.Mutex
	size   int
	frames map[frameKey][]byte
	order  []frameKey // least lately used first
}

type frameKey struct {
	segment int32
	offset  int64
}

func (c *frameCache) lines(k frameKey) ([]byte, error) {
	if lines := c.kept(k); lines != nil {
		return lines, nil
	}
	s := c.segments[k.segment]
	lines, _, err := readFrame(s.file, k.offset, s.size, nil)
	if errors.Is(err, errTorn) {
		return nil, &DamageError{Path: s.path, What: fmt.Sprintf("the journal frame at byte %d changed while it was read", k.offset)}
	}
	if err != nil {
		return nil, err
	}
	c.keep(k, lines)
	return lines, nil
}

// kept returns a frame that is in the cache, or nil.
func (c *frameCache) kept(k frameKey) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines, ok := c.frames[k]
	if ok && c.order[len(c.order)-1] != k {
		i := slices.Index(c.order, k)
		c.order = append(append(c.order[:i:i], c.order[i+1:]...), k)
	}
	return lines
}

func (c *frameCache) keep(k frameKey, lines []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.frames[k]; ok {
		return // somebody else was faster
	}
	for len(c.order) > 0 && c.size+len(lines) > c.limit {
		c.size -= len(c.frames[c.order[0]])
		delete(c.frames, c.order[0])
		c.order = c.order[1:]
	}
	if c.frames == nil {
		c.frames = map[frameKey][]byte{}
	}
	c.frames[k] = lines
	c.order = append(c.order, k)
	c.size += len(lines)
}

// record returns the record whose line starts at pos of frame k.
func (c *frameCache) record(k frameKey, pos int32) (schema.Record, error) {
	lines, err := c.lines(k)
	if err != nil {
		return schema.Record{}, err
	}
	line := lines[pos:]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	return parseRecord(line)
}

func (c *frameCache) close() error {
	var errs []error
	for _, s := range c.segments {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}

// listJournal returns the segments on disk, oldest run first. Names that are
// not ours are left alone.
func listJournal(fsys FS, root string) ([]segmentRef, error) {
	dir := filepath.Join(root, layout.JournalName)
	runs, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the journal: %w", err)
	}
	var out []segmentRef
	for _, run := range runs {
		if _, ok := layout.ParseRunID(run.Name()); !ok || !run.IsDir() {
			continue
		}
		files, err := fsys.ReadDir(filepath.Join(dir, run.Name()))
		if err != nil {
			return nil, fmt.Errorf("list the journal: %w", err)
		}
		for _, f := range files {
			if n, ok := layout.ParseSegmentName(f.Name()); ok {
				out = append(out, segmentRef{run: run.Name(), n: n})
			}
		}
	}
	slices.SortFunc(out, segmentRef.compare)
	return out, nil
}

func (s segmentRef) compare(o segmentRef) int {
	if s.run != o.run {
		if s.run < o.run {
			return -1
		}
		return 1
	}
	return int(s.n - o.n)
}
