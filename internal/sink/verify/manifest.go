package verify

import (
	"path"
	"path/filepath"
	"strings"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/table"
)

// manifest verifies what a manifest says by itself. Whoever read it made sure that
// it does not contradict itself ([layout.Manifest.Contradictions]). It returns
// false where the files cannot be looked at.
func (v *verifier) manifest(s *layout.Snapshot) bool {
	m := s.Manifest
	at := v.rel(filepath.Join(s.Dir, layout.ManifestName))
	if _, ok := layout.ParseRunID(m.RunID); !ok {
		v.bad.Add("manifest", at, "%q is no run id", m.RunID)
	}
	sound := true
	periods := map[string]map[string]bool{}
	for i := range m.Files {
		f := &m.Files[i]
		switch {
		case table.ByName(f.Table) == nil:
			v.bad.Add("manifest", at, "%s: there is no table %s", f.Path, f.Table)
			sound = false
		case f.Rows == 0 && f.Table != schema.Runs.Name:
			v.bad.Add("manifest", at, "%s: it is said to have no rows", f.Path)
		}
		if periods[f.Table] == nil {
			periods[f.Table] = map[string]bool{}
		}
		periods[f.Table][f.Period] = true
	}
	v.periodsFit(at, periods)
	var newest int64
	for _, f := range m.FilesOf(schema.Calls.Name) {
		if f.MaxStart != nil {
			newest = max(newest, *f.MaxStart)
		}
	}
	if m.Watermark != newest {
		v.bad.Add("figures", at, "the watermark is %d, the newest call starts at %d", m.Watermark, newest)
	}
	for i, c := range m.Coverage {
		if c.From >= c.To || i > 0 && m.Coverage[i-1].To > c.From {
			v.bad.Add("coverage", at, "span %d (%d to %d) is empty, or overlaps the one before", i+1, c.From, c.To)
		}
	}
	return sound
}

// periodsFit verifies that no call can lie in two files, and none in a place
// where nobody looks for it.
func (v *verifier) periodsFit(at string, periods map[string]map[string]bool) {
	calls := periods[schema.Calls.Name]
	for period := range calls {
		if month := period[:7]; month != period && calls[month] {
			v.bad.Add("period", at, "%s has a file, and so has its day %s", month, period)
		}
	}
	for _, t := range schema.PeriodTables[1:] {
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

// unreferenced finds files in a snapshot that its manifest does not name: a
// reader who globs would count their rows.
func (v *verifier) unreferenced(s *layout.Snapshot) {
	named := map[string]bool{layout.ManifestName: true}
	if f := s.Manifest.Forgotten; f != nil {
		named[f.Path] = true
	}
	for i := range s.Manifest.Files {
		named[s.Manifest.Files[i].Path] = true
	}
	var walk func(rel string)
	walk = func(rel string) {
		entries, err := v.opts.FS.ReadDir(filepath.Join(s.Dir, filepath.FromSlash(rel)))
		if err != nil {
			return // a missing file is found elsewhere
		}
		for _, e := range entries {
			name := path.Join(rel, e.Name())
			switch {
			case e.IsDir():
				walk(name)
			case named[name]:
			case strings.HasSuffix(name, ".parquet"):
				v.bad.Add("unreferenced", v.rel(filepath.Join(s.Dir, name)), "the manifest does not name it, but who globs counts its rows")
			default:
				v.report.Leftovers = append(v.report.Leftovers, v.rel(filepath.Join(s.Dir, name)))
			}
		}
	}
	walk("")
}
