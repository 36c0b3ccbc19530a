package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/sink/commit"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/erase"
	"callhouse/internal/sink/everybyte"
	"callhouse/internal/sink/verify"
)

// The forgotten person: the spellings of her number in the warehouse, her calls, and their words.
var (
	herSpellings = []string{"+12015550100", "+1 (201) 555-0100", "2015550100", "201.555.0100", "001-201-555-0100"}
	herCalls     = []string{"a-call-of-hers-1", "b-call-of-hers-2", "c-call-of-hers-3", "a-call-of-hers-4", "z-call-of-hers-5"}
	herWords     = "marmalade xylophone"
)

// personRecords are the records of one night: her calls, and calls of others that contain her
// number or an id of her calls. v is the number of edits.
func personRecords(t *testing.T, v int) (recs []schema.Record) {
	t.Helper()
	call := func(id string, more map[string]any) {
		start := testDay.AddDate(0, 0, -int(id[0]-'a')).UnixMilli()
		c := map[string]any{"id": id, "status": "ended", "start_at": start, "end_at": start + 1000,
			"from_number": "+14155550199", "to_number": "+14155550123", "transcript": []any{}, "metadata": map[string]any{"v": v},
			"call_analysis": map[string]any{"summary": "about nothing", "user_sentiment": "neutral"}}
		for k, value := range more {
			c[k] = value
		}
		body, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: start + int64(v), Body: body})
	}
	said := func(content string) map[string]any {
		return map[string]any{"role": "user", "content": content, "start_at": nil, "end_at": nil}
	}
	items := func(value string) []any {
		return []any{map[string]any{"type": "string", "name": "topic", "value": value}}
	}
	for i, id := range herCalls {
		column := []string{"from_number", "to_number", "presentation_number"}[i%3]
		call(id, map[string]any{column: herSpellings[i%len(herSpellings)], "transcript": []any{said(herWords)},
			"call_analysis": map[string]any{"summary": herWords, "custom_analysis_data": items(herWords)}})
	}
	call("a-other-call", map[string]any{"dynamic_variables": map[string]any{"phone": herSpellings[1], "other": "+14155550100"}})
	call("b-other-call", map[string]any{"metadata": map[string]any{"digits": json.Number("12015550100"), "parent": herCalls[0]}})
	call("c-other-call", map[string]any{"transcript": []any{
		said("call me at " + herSpellings[3] + ", not at 4155550100"),
		map[string]any{"role": "tool_call_invocation", "tool_call_id": "t1", "name": "dial", "arguments": map[string]any{"to": herSpellings[4]}},
		map[string]any{"role": "tool_call_result", "tool_call_id": "t1", "content": `{"dialled":"` + herSpellings[0] + `"}`}}})
	call("z-other-call", map[string]any{"unknown_field": "see " + herCalls[1],
		"call_analysis": map[string]any{"summary": "asked for " + herSpellings[2], "custom_analysis_data": items(herSpellings[1])}})
	object := func(of, key, body string) {
		at := testDay.UnixMilli() + int64(v)
		recs = append(recs, schema.Record{Resource: of, Kind: schema.KindItem, CallID: key, FetchedAt: at, Body: []byte(body)})
	}
	object("customers", "customer-0", fmt.Sprintf(`{"id":"customer-0","name":%q,"note":"v%d",`+
		`"identifiers":[{"type":"phone","value":"tel:+1-201-555-0100"}]}`, herWords, v))
	object("customers", "customer-1", fmt.Sprintf(`{"id":"customer-1","name":"somebody else","note":"v%d, knows %s","identifiers":[]}`,
		v, herSpellings[1]))
	object("agents", "agent-0", fmt.Sprintf(`{"id":"agent-0","name":"A","description":"v%d: calls %s back"}`, v, herSpellings[0]))
	return recs
}

// personHouse makes a warehouse of three nights with the person in every possible place, including
// those of earlier versions.
func personHouse(t *testing.T) *Warehouse {
	t.Helper()
	root := filepath.Join(t.TempDir(), "w")
	var w *Warehouse
	for n := range 3 {
		w = night(t, nil, root, n)
		recs := personRecords(t, n)
		state, err := json.Marshal(schema.Bulk{State: schema.BulkAbsent, At: 1, Why: "no call " + herCalls[0] + " of " + herSpellings[0]})
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, schema.Record{Kind: schema.KindBulkState, FetchedAt: 1, Body: state})
		if err := w.Put(context.Background(), recs...); err != nil {
			t.Fatal(err)
		}
		err = w.Finish(context.Background(), func(s commit.Stats, commits int64) schema.Run {
			run := doneRow(w)(s, commits)
			run.Outcome, run.Error = schema.OutcomeFailed, fmt.Sprintf("read call %q anew: no %s", herCalls[1], herSpellings[1])
			run.DriftFields = fmt.Appendf(nil, `{"metadata.%s: unknown value":1}`, herCalls[0])
			return run
		})
		if err != nil {
			t.Fatal(err)
		}
		if n < 2 {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.lock.SetLost([]disk.Lost{{RunID: w.opts.RunID, Error: "call " + herCalls[2] + ": it is broken"}}); err != nil {
		t.Fatal(err)
	}
	return w
}

// tracesOf returns the number and places of each text under a folder.
func tracesOf(t *testing.T, root string, texts ...string) (hits map[string]int, where []string) {
	t.Helper()
	hits = map[string]int{}
	everybyte.Under(t, root, func(at string, raw []byte) {
		for _, text := range texts {
			if bytes.Contains(raw, []byte(text)) {
				hits[text]++
				where = append(where, at+": "+text)
			}
		}
	})
	slices.Sort(where)
	return hits, slices.Compact(where)
}

// After forget --everywhere no byte of the warehouse contains anything of the person.
func TestForgetLeavesNoTrace(t *testing.T) {
	w := personHouse(t)
	root := w.opts.Root
	texts := slices.Concat(herSpellings, herCalls, []string{herWords, "12015550100", "1-201-555", "customer-0"})
	before, where := tracesOf(t, root, texts...)
	for _, text := range texts {
		if before[text] == 0 {
			t.Errorf("%q is not planted", text)
		}
	}
	for _, at := range []string{"manifest.json", "lock", "runs.parquet error", "runs.parquet drift_fields",
		"dynamic_variables", "metadata", "content", "arguments", "summary", "value", "extra", "note", "after", ".parquet metadata: "} {
		if !strings.Contains(strings.Join(where, "\n"), at) {
			t.Errorf("nothing is planted in %s", at)
		}
	}
	sel := erase.Selection{Numbers: []string{"(201) 555-0100"}, Country: "US", Everywhere: true}
	plan, err := w.Forget(context.Background(), sel, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := mustForget(t, w, sel)
	for _, of := range []*erase.Receipt{plan, r} {
		last := of.Erased
		if last.Calls != 5 || last.Customers != 1 || of.Numbers[0] != (erase.Found{Calls: 5, Customers: 1}) {
			t.Errorf("erased %+v, found %+v", last, of.Numbers)
		}
		var got []string
		for _, p := range last.Places {
			got = append(got, fmt.Sprintf("%s.%s %d %d", p.Table, p.Column, p.Rows, p.Calls))
		}
		want := []string{"agents.extra 1 0", "analysis_items.value 1 1", "calls.dynamic_variables 1 1", "calls.extra 1 1", "calls.metadata 1 1", "calls.summary 1 1",
			"changes.after 6 0", "changes.before 4 0", "customers.note 1 0", "runs.drift_fields 3 0", "runs.error 3 0",
			"tool_calls.arguments 1 1", "tool_calls.result 1 1", "transcript_turns.arguments 1 1", "transcript_turns.content 2 1"}
		if !slices.Equal(got, want) {
			t.Errorf("the places are\n%s", strings.Join(got, "\n"))
		}
	}
	if r.Scan.Files < 10 || len(r.Scan.Found) > 0 {
		t.Errorf("the scan says %+v", r.Scan)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "receipt.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	after, where := tracesOf(t, root, texts...)
	if len(after) > 0 {
		t.Errorf("left are\n%s", strings.Join(where, "\n"))
	}
	if err := os.Remove(filepath.Join(root, "receipt.json")); err != nil {
		t.Fatal(err)
	}
	// Others' data stays.
	if kept, _ := tracesOf(t, root, "+14155550100", "4155550100", "somebody else", "about nothing", "call me at "+erase.Blank+", not"); len(kept) != 5 {
		t.Errorf("of others stayed %v", kept)
	}
	if v, err := verify.Warehouse(context.Background(), verify.Options{Root: root, All: true}); err != nil || !v.Whole() {
		t.Errorf("verify: %+v, %v", v, err)
	}
	if bad, err := erase.CheckReceipt(context.Background(), root, r); err != nil || len(bad) > 0 {
		t.Errorf("the receipt does not hold: %v, %v", bad, err)
	}
	again := mustForget(t, w, sel)
	if again.Snapshot != r.Snapshot || len(again.Scan.Found) > 0 {
		t.Errorf("forgetting it again: %+v", again)
	}
}

// Without --everywhere only her own rows are removed, ids are removed from built-in texts, and the
// scan reports the rest.
func TestForgetNamesWhatItLeaves(t *testing.T) {
	w := personHouse(t)
	root := w.opts.Root
	r := mustForget(t, w, erase.Selection{Numbers: []string{herSpellings[0]}})
	if _, where := tracesOf(t, root, slices.Concat(herCalls[2:], []string{herWords, "customer-0"})...); len(where) > 0 {
		t.Errorf("left are\n%s", strings.Join(where, "\n"))
	}
	var left []string
	for _, p := range r.Scan.Found {
		left = append(left, p.Table+"."+p.Column+p.Path)
	}
	want := []string{"agents.extra", "analysis_items.value", "calls.dynamic_variables", "calls.extra", "calls.metadata", "calls.summary", "changes.after", "changes.before",
		"customers.note", "tool_calls.arguments", "tool_calls.result", "transcript_turns.arguments", "transcript_turns.content"}
	if !slices.Equal(left, want) {
		t.Errorf("the scan finds %v", left)
	}
	if s, err := erase.Traces(context.Background(), root, erase.Selection{Numbers: []string{"+12015550100"}}); err != nil || len(s.Found) != 12 {
		t.Errorf("a look for her number finds %+v, %v", s, err)
	}
	if s, err := erase.Traces(context.Background(), root, erase.Selection{CallIDs: herCalls}); err != nil || len(s.Found) != 2 {
		t.Errorf("a look for her calls finds %+v, %v", s, err)
	}
	if bad, err := erase.CheckReceipt(context.Background(), root, r); err != nil || len(bad) > 0 {
		t.Errorf("the receipt does not hold: %v, %v", bad, err)
	}
	// The rest can be blanked later by the number alone, when the ids are no longer known.
	if later := mustForget(t, w, erase.Selection{Numbers: herSpellings[:1], Everywhere: true}); len(later.Scan.Found) > 0 {
		t.Errorf("later the scan finds %+v", later.Scan.Found)
	}
	if _, where := tracesOf(t, root, slices.Concat(herSpellings, herCalls)...); len(where) > 0 {
		t.Errorf("later left are\n%s", strings.Join(where, "\n"))
	}
}

// The journal is part of the warehouse.
func TestTracesInTheJournal(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	w := night(t, nil, root, 1)
	put(t, w, storyRecord("b", 1))
	mustCommit(t, w)
	if err := w.Put(context.Background(), personRecords(t, 1)...); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, sel := range []erase.Selection{{CallIDs: herCalls[:1]}, {Numbers: herSpellings[:1]}, {Customers: []string{"customer-0"}}} {
		if s, err := erase.Traces(context.Background(), root, sel); err != nil || len(s.Found) != 1 || s.Found[0].Rows == 0 {
			t.Errorf("%+v finds %+v, %v", sel, s, err)
		}
	}
}

// An id left by an earlier version in a manifest, the error of a run or the lock file is found by
// its receipt, which has only hashes.
func TestCheckFindsIDsInTexts(t *testing.T) {
	w := personHouse(t)
	r := mustForget(t, w, erase.Selection{CallIDs: herCalls})
	state, err := json.Marshal(schema.Bulk{State: schema.BulkRefuted, At: 2, Why: "v2: call " + herCalls[0] + ": turns differ"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Put(context.Background(), schema.Record{Kind: schema.KindBulkState, FetchedAt: 2, Body: state}); err != nil {
		t.Fatal(err)
	}
	err = w.Commit(context.Background(), func(s commit.Stats, commits int64) schema.Run {
		run := doneRow(w)(s, commits)
		run.ID, run.Error = w.opts.RunID, fmt.Sprintf("call %q", herCalls[1])
		return run
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.lock.SetLost([]disk.Lost{{RunID: w.opts.RunID, Error: "read (" + herCalls[2] + "): broken"}}); err != nil {
		t.Fatal(err)
	}
	bad, err := erase.CheckReceipt(context.Background(), w.opts.Root, r)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range bad {
		got = append(got, p.Path)
		if p.Kind != "not forgotten" || strings.Contains(p.String(), "of-hers") {
			t.Errorf("found %v", p)
		}
	}
	if all := strings.Join(got, " "); !strings.Contains(all, "manifest.json") || !strings.Contains(all, "runs.parquet") || !strings.Contains(all, "lock") {
		t.Errorf("found %v", got)
	}
	mustForget(t, w, erase.Selection{CallIDs: herCalls[:3]})
	if bad, err := erase.CheckReceipt(context.Background(), w.opts.Root, r); err != nil || len(bad) > 0 {
		t.Errorf("after it was forgotten again: %v, %v", bad, err)
	}
}

// Any spelling finds the calls and the customers.
func TestForgetFindsEverySpelling(t *testing.T) {
	w := older(t)
	if err := w.Put(context.Background(), personRecords(t, 0)...); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, w)
	for _, number := range []string{"+1 (201) 555-0100", "tel:+1-201-555-0100", "0012015550100", "12015550100", "2015550100", "＋１ ２０１ ５５５ ０１００"} {
		plan, err := w.Forget(context.Background(), erase.Selection{Numbers: []string{number, "+14155559999"}}, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := []erase.Found{{Calls: 5, Customers: 1}, {}}; !slices.Equal(plan.Numbers, want) {
			t.Errorf("%s finds %+v", number, plan.Numbers)
		}
	}
}
