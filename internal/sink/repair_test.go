package sink

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// repairing opens a warehouse for Repair, as the n-th run.
func repairing(t *testing.T, root string, n int) *Warehouse {
	t.Helper()
	now := testDay.Add(time.Duration(n) * time.Hour)
	w, err := Open(Options{Root: root, RunID: layout.RunID(now, uint32(n)), Now: func() time.Time { return now }, Adopt: true})
	test.OK(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func repaired(w *Warehouse) func(*RepairPlan) schema.Run {
	return func(*RepairPlan) schema.Run {
		return schema.Run{ID: w.opts.RunID, StartedAt: w.opts.Now().UnixMilli(), Outcome: schema.OutcomeRepaired}
	}
}

// service is a service with these calls: a run lists what the warehouse does not cover, and fetches
// the records that are due.
type service map[string]*calls.Call

// fetch commits what a run would fetch, and returns the calls whose records were requested.
func (s service) fetch(t *testing.T, w *Warehouse) (requested []string) {
	t.Helper()
	ctx, now := context.Background(), w.opts.Now().UnixMilli()
	put := func(kind schema.Kind, c *calls.Call) {
		t.Helper()
		body := string(c.AppendJSON(nil))
		if at := strings.Index(body, `,"transcript":`); kind == schema.KindItem && at > 0 {
			body = body[:at] + "}"
		}
		test.OK(t, w.Put(ctx, schema.Record{Kind: kind, CallID: string(c.ID()), FetchedAt: now, Body: []byte(body)}))
	}
	covered := func(at int64) bool {
		return slices.ContainsFunc(w.Coverage(), func(s schema.Span) bool { return s.From <= at && at < s.To })
	}
	for _, c := range s {
		if start := c.StartAt(); start.OK && !covered(start.V) || !start.OK && !covered(c.FirstSeenAt()-1) {
			put(schema.KindItem, c)
		}
	}
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	for due, err := range w.Due(ctx, calls.DueTranscripts) {
		test.OK(t, err)
		if c := s[due.CallID]; c.TurnCount().OK {
			put(schema.KindDetail, c)
			requested = append(requested, due.CallID)
		}
	}
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	return requested
}

// facts are the users' view of calls: their JSON and what is pending.
func facts(of map[string]*calls.Call) map[string]string {
	out := map[string]string{}
	for id, c := range of {
		out[id] = string(c.AppendJSON(nil)) + " " + string(c.Text("transcript_state")) + " " + string(c.Text("settlement"))
	}
	return out
}

// lonely removes all snapshots except the current one, so that nothing can be restored from them.
func lonely(t *testing.T, root string) {
	t.Helper()
	s, err := layout.Current(root)
	test.OK(t, err)
	all, err := filepath.Glob(filepath.Join(root, layout.SnapshotsName, "*"))
	test.OK(t, err)
	for _, dir := range all {
		if filepath.Base(dir) != filepath.Base(s.Dir) {
			test.OK(t, os.RemoveAll(dir))
		}
	}
}

// hopeless are the damages after which no manifest is left, unless there is an older snapshot.
var hopeless = []string{"manifest-garbled", "manifest-of-another-snapshot", "manifest-names-a-foreign-path"}

// After every damage, repair makes a warehouse that verify finds whole, and the next run fetches
// what is missing: every call is as before. With older snapshots repair restores from them;
// without, the run fetches the damaged part, and nothing else.
func TestRepairMendsEveryDamage(t *testing.T) {
	whole := sound(t)
	s, err := layout.Current(whole)
	test.OK(t, err)
	truth := service(readCalls(t, anywhere, s))
	tried, i := longtest.Each(24), 0
	for name, c := range longtest.Sorted(damages) {
		for _, single := range []bool{false, true} {
			if i++; !tried(i-1) || c.kind == "journal" || single && name == "snapshot-gone" {
				continue // a commit repairs the journal; a lost only snapshot is beyond repair
			}
			t.Run(name+map[bool]string{true: ", no older snapshot"}[single], func(t *testing.T) {
				root := filepath.Join(t.TempDir(), "w")
				test.OK(t, os.CopyFS(root, os.DirFS(whole)))
				if single {
					lonely(t, root)
				}
				c.do(damageTo(t, root))
				if single && slices.Contains(hopeless, name) {
					if w, err := Open(Options{Root: root, RunID: layout.RunID(testDay, 9), Adopt: true}); err == nil {
						_ = w.Close()
						t.Error("it opened a warehouse without a manifest")
					}
					return
				}
				checkRepair(t, root, truth)
			})
		}
	}
}

func checkRepair(t *testing.T, root string, truth service) {
	t.Helper()
	ctx := context.Background()
	w := repairing(t, root, 2)
	plan, err := w.Repair(ctx, true, repaired(w), nil)
	if err != nil || !plan.Damaged() {
		t.Fatalf("the dry run found %+v, %v", plan, err)
	}
	plan, err = w.Repair(ctx, false, repaired(w), nil)
	test.OK(t, err)
	r, err := Verify(ctx, VerifyOptions{Root: root})
	if err != nil || !r.Whole() {
		t.Fatalf("after the repair: %v, %v", r.Problems, err)
	}
	if again, err := w.Repair(ctx, false, repaired(w), nil); err != nil || again.Damaged() {
		t.Errorf("a second repair found %+v, %v", again, err)
	}
	known := readCalls(t, anywhere, w.Snapshot())
	requested := truth.fetch(t, w)
	now := readCalls(t, anywhere, w.Snapshot())
	delete(now, "b") // which the journal of the killed run has changed
	want := facts(truth)
	delete(want, "b")
	// A call that is fetched anew expires with the next commit.
	got := facts(now)
	for _, of := range []map[string]string{want, got} {
		for id, text := range of {
			of[id] = strings.TrimSuffix(strings.TrimSuffix(text, " expired"), " ended")
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the calls (-want +got):\n%s\nplan: %+v", d, plan)
	}
	for _, id := range requested {
		if c := known[id]; c != nil && c.TranscriptState() == calls.Present && c.Turns().Len() == truth[id].Turns().Len() {
			t.Errorf("the record of %s was asked for again, which was there", id)
		}
	}
}

// What is damaged in all retained snapshots is dropped by period: neighbouring days are not requested
// again, and the plan lists the loss.
func TestRepairSaysWhatItGivesUp(t *testing.T) {
	root := sound(t)
	lonely(t, root)
	d := damageTo(t, root)
	d.bytes(d.s.Path(d.file("calls", yesterday)), func(b []byte) []byte { b[len(b)/2] ^= 4; return b })
	d.bytes(d.s.Path(d.file("transcript_turns", "2026-10")), func(b []byte) []byte { return b[:len(b)-1] })
	w := repairing(t, root, 2)
	plan, err := w.Repair(context.Background(), false, repaired(w), nil)
	test.OK(t, err)
	got := map[string]RepairPart{}
	for _, p := range plan.Parts {
		got[p.Name] = RepairPart{Name: p.Name, Period: p.Period, Rows: p.Rows, From: p.From}
	}
	want := map[string]RepairPart{yesterday: {Name: yesterday, Period: true, Rows: 1}, "2026-10": {Name: "2026-10", Period: true, Rows: 2}}
	test.NoDiff(t, cmp.Diff(want, got, cmp.AllowUnexported(RepairPart{})), "parts (-want +got)")
	left := readCalls(t, anywhere, w.Snapshot())
	if left["b"] != nil || left["a"] == nil || left["a"].Turns().Len() != 2 {
		t.Error("it gave up the wrong calls")
	}
	if left["z"] != nil {
		t.Error("a month with damaged turns was kept")
	}
}

// The record of forgotten calls cannot be fetched again: without it nothing is repaired.
func TestRepairNeedsTheTombstones(t *testing.T) {
	root := sound(t)
	w := night(t, nil, root, 1)
	_, err := w.Recover(context.Background())
	test.OK(t, err)
	_, err = w.Forget(context.Background(), Selection{CallIDs: []string{"a"}}, false, nil)
	test.OK(t, err)
	test.OK(t, w.Close())
	d := damageTo(t, root)
	d.bytes(filepath.Join(d.s.Dir, d.s.Manifest.Forgotten.Path), func(b []byte) []byte { b[len(b)-3] ^= 1; return b })
	var damage *layout.DamageError
	if _, err := Open(Options{Root: root, RunID: layout.RunID(testDay, 7), Adopt: true}); !errors.As(err, &damage) {
		t.Errorf("opened all the same: %v", err)
	}
}

// A repair that fails or dies at any operation loses nothing: the next one completes it.
func TestEveryOperationOfARepair(t *testing.T) {
	longtest.Only(t)
	from := sound(t)
	lonely(t, from)
	d := damageTo(t, from)
	d.bytes(d.s.Path(d.file("calls", yesterday)), func(b []byte) []byte { b[len(b)/2] ^= 4; return b })
	d.bytes(d.s.Path(d.file("transcript_turns", "2026-10")), func(b []byte) []byte { return b[:len(b)-1] })
	open := func(fsys disk.FS, root string, n int) (*Warehouse, error) {
		now := testDay.Add(time.Duration(n) * time.Hour)
		return Open(Options{Root: root, FS: fsys, RunID: layout.RunID(now, uint32(n)), Now: func() time.Time { return now }, Adopt: true})
	}
	walk(t, from, 30, func(fsys disk.FS, root string) error {
		w, err := open(fsys, root, 1)
		if err != nil {
			return err
		}
		_, err = w.Repair(context.Background(), false, repaired(w), nil)
		return errors.Join(err, w.Close())
	}, func(t *testing.T, fsys disk.FS, root string) {
		w, err := open(fsys, root, 2)
		if err != nil {
			t.Fatalf("the warehouse does not open: %v", err)
		}
		defer w.Close()
		_, err = w.Repair(context.Background(), false, repaired(w), nil)
		test.OK(t, err)
		if r, err := Verify(context.Background(), VerifyOptions{Root: root, FS: fsys}); err != nil || !r.Whole() {
			t.Fatalf("after the repair: %v, %v", r.Problems, err)
		}
		left := readCalls(t, fsys, w.Snapshot())
		if left["b"] != nil || left["z"] != nil || left["a"].Turns().Len() != 2 {
			t.Fatalf("it kept %v", facts(left))
		}
	})
}
