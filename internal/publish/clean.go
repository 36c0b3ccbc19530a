package publish

import (
	"context"
	"errors"
	"path"
	"slices"
)

// clean removes copies of files that no snapshot of the warehouse has, manifests that no commit
// has, and old metadata.
func (w *work) clean(ctx context.Context) error {
	keep := map[string]bool{}
	for _, s := range w.kept {
		for _, f := range s.Manifest.FilesOf(w.of.Name) {
			keep[w.object(w.location, f)] = true
		}
	}
	data, err := w.store.List(ctx, w.folder(w.location, "data"))
	if err != nil {
		return err
	}
	gone := slices.DeleteFunc(data, func(uri string) bool { return keep[uri] || !objectRE.MatchString(path.Base(uri)) })
	w.mu.Lock()
	w.report.Removed = append(w.report.Removed, gone...)
	w.mu.Unlock()

	listed, err := w.store.List(ctx, w.folder(w.location, "metadata"))
	if err != nil {
		return err
	}
	doubtful := slices.DeleteFunc(slices.Clone(listed), func(uri string) bool {
		return !manifestRE.MatchString(path.Base(uri)) || w.before[uri] || slices.Contains(w.written, uri)
	})
	if len(doubtful) > 0 {
		used, err := w.used(ctx)
		if err != nil {
			return err
		}
		gone = append(gone, slices.DeleteFunc(doubtful, func(uri string) bool { return used[uri] })...)
	}
	if _, ok := w.catalog.(*files); ok {
		for _, uri := range listed {
			if n := versionOf(uri); n > 0 && n < w.version-keptVersions {
				gone = append(gone, uri)
			}
		}
	}
	return errors.Join(w.store.Remove(ctx, gone), w.store.Abandoned(ctx, w.folder(w.location, "data")))
}

// used returns the addresses of the manifests and lists that the table has now.
func (w *work) used(ctx context.Context) (map[string]bool, error) {
	now, err := w.catalog.load(ctx, w.of.Name)
	if err != nil {
		return nil, err
	}
	w.version = now.version
	used := map[string]bool{}
	main := now.head()
	for name, ref := range now.Refs {
		if _, ours := w.tagged(name); !ours && (main == nil || ref.Snapshot != main.ID) {
			continue
		}
		s := now.snapshot(ref.Snapshot)
		if used[s.ManifestList] {
			continue
		}
		used[s.ManifestList] = true
		manifests, err := w.manifests(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, m := range manifests {
			used[m.FilePath()] = true
		}
	}
	return used, nil
}
