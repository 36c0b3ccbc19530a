package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"callhouse/internal/publish/store"
)

// Stem returns the path of a call's recording below an archive's address, without its extension.
func Stem(id string, start time.Time) string {
	return strings.TrimSuffix(Path(Call{ID: id, Start: start}, ""), ".")
}

// stemOf returns the stem of an archive's file; false if the name is not one that the archive
// creates.
func stemOf(name string) (string, bool) {
	ext := path.Ext(name)
	_, known := formats[Format(strings.TrimPrefix(ext, "."))]
	return strings.TrimSuffix(name, ext), known
}

// StemOf returns the path of a stored file without its extension.
func StemOf(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }

// Sizes returns the sizes of the files in a folder of the archive, by path. It returns an error if
// the archive itself is missing: a folder that is not mounted has no files, either.
func (a *Archive) Sizes(ctx context.Context, dir string) (map[string]int64, error) {
	if err := a.there(ctx); err != nil {
		return nil, err
	}
	objects, err := a.store.List(ctx, a.uri+"/"+dir)
	if err != nil {
		return nil, err
	}
	out := make(map[string]int64, len(objects))
	for _, o := range objects {
		out[strings.TrimPrefix(o.URI, a.uri+"/")] = o.Size
	}
	return out, nil
}

// there returns an error if the archive is a folder that does not exist.
func (a *Archive) there(ctx context.Context) error {
	dir, isFolder := store.Folder(a.uri)
	if !isFolder {
		return ctx.Err()
	}
	_, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the archive of recordings %s does not exist: %w", dir, err)
	}
	return errors.Join(err, ctx.Err())
}

// Deleted counts deleted files.
type Deleted struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Delete deletes all files of some stems, including those without a row because a run was killed, and
// the incomplete files next to them. It gives up at the first day that fails. It returns the number of deleted files,
// and the stems of which files may remain, with an error that explains why.
func (a *Archive) Delete(ctx context.Context, stems []string) (done Deleted, left []string, err error) {
	days := map[string][]string{}
	for _, stem := range stems {
		if !fs.ValidPath(stem) {
			left, err = append(left, stem), errors.Join(err, fmt.Errorf("%q is not a path in the archive", stem))
			continue
		}
		days[path.Dir(stem)] = append(days[path.Dir(stem)], stem)
	}
	var failed error
	for dir, of := range days {
		if failed != nil { // the archive is down or refuses requests: leave the rest to the next attempt
			left = append(left, of...)
			continue
		}
		there, lerr := a.Sizes(ctx, dir)
		var uris []string
		for name := range there {
			if stem, ok := stemOf(name); ok && slices.Contains(of, stem) {
				uris = append(uris, a.uri+"/"+name)
			} else {
				delete(there, name)
			}
		}
		slices.Sort(uris)
		if lerr == nil {
			lerr = errors.Join(a.store.Remove(ctx, uris), a.store.RemoveUploads(ctx, a.uri+"/"+dir))
		}
		if lerr != nil {
			left, failed = append(left, of...), lerr
			continue
		}
		done.Files += int64(len(there))
		for _, size := range there {
			done.Bytes += size
		}
	}
	return done, left, errors.Join(err, failed)
}

// Open returns the content of a stored file. From an object store, only the parts that are read are
// requested.
func (a *Archive) Open(ctx context.Context, name string) (io.ReadSeekCloser, error) {
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("%q is not a path in the archive", name)
	}
	return a.store.Open(ctx, a.uri+"/"+name)
}
