package sink

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// unique verifies that no call is in two places of a snapshot. It compares files by 8-byte hashes
// of their calls, and reads the ids themselves only if two hashes are equal.
func (v *verifier) unique(s *layout.Snapshot) error {
	var all []uint64
	files := s.Manifest.FilesOf(schema.Calls.Name)
	for _, f := range files {
		all = append(all, v.seen.ids[f.Path]...)
	}
	slices.Sort(all)
	again := map[uint64]bool{}
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			again[all[i]] = true
		}
	}
	if len(again) == 0 {
		return nil
	}
	where := map[string]string{}
	for _, f := range files {
		hashes := v.seen.ids[f.Path]
		if !slices.ContainsFunc(hashes, func(h uint64) bool { return again[h] }) {
			continue
		}
		t, err := openTable(v.opts.FS, s.Path(f), &schema.Calls)
		if err != nil {
			return err
		}
		row := 0
		err = t.Each([]string{"call_id"}, func(values []parquet.Value) {
			id := values[0].ByteArray()
			if again[hashes[row]] {
				if first, ok := where[string(id)]; ok && first != f.Path {
					v.bad.Add("twice", v.rel(s.Path(f)), "call %s is also in %s", id, first)
				}
				where[string(id)] = f.Path
			}
			row++
		})
		if err := errors.Join(err, t.Close()); err != nil {
			return err
		}
	}
	return nil
}

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

// outside verifies everything outside the snapshots: the journal, and the leftovers of a crash.
// While a run is writing, it skips both.
func (v *verifier) outside(current *layout.Snapshot) error {
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
	refs, odd, err := ListSegments(v.opts.FS, v.opts.Root)
	if err != nil {
		return err
	}
	var committed []layout.Segment
	if current != nil {
		committed = current.Manifest.Journal
	}
	for _, l := range append(odd, missingSegments(refs, current)...) {
		v.bad.Add("journal", layout.JournalName, "%s", l.What)
	}
	for i, ref := range refs {
		path := v.rel(segmentPath(v.opts.Root, ref))
		if slices.Contains(committed, ref) {
			v.report.Leftovers = append(v.report.Leftovers, path)
			continue
		}
		if err := v.segment(ref, isLastSegment(refs, i)); err != nil {
			v.bad.Add("journal", path, "%v", err)
		}
	}
	for _, dir := range []string{"", layout.SnapshotsName} {
		entries, err := v.opts.FS.ReadDir(filepath.Join(v.opts.Root, dir))
		if err != nil {
			return fmt.Errorf("list the warehouse: %w", err)
		}
		for _, e := range entries {
			n, named := layout.ParseSnapshotName(e.Name())
			if layout.IsTempName(e.Name()) || dir != "" && named && current != nil && n < current.Manifest.Oldest {
				v.report.Leftovers = append(v.report.Leftovers, filepath.ToSlash(filepath.Join(dir, e.Name())))
			} else if dir != "" && named && current != nil && n > current.Manifest.Snapshot {
				v.report.Notes = append(v.report.Notes, fmt.Sprintf(
					"snapshot %d is newer than the current one: a commit was interrupted, or the link was moved; "+
						"it is kept as long as older ones", n))
			}
		}
	}
	return nil
}

// segment reads a journal segment, and decodes every record.
func (v *verifier) segment(ref layout.Segment, last bool) error {
	var dec calls.Decoder
	var call calls.Call
	var object schema.Object
	broken, err := ReadSegment(v.opts.FS, v.opts.Root, ref, last, func(r *schema.Record) error {
		v.report.Journal++
		if r.Resource != "" {
			of := resource.ByName(r.Resource)
			if of == nil {
				return fmt.Errorf("%w: there is no resource %q", errUnreadable, r.Resource)
			}
			if len(r.Body) > 0 && r.Kind != schema.KindListed {
				if err := dec.Decoder.Decode(of.Resource, r.Body, schema.KindItem, &object); err != nil {
					return fmt.Errorf("%w: %w", errUnreadable, err)
				}
			}
			return nil
		}
		if r.Kind.OfCall() {
			if err := dec.Decode(r.Body, r.Kind, &call); err != nil {
				return fmt.Errorf("%w: %w", errUnreadable, err)
			}
		}
		return nil
	})
	for _, what := range broken {
		path := segmentPath(v.opts.Root, ref)
		v.bad.Add("journal", v.rel(path), "%s", strings.TrimPrefix(what, path))
	}
	return err
}
