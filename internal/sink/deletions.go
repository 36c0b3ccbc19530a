package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// DeleteRecordings deletes the recordings of forgotten calls that are still to be deleted.
// Recordings that cannot be deleted stay on the list; the error is only about the list itself.
func (w *Warehouse) DeleteRecordings(ctx context.Context) (*DeletedRecordings, error) {
	out := new(DeletedRecordings)
	list, err := readDeletions(w.opts.FS, w.opts.Root)
	if err != nil || len(list) == 0 {
		return out, err
	}
	of := map[string][]layout.Deletion{}
	for _, d := range list {
		of[d.Archive] = append(of[d.Archive], d)
	}
	var left []layout.Deletion
	for archive, some := range of {
		if w.opts.Delete == nil {
			left = append(left, some...)
			continue
		}
		files, bytes, rest, err := w.opts.Delete(ctx, archive, some)
		if now := w.Archived(); archive != now && now != "" && errors.Is(err, fs.ErrNotExist) { // the archive was moved
			files, bytes, rest, err = w.opts.Delete(ctx, now, some)
		}
		out.Files, out.Bytes = out.Files+files, out.Bytes+bytes
		left, out.Why = append(left, rest...), errors.Join(out.Why, err)
	}
	calls := map[string]bool{}
	for _, d := range left {
		calls[d.CallID] = true
	}
	out.Left = int64(len(calls))
	if err := setDeletions(w.opts.FS, w.opts.Root, left); err != nil {
		return nil, fmt.Errorf("record which recordings are deleted: %w", err)
	}
	return out, nil
}

// dropDeletions removes the entries of a Forget that was killed before its commit.
func (w *Warehouse) dropDeletions() error {
	list, err := readDeletions(w.opts.FS, w.opts.Root)
	if err != nil || w.current == nil {
		return err
	}
	all := len(list)
	list = slices.DeleteFunc(list, func(d layout.Deletion) bool { return d.Snapshot > w.current.Manifest.Snapshot })
	if len(list) == all {
		return nil
	}
	return setDeletions(w.opts.FS, w.opts.Root, list)
}

// readDeletions returns the recordings of forgotten calls whose files are still to be deleted.
func readDeletions(fsys disk.FS, root string) ([]layout.Deletion, error) {
	path := filepath.Join(root, layout.DeletionsName)
	raw, err := fsys.ReadFile(path)
	if disk.IsGone(err) {
		return nil, nil
	}
	var d layout.Deletions
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err == nil && d.FormatVersion > layout.FormatVersion {
		return nil, &layout.VersionError{Got: d.FormatVersion}
	}
	if err != nil {
		return nil, fmt.Errorf("read which recordings of forgotten calls are to be deleted (%s): %w", path, err)
	}
	return d.List, nil
}

// setDeletions replaces that list. It holds ids of forgotten calls, so the group may not read it.
func setDeletions(fsys disk.FS, root string, list []layout.Deletion) error {
	path := filepath.Join(root, layout.DeletionsName)
	if len(list) == 0 {
		if err := fsys.Remove(path); disk.IsGone(err) {
			return nil
		} else if err != nil {
			return err
		}
		return fsys.SyncDir(root)
	}
	raw, err := json.Marshal(layout.Deletions{FormatVersion: layout.FormatVersion, List: list})
	if err != nil {
		return err
	}
	return disk.Replace(fsys, filepath.Join(root, layout.TempName(layout.DeletionsName, disk.NewID())), path, append(raw, '\n'), true)
}

// NoteLake records a publication.
func NoteLake(root string, l layout.Lake) error {
	l.FormatVersion = layout.FormatVersion
	raw, err := json.MarshalIndent(&l, "", " ")
	if err != nil {
		return err
	}
	fsys, err := disk.Open(root)
	dir := filepath.Join(root, layout.LakesName)
	if err == nil {
		err = disk.EnsureDir(fsys, dir)
	}
	if err == nil {
		path := filepath.Join(dir, l.Name())
		err = disk.Replace(fsys, path+".tmp", path, append(raw, '\n'), false)
	}
	if err != nil {
		return fmt.Errorf("note the publication in the warehouse: %w", err)
	}
	return nil
}

// readLakes returns the places that a warehouse was published to, in the order of the files' names. An
// unreadable file is a lake with unknown state.
func readLakes(fsys disk.FS, root string) (out []layout.Lake, err error) {
	dir := filepath.Join(root, layout.LakesName)
	entries, err := fsys.ReadDir(dir)
	if disk.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read where the warehouse was published to: %w", err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		raw, err := fsys.ReadFile(filepath.Join(dir, e.Name()))
		if disk.IsGone(err) {
			continue
		}
		var l layout.Lake
		if err != nil || json.Unmarshal(raw, &l) != nil || l.To == "" {
			l = layout.Lake{To: "of " + layout.LakesName + "/" + e.Name() + ", which cannot be read"}
		}
		out = append(out, l)
	}
	return out, nil
}
