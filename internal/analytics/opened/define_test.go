package opened

import (
	"slices"
	"strings"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// namesIn finds every view named in the header of a report or view.
func TestNamesOfWhatIsRead(t *testing.T) {
	for _, f := range slices.Concat(sqlfiles.Reports(), sqlfiles.ViewsByName()) {
		names := usual().namesIn(f.SQL)
		for _, r := range f.Reads {
			_, of, _ := strings.Cut(r, "stored.")
			_, isView := sqlfiles.View(r)
			if (isView || of != "") && !names[r] {
				t.Errorf("%s reads %s, which is not seen", f.Name, r)
			}
		}
	}
}

// Over files of earlier formats, tool calls are derived from the turns, so the turns are proven
// too, and the macros of the derivation are defined.
func TestWhatEarlierToolCallsRead(t *testing.T) {
	old := &layout.Snapshot{Manifest: &layout.Manifest{Files: []layout.File{{Table: "transcript_turns", Format: layout.DerivedVersion - 1}}}}
	made := madeOf(old)
	if tables := made.tablesOf("FROM tool_calls"); !slices.Contains(tables, &schema.ToolCalls) {
		t.Errorf("tool_calls reads %v", tables)
	}
	if files := (&DB{snap: old}).filesOf(&schema.ToolCalls); len(files) != 1 || files[0] != &old.Manifest.Files[0] {
		t.Errorf("its rows are in %v", files)
	}
	if !made.namesIn("SELECT 1 FROM tool_calls")["tells_failure"] || !made.wordsOf("tool_calls")["tells_failure"] {
		t.Error("a macro is missing")
	}
	old.Manifest.Files[0].Format = layout.DerivedVersion
	if len((&DB{snap: old}).filesOf(&schema.ToolCalls)) > 0 {
		t.Error("the turns are read for tool calls that are stored")
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
