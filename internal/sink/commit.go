// Package sink stores the warehouse: calls, resources and runs.
//
// [Warehouse.Put] returns once its records are durable in the journal. [Warehouse.Commit] folds the
// journal into the Parquet files that it affects, builds a complete new snapshot next to the others,
// makes it durable and swaps the link current to it: all tables at once, or none. internal/layout
// defines the layout on disk.
//
// In the order of a record's way: warehouse.go (Put), clean.go, journal.go and frame.go, runs.go
// (Commit), intake.go (grouped by call), plan.go (which periods change), merge.go, datafile.go,
// builder.go (the new snapshot, made current). reader.go reads snapshots; operations.go, verify*.go,
// repair*.go and forget*.go maintain them.
//
// The package uses no network and requests nothing from the service. It never changes a file of a
// committed snapshot, and removes only names that it made itself.
package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/wire"
	"callhouse/internal/wire/mask"
)

// stamp holds new entries of the manifest; nil keeps the previous entry.
type stamp struct {
	Mask      *layout.Mask      // masked values
	Redaction *layout.Redaction // redacted personal data
	Origin    *layout.Origin    // owner of the calls
	// Archive is the address of the archive of recordings; empty keeps the previous one.
	Archive string
}

// commitResult is a published snapshot.
type commitResult struct {
	*layout.Snapshot
	Stats
	Made        []layout.File // written files; the others are linked
	Unconfirmed []string      // resources with a suspicious empty list
	Broken      []journalLoss // records of the journal that cannot be decoded, and were skipped
}

// maker makes the next snapshot of the one before: it merges new records, or compacts, restores, mends
// or erases parts. It never changes a file of an existing snapshot.
type maker struct {
	w       *Warehouse
	old     *Reader          // nil: the first commit
	was     *layout.Manifest // of old; empty if there is none
	keeper  *Reader          // source of the tombstones and the table runs
	runID   string
	now     time.Time
	country string       // region of national telephone numbers
	lost    []schema.Run // rows of runs that could not be written; the next row is written with them
	stamp   stamp

	// These determine how calls change.
	in        *intake        // new records
	masker    *mask.Mask     // for data that was not passed through cleanRecord
	settles   bool           // calls that have waited too long expire
	redactor  *mask.Redactor // for stored calls; nil: they stay unchanged
	exclusive bool           // no older snapshot may stay
	links     bool           // a new link to a recording that is due is a change of its call
	keepFrom  int64          // drop calls that started earlier, ms UTC; 0: none
	// tombstones replace those of keeper; nil: they stay. sealed is called before the new snapshot
	// becomes the current one; nil: nothing is.
	tombstones *tombstones
	sealed     func(*layout.Snapshot) error
	progress   func(rows int64)

	b         *builder
	lines     *ownNumbers       // the organisation's numbers after the commit; nil: those before it, not read yet
	units     []*unit           // what is written
	replaced  map[string]bool   // periods and other parts of the old snapshot that are not linked
	forgotten *layout.Forgotten // the entry of tombstones

	mu    sync.Mutex
	files []layout.File
	made  commitResult
}

// maker begins a commit that changes the snapshot old.
func (w *Warehouse) maker(old *Reader) *maker {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &maker{w: w, old: old, was: new(layout.Manifest), keeper: old, runID: w.opts.RunID, now: w.opts.Now(), lost: w.unrecorded,
		stamp: w.stamp, in: &intake{arrivals: map[*resource.Resource]*arrivals{}}, replaced: map[string]bool{}}
	if old != nil {
		m.was = old.Manifest
	}
	m.country = cmp.Or(w.opts.Country, m.was.Country)
	return m
}

// publish makes and publishes a snapshot: it writes the units that plan returns, and links the parts
// of the old snapshot that are not replaced. row returns a new row of the table runs; nil: the table
// stays unchanged. complete, if given, completes the manifest.
func (m *maker) publish(ctx context.Context, plan func() ([]*unit, error), row func(Stats) schema.Run,
	complete func(*layout.Manifest)) (_ *commitResult, err error) {
	m.b, err = newBuilder(m.w.opts.FS, m.w.opts.Root)
	if err != nil {
		return nil, err
	}
	if m.units, err = plan(); err == nil {
		err = m.writeUnits(ctx)
	}
	if err == nil {
		m.replaced[schema.Runs.Name] = m.replaced[schema.Runs.Name] || row != nil
		err = m.linkRest()
	}
	if err == nil && row != nil {
		err = m.addRun(row)
	}
	if err == nil {
		manifest := m.manifest()
		manifest.Snapshot = m.b.number
		if m.exclusive {
			manifest.Oldest = m.b.number
		}
		if complete != nil {
			complete(manifest)
		}
		m.made.Snapshot, err = m.b.Seal(manifest)
		if err == nil && m.sealed != nil {
			err = m.sealed(m.made.Snapshot)
		}
		if err == nil {
			err = makeCurrent(m.w.opts.FS, m.w.opts.Root, m.made.Snapshot)
		}
	}
	if err != nil {
		m.b.Discard()
		return nil, err
	}
	return &m.made, nil
}

// writeUnits writes the units, several at a time.
func (m *maker) writeUnits(ctx context.Context) (err error) {
	if len(m.units) > 0 && m.lines == nil {
		if m.lines, err = readNumbers(m.old, m.country); err != nil {
			return err
		}
	}
	work := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(max(1, m.w.opts.Workers))
	for _, u := range m.units {
		work.Go(func(ctx context.Context) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return m.writeUnit(u)
		})
	}
	return work.Wait()
}

// linkRest links the files of the old snapshot that were not replaced, and counts the calls of the new one.
func (m *maker) linkRest() error {
	if m.old != nil {
		for i := range m.was.Files {
			f := &m.was.Files[i]
			if m.replaced[cmp.Or(f.Period, f.Part())] {
				continue
			}
			if err := m.b.Link(m.old.Snapshot, f.Path, f.Bytes); err != nil {
				return err
			}
			m.files = append(m.files, *f)
		}
		if f := m.keeper.Manifest.Forgotten; f != nil && m.tombstones == nil {
			if err := m.b.Link(m.keeper.Snapshot, f.Path, f.Bytes); err != nil {
				return err
			}
		}
	}
	if m.tombstones != nil {
		content, entry, err := m.tombstones.Encode()
		if err == nil {
			err = m.b.Write(entry.Path, content)
		}
		if m.forgotten = entry; err != nil {
			return err
		}
	}
	m.made.RecordingsDue.OK = m.links || m.was.Archive != ""
	for _, f := range m.files {
		m.made.Due += f.Due
		m.made.Unverified += f.Bulk
		if m.made.RecordingsDue.OK {
			m.made.RecordingsDue.V += f.Unarchived
		}
	}
	return nil
}

// finish closes files that were filled in place of parts of the old snapshot. If filling them
// failed, or nothing changed, it leaves no file.
func (m *maker) finish(w dataFiles, replaces []string, changed bool, err error) error {
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
		FormatVersion: layout.FormatVersion, RunID: m.runID, CommittedAt: m.now.UTC(), Country: m.country,
		Coverage: append([]schema.Span{}, m.was.Coverage...), Files: m.files,
		Lists: m.lists(), Bulk: m.bulk(), Mask: cmp.Or(m.stamp.Mask, m.was.Mask), Redaction: m.was.Redaction,
		Origin: cmp.Or(m.stamp.Origin, m.was.Origin), Archive: cmp.Or(m.stamp.Archive, m.was.Archive),
	}
	if r := m.was.Redaction; r != nil {
		redaction := *r
		redaction.Periods = slices.DeleteFunc(slices.Clone(r.Periods), func(p string) bool { return m.replaced[p] })
		out.Redaction = &redaction
	}
	if m.stamp.Redaction != nil {
		out.Redaction = m.stamp.Redaction.After(out.Redaction)
	}
	if m.keeper != nil {
		keeper := m.keeper.Manifest
		out.Journal = keeper.Journal // its segments that are still to be removed
		out.Oldest, out.Forgotten = keeper.Oldest, cmp.Or(m.forgotten, keeper.Forgotten)
	}
	return out
}

// bulk returns the state of the pages of v2.
func (m *maker) bulk() *schema.Bulk { return cmp.Or(m.in.bulk, m.was.Bulk) }

// refused reports whether the pages of v2 are refuted, so that nothing is taken from them.
func (m *maker) refused() bool {
	b := m.bulk()
	return b != nil && b.State == schema.BulkRefuted
}

// lose notes that a record of the journal cannot be decoded, and is skipped.
func (m *maker) lose(run, id string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	what := fmt.Sprintf("a record of %q in the journal of run %s was skipped: %v", id, run, err)
	m.made.Broken = append(m.made.Broken, journalLoss{Run: run, What: what})
}

// addRun writes the table runs with a new row of the committing run.
func (m *maker) addRun(row func(Stats) schema.Run) error {
	runs, err := m.keeper.Runs()
	if err != nil {
		return err
	}
	run := row(m.made.Stats)
	m.runID = run.ID
	runs = closeRuns(runs, m.lost, "")
	runs = append(slices.DeleteFunc(runs, func(r schema.Run) bool { return r.ID == run.ID }), run)
	slices.SortStableFunc(runs, func(a, b schema.Run) int { return cmp.Compare(a.ID, b.ID) })
	return m.writeRuns(runs)
}

// writeRuns writes the table runs.
func (m *maker) writeRuns(runs []schema.Run) (err error) {
	w := newDataFiles(m.b, "", &schema.Runs)
	for i := range runs {
		if err == nil {
			err = w[0].Add(runs[i].Row())
		}
	}
	return m.finish(w, []string{schema.Runs.Name}, true, err)
}

// lostRuns makes the rows of the runs that could not write them.
func lostRuns(lost []disk.Lost) (out []schema.Run) {
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

// closeRuns adds the rows of the lost runs. Unfinished runs count as killed, except running, which
// is still in progress ("": none).
func closeRuns(runs, lost []schema.Run, running string) []schema.Run {
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
	Unverified  int64 // transcripts of v2 that were not yet compared with v3, in the whole warehouse
	Written     int   // data files written
	Aged        int64 // calls dropped by retention
	Bytes       int64 // size of the data files written

	Recordings int64 // recordings stored
	// RecordingsDue are still to be archived, in the whole warehouse; null without an archive.
	RecordingsDue schema.Opt[int64]

	ObjectsChanged int64 // objects of other resources that are new, changed, deleted or restored

	Drifted int64            // values of dumps that departed from the columns' expectations
	Drift   wire.DriftCounts // the same, by place and kind; not changed once it is here

	Redacted string // JSON with the number of values redacted so far, by kind; empty: none
}

// took counts the transcript of a call, if it has one.
func (s *Stats) took(call *calls.Call) {
	if n := call.Turns().Len(); n > 0 {
		s.Transcripts++
		s.Turns += int64(n)
	}
}

// drifted counts the departures of a record.
func (s *Stats) drifted(drift []wire.Drift) {
	if len(drift) == 0 {
		return
	}
	if s.Drift == nil {
		s.Drift = wire.DriftCounts{}
	}
	s.Drifted += s.Drift.Add(drift)
}

// archived counts the recording of a call.
func (s *Stats) archived(call *calls.Call) {
	if r, _ := call.Recording(); r.State == schema.RecordingStored {
		s.Recordings++
	}
}

// folded counts the change that a run makes to a call, which may be new.
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
	o.Aged += s.Aged
	o.Bytes += s.Bytes
	o.Recordings += s.Recordings
	o.ObjectsChanged += s.ObjectsChanged
	o.Drifted += s.Drifted
	o.Drift = o.Drift.Plus(s.Drift)
	return o
}

// AddTo adds the counts to the row of a run.
func (s Stats) AddTo(run *schema.Run) {
	run.CallsNew += s.New
	run.CallsChanged += s.Changed
	run.CallsSettled += s.Settled
	run.CallsSkipped += s.Skipped
	run.CallsPending = s.Due
	run.Unverified = schema.Some(s.Unverified)
	run.RecordingsStored += s.Recordings
	run.RecordingsDue = s.RecordingsDue
	run.Transcripts += s.Transcripts
	run.Turns += s.Turns
	run.Drift += s.Drifted
	if s.Redacted != "" {
		run.Redacted = []byte(s.Redacted)
	}
}
