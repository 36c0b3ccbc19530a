package verify

import (
	"context"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/snapshot"
)

// RunReport is what CheckRun found.
type RunReport struct {
	Files    int
	Calls    int64 // rows that the run wrote
	Count    int64 // of problems
	Problems []Problem
	// Unknown counts unknown words by column, in the rows that the run wrote.
	Unknown map[string]int64
}

// CheckRun proves what one run wrote: the manifest of its snapshot, and every file of
// the periods that it changed. In the rows of calls that it wrote, it also looks at
// times and words. before is the snapshot that the run found; nil: none.
func CheckRun(ctx context.Context, fsys disk.FS, s, before *layout.Snapshot, run string, forgotten *snapshot.Tombstones) (*RunReport, error) {
	r := new(RunReport)
	v := &verifier{opts: Options{Root: s.Root(), FS: fsys}, seen: newSeenFiles(), tombstones: forgotten}
	var odd oddities
	v.each = func(at string, c *schema.Call) {
		if string(c.RunID()) != run {
			return
		}
		r.Calls++ // one period is read after the other
		if endsBeforeStart(c) {
			v.bad.Add("times", at, "call %s ends (%d) before it starts (%d)", c.ID(), c.EndAt().V, c.StartAt().V)
		}
		odd.look(at, c)
	}
	if v.manifest(s) {
		old := map[string]bool{}
		if before != nil {
			for i := range before.Manifest.Files {
				old[before.Manifest.Files[i].Path] = true
			}
		}
		for _, files := range byPeriod(s.Manifest) {
			if unchanged(files, old) {
				continue
			}
			if err := v.period(ctx, s, files); err != nil {
				return nil, err
			}
		}
		if err := v.unique(s); err != nil {
			return nil, err
		}
	}
	r.Files, r.Count, r.Problems = v.seen.files, v.bad.count, v.bad.List()
	r.Unknown = odd.words
	return r, nil
}

// unchanged says that all files of a period were there before. The one of the
// runs has the same name in every snapshot, and is never the same.
func unchanged(files []*layout.File, old map[string]bool) bool {
	for _, f := range files {
		if !old[f.Path] || f.Table == schema.Runs.Name {
			return false
		}
	}
	return true
}
