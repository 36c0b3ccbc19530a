package sink

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// Verdict is the result of the last verification of a warehouse, stored for status. It is outside
// the snapshots, and nothing depends on it.
type Verdict struct {
	FormatVersion int       `json:"format_version"`
	At            time.Time `json:"at"`
	Snapshot      int64     `json:"snapshot"`
	Problems      int64     `json:"problems"`
	First         string    `json:"first,omitempty"` // path and kind of the first one
	// Files are the paths, inside a snapshot, of the files with a problem; "" stands for the
	// snapshot itself.
	Files []string `json:"files,omitempty"`
	// Recordings is how many were missing from their archive or changed, and not repaired since.
	Recordings int64 `json:"recordings,omitempty"`
}

// SaveVerdict stores the result of a report, and the number of missing or changed recordings.
func SaveVerdict(root string, r *VerifyReport, recordings int64, now time.Time) error {
	v := &Verdict{FormatVersion: layout.FormatVersion, At: now.UTC(), Snapshot: r.Snapshot, Recordings: recordings}
	for _, p := range r.Problems {
		folder, file := insideSnapshot(p.Path)
		if folder == "" && strings.Contains(p.Path, "/") {
			file = p.Path // outside the snapshots: not a problem of theirs
		}
		if v.Files = append(v.Files, file); v.First == "" {
			v.First = p.Path + " (" + p.Kind + ")" // without the description, which may name a call
		}
		v.Problems++
	}
	slices.Sort(v.Files)
	v.Files = slices.Compact(v.Files)
	return v.save(root)
}

// DropRecordingsVerdict drops the last verification's result for recordings, after their repair.
func DropRecordingsVerdict(root string) error {
	fsys, err := disk.OpenToRead(root)
	if err != nil {
		return err
	}
	v := lastVerdict(fsys, root)
	if v == nil || v.Recordings == 0 {
		return nil
	}
	v.Recordings = 0
	return v.save(root)
}

func (v *Verdict) save(root string) error {
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	fsys, err := disk.Open(root)
	if err == nil {
		tmp := filepath.Join(root, layout.TempName(layout.VerdictName, disk.NewID()))
		err = disk.Replace(fsys, tmp, filepath.Join(root, layout.VerdictName), append(raw, '\n'), false)
	}
	if err != nil {
		return fmt.Errorf("store the result for extract status: %w", err)
	}
	return nil
}

// lastVerdict returns the verdict of the last verification; nil if there is none, or none that this user
// and this version can read.
func lastVerdict(fsys disk.FS, root string) *Verdict {
	raw, err := fsys.ReadFile(filepath.Join(root, layout.VerdictName))
	v := new(Verdict)
	if err != nil || json.Unmarshal(raw, v) != nil || v.FormatVersion > layout.FormatVersion {
		return nil
	}
	return v
}

// Concerns reports whether a problem of the verdict still applies to a snapshot. That can be told
// from the paths, since files never change under their names.
func (v *Verdict) Concerns(s *layout.Snapshot) bool {
	if v == nil || s == nil || v.Problems == 0 {
		return false
	}
	return slices.ContainsFunc(v.Files, func(path string) bool {
		if path == "" || path == layout.RunsFile {
			return v.Snapshot == s.Manifest.Snapshot
		}
		return slices.ContainsFunc(s.Manifest.Files, func(f layout.File) bool { return f.Path == path })
	})
}
