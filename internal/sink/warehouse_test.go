package sink

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// testDay is the start of the tests' first run.
var testDay = time.Date(2026, 11, 19, 2, 0, 0, 0, time.UTC)

// night opens a warehouse at root as the n-th run, an hour after the one before.
func night(t testing.TB, fsys disk.FS, root string, n int) *Warehouse {
	t.Helper()
	now := testDay.Add(time.Duration(n) * time.Hour)
	w, err := Open(Options{Root: root, FS: fsys, RunID: layout.RunID(now, uint32(n)), Now: func() time.Time { return now }})
	test.OK(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func doneRow(w *Warehouse) func(Stats, int64) schema.Run {
	return func(s Stats, commits int64) schema.Run {
		return schema.Run{ID: w.opts.RunID, StartedAt: w.opts.Now().UnixMilli(), Outcome: schema.OutcomeDone,
			CallsNew: s.New, CallsChanged: s.Changed, Commits: commits}
	}
}

// compacting makes a commit compact months as well.
func compacting(months ...string) func(*Reader, time.Time, map[string]bool) []string {
	return func(*Reader, time.Time, map[string]bool) []string { return months }
}

// compact compacts a month, whatever it holds.
func compact(w *Warehouse, month string) error {
	_, err := w.maintain(func(m *maker) (*commitResult, error) { return m.compact(context.Background(), month) })
	return err
}

// readCalls reads every call of a snapshot from its files, and fails the test if the files
// contradict the manifest or FORMAT.md.
func readCalls(t testing.TB, fsys disk.FS, s *layout.Snapshot) map[string]*calls.Call {
	t.Helper()
	out := map[string]*calls.Call{}
	rows := map[string]int64{}
	r := NewReader(fsys, s, nil)
	for _, f := range s.Manifest.FilesOf(schema.Calls.Name) {
		in, err := r.Period(f.Period, nil)
		test.OK(t, err)
		var last *calls.Call
		var due, unsettled, unstarted int64
		for {
			call := new(calls.Call)
			more, err := in.ReadCall(call)
			test.OK(t, err)
			if !more {
				break
			}
			if last != nil && compareKey(last.StartAt(), string(last.ID()), call.StartAt(), string(call.ID())) >= 0 {
				t.Fatalf("%s: call %s stands behind %s", f.Path, call.ID(), last.ID())
			}
			if out[string(call.ID())] != nil {
				t.Fatalf("%s: call %s is in the snapshot twice", f.Path, call.ID())
			}
			since := call.FirstSeenAt()
			if call.StartAt().OK {
				since = call.StartAt().V
			}
			if day := layout.Day(since); !strings.HasPrefix(day, f.Period) {
				t.Fatalf("%s holds call %s of %s", f.Path, call.ID(), day)
			}
			if call.DetailDue() {
				due++
			}
			if call.Unsettled() {
				unsettled++
				if !call.StartAt().OK {
					unstarted++
				}
			}
			out[string(call.ID())], last = call, call
			rows[schema.Calls.Name]++
			rows[schema.Turns.Name] += int64(call.Turns().Len())
			rows[schema.Items.Name] += int64(call.Items().Len())
			rows[schema.Recordings.Name] += int64(call.Recordings().Len())
			rows[schema.ToolCalls.Name] += int64(len(call.ToolCalls(nil)))
		}
		test.OK(t, errors.Join(in.Done(), in.Close()))
		if due != f.Due || unsettled != f.Unsettled || unstarted != f.Unstarted {
			t.Fatalf("%s: due %d, unsettled %d, unstarted %d; the manifest says %d, %d, %d", f.Path,
				due, unsettled, unstarted, f.Due, f.Unsettled, f.Unstarted)
		}
	}
	for _, table := range schema.CallTables {
		if got := s.Manifest.Rows(table.Name); got != rows[table.Name] {
			t.Fatalf("%s has %d rows, the manifest says %d", table.Name, rows[table.Name], got)
		}
	}
	checkFiles(t, fsys, s)
	return out
}

// checkFiles compares the snapshot's folder with its manifest, byte by byte.
func checkFiles(t testing.TB, fsys disk.FS, s *layout.Snapshot) {
	t.Helper()
	want := []string{layout.ManifestName}
	if f := s.Manifest.Forgotten; f != nil {
		want = append(want, f.Path)
	}
	for i := range s.Manifest.Files {
		f := &s.Manifest.Files[i]
		want = append(want, f.Path)
		raw, err := fsys.ReadFile(s.Path(f))
		test.OK(t, err)
		sum := sha256.Sum256(raw)
		if int64(len(raw)) != f.Bytes || hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Fatalf("%s is not what the manifest says", f.Path)
		}
	}
	var got []string
	var walk func(rel string)
	walk = func(rel string) {
		entries, err := fsys.ReadDir(filepath.Join(s.Dir, rel))
		test.OK(t, err)
		for _, e := range entries {
			if e.IsDir() {
				walk(path.Join(rel, e.Name()))
			} else {
				got = append(got, path.Join(rel, e.Name()))
			}
		}
	}
	walk("")
	sort.Strings(want)
	sort.Strings(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("files of the snapshot (-manifest +folder):\n%s", d)
	}
}

// body makes a call's JSON. Of three turns the first is spoken, the others are a tool's use and its result.
func body(id string, start, end *int64, status, sentiment string, turns int) []byte {
	num := func(v *int64) string {
		if v == nil {
			return "null"
		}
		return fmt.Sprint(*v)
	}
	analysis := "null"
	if sentiment != "" {
		analysis = fmt.Sprintf(`{"summary":"about %s","user_sentiment":%q,"custom_analysis_data":[{"type":"string","name":"topic","value":"x"}]}`, id, sentiment)
	}
	transcript := ""
	if turns >= 0 {
		var items []string
		for i := range turns {
			switch i % 3 {
			case 0:
				items = append(items, fmt.Sprintf(`{"role":"user","content":"turn %d","start_at":%d,"end_at":%d}`, i, i, i+1))
			case 1:
				items = append(items, fmt.Sprintf(`{"role":"tool_call_invocation","tool_call_id":"t%d","name":"find","arguments":{"turn":%d}}`, i, i))
			case 2:
				items = append(items, fmt.Sprintf(`{"role":"tool_call_result","tool_call_id":"t%d","content":"turn %d"}`, i-1, i))
			}
		}
		transcript = `,"transcript":[` + strings.Join(items, ",") + `]`
	}
	return fmt.Appendf(nil, `{"id":%q,"agent":{"agent_id":"a","agent_version":"v1"},"call_type":"phone","status":%q,`+
		`"from_number":"1","to_number":"2","presentation_number":null,"disconnection_reason":"user_hangup","start_at":%s,"end_at":%s,`+
		`"recording_url":null,"metadata":{},"dynamic_variables":{},"call_analysis":%s,"call_cost":null,"variant_label":null,`+
		`"opt_out_sensitive_data_storage":false%s}`, id, status, num(start), num(end), analysis, transcript)
}

// A warehouse under random records, commits, restarts and moves holds what a map of calls would: every call
// once, in its last state and place. Compacting months, alone or with new data, changes no row.
func TestWarehouseAgainstAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		disk, root := storyRoot(t)
		w := night(t, disk, root, 0)
		model := map[string]*calls.Call{}
		n := 0
		settle := func() {
			for _, c := range model {
				c.Settle(w.opts.Now().UnixMilli())
			}
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch op := rapid.SampledFrom([]string{"item", "item", "item", "detail", "detail", "missing", "commit", "compact", "restart"}).Draw(rt, "op"); op {
			case "item", "detail":
				id := fmt.Sprint("call-", rapid.IntRange(0, 12).Draw(rt, "id"))
				at := w.opts.Now().UnixMilli()
				var start, end *int64
				if !rapid.Bool().Draw(rt, "unstarted") {
					hours := rapid.IntRange(0, 72).Draw(rt, "hours") + 500*rapid.IntRange(0, 1).Draw(rt, "month before")
					v := testDay.Add(-time.Duration(hours) * time.Hour).UnixMilli()
					start = &v
					if rapid.Bool().Draw(rt, "over") {
						e := v + 60_000
						end = &e
					}
				}
				status := "ongoing"
				if end != nil {
					status = "ended"
				}
				kind, turns := schema.KindItem, -1
				if op == "detail" {
					kind, turns = schema.KindDetail, rapid.IntRange(0, 3).Draw(rt, "turns")
				}
				b := body(id, start, end, status, rapid.SampledFrom([]string{"", "positive"}).Draw(rt, "sentiment"), turns)
				test.OK(rt, w.Put(context.Background(), schema.Record{Kind: kind, CallID: id, FetchedAt: at, Body: b}))
				next := &calls.Call{}
				test.OK(rt, new(calls.Decoder).Decode(b, kind, next))
				next.Fetched(at, at, []byte(w.opts.RunID))
				calls.Merge(model[id], next, kind)
				next.Settle(at)
				model[id] = next
			case "missing":
				if len(model) == 0 {
					continue
				}
				ids := make([]string, 0, len(model))
				for id := range model {
					ids = append(ids, id)
				}
				sort.Strings(ids)
				id, at := rapid.SampledFrom(ids).Draw(rt, "id"), w.opts.Now().UnixMilli()
				test.OK(rt, w.Put(context.Background(), schema.Record{Kind: schema.KindMissing, CallID: id, FetchedAt: at}))
				next := calls.NewCall(id)
				next.Fetched(at, at, []byte(w.opts.RunID))
				calls.Merge(model[id], next, schema.KindMissing)
				next.Settle(at)
				model[id] = next
			case "commit":
				test.OK(t, w.Commit(t.Context(), doneRow(w)))
				settle()
				sameCalls(rt, model, readCalls(t, disk, w.Snapshot()))
			case "compact":
				month := rapid.SampledFrom([]string{"2026-10", "2026-11"}).Draw(rt, "month")
				if rapid.Bool().Draw(rt, "with changes") {
					err := w.commit(context.Background(), doneRow(w), compacting(month))
					test.OK(rt, err)
					settle()
					sameCalls(rt, model, readCalls(t, disk, w.Snapshot()))
					checkCompacted(rt, w.Snapshot(), month)
				} else if w.Snapshot() != nil {
					before := readCalls(t, disk, w.Snapshot())
					test.OK(rt, compact(w, month))
					sameCalls(rt, before, readCalls(t, disk, w.Snapshot()))
					checkCompacted(rt, w.Snapshot(), month)
				}
			case "restart":
				test.OK(rt, w.Close())
				n++
				w = night(t, disk, root, n)
				_, err := w.Recover(context.Background())
				test.OK(rt, err)
			}
		}
		test.OK(t, w.Commit(t.Context(), doneRow(w)))
		settle()
		sameCalls(rt, model, readCalls(t, disk, w.Snapshot()))
		if left, err := disk.ReadDir(filepath.Join(root, layout.JournalName, w.opts.RunID)); err == nil && len(left) > 0 {
			rt.Fatalf("the journal still holds %v after the commit", left)
		}
		test.OK(rt, w.Close())
	})
}

// checkCompacted fails if a month's calls are in files of days.
func checkCompacted(t *rapid.T, s *layout.Snapshot, month string) {
	t.Helper()
	for _, f := range s.Manifest.Files {
		if strings.HasPrefix(f.Period, month+"-") {
			t.Fatalf("%s was compacted, and %s is there", month, f.Path)
		}
	}
}

func sameCalls(t *rapid.T, want, got map[string]*calls.Call) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d calls, want %d", len(got), len(want))
	}
	for id, w := range want {
		g := got[id]
		if g == nil {
			t.Fatalf("call %s is lost", id)
		}
		if !calls.Same(w, g) || w.FirstSeenAt() != g.FirstSeenAt() {
			t.Fatalf("call %s is not as last told:\nwant %s\n got %s\n%s", id, w.AppendJSON(nil), g.AppendJSON(nil),
				cmp.Diff(fmt.Sprintf("%+v", w), fmt.Sprintf("%+v", g)))
		}
	}
}

// anywhere is the disk for tests that use several folders.
var anywhere = func() disk.FS {
	disk, err := disk.Open("/")
	if err != nil {
		panic(err)
	}
	return disk
}()
