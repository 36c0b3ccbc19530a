package erase

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
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/journal"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/table"
	"callhouse/internal/sink/verify"
)

// CheckReceipt proves a receipt: that none of its calls is in any table of any snapshot, nor in the
// journal; that no manifest, error of a run or note in the lock file names one; that their
// tombstones exist; that the snapshots before it are gone; and that the files made for it are
// unchanged, as far as they are retained. A recording that is still to be deleted is a
// problem as well.
func CheckReceipt(ctx context.Context, root string, r *Receipt) ([]verify.Problem, error) {
	if r.FormatVersion > layout.FormatVersion {
		return nil, &layout.VersionError{Got: r.FormatVersion}
	}
	current, err := layout.Current(root)
	if err != nil {
		return nil, err
	}
	fsys, err := disk.OpenToRead(root)
	if err != nil {
		return nil, err
	}
	tombs, err := snapshot.ReadTombstones(fsys, current)
	if err != nil {
		return nil, err
	}
	c := &receiptCheck{fsys: fsys, root: root, current: current.Manifest.Snapshot, tombstones: tombs, calls: map[snapshot.Tombstone]bool{}}
	for _, s := range r.Calls {
		t, err := snapshot.ParseTombstone(s)
		if err != nil {
			return nil, fmt.Errorf("read the receipt: %w", err)
		}
		if tombs == nil || !tombs.Has(t) {
			c.bad.Add("tombstone", layout.CurrentName, "call %s has no tombstone: this is another warehouse, or an older state of it", s)
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
		holder, _, err := disk.Who(root)
		if err != nil {
			return nil, err
		}
		for _, l := range holder.Lost {
			c.text(layout.LockName, "an error", l.Error)
		}
	}
	if err := errors.Join(c.lakes(r), c.recordings()); err != nil {
		return nil, err
	}
	return c.bad.List(), nil
}

type receiptCheck struct {
	fsys       disk.FS
	root       string
	current    int64
	tombstones *snapshot.Tombstones
	calls      map[snapshot.Tombstone]bool
	bad        verify.Problems
}

// snapshots checks every snapshot on the disk, including those that should be gone.
func (c *receiptCheck) snapshots(ctx context.Context, r *Receipt) error {
	numbers, err := snapshot.Numbers(c.fsys, c.root)
	if err != nil {
		return err
	}
	work := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(runtime.GOMAXPROCS(0))
	seen := map[string]bool{}
	for _, n := range slices.Backward(numbers) {
		at := layout.SnapshotsName + "/" + layout.SnapshotName(n)
		if n < r.Erased.Now {
			c.bad.Add("kept", at, "it may contain the calls and still exists: any writing command removes it")
		}
		s, err := layout.Open(c.root, layout.SnapshotName(n))
		if errors.Is(err, layout.ErrNoWarehouse) || disk.IsGone(err) {
			continue
		}
		if err == nil {
			c.sums(s, r)
			err = c.texts(s, at)
		}
		if err != nil {
			if err = c.excuse(n, at, err); err != nil {
				return err
			}
			continue
		}
		for i := range s.Manifest.Files {
			f := &s.Manifest.Files[i]
			column := idColumn(f.Table)
			if column == "" || seen[f.Path] {
				continue
			}
			seen[f.Path] = true
			work.Go(func(ctx context.Context) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				return c.excuse(n, at, c.file(s, f, column))
			})
		}
	}
	return work.Wait()
}

// excuse makes a problem of an error about a snapshot other than the current one: that no command
// repairs.
func (c *receiptCheck) excuse(n int64, at string, err error) error {
	if err == nil || n == c.current {
		return err
	}
	c.bad.Add("unreadable", at, "%v; a later run removes this snapshot", err)
	return nil
}

// sums compares the rewritten files with the manifest.
func (c *receiptCheck) sums(s *layout.Snapshot, r *Receipt) {
	if s.Manifest.Snapshot != r.Erased.Now {
		return
	}
	for _, f := range r.Erased.Files {
		i := slices.IndexFunc(s.Manifest.Files, func(o layout.File) bool { return o.Path == f.Path })
		if i < 0 || s.Manifest.Files[i].SHA256 != f.SHA256 {
			c.bad.Add("checksum", layout.SnapshotsName+"/"+filepath.Base(s.Dir)+"/"+f.Path, "it is not the file rewritten without the calls")
		}
	}
}

// texts checks the free texts of a snapshot: the state of v2 in its manifest, and the errors of
// runs.
func (c *receiptCheck) texts(s *layout.Snapshot, at string) error {
	if b := s.Manifest.Bulk; b != nil {
		c.text(at+"/"+layout.ManifestName, "bulk.why", b.Why)
	}
	runs, err := snapshot.NewReader(c.fsys, s, nil).Runs()
	if disk.IsGone(err) {
		return nil
	}
	for i := range runs {
		c.text(at+"/"+layout.RunsFile, "a run's error", runs[i].Error)
		c.text(at+"/"+layout.RunsFile, "a run's drift", string(runs[i].DriftFields))
	}
	return err
}

// text searches the words of a text for forgotten ids, whatever punctuation surrounds them.
func (c *receiptCheck) text(at, what, text string) {
	for _, enclosing := range []string{" \t\n", " \t\n\"':,.;()[]{}", " \t\n\"':,.;()[]{}/\\=?&<>@#"} {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(enclosing, r) }) {
			word = strings.Trim(word, "\"':,.;()[]{}")
			if t := c.tombstones.Of([]byte(word)); c.calls[t] {
				c.bad.Add("not forgotten", at, "%s names %s", what, t)
				return
			}
		}
	}
}

// idColumn returns the column of a table that identifies the owner of a row; empty if there is
// none.
func idColumn(name string) string {
	if t := table.ByName(name); t != nil && t.Column("call_id") >= 0 {
		return "call_id"
	}
	for _, of := range personal {
		if of.Name == name {
			return of.Key[0]
		}
	}
	if name == resource.Changes.Name {
		return "key"
	}
	return ""
}

// file reads the ids of the calls or customers of a file.
func (c *receiptCheck) file(s *layout.Snapshot, f *layout.File, column string) error {
	t, err := table.Open(c.fsys, s.Path(f), table.ByName(f.Table))
	if disk.IsGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	at := strings.TrimPrefix(filepath.ToSlash(s.Path(f)), filepath.ToSlash(c.root)+"/")
	last := ""
	err = t.Each([]string{column}, func(row []parquet.Value) {
		// The rows of a call are adjacent.
		if id := row[0].ByteArray(); string(id) != last {
			last = string(id)
			if column != "call_id" && column != "key" {
				id = []byte(resource.Part(last))
			}
			if t := c.tombstones.Of(id); c.calls[t] {
				c.bad.Add("not forgotten", at, "%s %s is in it", strings.TrimSuffix(column, "_id"), t)
			}
		}
	})
	return errors.Join(err, t.Close())
}

// recordings checks that no recording of the calls is still to be deleted.
func (c *receiptCheck) recordings() error {
	list, err := snapshot.Deletions(c.fsys, c.root)
	seen := map[snapshot.Tombstone]bool{}
	for _, d := range list {
		if t := c.tombstones.Of([]byte(d.CallID)); c.calls[t] && !seen[t] {
			seen[t] = true
			c.bad.Add("recording", layout.DeletionsName, "the recording of call %s is not deleted yet", t)
		}
	}
	return err
}

// journal searches for uncommitted records of the calls.
func (c *receiptCheck) journal() error {
	refs, odd, err := journal.List(c.fsys, c.root)
	if err != nil {
		return err
	}
	for _, l := range odd {
		c.bad.Add("journal", layout.JournalName, "%s", l.What)
	}
	for i, ref := range refs {
		broken, err := journal.Read(c.fsys, c.root, ref, journal.IsLast(refs, i), func(r *schema.Record) error {
			if t := c.tombstones.Of([]byte(r.CallID)); c.calls[t] {
				c.bad.Add("not forgotten", layout.JournalName+"/"+ref.Run, "a record of call %s is in it", t)
			}
			return nil
		})
		for _, what := range broken {
			c.bad.Add("journal", layout.JournalName+"/"+ref.Run, "%s", what)
		}
		if err != nil && !disk.IsGone(err) {
			return err
		}
	}
	return nil
}
