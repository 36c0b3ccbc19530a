// Package publish creates and updates Iceberg tables of a warehouse, in a bucket or a folder: for
// Spark, Trino, ClickHouse and other engines.
//
// It copies the files of the warehouse's current snapshot that are not at the destination, and makes
// them a table's files in one Iceberg commit. It compares only names, and reads no manifest. So it
// works the same whether it was interrupted, has never run, or ran a minute ago. A copy has a
// different footer but the same pages. The package does not change the warehouse, and at the
// destination it removes only files with its own names.
package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/layout"
	"callhouse/internal/publish/store"
	"callhouse/internal/schema"
)

const (
	// concurrency is the number of uploads, and of tables, processed concurrently.
	concurrency = 8
	// lockName is the name of the lock at the destination. Engines ignore names that begin with a point.
	lockName = ".callhouse.lock"
	// lockTime is how long the lock in S3 of a killed publication lasts.
	lockTime = time.Minute
)

// Options configures a publication.
type Options struct {
	Warehouse string // its folder
	To        string // s3://bucket/prefix, file:///folder or a folder
	// Access is that to a REST catalog; without an address, the files of the tables are their own catalog.
	Access
	// Tables are the tables to publish, with the columns that they should have; nil: Tables().
	Tables []*schema.Table

	store    store.Store   // nil: the store of To; tests set their own
	lockTime time.Duration // 0: the constant
}

// Report is the result of a publication.
type Report struct {
	Snapshot    int64     `json:"snapshot"`
	CommittedAt time.Time `json:"committed_at"`
	To          string    `json:"to"`
	Tag         string    `json:"tag"`
	Tables      []Table   `json:"tables"`
	Uploaded    int       `json:"files_uploaded"`
	Bytes       int64     `json:"bytes_uploaded"`
	Repaired    []string  `json:"repaired"` // addresses of files that were missing or damaged
	Removed     []string  `json:"removed"`  // addresses of files that are no longer needed
	// Forgotten means that calls were forgotten since the last publication, and that their files
	// are among the removed ones.
	Forgotten bool `json:"forgotten"`
}

// Table is the result of publishing one table.
type Table struct {
	Name    string `json:"table"`
	Rows    int64  `json:"rows"`
	Added   int    `json:"files_added"`
	Deleted int    `json:"files_deleted"`
	Files   int    `json:"files"`
}

// publication is one run of Run.
type publication struct {
	Options
	catalog  catalog
	dir      *layout.Dir
	snap     *layout.Snapshot
	retained []*layout.Snapshot // all snapshots of the warehouse, lowest number first
	report   Report
	mu       sync.Mutex // protects the report, and the copies of tables
}

// Run publishes the current snapshot of a warehouse.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	if o.Tables == nil {
		o.Tables = Tables()
	}
	if o.lockTime == 0 {
		o.lockTime = lockTime
	}
	s, to, err := store.Open(o.To)
	if err != nil {
		return nil, &UseError{What: err.Error()}
	}
	if o.store == nil {
		o.store = s
	}
	o.To = to
	p := &publication{Options: o}
	if p.dir, err = layout.OpenDir(o.Warehouse); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", o.Warehouse, layout.ErrNoWarehouse)
		}
		return nil, err
	}
	defer p.dir.Close()
	p.catalog = files{p}
	if o.Catalog != "" {
		if p.catalog, err = openREST(ctx, &o.Access); err != nil {
			return nil, err
		}
	}
	held, release, err := o.store.Lock(ctx, to+"/"+lockName, o.lockTime)
	switch {
	case errors.Is(err, errors.ErrUnsupported) && o.Catalog != "": // whose commits conflict
		held, release = ctx, func() {}
	case errors.Is(err, errors.ErrUnsupported):
		return nil, &tableError{"two publications at once could go undetected, because this store does not support If-None-Match: " +
			err.Error(), "publish through a catalog: --catalog URL"}
	case err != nil:
		return nil, err
	}
	defer release()
	if err := p.choose(); err != nil {
		return nil, err
	}
	err = p.run(held)
	if lost, ok := errors.AsType[*store.LockedError](context.Cause(held)); ok && err != nil {
		err = lost
	}
	return &p.report, err
}

// choose reads the warehouse's snapshots.
func (p *publication) choose() (err error) {
	if p.snap, err = layout.FindCurrent(p.dir, p.Warehouse); err != nil {
		return err
	}
	m := p.snap.Manifest
	numbers, err := layout.SnapshotNumbers(p.dir, p.Warehouse)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n < m.Oldest || n > m.Snapshot {
			continue // being removed, or never committed
		}
		s, err := layout.OpenSnapshot(p.dir, p.Warehouse, n)
		if err != nil {
			continue // just removed, or damaged: no command repairs an older one, so it leaves the lake, too
		}
		p.retained = append(p.retained, s)
	}
	for i := range m.Files {
		if f := &m.Files[i]; len(f.SHA256) != 64 {
			return &layout.DamageError{Path: f.Path, What: "the manifest has no checksum of it"}
		}
	}
	p.report = Report{Snapshot: m.Snapshot, CommittedAt: m.CommittedAt, To: p.To, Tag: tagPrefix + layout.SnapshotName(m.Snapshot),
		Repaired: []string{}, Removed: []string{}}
	return nil
}

func (p *publication) run(ctx context.Context) error {
	var tables []*table
	for _, of := range p.Tables {
		t := &table{publication: p, of: of}
		_, t.start = schemaOf(of, 0)
		tables = append(tables, t)
	}
	if err := each(ctx, tables, (*table).load); err != nil {
		return err
	}
	tables = slices.DeleteFunc(tables, func(t *table) bool { return t.meta == nil && len(t.files) == 0 })
	if err := each(ctx, tables, (*table).create); err != nil {
		return err
	}
	if err := p.upload(ctx, tables); err != nil {
		return err
	}
	if err := p.commit(ctx, tables); err != nil {
		return err
	}
	for _, t := range tables {
		p.report.Tables = append(p.report.Tables, t.result)
	}
	return each(ctx, tables, (*table).clean)
}

// upload copies the files that are missing or damaged at the destination.
func (p *publication) upload(ctx context.Context, tables []*table) error {
	group := pool.New().WithContext(ctx).WithMaxGoroutines(concurrency).WithCancelOnError().WithFirstError()
	for _, t := range tables {
		there, base := maps.Clone(t.copies), t.base()
		for _, f := range t.files {
			if _, has := there[stemOf(f)]; !has {
				group.Go(func(ctx context.Context) error {
					return t.opened(f, func(c *copied) error { return t.send(ctx, f, c, base[stemOf(f)] != nil) })
				})
			}
		}
	}
	return group.Wait()
}

// commit commits the tables, and the calls last. So when the calls have a commit, all tables have it.
func (p *publication) commit(ctx context.Context, tables []*table) error {
	last := max(len(tables)-1, 0)
	if err := each(ctx, tables[:last], (*table).commit); err != nil {
		return err
	}
	return each(ctx, tables[last:], (*table).commit)
}

// each processes all tables concurrently.
func each(ctx context.Context, of []*table, do func(*table, context.Context) error) error {
	group := pool.New().WithContext(ctx).WithMaxGoroutines(concurrency).WithCancelOnError().WithFirstError()
	for _, t := range of {
		group.Go(func(ctx context.Context) error {
			if err := do(t, ctx); err != nil {
				return fmt.Errorf("publish %s: %w", t.of.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}
