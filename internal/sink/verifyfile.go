package sink

import (
	"errors"
	"fmt"
	"path/filepath"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// file verifies one file as a whole: its existence, its size, its checksum. It reports whether its
// rows can be read.
func (v *verifier) file(s *layout.Snapshot, f *layout.File) (sound bool) {
	at := v.rel(s.Path(f))
	file, err := v.opts.FS.Open(s.Path(f))
	if disk.IsGone(err) {
		// Otherwise the whole snapshot has just been removed.
		if _, err := layout.OpenSnapshot(v.opts.FS, v.opts.Root, s.Manifest.Snapshot); !disk.IsGone(err) {
			v.bad.Add("missing", at, "the file is not there")
		}
		return false
	}
	if err != nil {
		v.bad.Add("unreadable", at, "%v", err)
		return false
	}
	defer file.Close()
	v.mu.Lock()
	v.files, v.bytes = v.files+1, v.bytes+f.Bytes
	v.mu.Unlock()
	err = layout.VerifyChecksum(file, s.Path(f), f)
	var damage *layout.DamageError
	switch {
	case errors.As(err, &damage):
		v.bad.Add("checksum", at, "%s", damage.What)
	case err != nil:
		v.bad.Add("unreadable", at, "%v", err)
	}
	return err == nil
}

// manifest verifies a manifest by itself. Reading it already checked that it does not contradict
// itself ([layout.Manifest.Contradictions]).
func (v *verifier) manifest(s *layout.Snapshot) {
	m := s.Manifest
	at := v.rel(filepath.Join(s.Dir, layout.ManifestName))
	if _, ok := layout.ParseRunID(m.RunID); !ok {
		v.bad.Add("manifest", at, "%q is no run id", m.RunID)
	}
	periods := map[string]map[string]bool{}
	for i := range m.Files {
		f := &m.Files[i]
		switch {
		case tableByName(f.Table) == nil:
			v.report.Notes = append(v.report.Notes, fmt.Sprintf(
				"%s is a table of a newer version: only the checksum of its file was checked", f.Table))
		case f.Rows == 0 && f.Table != schema.Runs.Name:
			v.bad.Add("manifest", at, "%s: it has no rows according to the manifest", f.Path)
		}
		if periods[f.Table] == nil {
			periods[f.Table] = map[string]bool{}
		}
		periods[f.Table][f.Period] = true
	}
	v.periodsFit(at, periods)
	for i, c := range m.Coverage {
		if c.From >= c.To || i > 0 && m.Coverage[i-1].To > c.From {
			v.bad.Add("coverage", at, "span %d (%d to %d) is empty, or overlaps the one before", i+1, c.From, c.To)
		}
	}
}

// periodsFit verifies that no call can be in two files, and none in a file that is never searched
// for it.
func (v *verifier) periodsFit(at string, periods map[string]map[string]bool) {
	calls := periods[schema.Calls.Name]
	for period := range calls {
		if month := period[:7]; month != period && calls[month] {
			v.bad.Add("period", at, "%s has a file, and so has its day %s", month, period)
		}
	}
	for _, t := range schema.CallTables[1:] {
		for period := range periods[t.Name] {
			if !calls[period] {
				v.bad.Add("reference", at, "%s has a file for %s, calls has none", t.Name, period)
			}
		}
	}
	if len(periods[schema.Runs.Name]) == 0 {
		v.bad.Add("manifest", at, "it names no file of the table runs")
	}
}
