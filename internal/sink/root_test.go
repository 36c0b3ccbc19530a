package sink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// listed is a call of the list.
func listed(id string) schema.Record {
	return schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: 1, Body: fmt.Appendf(nil, `{"id":%q,"status":"ended"}`, id)}
}

// What is uncommitted stays, and a file is no warehouse.
func TestUncommittedStays(t *testing.T) {
	opened := func(o Options) *Warehouse {
		t.Helper()
		o.RunID, o.Records = layout.RunID(testDay, 1), true
		w, err := Open(o)
		test.OK(t, err)
		return w
	}
	closed := func(w *Warehouse) {
		t.Helper()
		test.OK(t, w.Close())
	}
	plain := filepath.Join(t.TempDir(), "plain")
	test.OK(t, os.WriteFile(plain, nil, 0o600))
	for _, path := range []string{plain, filepath.Join(plain, "w")} {
		if _, err := Open(Options{Root: path, RunID: layout.RunID(testDay, 1)}); err == nil {
			t.Errorf("%s is a warehouse", path)
		}
	}

	root := filepath.Join(t.TempDir(), "a", "w")
	w := opened(Options{Root: root})
	test.OK(t, w.Put(context.Background(), listed("one")))
	if w.Empty() {
		t.Error("a record waits, and the warehouse is empty")
	}
	closed(w)
	if w = opened(Options{Root: root}); len(w.Leftover()) != 1 {
		t.Errorf("left over: %v", w.Leftover())
	}
	closed(w)
}

// Runs that begin and end concurrently without a warehouse: never do two hold it, each meets at
// most the lock, and a commit stays.
func TestEmptyWarehousesSideBySide(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a", "w")
	var holders atomic.Int64
	var work sync.WaitGroup
	for n := range 4 {
		work.Go(func() {
			for i := 0; i < 6; {
				w, err := Open(Options{Root: root, RunID: layout.RunID(testDay, uint32(100*n+i))})
				var locked *disk.LockedError
				if errors.As(err, &locked) {
					runtime.Gosched()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				i++
				if holders.Add(1) > 1 {
					t.Error("two hold the warehouse")
				}
				if n == 0 && i > 4 {
					err = w.Put(t.Context(), listed(fmt.Sprint(i)))
					done := schema.Run{ID: w.RunID(), Outcome: schema.OutcomeDone}
					err = errors.Join(err, w.Commit(t.Context(), func(Stats, int64) schema.Run { return done }))
				}
				holders.Add(-1)
				if err = errors.Join(err, w.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	s, err := layout.Current(root)
	if err != nil || s.Manifest.Rows(schema.Calls.Name) != 2 {
		t.Errorf("the committed calls are gone: %+v, %v", s, err)
	}
}

// A warehouse whose folder of snapshots was replaced by a link, for example to move it to another
// disk, is refused as damaged, and nothing in it is removed.
func TestALinkedFolderStays(t *testing.T) {
	for _, name := range []string{layout.SnapshotsName, layout.JournalName} {
		root, elsewhere := sound(t), filepath.Join(t.TempDir(), name)
		path := filepath.Join(root, name)
		test.OK(t, errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)))
		for _, adopt := range []bool{false, true} {
			w, err := Open(Options{Root: root, RunID: layout.RunID(testDay, 9), Adopt: adopt})
			if err == nil {
				_ = w.Close()
				t.Errorf("%s: it opened", name)
			}
			if to, err := os.Readlink(path); err != nil || to != elsewhere {
				t.Errorf("%s: the link is gone: %v", name, err)
			}
		}
	}
}

func TestSpendsAreRemembered(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w") // nothing is committed
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
