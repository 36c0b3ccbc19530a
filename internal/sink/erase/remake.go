package erase

import (
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
	w, s := f.w, f.all[i]
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
	c := &commit.Commit{FS: w.FS, Root: w.Root, Old: snapshot.NewReader(w.FS, s, w.Proofs), Now: w.Now(), Workers: w.Workers}
	files, gone, err := f.remakePeriods(ctx, b, i, c)
	if err != nil {
		return err
	}
	made, tables, err := f.remakeTables(i, c)
	if err != nil {
		return err
	}
	files = append(files, made...)
	f.erased[i].Now, f.erased[i].Files = number, slices.Clone(files)
	linked, err := b.LinkAll(s, func(file *layout.File) bool { return gone[file.Period] || tables[file.Table] })
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

// remakePeriods rewrites the periods of the i-th snapshot that hold calls to erase or texts to
// blank, and returns these periods.
func (f *erasure) remakePeriods(ctx context.Context, b *snapshot.Builder, i int, c *commit.Commit,
) (files []layout.File, gone map[string]bool, err error) {
	m := f.all[i].Manifest
	gone = map[string]bool{}
	calls, blanks := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, file := range m.FilesOf(schema.Calls.Name) {
		stained := f.stained(m, file.Period)
		if len(f.held[file.Path]) == 0 && len(stained) == 0 {
			continue
		}
		gone[file.Period] = true
		made, err := f.reuse(b, i, file)
		if err != nil {
			return nil, nil, err
		}
		if files = append(files, made...); made == nil {
			calls[file.Period], blanks[file.Period] = f.held[file.Path], stained
		}
	}
	made, err := c.Without(ctx, b, calls, blanks, f.traces.blankObject)
	return append(files, made...), gone, err
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

// remakeTables rewrites the tables of the i-th snapshot that are not about calls alone and that
// hold something to erase or blank, and returns these tables.
func (f *erasure) remakeTables(i int, c *commit.Commit) (files []layout.File, tables map[string]bool, err error) {
	e := &f.erased[i]
	tables = map[string]bool{}
	stained := func(name string) bool {
		return f.blanks(name) && slices.ContainsFunc(e.Places, func(p Place) bool { return p.Table == name && !p.Key })
	}
	var all []*resource.Resource
	for _, of := range resource.All {
		erases := slices.Contains(personal, of) && (e.Customers > 0 || e.Rows > 0)
		if erases || slices.ContainsFunc(of.Tables(), func(t *schema.Table) bool { return stained(t.Name) }) {
			all = append(all, of)
			for _, t := range of.Tables() {
				tables[t.Name] = true
			}
		}
	}
	if len(all) > 0 || stained(resource.Changes.Name) {
		tables[resource.Changes.Name] = true
		blank := f.traces.blankRow
		if !f.everywhere {
			blank = nil
		}
		if files, err = c.WithoutObjects(all, personal, f.ids, blank); err != nil {
			return nil, nil, err
		}
	}
	if stained(schema.Runs.Name) {
		tables[schema.Runs.Name] = true
		made, err := c.WithoutTraces(f.traces.blank)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, made...)
	}
	return files, tables, nil
}

// reuse links the files of a period that were made for an earlier snapshot, and returns them; nil
// if there are none.
func (f *erasure) reuse(b *snapshot.Builder, i int, calls *layout.File) (files []layout.File, err error) {
	for j := range i {
		if before := f.all[j].Manifest.FileOf(schema.Calls.Name, calls.Period); before == nil || before.Path != calls.Path {
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
