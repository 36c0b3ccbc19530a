package sink

import (
	"context"
	"strings"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// lost are the kinds of problems that mean that a file does not hold the data written to it.
var lostKinds = map[string]bool{"missing": true, "size": true, "checksum": true, "unreadable": true}

// Lost reports whether the problem means that its file does not hold the data written to it, so
// that nothing in it can be trusted.
func (p Problem) Lost() bool { return lostKinds[p.Kind] }

// inside splits the path of a problem into the folder of a snapshot and the file in it; "" means
// the manifest, or the snapshot as a whole. A path outside the snapshots has no folder.
func insideSnapshot(path string) (folder, file string) {
	rest, ok := strings.CutPrefix(path, layout.SnapshotsName+"/")
	if !ok {
		return "", ""
	}
	if folder, file, _ = strings.Cut(rest, "/"); file == layout.ManifestName {
		file = ""
	}
	return folder, file
}

// findFaults verifies one snapshot, and returns the problems by path inside the snapshot. Problems of
// the manifest and of the snapshot as a whole are under "". If a file has many problems of a kind,
// only some are listed.
func findFaults(ctx context.Context, fsys disk.FS, s *layout.Snapshot, forgotten *tombstones,
	progress func(int64)) (map[string][]Problem, error) {
	v := &verifier{opts: VerifyOptions{Root: s.Root(), FS: fsys}, seen: newSeenFiles(), tombstones: forgotten, progress: progress}
	if err := v.snapshot(ctx, s); err != nil {
		return nil, err
	}
	out := map[string][]Problem{}
	for _, p := range v.bad.named {
		_, file := insideSnapshot(p.Path)
		out[file] = append(out[file], p)
	}
	return out, nil
}
