package opened

import (
	"slices"
	"strings"
	"testing"

	"callhouse/internal/analytics/stored"
	"callhouse/internal/layout"
	sqlfiles "callhouse/sql"
)

// namesIn sees every view of which a report's or a view's header tells. The turns under tool_calls are
// those of an earlier format.
func TestNamesOfWhatIsRead(t *testing.T) {
	old := &layout.Snapshot{Manifest: &layout.Manifest{Files: []layout.File{{Table: "transcript_turns", Format: layout.DerivedVersion - 1}}}}
	for _, f := range slices.Concat(sqlfiles.Reports(), sqlfiles.ViewsByName()) {
		names := madeOf(old).namesIn(stored.View(old, f))
		if f.Name == "tool_calls" {
			names["stored.transcript_turns"] = names["stored.earlier_turns"]
		}
		for _, r := range f.Reads {
			_, of, _ := strings.Cut(r, "stored.")
			_, isView := sqlfiles.View(r)
			if (isView || of != "") && !names[r] {
				t.Errorf("%s reads %s, which is not seen", f.Name, r)
			}
		}
	}
}

// A snapshot of up to 4 MB is small.
func TestSmallSnapshots(t *testing.T) {
	for size, small := range map[int64]bool{1 << 20: true, 3 << 20: false} {
		s := &layout.Snapshot{Manifest: &layout.Manifest{Files: []layout.File{{Bytes: size}, {Bytes: 1 << 20}}}}
		if isSmall(s) != small {
			t.Errorf("two files of 1 MiB and %d bytes: small is %v", size, !small)
		}
	}
}
