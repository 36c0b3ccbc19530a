package analytics

import (
	"slices"

	"callhouse/internal/resource"
	sqlfiles "callhouse/sql"
)

// NotFetched returns the names of the resources that a report or its groups and conditions
// need, and that no run has fetched yet.
func (w *Warehouse) NotFetched(f *sqlfiles.File, p Params) ([]string, error) {
	keys, err := keysOf(p.By)
	if err != nil {
		return nil, err
	}
	filters, err := filtersOf(p.Where)
	if err != nil {
		return nil, err
	}
	for _, c := range filters {
		keys = append(keys, c.dimension)
	}
	var out []string
	for _, r := range resource.All {
		needed := slices.Contains(f.Reads, r.Name) || slices.ContainsFunc(keys, func(d dimension) bool { return d.of == r })
		if needed && w.snap.Manifest.Lists[r.Name].ListedAt == 0 && len(w.snap.Manifest.FilesOf(r.Name)) == 0 {
			out = append(out, r.Name)
		}
	}
	return out, nil
}
