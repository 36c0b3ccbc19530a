// Package commit makes the next snapshot of the previous one: it merges new records from the
// journal, and compacts, migrates, restores, mends or erases parts. Each operation is
// a method of [Base]. The package never changes a file of an existing snapshot, and fetches
// nothing.
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

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/table"
	"callhouse/internal/wire/mask"
)

// Base is the warehouse that a commit changes, and the run that commits.
type Base struct {
	FS      disk.FS
	Root    string
	RunID   string
	Old     *snapshot.Reader // nil: the first commit
	Now     time.Time
	Workers int          // number of periods written concurrently; 0 is 1
	Country string       // region of national telephone numbers; empty: unchanged
	Lost    []schema.Run // rows of runs that could not be written; the next row is written with them
}

// Result is a published snapshot.
type Result struct {
	*layout.Snapshot
	Stats
	Made    []layout.File // written files; the others are linked
	Doubted []string      // resources with a suspicious empty list
}

// maker makes the files of one snapshot.
type maker struct {
	Base
	rules
	was      *layout.Manifest // of Old; empty if there is none
	keeper   *snapshot.Reader // source of the tombstones and the table runs
	b        *snapshot.Builder
	lines    *lines          // the organisation's numbers after the commit
	replaced map[string]bool // periods and other parts of the old snapshot that are not linked
	gone     map[*resource.Resource]map[string]listed

	mu    sync.Mutex
	files []layout.File
	made  Result
}

// rules determine how calls change.
type rules struct {
	in       *Intake        // new records
	masker   *mask.Mask     // for data that was not passed through Clean
	settles  bool           // calls that have waited too long expire
	redactor *mask.Redactor // for stored calls; nil: they stay unchanged
	alone    bool           // no older snapshot may stay
	links    bool           // a new link to a recording that is due is a change of its call
	keepFrom int64          // drop calls that started earlier, ms UTC; 0: none
	progress func(rows int64)
}

func (b Base) begin(r rules) *maker {
	was := new(layout.Manifest)
	if b.Old != nil {
		was = b.Old.Manifest
	}
	if r.in == nil {
		r.in = new(Intake)
	}
	b.Country = cmp.Or(b.Country, was.Country)
	return &maker{Base: b, rules: r, was: was, keeper: b.Old, replaced: map[string]bool{}, gone: map[*resource.Resource]map[string]listed{}}
}

// publish publishes the snapshot made by build.
func (m *maker) publish(build func() (*layout.Manifest, error)) (*Result, error) {
	next, err := snapshot.NextNumber(m.FS, m.Root)
	if err != nil {
		return nil, err
	}
	var manifest *layout.Manifest
	if m.b, err = snapshot.NewBuilder(m.FS, m.Root, next); err == nil {
		manifest, err = build()
	}
	if err == nil {
		manifest.Snapshot = next
		if m.alone {
			manifest.Oldest = next
		}
		snapshot.SortFiles(manifest)
		m.made.Snapshot, err = m.b.Publish(manifest)
	}
	if err != nil {
		if disk.IsNoSpace(err) {
			err = disk.NoSpace(m.Root, m.wants(), err)
		}
		m.b.Discard()
		return nil, err
	}
	return &m.made, nil
}

// fill writes the units, links the parts of the old snapshot that are not replaced, and returns the
// manifest. runs returns the new rows of the table runs; nil: the table stays unchanged.
func (m *maker) fill(ctx context.Context, units []*unit, runs func() ([]schema.Run, error)) (*layout.Manifest, error) {
	if err := m.rewriteAll(ctx, units); err != nil {
		return nil, err
	}
	m.replaced[schema.Runs.Name] = runs != nil
	if err := m.linkRest(); err != nil {
		return nil, err
	}
	m.made.RecordingsDue.OK = m.links || m.was.Archive != ""
	for _, f := range m.files {
		m.made.Due += f.Due
		m.made.Unverified += f.Bulk
		m.made.Unsettled += f.Unsettled
		if m.made.RecordingsDue.OK {
			m.made.RecordingsDue.V += f.Unarchived
		}
	}
	if runs != nil {
		rows, err := runs()
		if err == nil {
			err = m.writeRuns(rows)
		}
		if err != nil {
			return nil, err
		}
	}
	return m.manifest(), nil
}

// rewriteAll writes the units, several at a time.
func (m *maker) rewriteAll(ctx context.Context, units []*unit) error {
	work := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(max(1, m.Workers))
	for _, u := range units {
		work.Go(func(ctx context.Context) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return m.rewrite(u)
		})
	}
	return work.Wait()
}

// linkRest links the files of the old snapshot that were not replaced.
func (m *maker) linkRest() error {
	if m.Old == nil {
		return nil
	}
	files, err := m.b.LinkAll(m.Old.Snapshot, func(f *layout.File) bool { return m.replaced[cmp.Or(f.Period, f.Part())] })
	if err != nil {
		return err
	}
	m.files = append(m.files, files...)
	m.made.Linked += len(files)
	if f := m.keeper.Manifest.Forgotten; f != nil {
		return m.b.Link(m.keeper.Snapshot, f.Path, f.Bytes)
	}
	return nil
}

// write fills files that replace parts of the old snapshot. If that fails, or if fill reports that
// nothing changed, it leaves no file.
func (m *maker) write(w table.Files, replaces []string, fill func() (changed bool, err error)) error {
	changed, err := fill()
	if err != nil || !changed {
		return errors.Join(err, w.Discard())
	}
	files, err := w.Close()
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, part := range replaces {
		m.replaced[part] = true
	}
	for _, f := range files {
		m.made.Written++
		m.made.Bytes += f.Bytes
	}
	m.files, m.made.Made = append(m.files, files...), append(m.made.Made, files...)
	return nil
}

// manifest describes the new snapshot, without its number.
func (m *maker) manifest() *layout.Manifest {
	out := &layout.Manifest{
		FormatVersion: layout.FormatVersion, RunID: m.RunID, CommittedAt: m.Now.UTC(), Country: m.Country,
		Coverage: append([]schema.Span{}, m.was.Coverage...), Files: m.files,
		Lists: m.lists(), Bulk: m.bulk(), Resting: m.resting(), Mask: m.was.Mask, Origin: m.was.Origin,
		Archive: m.was.Archive,
	}
	if r := m.was.Redaction; r != nil {
		kept := *r
		kept.Periods = slices.DeleteFunc(slices.Clone(r.Periods), func(p string) bool { return m.replaced[p] })
		out.Redaction = &kept
	}
	if m.keeper != nil {
		keeper := m.keeper.Manifest
		out.Journal = keeper.Journal // its segments that are still to be removed
		out.Oldest, out.Forgotten = keeper.Oldest, keeper.Forgotten
	}
	return out
}

// bulk returns the state of the pages of v2.
func (m *maker) bulk() *schema.Bulk { return cmp.Or(m.in.bulk, m.was.Bulk) }

// resting returns the operations that are not retried for now.
func (m *maker) resting() map[string]schema.Rest {
	out := map[string]schema.Rest{}
	maps.Copy(out, m.was.Resting)
	for _, r := range m.in.rests {
		if r.Times > 0 {
			out[r.Of] = r
		} else {
			delete(out, r.Of)
		}
	}
	return out
}

// refused reports whether the pages of v2 are refuted, so that nothing is taken from them.
func (m *maker) refused() bool {
	b := m.bulk()
	return b != nil && b.State == schema.BulkRefuted
}

// wants estimates the number of bytes that the commit needs: the current size of the files that it
// changes, and twice the journal.
func (m *maker) wants() int64 {
	var n int64
	for _, s := range m.in.frames.Segments {
		n += 2 * s.Size
	}
	touched := map[string]bool{}
	for _, ch := range m.in.changes {
		if ch.start.OK {
			day := layout.Day(ch.start.V)
			touched[day], touched[day[:7]] = true, true
		}
	}
	for _, f := range m.Old.Files(schema.Calls.Name) {
		if touched[f.Period] {
			n += m.Old.Manifest.BytesOf(f.Period)
		}
	}
	return n
}

// withRow returns the rows of the table runs with the committing run's row. restored are rows that
// had been lost.
func (m *maker) withRow(row func(Stats) schema.Run, restored ...schema.Run) func() ([]schema.Run, error) {
	return func() ([]schema.Run, error) {
		runs, err := m.keeper.Runs()
		if err != nil {
			return nil, err
		}
		run := row(m.made.Stats)
		m.RunID = run.ID
		runs = CloseRuns(append(runs, restored...), m.Lost, "")
		runs = append(slices.DeleteFunc(runs, func(r schema.Run) bool { return r.ID == run.ID }), run)
		slices.SortStableFunc(runs, func(a, b schema.Run) int { return cmp.Compare(a.ID, b.ID) })
		return runs, nil
	}
}

// writeRuns writes the table runs.
func (m *maker) writeRuns(runs []schema.Run) error {
	w := table.NewFiles(m.b, "", &schema.Runs)
	return m.write(w, nil, func() (bool, error) {
		for i := range runs {
			if err := w[0].Add(runs[i].Row()); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// LostRuns makes the rows of the runs that could not write them.
func LostRuns(lost []disk.Lost) (out []schema.Run) {
	for _, l := range lost {
		started, ok := layout.ParseRunID(l.RunID)
		if !ok {
			continue
		}
		run := schema.Run{ID: l.RunID, StartedAt: started.UnixMilli(), Outcome: schema.OutcomeFailed, Error: l.Error, Problem: l.Problem}
		if l.Error == "" {
			run.Outcome, run.Error = schema.OutcomeKilled, "killed before its first commit"
		}
		if l.Error == "" && l.Follow {
			run.Outcome = schema.OutcomeFollowed
		}
		out = append(out, run)
	}
	return out
}

// killedLater is the error of a run that was killed after a commit.
const killedLater = "killed; its commits are kept"

// CloseRuns adds the rows of the lost runs. Unfinished runs count as killed, except running, which
// is still in progress ("": none).
func CloseRuns(runs, lost []schema.Run, running string) []schema.Run {
	for _, l := range lost {
		i := slices.IndexFunc(runs, func(r schema.Run) bool { return r.ID == l.ID })
		switch {
		case i < 0:
			runs = append(runs, l)
		case runs[i].Outcome == schema.OutcomeRunning || runs[i].Outcome == schema.OutcomeFollowing:
			runs[i].Outcome, runs[i].Error, runs[i].Problem = l.Outcome, l.Error, l.Problem
			if l.Outcome == schema.OutcomeKilled || l.Outcome == schema.OutcomeFollowed {
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
