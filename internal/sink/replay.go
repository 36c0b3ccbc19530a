package sink

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// segment is a sealed segment, open for reading.
type segment struct {
	Path, Run string
	file      disk.File
	Size      int64
}

// openSegment opens a segment.
func openSegment(fsys disk.FS, root string, ref layout.Segment) (*segment, error) {
	path := segmentPath(root, ref)
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the journal: %w", err), f.Close())
	}
	return &segment{Path: path, Run: ref.Run, file: f, Size: st.Size()}, nil
}

// Scan calls visit for every record of the segment, in the order in which they were put, with the
// offset of its frame in the file, the offset of its line in the frame, and the record, which is
// valid during the call. It stops at the first damaged frame, and skips records for which visit returns
// errUnreadable; broken describes both. A torn end of a run's last segment is not damage, since its
// records were never reported as durable.
func (s *segment) Scan(last bool, visit func(frame int64, line int, r *schema.Record) error) (broken []string, err error) {
	var buf []byte
	for at := int64(0); at < s.Size; {
		lines, next, err := readFrame(s.file, at, s.Size, buf)
		if errors.Is(err, errTorn) {
			if !last || !isTorn(s.file, at, s.Size) {
				broken = append(broken, fmt.Sprintf("%s is damaged from byte %d to its end, byte %d", s.Path, at, s.Size))
			}
			return broken, nil
		}
		if err != nil {
			return broken, err
		}
		for pos := 0; pos < len(lines); {
			end := bytes.IndexByte(lines[pos:], '\n')
			if end < 0 {
				end = len(lines) - pos
			}
			r, err := parseRecord(lines[pos : pos+end])
			if err == nil {
				err = visit(at, pos, &r)
			} else {
				err = fmt.Errorf("%w: %w", errUnreadable, err)
			}
			if errors.Is(err, errUnreadable) {
				broken = append(broken, fmt.Sprintf("%s: %v", s.Path, err))
			} else if err != nil {
				return broken, err
			}
			pos += end + 1
		}
		buf, at = lines, next
	}
	return broken, nil
}

// ReadSegment is [segment.Scan] of one segment; last reports whether it is the last one of its run.
func ReadSegment(fsys disk.FS, root string, ref layout.Segment, last bool, visit func(*schema.Record) error) (broken []string, err error) {
	s, err := openSegment(fsys, root, ref)
	if err != nil {
		return nil, err
	}
	broken, err = s.Scan(last, func(_ int64, _ int, r *schema.Record) error { return visit(r) })
	return broken, errors.Join(err, s.file.Close())
}

// errUnreadable means that a record of the journal is invalid.
var errUnreadable = errors.New("a record cannot be read")

// journalFrames gives random access to the records of several segments. It caches a few decoded frames,
// since records that are close in time are close in the journal. It is safe for concurrent use.
type journalFrames struct {
	Segments []*segment
	Limit    int // bytes of lines to keep

	mu     sync.Mutex
	size   int
	frames []frame // least recently used first
}

// frame is a frame's lines.
type frame struct {
	framePlace
	lines []byte
}

// framePlace is the place of a frame.
type framePlace struct {
	Segment int32
	Offset  int64
}

// cached returns the lines of a frame that is in the cache; nil if it is not.
func (c *journalFrames) cached(k framePlace) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.frames, func(f frame) bool { return f.framePlace == k })
	if i < 0 {
		return nil
	}
	f := c.frames[i]
	c.frames = append(slices.Delete(c.frames, i, i+1), f)
	return f.lines
}

// lines returns the lines of a frame. Others are decoded at the same time.
func (c *journalFrames) lines(k framePlace) ([]byte, error) {
	if lines := c.cached(k); lines != nil {
		return lines, nil
	}
	s := c.Segments[k.Segment]
	lines, _, err := readFrame(s.file, k.Offset, s.Size, nil)
	if errors.Is(err, errTorn) {
		return nil, &layout.DamageError{Path: s.Path, What: fmt.Sprintf("the journal frame at byte %d changed while it was read", k.Offset)}
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.frames) > 0 && c.size+len(lines) > c.Limit {
		c.size -= len(c.frames[0].lines)
		c.frames = slices.Delete(c.frames, 0, 1)
	}
	c.frames = append(c.frames, frame{k, lines})
	c.size += len(lines)
	return lines, nil
}

// Record returns the record whose line starts at pos of frame k.
func (c *journalFrames) Record(k framePlace, pos int32) (schema.Record, error) {
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

// Close closes the segments.
func (c *journalFrames) Close() error {
	var errs []error
	for _, s := range c.Segments {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}

// journalLoss is a part of a run's journal that cannot be read.
type journalLoss struct{ Run, What string }

// ListSegments returns the segments on disk, oldest run first. It ignores other names.
func ListSegments(fsys disk.FS, root string) (refs []layout.Segment, err error) {
	dir := filepath.Join(root, layout.JournalName)
	runs, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the journal: %w", err)
	}
	for _, run := range runs {
		if _, ok := layout.ParseRunID(run.Name()); !ok {
			continue
		}
		segments, err := fsys.ReadDir(filepath.Join(dir, run.Name()))
		if err != nil {
			return nil, fmt.Errorf("list the journal: %w", err)
		}
		for _, f := range segments {
			if n, ok := layout.ParseSegmentName(f.Name()); ok {
				refs = append(refs, layout.Segment{Run: run.Name(), Number: n})
			}
		}
	}
	slices.SortFunc(refs, func(a, b layout.Segment) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Number, b.Number))
	})
	return refs, nil
}

// missingSegments returns the segments missing from runs that have others. A run's segments are numbered
// from 1 without gaps, and a commit includes all that exist. current is the last committed
// snapshot.
func missingSegments(refs []layout.Segment, current *layout.Snapshot) (out []journalLoss) {
	next := map[string]int64{}
	if current != nil {
		for _, s := range current.Manifest.Journal {
			next[s.Run] = max(next[s.Run], s.Number+1)
		}
	}
	for _, ref := range refs {
		want, ok := next[ref.Run]
		// If a run's last commit included no segment, its number is unknown.
		if !ok && current != nil && current.Manifest.RunID == ref.Run {
			want = ref.Number
		}
		if ref.Number > max(want, 1) {
			out = append(out, journalLoss{Run: ref.Run, What: fmt.Sprintf("segment %d of the journal of run %s is missing", ref.Number-1, ref.Run)})
		}
		next[ref.Run] = ref.Number + 1
	}
	return out
}

// isLastSegment reports whether a segment is the last one of its run.
func isLastSegment(refs []layout.Segment, i int) bool {
	return i+1 == len(refs) || refs[i+1].Run != refs[i].Run
}

// removeSegments removes segments that a snapshot includes.
func removeSegments(fsys disk.FS, root string, refs []layout.Segment) error {
	for _, ref := range refs {
		if err := fsys.Remove(segmentPath(root, ref)); err != nil {
			return fmt.Errorf("remove a committed journal segment: %w", err)
		}
	}
	return nil
}

// removeEmptyRuns removes the empty folders of runs.
func removeEmptyRuns(fsys disk.FS, root string) error {
	dir := filepath.Join(root, layout.JournalName)
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the journal: %w", err)
	}
	for _, e := range entries {
		if _, ok := layout.ParseRunID(e.Name()); ok && e.IsDir() {
			_ = fsys.Remove(filepath.Join(dir, e.Name())) // fails if it is not empty
		}
	}
	return nil
}

// journalSize returns the size of the journal on the disk.
func journalSize(fsys disk.FS, root string) (bytes int64, err error) {
	refs, err := ListSegments(fsys, root)
	if err != nil && !disk.IsGone(err) {
		return 0, err
	}
	for _, ref := range refs { // a missing one was committed a moment ago
		if st, err := fsys.Lstat(segmentPath(root, ref)); err == nil {
			bytes += st.Size()
		}
	}
	return bytes, nil
}
