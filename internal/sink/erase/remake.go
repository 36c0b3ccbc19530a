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

// remake rewrites the i-th snapshot without the calls.
func (f *erasure) remake(ctx context.Context, i int, first int64, content []byte, line *layout.Forgotten) (err error) {
	w, s := f.w, f.kept[i]
	number := first + int64(i)
	b, err := snapshot.NewBuilder(w.FS, w.Root, number)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			b.Discard()
		}
	}()
	e, gone := f.losses(i)
	files, err := f.planPeriods(b, i, e, gone)
	if err != nil {
		return err
	}
	base := commit.Base{FS: w.FS, Root: w.Root, Old: snapshot.NewReader(w.FS, s, w.Proofs), Now: w.Now(), Workers: w.Workers}
	made, err := base.Erase(ctx, b, e)
	if err != nil {
		return err
	}
	files = append(files, made...)
	f.erased[i].Now, f.erased[i].Files = number, slices.Clone(files)
	linked, err := b.LinkAll(s, func(file *layout.File) bool { return gone[cmp.Or(file.Period, file.Table)] })
	if err != nil {
		return err
	}
	if i > 0 {
		err = b.Link(f.made[0], line.Path, line.Bytes)
	} else {
		err = b.Write(line.Path, content)
	}
	if err != nil {
		return err
	}
	m := f.manifestOf(i)
	m.FormatVersion, m.Snapshot, m.Oldest, m.Forgotten, m.Files = layout.FormatVersion, number, first, line, append(files, linked...)
	snapshot.SortFiles(m)
	sealed, err := b.Seal(m)
	if err != nil {
		return err
	}
	f.made = append(f.made, sealed)
	return nil
}

// planPeriods adds the periods of the i-th snapshot that have calls to erase or texts to blank. It
// returns the files that were already made for an earlier snapshot.
func (f *erasure) planPeriods(b *snapshot.Builder, i int, e *commit.Erasure, gone map[string]bool) (files []layout.File, err error) {
	m := f.kept[i].Manifest
	for _, file := range m.FilesOf(schema.Calls.Name) {
		stained := f.stained(m, file.Period)
		if len(f.held[file.Path]) == 0 && len(stained) == 0 {
			continue
		}
		gone[file.Period] = true
		made, err := f.reuse(b, i, file)
		if err != nil {
			return nil, err
		}
		if files = append(files, made...); made == nil {
			e.Calls[file.Period], e.Blanks[file.Period] = f.held[file.Path], stained
		}
	}
	return files, nil
}

// stained returns the calls of a period with texts to blank in their rows.
func (f *erasure) stained(m *layout.Manifest, period string) map[string]bool {
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

// losses returns the losses of the i-th snapshot in tables that are not only about calls, and those
// tables.
func (f *erasure) losses(i int) (e *commit.Erasure, gone map[string]bool) {
	n := &f.erased[i]
	gone = map[string]bool{}
	stained := func(name string) bool {
		return f.blanks(name) && slices.ContainsFunc(n.Places, func(p Place) bool { return p.Table == name && !p.Key })
	}
	e = &commit.Erasure{Calls: map[string]map[string]bool{}, Blanks: map[string]map[string]bool{}, Personal: personal, Keys: f.ids,
		Runs: stained(schema.Runs.Name), Text: f.traces.blank}
	if f.everywhere {
		e.Row = f.traces.blankRow
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

// reuse links the files of a period that were made for an earlier snapshot, and returns them; nil
// if there are none.
func (f *erasure) reuse(b *snapshot.Builder, i int, calls *layout.File) (files []layout.File, err error) {
	for j := range i {
		if before := f.kept[j].Manifest.FileOf(schema.Calls.Name, calls.Period); before == nil || before.Path != calls.Path {
			continue
		}
		files = []layout.File{}
		for _, t := range schema.PeriodTables {
			if file := f.made[j].Manifest.FileOf(t.Name, calls.Period); file != nil {
				if err := b.Link(f.made[j], file.Path, file.Bytes); err != nil {
					return nil, err
				}
				files = append(files, *file)
			}
		}
		return files, nil
	}
	return nil, nil
}
