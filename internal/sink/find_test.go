package sink

import (
	"context"
	"path/filepath"
	"testing"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/table"
	"callhouse/internal/test"
)

// Every call is found with all its rows, wherever it is; a missing call is not.
func TestFind(t *testing.T) {
	root := sound(t)
	s, err := layout.Current(root)
	test.OK(t, err)
	for id, want := range readCalls(t, anywhere, s) {
		got, err := snapshot.Find(context.Background(), s, id)
		if err != nil || got == nil {
			t.Fatalf("call %s: %v, %v", id, got, err)
		}
		if string(got.AppendJSON(nil)) != string(want.AppendJSON(nil)) {
			t.Errorf("call %s is\n%s, want\n%s", id, got.AppendJSON(nil), want.AppendJSON(nil))
		}
	}
	if got, err := snapshot.Find(context.Background(), s, "nobody"); got != nil || err != nil {
		t.Errorf("nobody: %v, %v", got, err)
	}
}

// A call with more turns than a row group is found completely.
func TestFindOverRowGroups(t *testing.T) {
	w := night(t, nil, filepath.Join(t.TempDir(), "w"), 0)
	const turns = table.RowGroupRows + 1000
	test.OK(t, w.Put(context.Background(), storyRecord("a", 5), storyRecord("b", turns), storyRecord("c", 5)))
	mustCommit(t, w)
	got, err := snapshot.Find(context.Background(), w.Snapshot(), "b")
	if err != nil || got == nil || got.Turns().Len() != turns {
		t.Fatalf("%v, %v", got, err)
	}
	if !calls.Same(got, readCalls(t, anywhere, w.Snapshot())["b"]) {
		t.Error("the call is not what it is")
	}
}
