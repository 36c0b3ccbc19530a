package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// VerifyOptions selects what to verify.
type VerifyOptions struct {
	Root     string
	Progress func(Progress)
	FS       disk.FS // nil: Disk
}

// VerifyReport is the result of Verify. Calls, Turns, Items and Runs count the rows.
type VerifyReport struct {
	Snapshot int64     `json:"snapshot"` // 0: its manifest cannot be read
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Calls    int64     `json:"calls"`
	Turns    int64     `json:"transcript_turns"`
	Items    int64     `json:"analysis_items"`
	Runs     int64     `json:"runs"`
	Journal  int64     `json:"journal_records"` // fetched, but not yet committed
	Notes    []string  `json:"notes"`           // skipped checks and their reasons
	Count    int64     `json:"problems"`
	Problems []Problem `json:"problem_list"`
}

// Whole reports whether there is no problem.
func (r *VerifyReport) Whole() bool { return r.Count == 0 }

// verifier checks the consistency of a snapshot.
type verifier struct {
	opts       VerifyOptions
	bad        Problems
	report     VerifyReport
	progress   func(int64)
	tombstones *tombstones // of the current snapshot

	mu    sync.Mutex
	files int
	bytes int64
	ids   map[uint64]string // the file of calls in which an id was found, by a hash of the id
}

// Verify reads the current snapshot and checks it against its own records: names, checksums,
// columns, every row. It takes no lock and changes nothing, so it may be called during a run. It
// needs memory for a row group, plus about 50 bytes per call. It returns an error only if it could not
// finish; faults are in the report. It cannot judge data of a newer callhouse, and returns a
// *layout.VersionError for it.
func Verify(ctx context.Context, opts VerifyOptions) (*VerifyReport, error) {
	if opts.FS == nil {
		fsys, err := disk.OpenToRead(opts.Root)
		if disk.IsGone(err) {
			return nil, fmt.Errorf("%s: %w", opts.Root, layout.ErrNoWarehouse)
		}
		if err != nil {
			return nil, fmt.Errorf("open the warehouse: %w", err)
		}
		opts.FS = fsys
	}
	v := newVerifier(opts)
	v.report.Notes = []string{}
	current, err := v.current()
	if err != nil {
		return nil, err
	}
	if current != nil {
		if v.tombstones, err = v.readTombstones(current); err != nil {
			return nil, err
		}
		m := current.Manifest
		v.progress = counter(opts.Progress, "verified", m.Rows(schema.Calls.Name))
		if err := v.snapshot(ctx, current); err != nil {
			return nil, err
		}
		v.report.Snapshot, v.report.Calls, v.report.Turns = m.Snapshot, m.Rows(schema.Calls.Name), m.Rows(schema.Turns.Name)
		v.report.Items, v.report.Runs = m.Rows(schema.Items.Name), m.Rows(schema.Runs.Name)
	}
	if err := v.journal(current); err != nil {
		return nil, err
	}
	v.report.Files, v.report.Bytes = v.files, v.bytes
	v.report.Count, v.report.Problems = v.bad.count, v.bad.List()
	if v.report.Problems == nil {
		v.report.Problems = []Problem{}
	}
	return &v.report, nil
}

func newVerifier(opts VerifyOptions) *verifier {
	return &verifier{opts: opts, ids: map[uint64]string{}}
}

// current reads the current snapshot's manifest; nil if it is broken.
func (v *verifier) current() (*layout.Snapshot, error) {
	s, err := currentSnapshot(v.opts.FS, v.opts.Root)
	var damage *layout.DamageError
	var lost *layout.CurrentError
	switch {
	case err == nil && s == nil:
		return nil, fmt.Errorf("%s: %w", v.opts.Root, layout.ErrNoWarehouse)
	case err == nil:
		return s, nil
	case errors.As(err, &damage):
		v.bad.Add("manifest", v.rel(damage.Path), "%s", damage.What)
	case errors.As(err, &lost) && lost.FirstCommit():
		v.report.Notes = append(v.report.Notes, "the link current is missing, as after a crash in the first commit: the next "+
			"run makes snapshot 1 current")
		return layout.OpenSnapshot(v.opts.FS, v.opts.Root, 1)
	case errors.As(err, &lost):
		v.bad.Add("current", layout.CurrentName, "it %s; %s", lost.What, lost.Hint())
	default:
		return nil, err
	}
	return nil, nil
}

// isNewer reports whether an error means that a newer callhouse wrote the data, which is not
// damage.
func isNewer(err error) bool {
	var version *layout.VersionError
	return errors.As(err, &version)
}

// snapshot verifies one snapshot.
func (v *verifier) snapshot(ctx context.Context, s *layout.Snapshot) error {
	v.manifest(s)
	work := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(runtime.GOMAXPROCS(0))
	for _, files := range byPeriod(s.Manifest) {
		work.Go(func(ctx context.Context) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return v.period(ctx, s, files)
		})
	}
	return work.Wait()
}

// byPeriod groups a snapshot's files by content: each period, each resource, and the other tables
// that have one file.
func byPeriod(m *layout.Manifest) [][]*layout.File {
	at := map[string]int{}
	var out [][]*layout.File
	for i := range m.Files {
		f := &m.Files[i]
		j, ok := at[f.Part()]
		if !ok {
			j = len(out)
			at[f.Part()] = j
			out = append(out, nil)
		}
		out[j] = append(out[j], f)
	}
	return out
}

// rel returns the path of a file relative to the warehouse.
func (v *verifier) rel(path string) string {
	if rel, err := filepath.Rel(v.opts.Root, path); err == nil {
		path = rel
	}
	return filepath.ToSlash(path)
}

// verifier verifies parts of the warehouse.
func (w *Warehouse) verifier() *verifier {
	v := newVerifier(VerifyOptions{Root: w.opts.Root, FS: w.opts.FS})
	v.tombstones = w.forgotten
	return v
}

// RunReport is the result of Check.
type RunReport struct {
	Files    int
	Count    int64 // of problems
	Problems []Problem
}

// Check verifies the data that this run wrote: the manifest of its snapshot, and every file of the
// periods that it changed. before is the snapshot at the start of the run;
// nil: none.
func (w *Warehouse) Check(ctx context.Context, before *layout.Snapshot) (*RunReport, error) {
	s, r := w.Snapshot(), &RunReport{}
	if s == nil {
		return r, nil
	}
	v := w.verifier()
	v.manifest(s)
	old := map[string]bool{}
	if before != nil {
		for i := range before.Manifest.Files {
			old[before.Manifest.Files[i].Path] = true
		}
	}
	for _, files := range byPeriod(s.Manifest) {
		// The file of the runs has the same name in every snapshot, and always differs.
		if !slices.ContainsFunc(files, func(f *layout.File) bool { return !old[f.Path] || f.Table == schema.Runs.Name }) {
			continue
		}
		if err := v.period(ctx, s, files); err != nil {
			return nil, err
		}
	}
	r.Files, r.Count, r.Problems = v.files, v.bad.count, v.bad.List()
	return r, nil
}

// Problem is one fault of a warehouse.
type Problem struct {
	Kind string `json:"kind"` // one word, such as "checksum"; see docs/design/warehouse.md
	Path string `json:"path"` // inside the warehouse
	What string `json:"what"`
}

func (p Problem) String() string { return fmt.Sprintf("%s: %s", p.Path, p.What) }

// Limits on the problems listed in a report: in total, and of one kind in one file. The rest are
// only counted.
const (
	namedProblems = 100
	namedAlike    = 3
)

// Problems collects problems, from any goroutine.
type Problems struct {
	mu    sync.Mutex
	count int64
	named []Problem
	alike map[[2]string]int
}

// Add adds a problem of a kind in a file.
func (p *Problems) Add(kind, path, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	key := [2]string{kind, path}
	if p.alike == nil {
		p.alike = map[[2]string]int{}
	}
	if p.alike[key]++; p.alike[key] <= namedAlike {
		p.named = append(p.named, Problem{Kind: kind, Path: path, What: fmt.Sprintf(format, args...)})
	}
}

// List returns the problems to list, in the order of their places.
func (p *Problems) List() []Problem {
	slices.SortStableFunc(p.named, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	return p.named[:min(len(p.named), namedProblems)]
}

// lostKinds are the kinds of problems that mean that a file does not hold the data written to it.
var lostKinds = map[string]bool{"missing": true, "checksum": true, "unreadable": true}

// Lost reports whether the problem means that its file does not hold the data written to it, so
// that nothing in it can be trusted.
func (p Problem) Lost() bool { return lostKinds[p.Kind] }

// insideSnapshot splits the path of a problem into the folder of a snapshot and the file in it; "" means
// the manifest, or the snapshot as a whole. A path outside the snapshots has no folder.
func insideSnapshot(path string) (folder, file string) {
	rest, ok := strings.CutPrefix(path, layout.SnapshotsName+"/")
	if !ok {
		return "", ""
	}
	if folder, file, _ = strings.Cut(rest, "/"); file == layout.ManifestName {
		file = ""
	}
	return folder, file
}

// findFaults verifies one snapshot, and returns the problems by path inside the snapshot. Problems of
// the manifest and of the snapshot as a whole are under "". If a file has many problems of a kind,
// only some are listed.
func (w *Warehouse) findFaults(ctx context.Context, s *layout.Snapshot, progress func(int64)) (map[string][]Problem, error) {
	v := w.verifier()
	v.progress = progress
	if err := v.snapshot(ctx, s); err != nil {
		return nil, err
	}
	out := map[string][]Problem{}
	for _, p := range v.bad.named {
		_, file := insideSnapshot(p.Path)
		out[file] = append(out[file], p)
	}
	return out, nil
}
