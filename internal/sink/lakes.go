package sink

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

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
