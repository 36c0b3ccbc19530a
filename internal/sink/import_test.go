package sink

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"callhouse/internal/calls"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
)

// dumpOf makes a dump of lines, dated hour hours after the tests' first run, whole or in pieces.
func dumpOf(name string, hour int, kind schema.Kind, pieces bool, lines ...string) *Dump {
	text := strings.Join(lines, "\n")
	d := &Dump{Name: name, Lines: strings.NewReader(text), AsOf: testDay.UnixMilli() + int64(hour)*3_600_000, Kind: kind}
	if pieces {
		d.Lines = io.MultiReader(strings.NewReader(text[:len(text)/2]), strings.NewReader(text[len(text)/2:]))
	}
	return d
}

// imported imports dumps into w, and returns what was set aside and the results of the commits.
func imported(t *testing.T, w *Warehouse, dumps ...*Dump) (aside []string, did Stats) {
	t.Helper()
	i := w.NewImport(doneRow(w), func(a AsideError) { aside = append(aside, a.Error()) })
	for _, d := range dumps {
		test.OK(t, i.Add(t.Context(), d))
	}
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	if n := i.SetAside; n != int64(len(aside)) {
		t.Errorf("%d lines set aside, %d of them reported", n, len(aside))
	}
	did, _ = w.Totals()
	return aside, did
}

func line(id string, start int64, more string) string {
	return fmt.Sprintf(`{"id":%q,"status":"ended","start_at":%d,"end_at":%d%s}`, id, start, start+1000, more)
}

// TestImportMergesByAge imports into a warehouse whose run fetched before or after.
func TestImportMergesByAge(t *testing.T) {
	longtest.Only(t)
	day := testDay.UnixMilli() - 48*3_600_000
	spoken := `,"transcript":[{"role":"user","content":"hello"}]`
	for _, c := range []struct {
		name     string
		dump     string
		hour     int // the run that fetched the call was in hour 5
		start    int64
		label    string
		turns    int
		state    calls.TranscriptState
		changed  bool
		fetched5 bool // the call is as fetched by the run
	}{
		{"newer wins", line("a", day, `,"variant_label":"dump"`), 6, day, "dump", 0, calls.Pending, true, false},
		{"newer, another start", line("a", day-90_000_000, `,"variant_label":"dump"`), 6, day, "run", 0, calls.Pending, false, true},
		{"older loses", line("a", day+1, `,"variant_label":"dump"`), 4, day, "run", 0, calls.Pending, false, true},
		{"older, another day", line("a", day-90_000_000, `,"variant_label":"dump"`), 4, day, "run", 0, calls.Pending, false, true},
		{"older adds a transcript", line("a", day, `,"variant_label":"dump"`+spoken), 4, day, "run", 1, calls.Present, true, true},
		{"the same", line("a", day, `,"variant_label":"run"`), 5, day, "run", 0, calls.Pending, false, true},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, streamed), func(t *testing.T) {
				m, root := storyRoot(t)
				w := night(t, m, root, 5)
				rec := schema.Record{Kind: schema.KindItem, CallID: "a", FetchedAt: testDay.UnixMilli() + 5*3_600_000,
					Body: []byte(line("a", day, `,"variant_label":"run"`))}
				test.OK(t, w.Put(t.Context(), rec))
				test.OK(t, w.Commit(t.Context(), doneRow(w)))
				test.OK(t, w.Close())
				w = night(t, m, root, 7)
				_, did := imported(t, w, dumpOf("d", c.hour, schema.KindItem, streamed, c.dump, line("b", day, "")))
				if did.New != 1 || (did.Changed == 1) != c.changed {
					t.Errorf("%d new, %d changed", did.New, did.Changed)
				}
				call := readCalls(t, m, w.Snapshot())["a"]
				if call.StartAt().V != c.start || string(call.Text("variant_label")) != c.label || call.Turns().Len() != c.turns || call.TranscriptState() != c.state {
					t.Errorf("start %d, label %s, %d turns, transcript %v", call.StartAt().V-day, call.Text("variant_label"), call.Turns().Len(), call.TranscriptState())
				}
				test.Same(t, c.fetched5, call.FetchedAt() == rec.FetchedAt, "fetched at %d", call.FetchedAt())
				// A second import changes nothing.
				test.OK(t, w.Close())
				w = night(t, m, root, 8)
				if _, did := imported(t, w, dumpOf("d", c.hour, schema.KindItem, streamed, c.dump, line("b", day, ""))); did.New+did.Changed != 0 || did.Written != 1 {
					t.Errorf("the second time: %d new, %d changed, %d files written", did.New, did.Changed, did.Written)
				}
			})
		}
	}
}

// An export that was made while calls went on, and saved later, undoes nothing that is known by now;
// it still adds what is missing, and newer data of the call's end wins.
func TestImportUndoesNothing(t *testing.T) {
	day := testDay.UnixMilli() - 48*3_600_000
	two := `,"transcript":[{"role":"user","content":"one"},{"role":"agent","content":"two"}]`
	for name, c := range longtest.Sorted(map[string]struct{ dump, status, end, summary, label string }{
		"ongoing":    {fmt.Sprintf(`{"id":"a","status":"ongoing","start_at":%d,"end_at":null,"call_analysis":null,"variant_label":"x"}`, day), "ended", "1000", "s", "known"},
		"no status":  {fmt.Sprintf(`{"id":"a","status":null,"start_at":%d,"end_at":null,"variant_label":"x"}`, day), "ended", "1000", "s", "known"},
		"queued":     {`{"id":"a","status":"queued","start_at":null,"end_at":null,"variant_label":"x"}`, "ended", "1000", "s", "known"},
		"no end":     {fmt.Sprintf(`{"id":"a","status":"ended","start_at":%d,"end_at":null,"variant_label":"x"}`, day), "ended", "1000", "s", "known"},
		"of v2":      {fmt.Sprintf(`{"call_id":"a","call_status":"ongoing","start_timestamp":%d,"end_timestamp":null,"transcript":null}`, day), "ended", "1000", "s", "known"},
		"elsewhere":  {fmt.Sprintf(`{"id":"a","status":"ongoing","start_at":%d,"end_at":null}`, day-90_000_000), "ended", "1000", "s", "known"},
		"one turn":   {line("a", day, `,"variant_label":"x","transcript":[{"role":"user","content":"one"}]`), "ended", "1000", "s", "known"},
		"no turns":   {line("a", day, `,"variant_label":"x","transcript":[],"call_analysis":null`), "ended", "1000", "s", "x"},
		"correction": {line("a", day, `,"variant_label":"x","call_analysis":{"summary":"new"}`), "ended", "1000", "new", "x"},
		"thin":       {`{"id":"a","variant_label":"x","call_analysis":{"summary":"new"}}`, "ended", "1000", "s", "known"},
	}, 3) {
		for _, streamed := range []bool{false, true} {
			for _, fetched := range []bool{false, true} {
				t.Run(fmt.Sprint(name, streamed, fetched), func(t *testing.T) {
					m, root := storyRoot(t)
					w := night(t, m, root, 5)
					known := line("a", day, `,"variant_label":"known","call_analysis":{"summary":"s"}`+two)
					dump := dumpOf("d", 6, schema.KindDetail, streamed, known, c.dump, c.dump)
					if fetched {
						rec := schema.Record{Kind: schema.KindDetail, CallID: "a", FetchedAt: testDay.UnixMilli() + 5*3_600_000, Body: []byte(known)}
						test.OK(t, w.Put(t.Context(), rec))
						test.OK(t, w.Commit(t.Context(), doneRow(w)))
						dump = dumpOf("d", 6, schema.KindDetail, streamed, c.dump, c.dump)
					}
					imported(t, w, dump, dumpOf("e", 6, schema.KindItem, streamed, c.dump))
					call := readCalls(t, m, w.Snapshot())["a"]
					if string(call.Status()) != c.status || fmt.Sprint(call.EndAt().V-call.StartAt().V) != c.end || call.Turns().Len() != 2 ||
						string(call.Text("summary")) != c.summary || string(call.Text("variant_label")) != c.label || call.TranscriptState() != calls.Present {
						t.Errorf("%s, %d ms, %d turns, %s, %s, %v", call.Status(), call.EndAt().V-call.StartAt().V, call.Turns().Len(),
							call.Text("summary"), call.Text("variant_label"), call.TranscriptState())
					}
					wholeOn(t, m, root)
				})
			}
		}
	}
}

var ages = longtest.Int("ages", 10, 100, "how many histories TestImportOfAnyAge tries")

// Whatever dumps of several ages have, of one call and in any order, in one import or several, the
// call is in its place, and no end or start that was known is lost.
func TestImportOfAnyAge(t *testing.T) {
	day := testDay.UnixMilli() - 96*3_600_000
	for seed := range *ages {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		body := func() string {
			return `{"id":"a"` + pick("", `,"status":"ended"`, `,"status":"ongoing"`, `,"status":null`) +
				pick("", `,"start_at":null`, fmt.Sprintf(`,"start_at":%d`, day), fmt.Sprintf(`,"start_at":%d`, day+90_000_000), `,"start_at":"soon"`) +
				pick("", `,"end_at":null`, fmt.Sprintf(`,"end_at":%d`, day+100_000_000)) +
				pick("", `,"transcript":[{"role":"user","content":"x"}]`) + `}`
		}
		m, root := storyRoot(t)
		var history []string
		started, ended := false, false
		if r.IntN(2) == 0 {
			w := night(t, m, root, 5)
			rec := schema.Record{Kind: schema.KindItem, CallID: "a", FetchedAt: testDay.UnixMilli() + 5*3_600_000, Body: []byte(body())}
			history = append(history, "run "+string(rec.Body))
			test.OK(t, w.Put(t.Context(), rec))
			test.OK(t, w.Commit(t.Context(), doneRow(w)))
			call := readCalls(t, m, w.Snapshot())["a"]
			started, ended = call.StartAt().OK, call.EndAt().OK
			test.OK(t, w.Close())
		}
		for n := range 1 + r.IntN(3) {
			w := night(t, m, root, 10+n)
			var dumps []*Dump
			for range 1 + r.IntN(3) {
				text, hour := body(), 3+r.IntN(5)
				history = append(history, fmt.Sprint(n, " ", hour, " ", text))
				dumps = append(dumps, dumpOf("d", hour, schema.KindItem, r.IntN(2) == 0, text))
			}
			imported(t, w, dumps...)
			call := readCalls(t, m, w.Snapshot())["a"]
			if started && !call.StartAt().OK || ended && !call.EndAt().OK {
				t.Errorf("seed %d: start %v, end %v after\n%s", seed, call.StartAt(), call.EndAt(), strings.Join(history, "\n"))
			}
			started, ended = call.StartAt().OK, call.EndAt().OK
			wholeOn(t, m, root)
			test.OK(t, w.Close())
		}
	}
}

// The departures in dumps are counted like those of a run's records, over all dumps and commits.
func TestImportCountsDrift(t *testing.T) {
	m, root := storyRoot(t)
	w := night(t, m, root, 1)
	odd := func(id string) string {
		return line(id, testDay.UnixMilli(), `,"call_cost":{"total_cost":"1,200.50"},"variant_label":"caf`+"\xe9\"")
	}
	_, did := imported(t, w, dumpOf("d", 0, schema.KindItem, false, odd("a"), line("b", 1, "")), dumpOf("e", 0, schema.KindItem, true, odd("c")))
	want := wire.DriftCounts{{Path: "call_cost.total_cost", Kind: wire.DriftMismatch}: 2, {Path: "(body)", Kind: wire.DriftReplaced}: 2}
	if did.Drifted != 4 || !maps.Equal(did.Drift, want) {
		t.Errorf("%d: %v", did.Drifted, did.Drift)
	}
	w.Close()
	w = night(t, m, root, 2)
	if _, did := imported(t, w, dumpOf("d", 0, schema.KindItem, false, odd("a"))); did.Drifted != 2 {
		t.Errorf("the second time: %d", did.Drifted)
	}
}

// TestImportSetsAside imports lines that are not calls, or are malformed, among valid ones.
func TestImportSetsAside(t *testing.T) {
	day := testDay.UnixMilli()
	for _, streamed := range []bool{false, true} {
		m, root := storyRoot(t)
		w := night(t, m, root, 1)
		aside, did := imported(t, w, dumpOf("d.ndjson", 0, schema.KindDetail, streamed,
			"\xef\xbb\xbf"+line("a", day, ""),
			"",
			line("b", day, "")+"\r",
			`{"id":"torn","start_at":1,"sta`,
			`{"id":"broken","start_at":1,"x":nope}`,
			`[1,2]`,
			`{"id":"twice","start_at":1,"start_at":`+fmt.Sprint(day)+`}`, // the last one counts
			`{"id":"was","id":"c","start_at":`+fmt.Sprint(day)+`}`,
			`{"start_at":1}`,
			`{"call_id":"v2","start_timestamp":`+fmt.Sprint(day)+`,"call_from":"1"}`,
			line("d", day, "")))
		want := []string{
			"d.ndjson:4: cannot be decoded: unfinished string at byte 26",
			"d.ndjson:5: cannot be decoded: no value at byte 32",
			"d.ndjson:6: cannot be decoded: not a JSON object at byte 0",
			"d.ndjson:9: cannot be decoded: no id at byte 0",
		}
		test.Same(t, strings.Join(want, "\n"), strings.Join(aside, "\n"), "set aside")
		calls := readCalls(t, m, w.Snapshot())
		for _, id := range []string{"a", "b", "c", "d", "twice", "v2"} {
			if c := calls[id]; c == nil || c.StartAt().V != day {
				t.Errorf("call %s is not there, or not where it should be", id)
			}
		}
		if did.New != 6 || len(calls) != 6 {
			t.Errorf("%d new calls, %d in all", did.New, len(calls))
		}
		left, err := m.ReadDir(root)
		test.OK(t, err)
		for _, e := range left {
			if strings.HasPrefix(e.Name(), ".tmp-") {
				t.Errorf("%s was left behind", e.Name())
			}
		}
	}
}

// TestImportRejects does not import what was forgotten or must not be stored.
func TestImportRejects(t *testing.T) {
	day := testDay.UnixMilli()
	m, root := storyRoot(t)
	w := night(t, m, root, 1)
	imported(t, w, dumpOf("d", 0, schema.KindDetail, false, line("a", day, ""), line("b", day, "")))
	_, err := w.Forget(t.Context(), Selection{CallIDs: []string{"a"}}, false, nil)
	test.OK(t, err)
	imported(t, w, dumpOf("d", 0, schema.KindDetail, false, line("a", day, ""), line("b", day, ""),
		line("c", day, `,"opt_out_sensitive_data_storage":true,"transcript":[{"role":"user","content":"secret"}],"x":"secret"`)))
	got := readCalls(t, m, w.Snapshot())
	if got["a"] != nil || got["b"] == nil || len(got) != 2 {
		t.Errorf("%d calls: %v", len(got), got)
	}
	if c := got["c"]; c == nil || c.TranscriptState() != calls.Withheld || c.Turns().Len() > 0 || bytes.Contains(c.AppendJSON(nil), []byte("secret")) {
		t.Errorf("of an opted-out call there is %s", c.AppendJSON(nil))
	}
}
