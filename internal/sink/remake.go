package sink

import (
	"cmp"
	"context"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// remake makes the next snapshot: the current one without the calls.
func (f *erasure) remake(ctx context.Context) (_ *layout.Snapshot, err error) {
	w, s := f.w, f.current
	number, err := nextNumber(w.opts.FS, w.opts.Root)
	if err != nil {
		return nil, err
	}
	content, line, err := f.tombstones.Encode()
	if err != nil {
		return nil, err
	}
	b, err := newBuilder(w.opts.FS, w.opts.Root, number)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.Discard()
		}
	}()
	e, gone := f.losses()
	maker := w.maker(w.read(s))
	maker.b, maker.country = b, s.Manifest.Country
	files, err := maker.erase(ctx, e)
	if err != nil {
		return nil, err
	}
	f.erased.Now = number
	linked, err := b.LinkAll(s, func(file *layout.File) bool { return gone[cmp.Or(file.Period, file.Table)] })
	if err != nil {
		return nil, err
	}
	if err := b.Write(line.Path, content); err != nil {
		return nil, err
	}
	m := f.manifest()
	m.FormatVersion, m.Snapshot, m.Oldest, m.Forgotten, m.Files = layout.FormatVersion, number, number, line, append(files, linked...)
	sortFiles(m)
	return b.Seal(m)
}

// losses returns the losses of the current snapshot, and the periods and tables that have some.
func (f *erasure) losses() (e *losses, gone map[string]bool) {
	gone = map[string]bool{}
	e = &losses{Calls: map[string]map[string]bool{}, Personal: personalResources, Keys: f.ids, Runs: f.noted, Text: f.traces.blank}
	for _, file := range f.current.Manifest.FilesOf(schema.Calls.Name) {
		if len(f.held[file.Path]) > 0 {
			gone[file.Period] = true
			e.Calls[file.Period] = f.held[file.Path]
		}
	}
	if f.erased.Customers+f.erased.Rows > 0 {
		e.Resources = personalResources
		for _, of := range personalResources {
			gone[of.Name] = true
		}
	}
	gone[resource.Changes.Name], gone[schema.Runs.Name] = len(e.Resources) > 0, e.Runs
	return e, gone
}
