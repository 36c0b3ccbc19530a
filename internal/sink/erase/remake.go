package erase

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/commit"
	"callhouse/internal/sink/snapshot"
)

// remake makes the next snapshot: the current one without the calls.
func (f *erasure) remake(ctx context.Context) (_ *layout.Snapshot, err error) {
	w, s := f.w, f.w.Current
	number, err := snapshot.NextNumber(w.FS, w.Root)
	if err != nil {
		return nil, err
	}
	content, line, err := f.tombstones.Encode()
	if err != nil {
		return nil, err
	}
	b, err := snapshot.NewBuilder(w.FS, w.Root, number)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.Discard()
		}
	}()
	e, gone := f.losses()
	base := commit.Base{FS: w.FS, Root: w.Root, Old: snapshot.NewReader(w.FS, s, w.Proofs), Now: w.Now(), Workers: w.Workers}
	files, err := base.Erase(ctx, b, e)
	if err != nil {
		return nil, err
	}
	f.erased.Now, f.erased.Files = number, slices.Clone(files)
	linked, err := b.LinkAll(s, func(file *layout.File) bool { return gone[cmp.Or(file.Period, file.Table)] })
	if err != nil {
		return nil, err
	}
	if err := b.Write(line.Path, content); err != nil {
		return nil, err
	}
	m := f.manifest()
	m.FormatVersion, m.Snapshot, m.Oldest, m.Forgotten, m.Files = layout.FormatVersion, number, number, line, append(files, linked...)
	snapshot.SortFiles(m)
	return b.Seal(m)
}

// stained returns the calls of a period with texts to blank in their rows.
func (f *erasure) stained(period string) map[string]bool {
	m := f.w.Current.Manifest
	out := map[string]bool{}
	if f.everywhere {
		for _, t := range schema.CallTables {
			if file := m.FileOf(t.Name, period); file != nil && f.places[placeKey(file)] != nil {
				maps.Copy(out, f.places[placeKey(file)].calls)
			}
		}
	}
	return out
}

// losses returns the losses of the current snapshot, and the periods and tables that have some.
func (f *erasure) losses() (e *commit.Erasure, gone map[string]bool) {
	n := &f.erased
	gone = map[string]bool{}
	stained := func(name string) bool {
		return f.blanks(name) && slices.ContainsFunc(n.Places, func(p Place) bool { return p.Table == name && !p.Key })
	}
	e = &commit.Erasure{Calls: map[string]map[string]bool{}, Blanks: map[string]map[string]bool{}, Personal: personal, Keys: f.ids,
		Runs: stained(schema.Runs.Name), Text: f.traces.blank}
	if f.everywhere {
		e.Row = f.traces.blankRow
	}
	for _, file := range f.w.Current.Manifest.FilesOf(schema.Calls.Name) {
		if stained := f.stained(file.Period); len(f.held[file.Path])+len(stained) > 0 {
			gone[file.Period] = true
			e.Calls[file.Period], e.Blanks[file.Period] = f.held[file.Path], stained
		}
	}
	for _, of := range resource.All {
		erases := slices.Contains(personal, of) && (n.Customers > 0 || n.Rows > 0)
		if erases || slices.ContainsFunc(of.Tables(), func(t *schema.Table) bool { return stained(t.Name) }) {
			e.Resources = append(e.Resources, of)
			for _, t := range of.Tables() {
				gone[t.Name] = true
			}
		}
	}
	e.Changes = len(e.Resources) > 0 || stained(resource.Changes.Name)
	gone[resource.Changes.Name], gone[schema.Runs.Name] = e.Changes, e.Runs
	return e, gone
}
