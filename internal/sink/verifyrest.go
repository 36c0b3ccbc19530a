package sink

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// readTombstones reads the tombstones of the current snapshot.
func (v *verifier) readTombstones(s *layout.Snapshot) (*tombstones, error) {
	t, err := readTombstones(v.opts.FS, s)
	var damage *layout.DamageError
	switch {
	case isNewer(err):
		return nil, err
	case errors.As(err, &damage):
		v.bad.Add("tombstones", v.rel(damage.Path), "%s", damage.What)
	case err != nil:
		v.bad.Add("tombstones", v.rel(s.Dir), "%v", err)
	}
	return t, nil
}

// runs verifies the table runs.
func (v *verifier) runs(s *layout.Snapshot, f *layout.File) error {
	at := v.rel(s.Path(f))
	rows, err := NewReader(v.opts.FS, s, nil).Runs()
	if isNewer(err) {
		return err
	}
	if err != nil {
		v.bad.Add("unreadable", at, "%v", err)
		return nil
	}
	if int64(len(rows)) != f.Rows {
		v.bad.Add("rows", at, "it has %d rows, the manifest says %d", len(rows), f.Rows)
	}
	for i, r := range rows {
		if _, ok := layout.ParseRunID(r.ID); !ok {
			v.bad.Add("runs", at, "%q is no run id", r.ID)
		}
		if i > 0 && rows[i-1].ID >= r.ID {
			v.bad.Add("order", at, "run %s comes after %s", r.ID, rows[i-1].ID)
		}
	}
	return nil
}

// journal verifies the journal, unless a run is writing.
func (v *verifier) journal(current *layout.Snapshot) error {
	path := filepath.Join(v.opts.Root, layout.LockName)
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		v.bad.Add("lock", layout.LockName, "it is not a regular file")
		return nil
	}
	lock := disk.ProbeHold(path)
	free, err := lock.TryRLock()
	if err != nil && !disk.IsGone(err) {
		v.report.Notes = append(v.report.Notes, fmt.Sprintf("the journal was not checked: %v", err))
		return nil
	}
	if err == nil && !free {
		v.report.Notes = append(v.report.Notes, "a run holds the warehouse: its journal was not checked")
		return nil
	}
	defer func() { _ = lock.Unlock() }()
	refs, err := ListSegments(v.opts.FS, v.opts.Root)
	if err != nil {
		return err
	}
	var committed []layout.Segment
	if current != nil {
		committed = current.Manifest.Journal
	}
	for _, l := range missingSegments(refs, current) {
		v.bad.Add("journal", layout.JournalName, "%s", l.What)
	}
	for i, ref := range refs {
		path := v.rel(segmentPath(v.opts.Root, ref))
		if slices.Contains(committed, ref) {
			continue
		}
		if err := v.segment(ref, isLastSegment(refs, i)); err != nil {
			v.bad.Add("journal", path, "%v", err)
		}
	}
	return nil
}

// segment reads a journal segment.
func (v *verifier) segment(ref layout.Segment, last bool) error {
	broken, err := ReadSegment(v.opts.FS, v.opts.Root, ref, last, func(*schema.Record) error {
		v.report.Journal++
		return nil
	})
	for _, what := range broken {
		path := segmentPath(v.opts.Root, ref)
		v.bad.Add("journal", v.rel(path), "%s", strings.TrimPrefix(what, path))
	}
	return err
}
