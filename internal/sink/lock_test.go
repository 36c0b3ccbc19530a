package sink

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

func TestSecondRunFindsTheWarehouseHeld(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	w := night(t, nil, root, 0)
	_, err := Open(Options{Root: root, RunID: layout.RunID(testDay, 9)})
	var held *disk.LockedError
	if !errors.As(err, &held) {
		t.Fatalf("a second Open gave %v, want a LockedError", err)
	}
	if held.Holder.PID != os.Getpid() || held.Holder.RunID != w.opts.RunID {
		t.Errorf("holder is %+v", held.Holder)
	}
	test.OK(t, w.Close())
	night(t, nil, root, 1)
}

func TestSpendsAreRemembered(t *testing.T) {
	root := t.TempDir() // kept, though nothing is committed
	w := night(t, nil, root, 0)
	sent := time.Unix(0, 1_700_000_000_123_456_789)
	want := []disk.Spend{{Sent: sent, Answered: sent.Add(time.Second)}, {Sent: sent.Add(time.Minute)}}
	for i, s := range want {
		test.OK(t, w.Note(i, s))
	}
	test.OK(t, w.Close())
	w = night(t, nil, root, 1)
	got := w.Recall()
	test.OK(t, w.Close())
	same := func(a, b disk.Spend) bool { return a.Sent.Equal(b.Sent) && a.Answered.Equal(b.Answered) }
	if !slices.EqualFunc(want, got, same) {
		t.Errorf("recalled %v, want %v", got, want)
	}
	// Noted again in another place, it is still one.
	w = night(t, nil, root, 2)
	test.OK(t, w.Note(5, want[0]))
	test.OK(t, w.Close())
	got = night(t, nil, root, 3).Recall()
	if !slices.EqualFunc(want, got, same) {
		t.Errorf("recalled %v, want %v", got, want)
	}
}
