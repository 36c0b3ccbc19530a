package sink

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

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
