package erase

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/layout"
	"callhouse/internal/phone"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/journal"
	"callhouse/internal/sink/table"
)

// Scan is the result of searching every byte of a warehouse: the texts of all rows, the records of
// the journal, and the raw bytes of all files with names that callhouse makes.
type Scan struct {
	Files int64   `json:"files"`
	Bytes int64   `json:"bytes"` // of the files
	Found []Place `json:"found"` // remaining ids or numbers
	// Unread counts the files and folders of damaged older snapshots that could not be searched.
	Unread int64 `json:"unreadable"`
}

// Traces searches every file of the warehouse at root for calls, customers and numbers.
func Traces(ctx context.Context, root string, sel Selection) (*Scan, error) {
	fsys, err := disk.OpenToRead(root)
	if err != nil {
		return nil, err
	}
	current, err := layout.Current(root)
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for _, id := range slices.Concat(sel.CallIDs, sel.Customers) {
		keys[id] = true
	}
	return scan(ctx, fsys, current, newTraces(keys, slices.Concat(sel.Masked...), sel.numbers()))
}

// numbers parses the numbers of the selection.
func (s *Selection) numbers() (out []*phone.Number) {
	for _, n := range s.Numbers {
		out = append(out, phone.Parse(n, s.Country))
	}
	return out
}

// scanner is one scan.
type scanner struct {
	*traces
	fsys    disk.FS
	root    string
	current string // path of the current snapshot
	work    *pool.ContextPool

	mu   sync.Mutex
	seen map[string]bool // files; data files, which snapshots share, by their names
	out  Scan
}

func scan(ctx context.Context, fsys disk.FS, current *layout.Snapshot, t *traces) (*Scan, error) {
	s := &scanner{traces: t, fsys: fsys, root: current.Root(), current: path.Join(layout.SnapshotsName, filepath.Base(current.Dir)),
		seen: map[string]bool{}, out: Scan{Found: []Place{}},
		work: pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(runtime.GOMAXPROCS(0))}
	err := s.folder(ctx, s.current)
	if err == nil {
		err = s.folder(ctx, "")
	}
	if err = errors.Join(err, s.work.Wait()); err == nil {
		err = s.journal()
	}
	if err != nil {
		return nil, fmt.Errorf("look for traces: %w", err)
	}
	return &s.out, nil
}

// folder searches all files in a folder of the warehouse.
func (s *scanner) folder(ctx context.Context, at string) error {
	entries, err := s.fsys.ReadDir(filepath.Join(s.root, filepath.FromSlash(at)))
	if err != nil {
		return s.excuse(ctx, at, err)
	}
	for _, e := range entries {
		name := path.Join(at, e.Name())
		if err := ctx.Err(); err != nil {
			return err
		}
		if !layout.IsOurs(name) {
			continue
		}
		if e.IsDir() {
			if err := s.folder(ctx, name); err != nil {
				return err
			}
			continue
		}
		if !e.Type().IsRegular() {
			continue
		}
		key := name
		if _, _, shared := layout.ParseDataFile(e.Name()); shared {
			key = e.Name()
		}
		if s.seen[key] {
			continue
		}
		s.seen[key] = true
		s.work.Go(func(ctx context.Context) error { return s.excuse(ctx, name, s.file(ctx, name)) })
	}
	return nil
}

// excuse returns nil for what is gone, and for what cannot be read in a snapshot other than the
// current one, or in what repair moved aside: that no command repairs.
func (s *scanner) excuse(ctx context.Context, at string, err error) error {
	switch {
	case err == nil || disk.IsGone(err):
		return nil
	case ctx.Err() != nil || strings.HasPrefix(at+"/", s.current+"/"),
		!strings.HasPrefix(at, layout.SnapshotsName+"/") && !strings.HasPrefix(at, layout.AsidePrefix):
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Unread++
	return nil
}

// file searches the rows of a file, if it has any, and its bytes.
func (s *scanner) file(ctx context.Context, name string) error {
	full := filepath.Join(s.root, filepath.FromSlash(name))
	var found []Place
	if of := tableOf(name); of != "" {
		t, err := table.Open(s.fsys, full, table.ByName(of))
		if err != nil {
			return err
		}
		in, err := s.traces.file(ctx, t, of, nil)
		if err = errors.Join(err, t.Close()); err != nil {
			return err
		}
		found = in.list
	}
	raw, size, err := s.bytes(ctx, full)
	if err != nil {
		return err
	}
	if raw && len(found) == 0 {
		found = []Place{{Path: name}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Files++
	s.out.Bytes += size
	s.out.Found = add(s.out.Found, found)
	return nil
}

// tableOf returns the table of a file of rows: the folder that it is in has the table's name, or that
// of a month of it; empty if this program does not know it.
func tableOf(name string) string {
	if path.Ext(name) != ".parquet" {
		return ""
	}
	for at := range strings.SplitSeq(path.Dir(name), "/") {
		if table.ByName(at) != nil {
			return at
		}
	}
	return ""
}

const (
	scanBytes   = 1 << 20
	scanOverlap = 1 << 10 // longer than any id or number
)

// bytes reports whether a file's raw bytes hold a trace, and its size.
func (s *scanner) bytes(ctx context.Context, name string) (found bool, size int64, err error) {
	f, err := s.fsys.Open(name)
	if err != nil {
		return false, 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false, 0, err
	}
	buf := make([]byte, min(scanBytes+scanOverlap, st.Size()))
	for at := int64(0); at < st.Size() && !found; at += scanBytes {
		n, err := f.ReadAt(buf, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, 0, err
		}
		found = s.inBytes(buf[:n])
		if err := ctx.Err(); err != nil {
			return false, 0, err
		}
	}
	return found, st.Size(), nil
}

// journal searches the uncommitted records.
func (s *scanner) journal() error {
	refs, _, err := journal.List(s.fsys, s.root)
	if err != nil {
		return err
	}
	for i, ref := range refs {
		var n int64
		_, err := journal.Read(s.fsys, s.root, ref, journal.IsLast(refs, i), func(r *schema.Record) error {
			if s.in([]byte(r.CallID), false) || s.in(r.Body, true) {
				n++
			}
			return nil
		})
		if err != nil && !disk.IsGone(err) {
			return err
		}
		if n > 0 {
			s.out.Found = add(s.out.Found, []Place{{Path: layout.JournalName + "/" + ref.Run, Rows: n}})
		}
	}
	return nil
}
