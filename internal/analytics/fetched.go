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
		needed := slices.Contains(f.Reads, r.Name) || slices.Contains(f.Reads, "selected_"+r.Name) ||
			slices.ContainsFunc(keys, func(d dimension) bool { return d.of == r })
		if needed && !w.fetched(r.Name) {
			out = append(out, r.Name)
		}
	}
	if slices.Contains(f.Reads, resource.Changes.Name) && !w.fetched(resource.Changes.Name) &&
		!slices.ContainsFunc(resource.All, func(r *resource.Resource) bool { return w.fetched(r.Name) }) {
		out = append(out, "agents, tools and other resources")
	}
	return out, nil
}

func (w *Warehouse) fetched(table string) bool {
	return w.Snapshot().Manifest.Lists[table].ListedAt > 0 || len(w.Snapshot().Manifest.FilesOf(table)) > 0
}
