package publish

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/publish/catalog"
)

// young is how long a file without a commit is kept: another publication may be about to commit it,
// or a reader may be using it.
const young = 24 * time.Hour

// clean removes copies of files that no snapshot of the warehouse has, manifests without a commit,
// and old metadata. It considers only files that existed before this publication wrote anything. If
// calls were forgotten, it removes even young files.
func (w *work) clean(ctx context.Context) error {
	doubtful := w.doubtful()
	if len(doubtful) > 0 {
		used, err := w.used(ctx)
		if err != nil {
			return err
		}
		doubtful = slices.DeleteFunc(doubtful, func(uri string) bool { return used == nil || used[uri] })
	}
	w.mu.Lock()
	for _, uri := range doubtful {
		if objectRE.MatchString(path.Base(uri)) {
			w.report.Removed = append(w.report.Removed, uri)
		}
	}
	w.mu.Unlock()
	return cmp.Or(w.store.Remove(ctx, doubtful), w.removeUploads(ctx))
}

// doubtful returns the addresses of the files that this publication does not need.
func (w *work) doubtful() (out []string) {
	keep := map[string]bool{}
	for _, s := range w.retained {
		for _, f := range s.Manifest.FilesOf(w.of.Name) {
			keep[objectOf(w.location, f)] = true
		}
	}
	data, metadata := w.location+"/data/", w.location+"/metadata/"
	_, own := w.catalog.(*catalog.Files)
	for _, o := range w.listed {
		name := path.Base(o.URI)
		old := !w.cleaned || o.Modified.Before(w.Now().Add(-young))
		oldest := w.Version - catalog.PreviousVersions
		if !w.cleaned {
			oldest = w.Version
		}
		switch n := catalog.VersionOf(o.URI); {
		case n > 0:
			// A slow publisher for another organisation may still build on a young one.
			if !own || !old || n >= oldest || o.URI != w.location+"/metadata/"+name {
				continue
			}
		case !old:
			continue
		case strings.HasPrefix(o.URI, data) && objectRE.MatchString(name):
			if keep[o.URI] {
				continue
			}
		case strings.HasPrefix(o.URI, metadata) && manifestRE.MatchString(name):
			if w.newer(name) || w.cleaned && w.before[o.URI] {
				continue
			}
		default:
			continue
		}
		out = append(out, o.URI)
	}
	return out
}

// newer reports whether a manifest was written for a later snapshot than the published one.
func (w *work) newer(name string) bool {
	number, _, _ := strings.Cut(name, "-")
	n, _ := layout.ParseSnapshotName(number)
	return n > w.snap.Manifest.Snapshot
}

// used reads the table again and returns the addresses of its current manifests and lists; nil if
// it was published again since, so that nothing may be removed.
func (w *work) used(ctx context.Context) (map[string]bool, error) {
	now, err := w.catalog.Load(ctx, w.of.Name)
	if err != nil || now.Metadata == nil || now.Properties[published] != w.publishes() {
		return nil, err
	}
	used := map[string]bool{now.File: true}
	main := now.Head()
	for name, ref := range now.Refs {
		if _, ours := tagged(name); !ours && (main == nil || ref.Snapshot != main.ID) {
			continue
		}
		s := now.SnapshotOf(ref.Snapshot)
		if s == nil || used[s.ManifestList] {
			continue
		}
		used[s.ManifestList] = true
		manifests, err := w.manifests(ctx, s)
		if catalog.IsBroken(err) {
			continue // files that only this list names can no longer be read
		}
		if err != nil {
			return nil, err
		}
		for _, m := range manifests {
			used[m.FilePath()] = true
		}
	}
	return used, nil
}

// removeUploads removes the remains of interrupted uploads, which ended with their leases.
func (w *work) removeUploads(ctx context.Context) error {
	now := w.Now().Add(young)
	if w.shared {
		now = w.Now().Add(-young)
	}
	return w.store.RemoveUploads(ctx, w.location, now)
}
