package sink

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// recorded is the JSON of an ended call with a link to its recording.
func recorded(id string, start time.Time, link string, more map[string]any) []byte {
	call := map[string]any{"id": id, "status": "ended", "start_at": start.UnixMilli(), "end_at": start.UnixMilli() + 60_000,
		"recording_url": link, "transcript": []any{map[string]any{"role": "user", "content": "hello"}},
		"call_analysis": map[string]any{"summary": "s", "user_sentiment": "neutral", "custom_analysis_data": []any{}},
		"call_cost":     map[string]any{"total_cost": "1.00"}, "opt_out_sensitive_data_storage": false}
	maps.Copy(call, more)
	body, _ := json.Marshal(call)
	return body
}

// outcome is the record of what became of a recording.
func outcome(id string, start time.Time, r schema.Recording) schema.Record {
	at := start.UnixMilli()
	r.CallStart, r.FetchedAt = &at, testDay.UnixMilli()
	body, _ := json.Marshal(r)
	return schema.Record{Kind: schema.KindRecording, CallID: id, FetchedAt: r.FetchedAt, Body: body}
}

func put(t *testing.T, w *Warehouse, recs ...schema.Record) {
	t.Helper()
	test.OK(t, w.Put(context.Background(), recs...))
}

func putRecorded(t *testing.T, w *Warehouse, id string, start time.Time, link string, more map[string]any) {
	t.Helper()
	put(t, w, schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: w.opts.Now().UnixMilli(), Body: recorded(id, start, link, more)})
}

// recordingsOf lists the rows of recordings of a whole snapshot, and which are due.
func recordingsOf(t *testing.T, w *Warehouse) string {
	t.Helper()
	wholeOn(t, anywhere, w.opts.Root)
	var out []string
	for id, call := range readCalls(t, anywhere, w.Snapshot()) {
		if r, ok := call.Recording(); ok {
			out = append(out, strings.TrimSpace(fmt.Sprint(id, " ", r.State, " ", r.Path, " ", r.Reason)))
		}
	}
	slices.Sort(out)
	n := int64(0)
	for due, err := range w.RecordingsDue(context.Background()) {
		test.OK(t, err)
		n++
		out = append(out, "due "+due.CallID+" "+due.Link)
	}
	if f := w.Snapshot().Manifest.Recordings(); f.Due != n {
		t.Errorf("the manifest counts %d that are due, but there are %d", f.Due, n)
	}
	return strings.Join(out, "\n")
}

func expectRecordings(t *testing.T, when string, w *Warehouse, want ...string) {
	t.Helper()
	if got := recordingsOf(t, w); got != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant:\n%s", when, got, strings.Join(want, "\n"))
	}
}

// What became of a recording survives everything that rewrites its call: later answers, another
// day, compaction, a rollback to it; and an opt-out withholds it.
func TestRecordingsFollowTheirCalls(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "w")
	start := time.Date(2026, 8, 5, 10, 0, 0, 0, time.UTC)
	w := night(t, nil, root, 0)
	for i, id := range []string{"a", "b", "c", "d"} {
		putRecorded(t, w, id, start.AddDate(0, 0, i), "https://r.example/"+id, nil)
	}
	putRecorded(t, w, "no-link", start, "", nil)
	putRecorded(t, w, "not-connected", start, "https://r.example/n", map[string]any{"status": "not_connected"})
	putRecorded(t, w, "opted-out", start, "https://r.example/o", map[string]any{"opt_out_sensitive_data_storage": true})
	putRecorded(t, w, "ongoing", start, "https://r.example/p", map[string]any{"status": "ongoing", "end_at": nil})
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	expectRecordings(t, "before the first", w, "due d https://r.example/d", "due c https://r.example/c", "due b https://r.example/b",
		"due a https://r.example/a")
	stored := schema.Recording{State: schema.RecordingStored, Bytes: 7, SHA256: "ab", Format: "mp3",
		Path: "2026/08/05/a.mp3", Attempts: 1}
	put(t, w, outcome("a", start, stored),
		outcome("b", start.AddDate(0, 0, 40), schema.Recording{State: schema.RecordingDue, Reason: "slow", Attempts: 1}), // elsewhere
		outcome("c", start.AddDate(0, 0, 2), schema.Recording{State: schema.RecordingGone, Reason: "404", Attempts: 1}),
		outcome("unknown", start, stored))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	want := []string{"a stored 2026/08/05/a.mp3", "b due  slow", "c gone  404", "due d https://r.example/d", "due b https://r.example/b"}
	expectRecordings(t, "with outcomes", w, want...)
	if got, _ := w.Totals(); got.Recordings != 1 || got.Changed != 0 {
		t.Errorf("%+v", got)
	}
	figures := w.Snapshot().Manifest.Recordings()
	oldest := start.AddDate(0, 0, 1).Add(time.Minute).UnixMilli()
	if figures.Bytes != 7 || figures.States["stored"] != 1 || figures.Oldest == nil || *figures.Oldest != oldest {
		t.Errorf("%+v", figures)
	}
	before := w.Snapshot().Manifest.Snapshot
	row := readCalls(t, anywhere, w.Snapshot())["a"]

	putRecorded(t, w, "a", start, "https://r.example/a?2", map[string]any{"call_analysis": nil})
	put(t, w, schema.Record{Kind: schema.KindMissing, CallID: "c", FetchedAt: w.opts.Now().UnixMilli()})
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	expectRecordings(t, "after later answers", w, want...)
	if err := compact(w, "2026-08"); err != nil { // all rows are copied
		t.Fatal(err)
	}
	expectRecordings(t, "compacted", w, want...)
	putRecorded(t, w, "d", start.AddDate(0, 0, -40), "https://r.example/d", nil) // to another period
	putRecorded(t, w, "a", start.AddDate(0, 0, -39), "https://r.example/a", nil)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	moved := []string{want[0], want[1], want[2], want[4], want[3]}
	expectRecordings(t, "on other days", w, moved...)
	if got := readCalls(t, anywhere, w.Snapshot())["a"]; got.Recordings().Len() != 1 || got.Recordings().At(0)[0].String() != "a" ||
		schema.MillisOf(got.Recordings().At(0)[schema.Recordings.Column("call_start_at")]) != got.StartAt() {
		t.Errorf("the row of a call that moved: %v", got.Recordings().Cells())
	}

	putRecorded(t, w, "a", start, "https://r.example/a", map[string]any{"opt_out_sensitive_data_storage": true})
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	const why = " the caller opted out of storage"
	withheld := []string{"a withheld 2026/08/05/a.mp3" + why, "b due  slow", "c gone  404", "due b https://r.example/b", "due d https://r.example/d"}
	expectRecordings(t, "opted out", w, withheld...)
	for r, err := range w.RecordingsToDelete(context.Background()) {
		if err != nil || r.CallID != "a" || r.Known.Path != stored.Path {
			t.Errorf("to be deleted: %+v, %v", r, err)
		}
	}
	put(t, w, outcome("a", start, schema.Recording{State: schema.RecordingWithheld, Attempts: 1}))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	withheld[0] = "a withheld"
	expectRecordings(t, "deleted", w, withheld...)
	test.OK(t, w.Close())
	w = night(t, nil, root, 1)
	_, err := w.Rollback(context.Background(), before, rolledBack(w))
	test.OK(t, err)
	expectRecordings(t, "rolled back", w, want...)
	if got := readCalls(t, anywhere, w.Snapshot())["a"]; got.FetchedAt() != row.FetchedAt() || string(got.RunID()) != string(row.RunID()) {
		t.Error("an outcome changed when the call was fetched")
	}
}

// With an archive, a call whose recording is due always has the newest link.
func TestNewLinksOfRecordings(t *testing.T) {
	t.Parallel()
	for _, archive := range []string{"", "file:///archive"} {
		w := night(t, nil, filepath.Join(t.TempDir(), "w"), 0)
		w.Archive(archive)
		putRecorded(t, w, "a", testDay, "https://r.example/a?1", nil)
		test.OK(t, w.Commit(t.Context(), doneRow(w)))
		putRecorded(t, w, "a", testDay, "https://r.example/a?2", nil)
		test.OK(t, w.Commit(t.Context(), doneRow(w)))
		link := map[string]string{"": "?1", "file:///archive": "?2"}[archive]
		expectRecordings(t, "archive "+archive, w, "due a https://r.example/a"+link)
		test.Same(t, archive, w.Snapshot().Manifest.Archive, "the archive")
	}
}
