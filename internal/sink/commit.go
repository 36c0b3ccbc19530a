package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Stats counts what a commit did.
type Stats struct {
	New         int64 // calls that were not known
	Changed     int64 // calls known before the run that are not what they were
	Settled     int64 // calls that became settled
	Missing     int64 // calls whose detail answered 404
	Transcripts int64 // details with a transcript
	Turns       int64 // their turns
	Details     int64 // details taken in
	Due         int64 // calls over that wait for their detail, in the whole warehouse
	Unsettled   int64 // calls neither settled nor expired, in the whole warehouse
	Written     int   // data files written
	Linked      int   // data files taken over
	Aged        int64 // calls left out since they are kept no longer
	Bytes       int64 // size of the data files written
}

// add sums what two commits did; the figures of the whole warehouse are the
// later one's.
func (s Stats) add(o Stats) Stats {
	o.New += s.New
	o.Changed += s.Changed
	o.Settled += s.Settled
	o.Missing += s.Missing
	o.Transcripts += s.Transcripts
	o.Turns += s.Turns
	o.Details += s.Details
	o.Written += s.Written
	o.Linked += s.Linked
	o.Aged += s.Aged
	o.Bytes += s.Bytes
	return o
}

// commit is one commit in the making.
type commit struct {
	fsys    FS
	root    string
	old     *layout.Snapshot // nil: the first
	now     time.Time
	codec   *libzstd
	workers int // how many periods are written side by side; 0 is 1

	nightly  bool            // compact months that are over and settled, as many as a night may
	months   []string        // compact these, whatever they hold
	rewrites []string        // write these periods anew, whatever they hold
	asIs     bool            // calls stay in their state, also when their time has come
	keepFrom int64           // calls that started before are left out, ms UTC; 0: none
	dropped  map[string]bool // periods of the old snapshot that are left out whole
	tell     func(rows int64)

	proofs      *proofs           // nil: files are read as they are
	lostJournal func(loss)        // is told what of the journal cannot be read
	trusts      func(string) bool // says whether all of a run's journal could be read

	forgotten *tombstones      // their calls stay out
	masker    *schema.Mask     // of what did not go through Clean
	mask      *layout.Mask     // what is masked since now; nil: as before
	origin    *layout.Origin   // whose calls these are since now; nil: as before
	lost      []schema.Run     // rows of runs that could not write them
	wrote     schema.Run       // the row that this commit wrote
	keeper    *layout.Snapshot // whose tombstones the new snapshot takes over; nil: old

	taken *intake                 // what came in, where that is no journal; nil: read it
	again func() (*intake, error) // reads taken anew, exactly

	in    *intake
	b     *builder
	stats Stats
	files []layout.File
	made  []layout.File // those of files that it wrote
}

// run folds the sealed segments into a new snapshot and publishes it. row is
// called with what the commit did, and returns the row of the table runs for
// the run that commits; it is nil for a commit that is no run's.
func (c *commit) run(ctx context.Context, id string, refs []segmentRef, row func(Stats) schema.Run) (*layout.Snapshot, error) {
	s, err := c.try(ctx, id, refs, row, false)
	if errors.Is(err, errMisread) {
		c.stats, c.files, c.made = Stats{}, nil, nil
		s, err = c.try(ctx, id, refs, row, true)
	}
	return s, err
}

// takeIn reads what came in.
func (c *commit) takeIn(refs []segmentRef, exact bool) (*intake, error) {
	switch {
	case c.taken == nil:
		return readIntake(c.fsys, c.root, refs, c.forgotten, exact)
	case exact:
		return c.again()
	}
	return c.taken, nil
}

func (c *commit) try(ctx context.Context, id string, refs []segmentRef, row func(Stats) schema.Run, exact bool) (_ *layout.Snapshot, err error) {
	if c.in, err = c.takeIn(refs, exact); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.in.close()) }()
	for _, l := range c.in.broken {
		c.lostJournal(l)
	}
	// What was lost may have been on the pages that these stand for.
	c.in.covered = slices.DeleteFunc(c.in.covered, func(s covered) bool { return !c.trusts(s.run) })
	next, err := nextNumber(c.fsys, c.root)
	if err != nil {
		return nil, err
	}
	var m *layout.Manifest
	var snapshot *layout.Snapshot
	if c.b, err = newBuilder(c.fsys, c.root, next); err == nil {
		if c.taken != nil {
			c.b.page = importPageBytes
		}
		m, err = c.build(ctx, id, refs, row)
	}
	if err == nil {
		m.Snapshot = next
		snapshot, err = c.b.publish(m)
	}
	if err != nil {
		c.b.discard()
		if isNoSpace(err) {
			err = &NoSpaceError{Root: c.root, Wants: c.wants(), Err: err}
		}
		return nil, err
	}
	return snapshot, nil
}

// build makes the files of the new snapshot, and returns its manifest.
func (c *commit) build(ctx context.Context, id string, refs []segmentRef, row func(Stats) schema.Run) (*layout.Manifest, error) {
	units, err := c.planUnits()
	if err != nil {
		return nil, err
	}
	gone, err := c.rewriteAll(ctx, units)
	if err != nil {
		return nil, err
	}
	newRuns := row != nil || len(c.rewrites) > 0
	if err := c.linkRest(func(f *layout.File) bool {
		return gone[f.Period] || c.dropped[f.Period] || f.Table == schema.Runs.Name && newRuns
	}); err != nil {
		return nil, err
	}
	for _, f := range c.files {
		c.stats.Due += f.Due
		c.stats.Unsettled += f.Unsettled
	}
	c.stats.Details = c.in.details
	if !newRuns {
		return c.manifest(refs, id), nil
	}
	runs, err := c.readRuns()
	if err != nil {
		return nil, err
	}
	if row != nil {
		run := row(c.stats)
		c.wrote, id = run, run.ID
		runs = c.withRun(runs, run)
	}
	if err := c.writeRuns(runs); err != nil {
		return nil, err
	}
	return c.manifest(refs, id), nil
}

// rewriteAll writes the units, several at a time, and returns the periods of
// the old snapshot that they replace.
func (c *commit) rewriteAll(ctx context.Context, units []*unit) (gone map[string]bool, err error) {
	gone = map[string]bool{}
	var mu sync.Mutex
	work := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(max(1, c.workers))
	for _, u := range units {
		work.Go(func(ctx context.Context) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			m := &merger{c: c}
			files, unchanged, err := m.rewrite(u)
			mu.Lock()
			defer mu.Unlock()
			c.stats = c.stats.add(m.stats)
			if err != nil || unchanged {
				return err
			}
			for _, period := range u.from {
				gone[period] = true
			}
			c.written(files...)
			return nil
		})
	}
	return gone, work.Wait()
}

// linkRest takes over the files of the old snapshot, but for those that were
// replaced.
func (c *commit) linkRest(replaced func(*layout.File) bool) error {
	if c.old == nil {
		return nil
	}
	for i := range c.old.Manifest.Files {
		f := &c.old.Manifest.Files[i]
		if replaced(f) {
			continue
		}
		if err := c.b.link(c.old, f.Path, f.Bytes); err != nil {
			return err
		}
		c.files = append(c.files, *f)
		c.stats.Linked++
	}
	if keeper := cmp.Or(c.keeper, c.old); keeper.Manifest.Forgotten != nil {
		return c.b.link(keeper, keeper.Manifest.Forgotten.Path, keeper.Manifest.Forgotten.Bytes)
	}
	return nil
}

func (c *commit) written(files ...layout.File) {
	for _, f := range files {
		c.stats.Written++
		c.stats.Bytes += f.Bytes
	}
	c.files, c.made = append(c.files, files...), append(c.made, files...)
}

// withRun returns the rows of the table runs with that of the committing run.
func (c *commit) withRun(runs []schema.Run, run schema.Run) []schema.Run {
	runs = closeLost(runs, c.lost, "")
	runs = append(slices.DeleteFunc(runs, func(r schema.Run) bool { return r.ID == run.ID }), run)
	slices.SortStableFunc(runs, func(a, b schema.Run) int { return cmp.Compare(a.ID, b.ID) })
	return runs
}

// writeRuns writes the table runs.
func (c *commit) writeRuns(runs []schema.Run) error {
	w := newRunsWriter(c.b, c.codec)
	for i := range runs {
		if err := w.add(runs[i].Row()); err != nil {
			return errors.Join(err, w.discard())
		}
	}
	f, err := w.close()
	if err != nil || f == nil {
		return err
	}
	c.written(*f)
	return nil
}

func (c *commit) readRuns() ([]schema.Run, error) {
	files := c.oldFiles(schema.Runs.Name)
	var out []schema.Run
	for _, f := range files {
		r, err := c.open(f)
		if err != nil {
			return nil, err
		}
		for {
			row, err := r.next()
			if err != nil || row == nil {
				if err := closing(err, r.close); err != nil {
					return nil, err
				}
				break
			}
			var run schema.Run
			if err := r.reader.Run(row, &run); err != nil {
				return nil, closing(&DamageError{Path: r.path, What: err.Error()}, r.close)
			}
			out = append(out, run)
		}
	}
	return out, nil
}

// manifest describes the new snapshot, but for its number.
func (c *commit) manifest(refs []segmentRef, runID string) *layout.Manifest {
	m := &layout.Manifest{
		FormatVersion: layout.FormatVersion, RunID: runID, CommittedAt: c.now.UTC(),
		Coverage: []schema.Span{}, Columns: layout.Columns(), Files: c.files,
	}
	if c.old != nil {
		m.Coverage, m.Mask, m.Origin = c.old.Manifest.Coverage, c.old.Manifest.Mask, c.old.Manifest.Origin
		if c.asIs {
			m.Journal = c.old.Manifest.Journal // whatever of it is still to be removed
		}
	}
	if keeper := cmp.Or(c.keeper, c.old); keeper != nil {
		m.Oldest, m.Forgotten = keeper.Manifest.Oldest, keeper.Manifest.Forgotten
	}
	if c.mask != nil {
		m.Mask = c.mask
	}
	if c.origin != nil {
		m.Origin = c.origin
	}
	for _, s := range c.in.covered {
		m.Coverage = cover(m.Coverage, s.Span)
	}
	if c.keepFrom > 0 && !c.asIs {
		m.Coverage = since(m.Coverage, c.keepFrom)
	}
	for _, ref := range refs {
		m.Journal = append(m.Journal, layout.Segment{Run: ref.run, Number: ref.n})
	}
	finish(m)
	return m
}

// finish puts a manifest's files in order, and takes the watermark from them.
func finish(m *layout.Manifest) {
	order := map[string]int{}
	for i, t := range schema.AllTables {
		order[t.Name] = i
	}
	slices.SortFunc(m.Files, func(a, b layout.File) int {
		return cmp.Or(cmp.Compare(order[a.Table], order[b.Table]), cmp.Compare(a.Period, b.Period))
	})
	m.Watermark = 0
	for _, f := range m.FilesOf(schema.Calls.Name) {
		if f.MaxStart != nil {
			m.Watermark = max(m.Watermark, *f.MaxStart)
		}
	}
}

// wants guesses how many bytes the commit needs: what the files that it touches
// have now, and the journal twice, or a quarter of the dumps.
func (c *commit) wants() int64 {
	var n int64
	for _, s := range c.in.frames.segments {
		n += 2 * s.size
	}
	for _, p := range c.in.parts {
		n += (p.to - p.from) / 4
	}
	touched := map[string]bool{}
	for _, ch := range c.in.changes {
		if ch.start.OK {
			day := layout.Day(ch.start.V)
			touched[day], touched[day[:7]] = true, true
		}
	}
	for _, t := range schema.CallTables {
		for _, f := range c.oldFiles(t.Name) {
			if touched[f.Period] {
				n += f.Bytes
			}
		}
	}
	return n
}

// dropSegments removes journal segments that a snapshot holds.
func dropSegments(fsys FS, root string, refs []segmentRef, keep string) error {
	runs := map[string]bool{}
	for _, ref := range refs {
		if err := fsys.Remove(ref.path(root)); err != nil {
			return fmt.Errorf("remove a committed journal segment: %w", err)
		}
		runs[ref.run] = true
	}
	for run := range runs {
		if run == keep {
			continue
		}
		dir := filepath.Join(root, layout.JournalName, run)
		if left, err := fsys.ReadDir(dir); err == nil && len(left) == 0 {
			if err := fsys.Remove(dir); err != nil {
				return fmt.Errorf("remove a committed journal: %w", err)
			}
		}
	}
	return nil
}
