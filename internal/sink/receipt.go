package sink

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// CheckReceipt proves that what a receipt says holds: that none of its calls is
// in any table of any snapshot, nor in the journal; that their tombstones are
// there; that the snapshots which held them are gone; and that the files made
// in their place, as far as they are still kept, are those that were made.
func CheckReceipt(ctx context.Context, root string, r *Receipt) ([]Problem, error) {
	if r.FormatVersion > layout.FormatVersion {
		return nil, &layout.VersionError{Got: r.FormatVersion}
	}
	current, err := layout.Current(root)
	if err != nil {
		return nil, err
	}
	disk, err := openToRead(root)
	if err != nil {
		return nil, err
	}
	tombs, err := readTombstones(disk, current)
	if err != nil {
		return nil, err
	}
	c := &receiptCheck{fsys: disk, root: root, tombs: tombs, calls: map[tombstone]bool{}}
	for _, s := range r.Calls {
		t, err := parseTombstone(s)
		if err != nil {
			return nil, fmt.Errorf("read the receipt: %w", err)
		}
		if tombs == nil || !tombs.has(t) {
			c.bad.add("tombstone", layout.CurrentName, "call %s has no tombstone: this is another warehouse, or an older state of it", s)
		}
		c.calls[t] = true
	}
	if tombs != nil && len(c.calls) > 0 {
		if err := c.snapshots(ctx, r); err != nil {
			return nil, err
		}
		if err := c.journal(); err != nil {
			return nil, err
		}
	}
	return c.bad.list(), nil
}

type receiptCheck struct {
	fsys  FS
	root  string
	tombs *tombstones
	calls map[tombstone]bool
	bad   problems
}

// snapshots looks at every snapshot on the disk, those included that should be
// gone.
func (c *receiptCheck) snapshots(ctx context.Context, r *Receipt) error {
	numbers, err := snapshotNumbers(c.fsys, c.root)
	if err != nil {
		return err
	}
	work := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(runtime.GOMAXPROCS(0))
	seen := map[string]bool{}
	for _, n := range numbers {
		at := layout.SnapshotsName + "/" + layout.SnapshotName(n)
		if slices.ContainsFunc(r.Erased, func(e Erased) bool { return e.Was == n && e.Now > 0 }) {
			c.bad.add("kept", at, "it held the calls, and is still there: any command that writes removes it")
		}
		s, err := layout.Open(c.root, layout.SnapshotName(n))
		if errors.Is(err, layout.ErrNoWarehouse) || isGone(err) {
			continue
		}
		if err != nil {
			return err
		}
		c.sums(s, r)
		for i := range s.Manifest.Files {
			f := &s.Manifest.Files[i]
			if t := tableOf(f.Table); t == nil || t.Column("call_id") < 0 || seen[f.Path] {
				continue
			}
			seen[f.Path] = true
			work.Go(func(ctx context.Context) error { return c.file(ctx, s, f) })
		}
	}
	return work.Wait()
}

// sums compares the files that were written anew with the manifest.
func (c *receiptCheck) sums(s *layout.Snapshot, r *Receipt) {
	for _, e := range r.Erased {
		if e.Now != s.Manifest.Snapshot {
			continue
		}
		for _, f := range e.Files {
			i := slices.IndexFunc(s.Manifest.Files, func(o layout.File) bool { return o.Path == f.Path })
			if i < 0 || s.Manifest.Files[i].SHA256 != f.SHA256 {
				c.bad.add("checksum", layout.SnapshotsName+"/"+filepath.Base(s.Dir)+"/"+f.Path, "it is not the file that was made without the calls")
			}
		}
	}
}

// file reads the call ids of a file.
func (c *receiptCheck) file(ctx context.Context, s *layout.Snapshot, f *layout.File) error {
	t, err := openTable(c.fsys, s.Path(f), tableOf(f.Table))
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	at := strings.TrimPrefix(filepath.ToSlash(s.Path(f)), filepath.ToSlash(c.root)+"/")
	for _, g := range t.groups {
		if err = ctx.Err(); err != nil {
			break
		}
		if err = c.ids(g, t.id, at); err != nil {
			err = &DamageError{Path: t.path, What: err.Error()}
			break
		}
	}
	return closing(err, t.close)
}

func (c *receiptCheck) ids(g parquet.RowGroup, column int, at string) error {
	last := ""
	return eachRow(g, []int{column}, func(_ int64, row []parquet.Value) bool {
		// The rows of a call follow each other.
		if id := row[0].ByteArray(); string(id) != last {
			last = string(id)
			if t := c.tombs.of(id); c.calls[t] {
				c.bad.add("not forgotten", at, "call %s is in it", t)
			}
		}
		return true
	})
}

// journal looks for records of the calls that are still to be committed.
func (c *receiptCheck) journal() error {
	refs, odd, err := listJournal(c.fsys, c.root)
	if err != nil {
		return err
	}
	for _, l := range odd {
		c.bad.add("journal", layout.JournalName, "%s", l.what)
	}
	for i, ref := range refs {
		s, err := openSegment(c.fsys, c.root, ref)
		if isGone(err) {
			continue
		}
		if err != nil {
			return err
		}
		broken, err := s.scan(isLast(refs, i), func(_ int64, _ int, r *schema.Record) error {
			if t := c.tombs.of([]byte(r.CallID)); c.calls[t] {
				c.bad.add("not forgotten", layout.JournalName+"/"+ref.run, "a record of call %s is in it", t)
			}
			return nil
		})
		for _, what := range broken {
			c.bad.add("journal", layout.JournalName+"/"+ref.run, "%s", what)
		}
		if err := closing(err, s.file.Close); err != nil {
			return err
		}
	}
	return nil
}
