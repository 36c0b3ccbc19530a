// Package commit folds new records, from the journal or from dumps, into the files of the previous
// snapshot, and makes a new snapshot of the result.
package commit

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/table"
	"callhouse/internal/wire/mask"
)

// Stats counts the results of a commit.
type Stats struct {
	New         int64 // new calls
	Changed     int64 // calls known before the run that changed
	Settled     int64 // calls that became settled
	Missing     int64 // calls whose detail returned 404
	Skipped     int64 // calls whose detail is not requested because of their kind
	Transcripts int64 // details with a transcript
	Turns       int64 // their turns
	Details     int64 // details merged
	Due         int64 // ended calls that wait for their detail, in the whole warehouse
	Unsettled   int64 // calls neither settled nor expired, in the whole warehouse
	Written     int   // data files written
	Linked      int   // data files linked from the previous snapshot
	Aged        int64 // calls dropped by retention
	Bytes       int64 // size of the data files written

	Withheld int64 // objects and changes with secrets that an older callhouse stored

	ObjectsChanged int64 // objects of other resources that are new, changed, deleted or restored
}

// took counts the transcript of a call, if it has one.
func (s *Stats) took(call *calls.Call) {
	if n := call.Turns().Len(); n > 0 {
		s.Transcripts++
		s.Turns += int64(n)
	}
}

// folded counts the change of a call, which may be new, in a run.
func (s *Stats) folded(old, now *calls.Call, run string) {
	switch {
	case old == nil:
		s.New++
	case string(old.RunID()) != run && !calls.Same(old, now):
		s.Changed++ // once per run: not for the detail of a call that this run listed
	}
	if now.Settlement() == calls.Settled && (old == nil || old.Settlement() != calls.Settled) {
		s.Settled++
	}
	if now.TranscriptState() == calls.Skipped && (old == nil || old.TranscriptState() != calls.Skipped) {
		s.Skipped++
	}
}

// Add sums the counts of two commits; the figures of the whole warehouse are the later one's.
func (s Stats) Add(o Stats) Stats {
	o.New += s.New
	o.Changed += s.Changed
	o.Settled += s.Settled
	o.Missing += s.Missing
	o.Skipped += s.Skipped
	o.Transcripts += s.Transcripts
	o.Turns += s.Turns
	o.Details += s.Details
	o.Written += s.Written
	o.Linked += s.Linked
	o.Aged += s.Aged
	o.Bytes += s.Bytes
	o.Withheld += s.Withheld
	o.ObjectsChanged += s.ObjectsChanged
	return o
}

// AddTo adds the counts to the row of a run.
func (s Stats) AddTo(run *schema.Run) {
	run.CallsNew += s.New
	run.CallsChanged += s.Changed
	run.CallsSettled += s.Settled
	run.CallsSkipped += s.Skipped
	run.CallsPending = s.Due
	run.Transcripts += s.Transcripts
	run.Turns += s.Turns
}

// Commit is one commit in progress.
type Commit struct {
	FS       disk.FS
	Root     string
	Old      *snapshot.Reader // nil: the first commit
	Now      time.Time
	Workers  int // number of periods written concurrently; 0 is 1
	PageSize int // see snapshot.Builder

	Nightly  bool            // compact months that are over and settled, up to the limit for a night
	Months   []string        // compact these, whatever they hold
	Rewrites []string        // rewrite these periods, whatever they hold
	Withhold bool            // search all resources and changes for secrets, not only those with new records
	AsIs     bool            // do not expire or settle calls
	KeepFrom int64           // drop calls that started earlier, ms UTC; 0: none
	leftOut  map[string]bool // periods of the old snapshot that are dropped as a whole
	Progress func(rows int64)

	Forgotten    *snapshot.Tombstones // calls to keep out
	Country      string               // region of national telephone numbers; empty: as before
	Masker       *mask.Mask           // for data that did not pass through Clean
	Mask         *layout.Mask         // masked values from now on; nil: as before
	Origin       *layout.Origin       // owner of the calls from now on; nil: as before
	Lost         []schema.Run         // rows of runs that could not be written
	Wrote        schema.Run           // the row that this commit wrote
	Doubted      []string             // resources with a suspicious empty list
	tombstonesOf *layout.Snapshot     // source of the new snapshot's tombstones; nil: old

	in    *Intake
	lines *lines                                   // the organisation's numbers after the commit
	moved []tenure                                 // days on which the set of its numbers changes
	blank func(*schema.Object)                     // changes the calls of a unit's blanks
	gone  map[*resource.Resource]map[string]listed // objects that this commit marks as deleted
	b     *snapshot.Builder
	Stats Stats
	files []layout.File
	Made  []layout.File // those of files that it wrote
}

// Run merges new records, from these segments or elsewhere, into a new snapshot and publishes it.
// row returns the run's row of the table runs; nil: the commit adds none.
func (c *Commit) Run(ctx context.Context, id string, in *Intake, refs []layout.Segment,
	row func(Stats) schema.Run) (*layout.Snapshot, error) {
	c.in = in
	return c.publish(func() (*layout.Manifest, error) { return c.build(ctx, id, refs, row) })
}

// publish publishes the snapshot made by build.
func (c *Commit) publish(build func() (*layout.Manifest, error)) (made *layout.Snapshot, err error) {
	next, err := snapshot.NextNumber(c.FS, c.Root)
	if err != nil {
		return nil, err
	}
	var m *layout.Manifest
	if c.b, err = snapshot.NewBuilder(c.FS, c.Root, next); err == nil {
		c.b.PageSize = c.PageSize
		m, err = build()
	}
	if err == nil {
		m.Snapshot = next
		made, err = c.b.Publish(m)
	}
	if err != nil {
		if disk.IsNoSpace(err) {
			err = disk.NoSpace(c.Root, c.wants(), err)
		}
		c.b.Discard()
		return nil, err
	}
	return made, nil
}

// GoBack publishes a snapshot with the content of an older one. But the table runs keeps its rows
// and gains one, and forgotten calls stay forgotten.
func (c *Commit) GoBack(target *snapshot.Reader, run schema.Run) (*layout.Snapshot, error) {
	runs, err := c.Old.Runs()
	if err != nil {
		return nil, err
	}
	now := c.Old.Snapshot
	c.Old, c.tombstonesOf, c.in = target, now, new(Intake)
	return c.publish(func() (*layout.Manifest, error) {
		if err := c.linkRest(func(f *layout.File) bool { return f.Table == schema.Runs.Name }); err != nil {
			return nil, err
		}
		if err := c.writeRuns(c.withRun(runs, run)); err != nil {
			return nil, err
		}
		m := c.manifest(nil, run.ID)
		m.Journal = now.Manifest.Journal
		return m, nil
	})
}

// Without rewrites periods of the old snapshot into b, each without the given calls, and returns
// the files. The calls of blanks stay, changed by the function blank.
func (c *Commit) Without(ctx context.Context, b *snapshot.Builder, calls, blanks map[string]map[string]bool,
	blank func(*schema.Object),
) ([]layout.File, error) {
	c.AsIs, c.in, c.b, c.blank = true, new(Intake), b, blank
	if err := c.setLines(nil); err != nil {
		return nil, err
	}
	periods := maps.Clone(calls)
	maps.Copy(periods, blanks)
	var units []*unit
	for _, period := range slices.Sorted(maps.Keys(periods)) {
		units = append(units, &unit{period: period, from: []string{period}, leaving: calls[period], blanks: blanks[period], always: true})
	}
	_, err := c.rewriteAll(ctx, units)
	return c.files, err
}

// WithoutTraces rewrites the table runs of the old snapshot into c's builder, with its texts
// changed by blank, and returns its files.
func (c *Commit) WithoutTraces(blank func(text []byte, json bool) []byte) ([]layout.File, error) {
	runs, err := c.Old.Runs()
	if err != nil {
		return nil, err
	}
	for i := range runs {
		runs[i].Error, runs[i].DriftFields = string(blank([]byte(runs[i].Error), false)), blank(runs[i].DriftFields, true)
	}
	from := len(c.files)
	err = c.writeRuns(runs)
	return c.files[from:], err
}

// build makes the files of the new snapshot, and returns its manifest.
func (c *Commit) build(ctx context.Context, id string, refs []layout.Segment, row func(Stats) schema.Run) (*layout.Manifest, error) {
	replaced, err := c.objects() // first: other columns of a call depend on the organisation's numbers
	if err != nil {
		return nil, err
	}
	units, err := c.planUnits()
	if err != nil {
		return nil, err
	}
	gone, err := c.rewriteAll(ctx, units)
	if err != nil {
		return nil, err
	}
	newRuns := row != nil || len(c.Rewrites) > 0
	if err := c.linkRest(func(f *layout.File) bool {
		return gone[f.Period] || replaced[f.Table] || c.leftOut[f.Period] || f.Table == schema.Runs.Name && newRuns
	}); err != nil {
		return nil, err
	}
	for _, f := range c.files {
		c.Stats.Due += f.Due
		c.Stats.Unsettled += f.Unsettled
	}
	c.Stats.Details = c.in.details
	if !newRuns {
		return c.manifest(refs, id), nil
	}
	runs, err := c.Old.Runs()
	if err != nil {
		return nil, err
	}
	if row != nil {
		run := row(c.Stats)
		c.Wrote, id = run, run.ID
		runs = c.withRun(runs, run)
	}
	if err := c.writeRuns(runs); err != nil {
		return nil, err
	}
	return c.manifest(refs, id), nil
}

// rewriteAll writes the units, several at a time, and returns the periods of the old snapshot that
// they replace.
func (c *Commit) rewriteAll(ctx context.Context, units []*unit) (gone map[string]bool, err error) {
	gone = map[string]bool{}
	var mu sync.Mutex
	work := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(max(1, c.Workers))
	for _, u := range units {
		work.Go(func(ctx context.Context) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			m := &merger{c: c}
			files, unchanged, err := m.rewrite(u)
			mu.Lock()
			defer mu.Unlock()
			c.Stats = c.Stats.Add(m.stats)
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

// linkRest links the files of the old snapshot that were not replaced.
func (c *Commit) linkRest(replaced func(*layout.File) bool) error {
	if c.Old == nil {
		return nil
	}
	files, err := c.b.LinkAll(c.Old.Snapshot, replaced)
	if err != nil {
		return err
	}
	c.files = append(c.files, files...)
	c.Stats.Linked += len(files)
	keeper := cmp.Or(c.tombstonesOf, c.Old.Snapshot)
	if f := keeper.Manifest.Forgotten; f != nil {
		return c.b.Link(keeper, f.Path, f.Bytes)
	}
	return nil
}

func (c *Commit) written(files ...layout.File) {
	for _, f := range files {
		c.Stats.Written++
		c.Stats.Bytes += f.Bytes
	}
	c.files, c.Made = append(c.files, files...), append(c.Made, files...)
}

// manifest describes the new snapshot, without its number.
func (c *Commit) manifest(refs []layout.Segment, runID string) *layout.Manifest {
	m := &layout.Manifest{
		FormatVersion: layout.FormatVersion, RunID: runID, CommittedAt: c.Now.UTC(),
		Coverage: []schema.Span{}, Columns: layout.Columns(), Files: c.files,
	}
	if c.Old != nil {
		m.Coverage, m.Mask, m.Origin = c.Old.Manifest.Coverage, c.Old.Manifest.Mask, c.Old.Manifest.Origin
		m.Country = c.Old.Manifest.Country
		if c.AsIs {
			m.Journal = c.Old.Manifest.Journal // its segments that are still to be removed
		}
		keeper := cmp.Or(c.tombstonesOf, c.Old.Snapshot).Manifest
		m.Oldest, m.Forgotten = keeper.Oldest, keeper.Forgotten
	}
	if c.Mask != nil {
		m.Mask = c.Mask
	}
	m.Country = cmp.Or(c.Country, m.Country)
	if c.Origin != nil {
		m.Origin = c.Origin
	}
	for _, s := range c.in.Covered {
		m.Coverage = snapshot.Cover(m.Coverage, s.Span)
	}
	if c.KeepFrom > 0 && !c.AsIs {
		m.Coverage = snapshot.Since(m.Coverage, c.KeepFrom)
	}
	m.Lists, m.Bulk, m.Resting = c.lists(), c.bulk(), c.resting()
	m.Journal = append(m.Journal, refs...)
	snapshot.SortFiles(m)
	return m
}

// bulk returns the state of the pages of v2.
func (c *Commit) bulk() *schema.Bulk {
	if c.in.bulk != nil || c.Old == nil {
		return c.in.bulk.Nameless()
	}
	return c.Old.Manifest.Bulk.Nameless()
}

// resting returns the operations that are not retried for a time.
func (c *Commit) resting() map[string]schema.Rest {
	out := map[string]schema.Rest{}
	if c.Old != nil {
		maps.Copy(out, c.Old.Manifest.Resting)
	}
	for _, r := range c.in.rests {
		if r.Times > 0 {
			out[r.Of] = r
		} else {
			delete(out, r.Of)
		}
	}
	return out
}

// distrusts reports whether transcripts from pages of v2 are no longer trusted: the commit makes
// their calls wait for their own records.
func (c *Commit) distrusts() bool { return c.in.refuted }

// refused reports whether nothing is taken from pages of v2.
func (c *Commit) refused() bool {
	b := c.bulk()
	return b != nil && b.State == schema.BulkRefuted
}

// wants estimates the number of bytes that the commit needs: the current size of the files that it
// changes, and twice the journal or a quarter of the dumps.
func (c *Commit) wants() int64 {
	var n int64
	for _, s := range c.in.frames.Segments {
		n += 2 * s.Size
	}
	for _, p := range c.in.Parts {
		n += (p.To - p.From) / 4
	}
	touched := map[string]bool{}
	for _, ch := range c.in.changes {
		if ch.start.OK {
			day := layout.Day(ch.start.V)
			touched[day], touched[day[:7]] = true, true
		}
	}
	for _, f := range c.Old.Files(schema.Calls.Name) {
		if touched[f.Period] {
			n += c.Old.Manifest.BytesOf(f.Period)
		}
	}
	return n
}

// withRun returns the rows of the table runs with the committing run's row.
func (c *Commit) withRun(runs []schema.Run, run schema.Run) []schema.Run {
	runs = CloseRuns(runs, c.Lost, "")
	runs = append(slices.DeleteFunc(runs, func(r schema.Run) bool { return r.ID == run.ID }), run)
	slices.SortStableFunc(runs, func(a, b schema.Run) int { return cmp.Compare(a.ID, b.ID) })
	return runs
}

// writeRuns writes the table runs.
func (c *Commit) writeRuns(runs []schema.Run) error {
	w := table.NewRunsWriter(c.b)
	for i := range runs {
		if err := w.Add(runs[i].Row()); err != nil {
			return errors.Join(err, w.Discard())
		}
	}
	f, err := w.Close()
	if err != nil || f == nil {
		return err
	}
	c.written(*f)
	return nil
}

// LostRuns makes the rows of runs that could not write them.
func LostRuns(lost []disk.Lost) (out []schema.Run) {
	for _, l := range lost {
		started, ok := layout.ParseRunID(l.RunID)
		if !ok {
			continue
		}
		run := schema.Run{ID: l.RunID, StartedAt: started.UnixMilli(), Outcome: schema.OutcomeFailed, Error: l.Error, Problem: l.Problem}
		if l.Error == "" {
			run.Outcome, run.Error = schema.OutcomeKilled, "killed before it had committed anything"
		}
		out = append(out, run)
	}
	return out
}

// killedLater is the error of a run that was killed after a commit.
const killedLater = "killed; what it had committed stays"

// CloseRuns adds the rows of the lost runs. Unfinished runs were killed, except running, which is
// still in progress ("": none is).
func CloseRuns(runs, lost []schema.Run, running string) []schema.Run {
	for _, l := range lost {
		i := slices.IndexFunc(runs, func(r schema.Run) bool { return r.ID == l.ID })
		switch {
		case i < 0:
			runs = append(runs, l)
		case runs[i].Outcome == schema.OutcomeRunning:
			runs[i].Outcome, runs[i].Error, runs[i].Problem = l.Outcome, l.Error, l.Problem
			if l.Outcome == schema.OutcomeKilled {
				runs[i].Error = killedLater
			}
		}
	}
	for i := range runs {
		if r := &runs[i]; r.Outcome == schema.OutcomeRunning && r.ID != running {
			r.Outcome, r.Error = schema.OutcomeKilled, killedLater
		}
	}
	return runs
}
