package sink

import (
	"path"
	"path/filepath"
	"strings"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// manifest verifies what a manifest says by itself. It returns false where that
// makes no sense, so that the files cannot be looked at.
func (v *verifier) manifest(s *layout.Snapshot) bool {
	m := s.Manifest
	at := v.rel(filepath.Join(s.Dir, layout.ManifestName))
	if n := filepathNumber(s); n != m.Snapshot {
		v.bad.add("manifest", at, "it is of snapshot %d, and lies in the folder of snapshot %d", m.Snapshot, n)
	}
	if _, ok := layout.ParseRunID(m.RunID); !ok {
		v.bad.add("manifest", at, "%q is no run id", m.RunID)
	}
	sound := true
	paths := map[string]bool{}
	periods := map[string]map[string]bool{}
	for i := range m.Files {
		f := &m.Files[i]
		if what := misnamed(f); what != "" {
			v.bad.add("manifest", at, "%s: %s", f.Path, what)
			sound = false
			continue
		}
		if paths[f.Path] {
			v.bad.add("manifest", at, "it names %s twice", f.Path)
			sound = false
		}
		paths[f.Path] = true
		of := periods[f.Table]
		if of == nil {
			of = map[string]bool{}
			periods[f.Table] = of
		}
		if of[f.Period] {
			v.bad.add("manifest", at, "it names two files of %s for %s", f.Table, f.Period)
			sound = false
		}
		of[f.Period] = true
	}
	v.periodsFit(at, periods)
	var newest int64
	for _, f := range m.FilesOf(schema.Calls.Name) {
		if f.MaxStart != nil {
			newest = max(newest, *f.MaxStart)
		}
	}
	if m.Watermark != newest {
		v.bad.add("figures", at, "the watermark is %d, the newest call starts at %d", m.Watermark, newest)
	}
	for i, c := range m.Coverage {
		if c.From >= c.To || i > 0 && m.Coverage[i-1].To > c.From {
			v.bad.add("coverage", at, "span %d (%d to %d) is empty, or overlaps the one before", i+1, c.From, c.To)
		}
	}
	return sound
}

// misnamed says what is wrong with a file's table, path and period.
func misnamed(f *layout.File) string {
	if f.Table == schema.Runs.Name {
		if f.Path != layout.RunsFile || f.Period != "" {
			return "no such path for the table runs"
		}
		return ""
	}
	period, id, ok := layout.ParseDataFile(path.Base(f.Path))
	switch {
	case tableOf(f.Table) == nil:
		return "there is no table " + f.Table
	case !ok || f.Path != layout.DataFile(f.Table, period, id):
		return "that is no path of a data file"
	case period != f.Period:
		return "its period is said to be " + f.Period
	case f.Rows <= 0:
		return "it is said to have no rows"
	}
	return ""
}

// periodsFit verifies that no call can lie in two files, and none in a place
// where nobody looks for it.
func (v *verifier) periodsFit(at string, periods map[string]map[string]bool) {
	calls := periods[schema.Calls.Name]
	for period := range calls {
		if month := period[:7]; month != period && calls[month] {
			v.bad.add("period", at, "%s has a file, and so has its day %s", month, period)
		}
	}
	for _, t := range schema.PeriodTables[1:] {
		for period := range periods[t.Name] {
			if !calls[period] {
				v.bad.add("reference", at, "%s has a file for %s, calls has none", t.Name, period)
			}
		}
	}
	if len(periods[schema.Runs.Name]) == 0 {
		v.bad.add("manifest", at, "it names no file of the table runs")
	}
}

func tableOf(name string) *schema.Table {
	for _, t := range schema.AllTables {
		if t.Name == name {
			return t
		}
	}
	return nil
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
				v.bad.add("unreferenced", v.rel(filepath.Join(s.Dir, name)), "the manifest does not name it, but who globs counts its rows")
			default:
				v.report.Leftovers = append(v.report.Leftovers, v.rel(filepath.Join(s.Dir, name)))
			}
		}
	}
	walk("")
}
