// Package publish creates and updates Iceberg tables of a warehouse, in a bucket or a folder: for
// Spark, Trino, ClickHouse and other engines.
//
// It compares the files of the warehouse's current snapshot with those of a table, and replaces the
// difference in one Iceberg commit. So it works the same whether it was interrupted, has never run,
// or ran a minute ago. A copy has a different footer but the same pages. The package does not
// change the warehouse, and at the destination it removes only files with its own names.
package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/cenkalti/backoff/v5"
	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/layout"
	"callhouse/internal/publish/catalog"
	"callhouse/internal/publish/lease"
	"callhouse/internal/publish/store"
	"callhouse/internal/schema"
)

const (
	// concurrency is the number of uploads, and of tables, processed concurrently.
	concurrency = 8
	// tries is the number of attempts for a commit whose response is lost.
	tries = 5
)

// Options configures a publication.
type Options struct {
	Warehouse string // its folder
	To        string // s3://bucket/prefix, file:///folder or a folder
	// Server is a REST catalog; without an address, the files of the tables are their own catalog.
	catalog.Access
	// Tables are the tables to publish, with the columns that they should have; nil: Tables().
	Tables []*schema.Table
	Now    func() time.Time
	// State is a folder of this user on this machine, for locks. Empty: none; a publication then
	// waits for a lease left by a killed program to expire.
	State string

	store store.Store // nil: the store of To; tests set their own
}

// Report is the result of a publication.
type Report struct {
	Snapshot    int64     `json:"snapshot"`
	CommittedAt time.Time `json:"committed_at"`
	To          string    `json:"to"`
	Tag         string    `json:"tag"` // empty if the catalog has none
	Tables      []Table   `json:"tables"`
	Uploaded    int       `json:"files_uploaded"`
	Bytes       int64     `json:"bytes_uploaded"`
	Repaired    []string  `json:"repaired"` // addresses of files that were missing or damaged
	Removed     []string  `json:"removed"`  // addresses of files without a commit
	Requests    int64     `json:"requests"`
	// Forgotten means that calls were forgotten since the last publication, and that their files
	// are among the removed ones.
	Forgotten bool `json:"forgotten"`
	// Unprotected means that the store allows two publications at the same time.
	Unprotected bool `json:"unprotected"`
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
	catalog  catalog.Catalog
	dir      *layout.Dir
	snap     *layout.Snapshot
	retained []*layout.Snapshot // all snapshots of the warehouse, lowest number first
	shared   bool               // the store lets two publishers take the same lease
	cleaned  bool               // the last publication removed all forgotten data
	report   Report
	mu       sync.Mutex // protects the report
}

// Run publishes the current snapshot of a warehouse.
func Run(ctx context.Context, o Options) (*Report, error) {
	p, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer p.dir.Close()
	err = p.leased(ctx)
	p.report.Requests = p.store.Requests()
	return &p.report, err
}

// prepare opens the source and the destination of a publication. The caller closes its folder.
func prepare(ctx context.Context, o Options) (*publication, error) {
	if o.Tables == nil {
		o.Tables = Tables()
	}
	s, to, err := store.Open(o.To)
	if err != nil {
		return nil, &catalog.UseError{What: err.Error()}
	}
	if o.store == nil {
		o.store = s
	}
	o.To = to
	p := &publication{Options: o}
	if o.Catalog == "" {
		p.catalog = catalog.NewFiles(o.store, to)
	} else if p.catalog, err = catalog.Open(ctx, &o.Access); err != nil {
		return nil, err
	}
	if p.dir, err = layout.OpenDir(o.Warehouse); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", o.Warehouse, layout.ErrNoWarehouse)
		}
		return nil, err
	}
	if err := p.choose(); err != nil {
		_ = p.dir.Close()
		return nil, err
	}
	return p, nil
}

// leased publishes while holding the lease.
func (p *publication) leased(ctx context.Context) error {
	holder, free, err := lease.Own(p.State, p.To)
	if err != nil {
		return err
	}
	defer free()
	by := &lease.Publisher{Holder: holder, Snapshot: p.snap.Manifest.Snapshot, Now: p.Now}
	oldest := p.snap.Manifest.Oldest
	p.cleaned = true
	var leases []*lease.Lease
	take := func(root string) (context.Context, error) {
		held, l, err := by.Take(ctx, p.store, root)
		if err == nil {
			ctx, leases, p.cleaned = held, append(leases, l), p.cleaned && l.Cleaned() == oldest
			p.shared = p.shared || l.Shared
		}
		return ctx, err
	}
	before := ctx
	_, err = take(p.To)
	if _, ok := p.catalog.(*catalog.Files); ok && err == nil && p.shared {
		err = &conditionError{p.To}
	}
	if err == nil {
		err = p.run(ctx, take)
	}
	p.report.Unprotected = p.shared
	if locked, ok := errors.AsType[*lease.LockedError](context.Cause(ctx)); ok {
		err = locked
	}
	for _, l := range leases {
		cleaned := l.Cleaned()
		if err == nil {
			cleaned = oldest
		}
		l.Release(before, cleaned)
	}
	return err
}

// choose reads the warehouse's snapshots, and returns an error for files that engines would
// misread.
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
	for _, t := range p.Tables {
		for _, f := range m.FilesOf(t.Name) {
			if len(f.SHA256) != 64 {
				return &layout.DamageError{Path: f.Path, What: "the manifest has no checksum of it"}
			}
		}
	}
	p.report = Report{Snapshot: m.Snapshot, CommittedAt: m.CommittedAt, To: p.To, Repaired: []string{}, Removed: []string{}}
	if p.catalog.Capabilities().Tags {
		p.report.Tag = tagOf(m.Snapshot)
	}
	return nil
}

// tagPrefix is the beginning of our tags' names.
const tagPrefix = "snapshot-"

// tagOf returns the name that a commit of the warehouse has in every table.
func tagOf(snapshot int64) string { return tagPrefix + layout.SnapshotName(snapshot) }

// objectOf returns the address of a file's copy in a table. Equal names mean equal content.
func objectOf(location string, f *layout.File) string {
	name := strings.TrimSuffix(filepath.Base(f.Path), ".parquet")
	return fmt.Sprintf("%s/data/%s-%s.parquet", strings.TrimRight(location, "/"), name, f.SHA256[:16])
}

var objectRE = regexp.MustCompile(`^.+-[0-9a-f]{16}\.parquet$`)

func (p *publication) run(ctx context.Context, take func(root string) (context.Context, error)) error {
	var works []*work
	for _, t := range p.Tables {
		works = append(works, p.workOf(t))
	}
	if err := each(ctx, works, (*work).load); err != nil {
		return err
	}
	works = slices.DeleteFunc(works, func(w *work) bool { return w.Metadata == nil && len(w.files) == 0 })
	if err := each(ctx, works, (*work).stage); err != nil {
		return err
	}
	ctx, err := p.elsewhere(ctx, works, take)
	if err != nil {
		return err
	}
	if err := each(ctx, works, (*work).look); err != nil {
		return err
	}
	if err := p.upload(ctx, works); err != nil {
		return err
	}
	if err := p.commitAll(ctx, works); err != nil {
		return err
	}
	for _, w := range works {
		p.report.Tables = append(p.report.Tables, w.result)
	}
	return each(ctx, works, (*work).clean)
}

// commitAll commits the tables: existing ones in one commit if the catalog supports that, others
// one at a time, and the calls last. So when the calls have a commit, all tables have it.
func (p *publication) commitAll(ctx context.Context, works []*work) error {
	one := func(w *work, ctx context.Context) error { return p.commit(ctx, w) }
	var separate, together []*work
	for _, w := range works {
		if p.catalog.Capabilities().Atomic && w.Metadata != nil {
			together = append(together, w)
		} else {
			separate = append(separate, w)
		}
	}
	var last []*work
	if n := len(separate) - 1; n >= 0 && separate[n] == works[len(works)-1] {
		separate, last = separate[:n], separate[n:]
	}
	if err := each(ctx, separate, one); err != nil {
		return err
	}
	if len(together) > 0 {
		if err := p.commit(ctx, together...); err != nil {
			return fmt.Errorf("publish %d tables at once: %w", len(together), err)
		}
	}
	return each(ctx, last, one)
}

// commit commits the snapshot's files to tables, in one commit of the catalog.
func (p *publication) commit(ctx context.Context, works ...*work) error {
	first := true // the tables are as loaded
	err := again(ctx, func() error {
		if !first {
			if err := each(ctx, works, (*work).load); err != nil {
				return err
			}
		}
		first = false
		if err := each(ctx, works, (*work).plan); err != nil {
			return err
		}
		var changes []catalog.Change
		for _, w := range works {
			if len(w.planned) > 0 {
				changes = append(changes, catalog.Change{Name: w.of.Name, Base: w.Current, Updates: w.planned})
			}
		}
		if len(changes) == 0 {
			return nil
		}
		return p.catalog.Commit(ctx, changes...)
	})
	for _, w := range works {
		if err == nil && len(w.planned) > 0 {
			w.Version++
		}
	}
	return err
}

func (p *publication) workOf(t *schema.Table) *work {
	return &work{publication: p, form: formOf(t), described: map[string]iceberg.DataFile{}, anew: map[string]bool{}}
}

// each processes all tables concurrently.
func each(ctx context.Context, of []*work, do func(*work, context.Context) error) error {
	group := pool.New().WithContext(ctx).WithMaxGoroutines(concurrency).WithCancelOnError().WithFirstError()
	for _, w := range of {
		group.Go(func(ctx context.Context) error {
			if err := do(w, ctx); err != nil {
				return fmt.Errorf("publish %s: %w", w.of.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// elsewhere takes the leases of tables that their catalog stores outside the publication's address,
// and loads those tables again.
func (p *publication) elsewhere(ctx context.Context, works []*work,
	take func(root string) (context.Context, error)) (context.Context, error) {
	roots := map[string][]*work{}
	for _, w := range works {
		if root := w.location[:strings.LastIndexByte(strings.TrimRight(w.location, "/"), '/')]; root != p.To {
			roots[root] = append(roots[root], w)
		}
	}
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		held, err := take(root)
		if err == nil {
			err = each(held, roots[root], (*work).load)
		}
		if ctx = held; err != nil {
			return ctx, err
		}
	}
	return ctx, nil
}

// again calls do until it does not conflict with another commit.
func again(ctx context.Context, do func() error) error {
	unsure := 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := do()
		if errors.Is(err, catalog.ErrStateUnknown) {
			unsure++
		}
		if err != nil && !errors.Is(err, catalog.ErrConflict) && (!errors.Is(err, catalog.ErrStateUnknown) || unsure == tries) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(catalog.MaxRetry), backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: 50 * time.Millisecond, RandomizationFactor: 0.9, Multiplier: 1.5, MaxInterval: 5 * time.Second,
	}))
	return err
}

// conditionError means that the store would let two publishers commit the same version of a table.
type conditionError struct{ to string }

func (e *conditionError) Error() string {
	return e.to + ": concurrent commits would go undetected, because this store ignores If-None-Match and replaces existing " +
		"objects"
}

// Hint returns advice for the operator.
func (e *conditionError) Hint() string { return "publish through a catalog: --catalog URL" }

// ForeignError means that a table belongs to another warehouse.
type ForeignError struct{ What string }

func (e *ForeignError) Error() string { return "another warehouse published it: " + e.What }

// Hint returns advice for the operator.
func (e *ForeignError) Hint() string {
	return "nothing was changed there; publish to another place, or remove that publication's tables and files first"
}
