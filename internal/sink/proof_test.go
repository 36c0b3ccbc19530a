package sink

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// A file linked by an earlier commit of the same run is compared with its checksum before it is
// rewritten, like any other.
func TestLinkedFilesAreProven(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	put := func(w *Warehouse, id string, version int) {
		t.Helper()
		test.OK(t, w.Put(context.Background(), storyRecord(id, version)))
	}
	w := night(t, nil, root, 0)
	put(w, "a", 1)
	put(w, "b", 1)
	mustCommit(t, w)
	test.OK(t, w.Close())
	d := damageTo(t, root)
	d.bytes(d.s.Path(d.file("calls", yesterday)), func(b []byte) []byte { b[len(b)/3] ^= 4; return b })
	w = night(t, nil, root, 1)
	put(w, "a", 2)
	mustCommit(t, w)
	put(w, "b", 2)
	var damage *disk.DamageError
	if err := w.Commit(context.Background(), doneRow(w)); !errors.As(err, &damage) || damage.What != "its checksum is not the one in the manifest" {
		t.Errorf("the commit that rewrites a damaged file gave %v", err)
	}
}
