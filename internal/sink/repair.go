package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// RepairPart is a damaged part of a snapshot: the files of a period, of a resource, or of another table. It
// is restored from an older snapshot or, if From is 0, dropped.
type RepairPart struct {
	Name     string // a period such as "2026-11-03", or a table
	Period   bool
	Rows     int64 // of its main table: the calls of a period
	From     int64 // the number of the older snapshot
	Problems []Problem

	files []*layout.File // all of them
}

// RepairPlan lists the faults of a snapshot and their remedies.
type RepairPlan struct {
	Snapshot int64 // the number of the damaged one
	Parts    []*RepairPart
	Rest     []Problem // problems that the new snapshot does not have

	w        *Warehouse
	s        *layout.Snapshot
	faults   map[string][]Problem
	older    []*layout.Snapshot // newest first
	gone     map[string]bool    // paths of files that the new snapshot does not contain
	restored []copies
	runs     []schema.Run // rows of the table runs that replace lost ones
}

// copies are files of an older snapshot that replace damaged ones.
type copies struct {
	from  *layout.Snapshot
	files []layout.File
}

// Damaged reports whether there is anything to repair.
func (p *RepairPlan) Damaged() bool { return len(p.Parts)+len(p.Rest) > 0 }

// planRepair verifies a snapshot and plans its repair. It changes nothing.
func (w *Warehouse) planRepair(ctx context.Context, s *layout.Snapshot, progress func(Progress)) (*RepairPlan, error) {
	older, err := listRetained(w.opts.FS, w.opts.Root, s)
	if err != nil {
		return nil, err
	}
	p := &RepairPlan{Snapshot: s.Manifest.Snapshot, w: w, s: s, gone: map[string]bool{}}
	p.faults, err = w.findFaults(ctx, s, counter(progress, "verified", s.Manifest.Rows(schema.Calls.Name)))
	if err != nil {
		return nil, err
	}
	for _, o := range slices.Backward(older) {
		if o.Manifest.Snapshot != s.Manifest.Snapshot && reflect.DeepEqual(o.Manifest.Mask, s.Manifest.Mask) &&
			reflect.DeepEqual(o.Manifest.Redaction.After(nil), s.Manifest.Redaction.After(nil)) {
			p.older = append(p.older, o)
		}
	}
	for _, part := range p.parts() {
		if err := p.treat(ctx, part); err != nil {
			return nil, err
		}
	}
	p.Rest = p.rest()
	if _, err := currentSnapshot(w.opts.FS, w.opts.Root); err != nil { // it was opened at an older one
		p.Rest = append(p.Rest, Problem{Kind: "current", Path: layout.CurrentName, What: err.Error()})
	}
	return p, nil
}

// rest returns the problems outside the manifest's files.
func (p *RepairPlan) rest() (out []Problem) {
	named := map[string]bool{}
	for i := range p.s.Manifest.Files {
		named[p.s.Manifest.Files[i].Path] = true
	}
	for path, problems := range p.faults {
		if !named[path] {
			out = append(out, problems...)
		}
	}
	slices.SortFunc(out, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// parts returns the damaged parts of the snapshot.
func (p *RepairPlan) parts() []*RepairPart {
	var out []*RepairPart
	at := map[string]*RepairPart{}
	for i := range p.s.Manifest.Files {
		f := &p.s.Manifest.Files[i]
		part := at[f.Part()]
		if part == nil {
			part = &RepairPart{Name: f.Part(), Period: f.Part() == f.Period}
			at[part.Name] = part
			out = append(out, part)
		}
		part.files, part.Problems = append(part.files, f), append(part.Problems, p.faults[f.Path]...)
		if f.Table == part.mainTable() {
			part.Rows = f.Rows
		}
	}
	for _, part := range out {
		if part.Period && part.file(schema.Calls.Name) == nil {
			part.Problems = append(part.Problems, Problem{Kind: "reference", Path: part.files[0].Path,
				What: "the manifest names no file of its calls"})
		}
	}
	return slices.DeleteFunc(out, func(part *RepairPart) bool { return len(part.Problems) == 0 })
}

// treat chooses the remedy of a part.
func (p *RepairPlan) treat(ctx context.Context, part *RepairPart) error {
	p.Parts = append(p.Parts, part)
	for _, f := range part.files {
		p.gone[f.Path] = true
	}
	copies, err := p.findIntact(ctx, part)
	if err != nil || copies == nil {
		return err
	}
	if part.From = copies.from.Manifest.Snapshot; part.Name != schema.Runs.Name {
		p.restored = append(p.restored, *copies)
		return nil
	}
	// The file of the runs has the same name in every snapshot, so its rows are read instead.
	p.runs, err = NewReader(p.w.opts.FS, copies.from, nil).Runs()
	return err
}

// file returns the part's file of a table, or nil.
func (part *RepairPart) file(table string) *layout.File {
	for _, f := range part.files {
		if f.Table == table {
			return f
		}
	}
	return nil
}

// sound returns the snapshot with a manifest of its intact files; the manifest marks the rest as
// never listed.
func (p *RepairPlan) sound() *layout.Snapshot {
	m := *p.s.Manifest
	m.Files = slices.DeleteFunc(slices.Clone(m.Files), func(f layout.File) bool { return p.gone[f.Path] })
	m.Lists = maps.Clone(m.Lists)
	if slices.ContainsFunc(p.faults[""], func(problem Problem) bool { return problem.Kind == "coverage" }) {
		m.Coverage = []schema.Span{}
	}
	for _, part := range p.Parts {
		if part.Period {
			from, to := part.started()
			m.Coverage = withoutRange(m.Coverage, from, to)
			continue
		}
		delete(m.Lists, part.Name)
	}
	for _, l := range p.restored {
		for _, f := range l.files {
			if list, ok := l.from.Manifest.Lists[f.Table]; ok && f.Period == "" {
				m.Lists[f.Table] = list
			}
		}
	}
	return &layout.Snapshot{Dir: p.s.Dir, Manifest: &m}
}

// started returns the range of starts of a period's calls, for listing them again. A call without a
// start is stored under the time it was first seen, and may be much older. If there are such calls, everything
// earlier is listed again.
func (part *RepairPart) started() (from, to int64) {
	from, to = boundsOf(part.Name)
	if f := part.file(schema.Calls.Name); f != nil && f.Undated == 0 {
		return from, to
	}
	return 0, to
}

// findIntact finds intact files of a part in an older snapshot; nil if there are none.
func (p *RepairPlan) findIntact(ctx context.Context, part *RepairPart) (*copies, error) {
	for _, o := range p.older {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var files []layout.File
		main := false
		for i := range o.Manifest.Files {
			f := &o.Manifest.Files[i]
			if f.Part() == part.Name {
				files = append(files, *f)
				main = main || f.Table == part.mainTable()
			}
		}
		if !main || !p.checksumsMatch(o, files) {
			continue
		}
		l := &copies{from: o, files: files}
		twice, err := p.elsewhere(part, l)
		if err != nil {
			return nil, err
		}
		if !twice {
			return l, nil
		}
	}
	return nil, nil
}

// mainTable is the table without which the other tables of a part are useless.
func (part *RepairPart) mainTable() string {
	if part.Period {
		return schema.Calls.Name
	}
	return part.Name
}

// checksumsMatch reports whether all of these files match their checksums.
func (p *RepairPlan) checksumsMatch(s *layout.Snapshot, files []layout.File) bool {
	r := NewReader(p.w.opts.FS, s, new(verifiedFiles))
	for i := range files {
		if r.VerifyChecksum(&files[i]) != nil {
			return false
		}
	}
	return true
}

// elsewhere reports whether a call of such files is in another period now, because its start
// has changed.
func (p *RepairPlan) elsewhere(part *RepairPart, l *copies) (bool, error) {
	if !part.Period {
		return false, nil
	}
	ids := map[string]bool{}
	if err := eachID(p.w.opts.FS, l.from, l.files, func(id string) { ids[id] = true }); err != nil {
		return false, err
	}
	twice := false
	var files []layout.File
	for i := range p.s.Manifest.Files {
		if f := &p.s.Manifest.Files[i]; f.Period != part.Name && !p.unreadable(f) {
			files = append(files, *f)
		}
	}
	look := func(id string) { twice = twice || ids[id] }
	err := eachID(p.w.opts.FS, p.s, files, look)
	for i := range p.restored {
		err = errors.Join(err, eachID(p.w.opts.FS, p.restored[i].from, p.restored[i].files, look))
	}
	return twice, err
}

func (p *RepairPlan) unreadable(f *layout.File) bool {
	return slices.ContainsFunc(p.faults[f.Path], Problem.Lost)
}

// eachID visits the ids of the calls in files of a snapshot.
func eachID(fsys disk.FS, s *layout.Snapshot, files []layout.File, visit func(id string)) error {
	for i := range files {
		if files[i].Table != schema.Calls.Name {
			continue
		}
		t, err := openTable(fsys, s.Path(&files[i]), &schema.Calls)
		if err == nil {
			err = t.Each([]string{"call_id"}, func(row []parquet.Value) { visit(string(row[0].ByteArray())) })
			err = errors.Join(err, t.Close())
		}
		if err != nil {
			return fmt.Errorf("read the ids of calls: %w", err)
		}
	}
	return nil
}

// Repair verifies the current snapshot and, if it is damaged, commits one that holds only what can
// be verified: see [RepairPlan] for the rest. The next listing fetches the lost data again. row
// makes a row of the table runs from the plan. With dry it changes nothing. The warehouse must be
// opened with Options.Adopt: otherwise a lost link current or a damaged manifest prevents the
// opening.
//
// A fault that remains afterwards is a *StillDamagedError.
func (w *Warehouse) Repair(ctx context.Context, dry bool, row func(*RepairPlan) schema.Run,
	progress func(Progress)) (*RepairPlan, error) {
	w.committing.Lock()
	defer w.committing.Unlock()
	s := w.Snapshot()
	if s == nil {
		return nil, fmt.Errorf("repair: %w", layout.ErrNoWarehouse)
	}
	plan, err := w.planRepair(ctx, s, progress)
	if err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	if dry || !plan.Damaged() {
		return plan, nil
	}
	if err := w.repairFiles(ctx, plan, row(plan)); err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	found, err := w.Check(ctx, s)
	if err == nil && found.Count > 0 {
		err = &StillDamagedError{Problems: found.Problems}
	}
	return plan, err
}

// StillDamagedError means that a repair did not fix the warehouse.
type StillDamagedError struct{ Problems []Problem }

func (e *StillDamagedError) Error() string {
	return fmt.Sprintf("the warehouse is still damaged: %s", e.Problems[0])
}

// Hint returns advice for the operator.
func (e *StillDamagedError) Hint() string {
	return "extract verify lists every problem; restore the warehouse from a backup"
}

// repairFiles publishes the intact parts of a damaged snapshot, and adds run to the table runs. It fetches
// nothing: the next listing does, since the manifest no longer covers the rest.
func (w *Warehouse) repairFiles(ctx context.Context, plan *RepairPlan, run schema.Run) error {
	// A killed run may have listed the data that is now lost, and recorded it as covered.
	for _, run := range w.Leftover() {
		w.lostRun(run)
	}
	m := w.maker(NewReader(w.opts.FS, plan.sound(), new(verifiedFiles)))
	m.lost = slices.Concat(plan.runs, m.lost)
	made, err := m.publish(ctx, func() ([]*unit, error) {
		for _, l := range plan.restored {
			for _, f := range l.files {
				if err := m.b.Link(l.from, f.Path, f.Bytes); err != nil {
					return nil, err
				}
				m.files = append(m.files, f)
			}
		}
		return nil, nil
	}, func(Stats) schema.Run { return run }, nil)
	if err != nil {
		return err
	}
	w.verified = new(verifiedFiles)
	w.noteRecorded(run)
	return w.switchTo(made.Snapshot, nil)
}
