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
)

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
// frame, and the record, which is valid during the call. What cannot be read, or
// visit calls errUnreadable, is passed over; broken says what that was. A torn end
// of a segment that was the last one of its run is no damage: nobody was told
// that what stood there is durable.
func (s *segment) scan(last bool, visit func(frame int64, line int, r *schema.Record) error) (broken []string, err error) {
	var buf []byte
	for at := int64(0); at < s.size; {
		lines, next, err := readFrame(s.file, at, s.size, buf)
		if errors.Is(err, errTorn) {
			if next, err = laterFrame(s.file, at, s.size); err != nil {
				return broken, err
			}
			if next == s.size && last && !wholeFrame(s.file, at, s.size) {
				return broken, nil
			}
			broken = append(broken, fmt.Sprintf("%s is damaged from byte %d to byte %d", s.path, at, next))
			at = next
			continue
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
				broken = append(broken, fmt.Sprintf("%s: %v", s.path, err))
			} else if err != nil {
				return broken, err
			}
			pos += end + 1
		}
		buf, at = lines, next
	}
	return broken, nil
}

// errUnreadable says that a record of the journal makes no sense.
var errUnreadable = errors.New("a record cannot be read")

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

// loss is a part of a run's journal that cannot be read.
type loss struct{ run, what string }

// listJournal returns the segments on disk, oldest run first, and what has the
// name of a run's folder or a segment and is none. Other names are left alone.
func listJournal(fsys FS, root string) (refs []segmentRef, odd []loss, err error) {
	dir := filepath.Join(root, layout.JournalName)
	runs, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list the journal: %w", err)
	}
	for _, run := range runs {
		path := filepath.Join(dir, run.Name())
		if _, ok := layout.ParseRunID(run.Name()); !ok {
			continue
		}
		if !run.IsDir() {
			odd = append(odd, loss{run.Name(), path + " is not a folder, and was left alone"})
			continue
		}
		segments, err := fsys.ReadDir(path)
		if err != nil {
			return nil, nil, fmt.Errorf("list the journal: %w", err)
		}
		for _, f := range segments {
			n, ok := layout.ParseSegmentName(f.Name())
			switch {
			case !ok:
			case !f.Type().IsRegular():
				odd = append(odd, loss{run.Name(), filepath.Join(path, f.Name()) + " is not a regular file, and was left alone"})
			default:
				refs = append(refs, segmentRef{run: run.Name(), n: n})
			}
		}
	}
	slices.SortFunc(refs, segmentRef.compare)
	return refs, odd, nil
}

// missingSegments says which segments are not there, of runs that have others:
// they are numbered from 1 on without a gap, and a commit takes in all that there
// are. current is the snapshot that was committed last.
func missingSegments(refs []segmentRef, current *layout.Snapshot) (out []loss) {
	next := map[string]int64{}
	if current != nil {
		for _, s := range current.Manifest.Journal {
			next[s.Run] = max(next[s.Run], s.Number+1)
		}
	}
	for _, ref := range refs {
		want, ok := next[ref.run]
		// Where a run's last commit took in nothing, nobody knows how far it was.
		if !ok && current != nil && current.Manifest.RunID == ref.run {
			want = ref.n
		}
		if ref.n > max(want, 1) {
			out = append(out, loss{ref.run, fmt.Sprintf("segment %d of the journal of run %s is missing", ref.n-1, ref.run)})
		}
		next[ref.run] = ref.n + 1
	}
	return out
}

// isLast says whether a segment is the last one of its run.
func isLast(refs []segmentRef, i int) bool { return i+1 == len(refs) || refs[i+1].run != refs[i].run }

func (s segmentRef) compare(o segmentRef) int {
	return cmp.Or(cmp.Compare(s.run, o.run), cmp.Compare(s.n, o.n))
}
