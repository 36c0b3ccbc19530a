package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/publish/catalog"
)

// Problem is a fault at the destination.
type Problem struct {
	Table string `json:"table"`
	URI   string `json:"uri,omitempty"` // of the object, if the problem concerns one
	What  string `json:"what"`
	Fix   Fix    `json:"fix"`
}

// Fix is the remedy of a problem.
type Fix string

// Fixes.
const (
	FixPublish Fix = "publish" // publish again
	FixDeep    Fix = "deep"    // publish with a comparison of content
	FixRebuild Fix = "rebuild"
	FixNone    Fix = "" // harmless, or not ours to remove
)

// Checked is the result of a check.
type Checked struct {
	Snapshot int64     `json:"snapshot"` // the warehouse's current one
	To       string    `json:"to"`
	Deep     bool      `json:"deep"` // the content of files was compared
	Tables   int       `json:"tables"`
	Files    int       `json:"files"` // files checked
	Problems []Problem `json:"problems"`
	Requests int64     `json:"requests"`
}

// Check lists the faults of a warehouse's tables. It changes nothing.
func Check(ctx context.Context, o Options) (*Checked, error) {
	p, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer p.dir.Close()
	c := &checking{publication: p, out: Checked{Snapshot: p.snap.Manifest.Snapshot, To: p.To, Deep: o.Deep, Problems: []Problem{}}}
	var works []*work
	for _, t := range p.Tables {
		works = append(works, p.workOf(t))
	}
	err = each(ctx, works, c.table)
	slices.SortFunc(c.out.Problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.URI, b.URI), strings.Compare(a.What, b.What))
	})
	c.out.Requests = p.store.Requests()
	return &c.out, err
}

type checking struct {
	*publication
	out Checked
}

func (c *checking) add(w *work, uri string, fix Fix, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Problems = append(c.out.Problems, Problem{w.of.Name, uri, fmt.Sprintf(format, args...), fix})
}

// table checks a table: its metadata, its snapshots, and their files.
func (c *checking) table(w *work, ctx context.Context) error {
	if err := w.load(ctx); err != nil {
		if foreign, ok := errors.AsType[*ForeignError](err); ok {
			c.add(w, "", FixNone, "%v", foreign)
			return nil
		}
		if !catalog.IsBroken(err) {
			return err
		}
		if w.Metadata == nil {
			c.add(w, "", FixRebuild, "%v", err)
			return nil
		}
	}
	if w.Metadata == nil {
		if len(w.files) > 0 {
			c.add(w, "", FixPublish, "never published")
		}
		return nil
	}
	if err := w.look(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	c.out.Tables++
	c.mu.Unlock()
	if w.fields(w.Metadata.Columns()) != nil {
		c.add(w, "", FixPublish, "its columns differ from those published")
	}
	if w.Properties[w.published()] != w.publishes() {
		c.add(w, "", FixPublish, "the warehouse's snapshot %d is not published", w.snap.Manifest.Snapshot)
	}
	if w.Head() == nil {
		c.add(w, "", FixPublish, "it has no current snapshot")
	} else if _, tagged := w.Refs[w.tag(w.snap.Manifest.Snapshot)]; !tagged && w.catalog.Capabilities().Tags {
		c.add(w, "", FixPublish, "it has no tag %s", w.tag(w.snap.Manifest.Snapshot))
	}
	for name := range w.properties() {
		if name != w.published() {
			c.add(w, "", FixPublish, "its property %s differs from the one published", name)
		}
	}
	if n := len(w.lacking()); n > 0 {
		c.add(w, "", FixPublish, "it lacks %d of the warehouse's %d files", n, len(w.files))
	}
	if w.leaky {
		c.add(w, "", FixPublish, "its manifests contain values of columns with personal data")
	}
	if w.alien {
		c.add(w, "", FixPublish, "another program deleted rows from it")
	}
	if err := c.refs(ctx, w); err != nil {
		return err
	}
	for _, o := range w.foreignTables() {
		c.add(w, o, FixNone, "written by another program; forget and publish do not remove it")
	}
	return c.copies(ctx, w)
}

// refs checks the Iceberg snapshots that the table refers to.
func (c *checking) refs(ctx context.Context, w *work) error {
	seen, used := map[int64]bool{}, map[string]bool{}
	for _, name := range append([]string{catalog.MainBranch}, slices.Sorted(maps.Keys(w.Refs))...) { // readers use the first one
		ref, has := w.Refs[name]
		if !has {
			continue
		}
		if _, ours := w.tagged(name); seen[ref.Snapshot] || !ours && name != catalog.MainBranch {
			continue
		}
		seen[ref.Snapshot] = true
		s := w.SnapshotOf(ref.Snapshot)
		if s == nil {
			c.add(w, "", FixRebuild, "%s names snapshot %d, which the table does not have", name, ref.Snapshot)
			continue
		}
		manifests, err := w.manifests(ctx, s)
		if catalog.IsBroken(err) {
			c.add(w, s.ManifestList, FixRebuild, "%s: %v", name, err)
			continue
		}
		if err != nil {
			return err
		}
		for _, m := range manifests {
			if used[m.FilePath()] || !w.mayBeOurs(m) {
				continue
			}
			used[m.FilePath()] = true
			if err := c.manifest(ctx, w, name, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// manifest checks the files that a manifest lists.
func (c *checking) manifest(ctx context.Context, w *work, name string, m iceberg.ManifestFile) error {
	raw, err := w.fetch(ctx, m.FilePath())
	if catalog.IsBroken(err) {
		c.add(w, m.FilePath(), FixRebuild, "%s: %v", name, err)
		return nil
	}
	if err != nil {
		return err
	}
	found, err := entries(m, raw)
	if err != nil {
		c.add(w, m.FilePath(), FixRebuild, "%s: %v", name, err)
		return nil
	}
	if m.Length() != int64(len(raw)) {
		c.add(w, m.FilePath(), FixRebuild, "%s: it has %d bytes, but is recorded with %d", name, len(raw), m.Length())
	}
	for _, e := range found {
		f := e.DataFile()
		if _, ours := w.have[f.FilePath()]; name != catalog.MainBranch || !ours {
			continue
		}
		switch same, err := c.matches(w, f); {
		case errors.Is(err, errUnwanted):
			c.add(w, f.FilePath(), FixPublish, "it is in the table, but not in the warehouse")
		case err != nil:
			return err
		case !same:
			c.add(w, m.FilePath(), FixRebuild, "its entry for %s is wrong", path.Base(f.FilePath()))
		}
	}
	return nil
}

var errUnwanted = errors.New("not in the warehouse")

// matches reports whether a manifest's entry matches our description of the file. Only a deep check
// compares them.
func (c *checking) matches(w *work, f iceberg.DataFile) (bool, error) {
	for _, file := range w.files {
		if w.object(w.location, file) != f.FilePath() {
			continue
		}
		if !c.Deep {
			return true, nil
		}
		want, err := w.dataFile(file)
		return err == nil && facts(f) == facts(want), err
	}
	return false, errUnwanted
}

// facts returns the content of a file's entry as text.
func facts(f iceberg.DataFile) string {
	return fmt.Sprint(f.Count(), f.FileSizeBytes(), f.SpecID(), f.Partition(), f.LowerBoundValues(), f.UpperBoundValues(),
		f.ColumnSizes(), f.ValueCounts(), f.NullValueCounts())
}

// copies checks the copies of the warehouse's files.
func (c *checking) copies(ctx context.Context, w *work) error {
	group := pool.New().WithContext(ctx).WithMaxGoroutines(concurrency).WithCancelOnError().WithFirstError()
	for _, copied := range w.wants() {
		group.Go(func(ctx context.Context) error {
			c.mu.Lock()
			c.out.Files++
			c.mu.Unlock()
			what, err := w.inspect(ctx, copied, c.Deep)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // the warehouse has just removed the snapshot
			case err != nil:
				return err
			case what == altered:
				c.add(w, copied.uri, FixDeep, "%s", what)
			case what != intact:
				c.add(w, copied.uri, FixPublish, "%s", what)
			}
			return nil
		})
	}
	return group.Wait()
}
