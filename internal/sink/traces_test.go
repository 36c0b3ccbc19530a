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

	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// The forgotten person: the spellings of her number in the warehouse, her calls, and their words.
var (
	herSpellings = []string{"+12015550100", "+1 (201) 555-0100", "2015550100", "201.555.0100", "001-201-555-0100"}
	herCalls     = []string{"a-call-of-hers-1", "b-call-of-hers-2", "c-call-of-hers-3", "a-call-of-hers-4", "z-call-of-hers-5"}
	herWords     = "marmalade xylophone"
)

// personRecords are the records of one night: her calls and, with others, calls of others that contain
// her number or an id of her calls. v is the number of edits.
func personRecords(t *testing.T, v int, others bool) (recs []schema.Record) {
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
		test.OK(t, err)
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
	object := func(of, key, body string) {
		at := testDay.UnixMilli() + int64(v)
		recs = append(recs, schema.Record{Resource: of, Kind: schema.KindItem, CallID: key, FetchedAt: at, Body: []byte(body)})
	}
	object("customers", "customer-0", fmt.Sprintf(`{"id":"customer-0","name":%q,"note":"v%d",`+
		`"identifiers":[{"type":"phone","value":"tel:+1-201-555-0100"}]}`, herWords, v))
	if !others {
		call("a-other-call", map[string]any{"dynamic_variables": map[string]any{"other": "+14155550100"}})
		return recs
	}
	call("a-other-call", map[string]any{"dynamic_variables": map[string]any{"phone": herSpellings[1], "other": "+14155550100"}})
	call("b-other-call", map[string]any{"metadata": map[string]any{"digits": json.Number("12015550100"), "parent": herCalls[0]}})
	call("c-other-call", map[string]any{"transcript": []any{
		said("call me at " + herSpellings[3] + ", not at 4155550100"),
		map[string]any{"role": "tool_call_invocation", "tool_call_id": "t1", "name": "dial", "arguments": map[string]any{"to": herSpellings[4]}},
		map[string]any{"role": "tool_call_result", "tool_call_id": "t1", "content": `{"dialled":"` + herSpellings[0] + `"}`}}})
	call("z-other-call", map[string]any{"unknown_field": "see " + herCalls[1],
		"call_analysis": map[string]any{"summary": "asked for " + herSpellings[2], "custom_analysis_data": items(herSpellings[1])}})
	object("customers", "customer-1", fmt.Sprintf(`{"id":"customer-1","name":"somebody else","note":"v%d, knows %s","identifiers":[]}`,
		v, herSpellings[1]))
	object("agents", "agent-0", fmt.Sprintf(`{"id":"agent-0","name":"A","description":"v%d: calls %s back"}`, v, herSpellings[0]))
	return recs
}

// personWarehouse makes a warehouse of three nights with the person in every possible place.
func personWarehouse(t *testing.T, others bool) *Warehouse {
	t.Helper()
	root := filepath.Join(t.TempDir(), "w")
	var w *Warehouse
	for n := range 3 {
		w = night(t, nil, root, n)
		recs := personRecords(t, n, others)
		state, err := json.Marshal(schema.Bulk{State: schema.BulkAbsent, At: 1, Why: "no call " + herCalls[0] + " of " + herSpellings[0]})
		test.OK(t, err)
		recs = append(recs, schema.Record{Kind: schema.KindBulkState, FetchedAt: 1, Body: state})
		test.OK(t, w.Put(context.Background(), recs...))
		err = w.Finish(context.Background(), func(s Stats, commits int64) schema.Run {
			run := doneRow(w)(s, commits)
			run.Outcome, run.Error = schema.OutcomeFailed, fmt.Sprintf("read call %q anew: no %s", herCalls[1], herSpellings[1])
			run.DriftFields = fmt.Appendf(nil, `{"metadata.%s: unknown value":1}`, herCalls[0])
			return run
		})
		test.OK(t, err)
		if n < 2 {
			test.OK(t, w.Close())
		}
	}
	test.OK(t, w.lock.SetLost([]disk.Lost{{RunID: w.opts.RunID, Error: "call " + herCalls[2] + ": it is broken"}}))
	return w
}

// tracesOf returns the number and places of each text under a folder.
func tracesOf(t *testing.T, root string, texts ...string) (hits map[string]int, where []string) {
	t.Helper()
	hits = map[string]int{}
	test.EveryByte(t, root, func(at string, raw []byte) {
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

// After forget no byte of the warehouse contains anything of the person: neither the rows, nor the
// texts that callhouse wrote itself, nor files that a killed program left.
func TestForgetLeavesNoTrace(t *testing.T) {
	ids := slices.Concat(herCalls, []string{herWords})
	for _, c := range []struct {
		name  string
		sel   Selection
		texts []string
	}{
		{"number", Selection{Numbers: []string{"(201) 555-0100"}, Country: "US"},
			slices.Concat(herSpellings, ids, []string{"1-201-555", "customer-0"})},
		{"ids", Selection{CallIDs: herCalls, Customers: []string{"customer-0"}}, append(ids, "customer-0", "1-201-555")},
		{"time", Selection{Before: testDay.AddDate(0, 0, 1), Customers: []string{"customer-0"}}, append(ids, "a-other-call")},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := personWarehouse(t, false)
			root := w.opts.Root
			before, where := tracesOf(t, root, c.texts...)
			for _, text := range c.texts {
				if before[text] == 0 {
					t.Errorf("%q is not planted", text)
				}
			}
			for _, at := range []string{"manifest.json", "state.json", "runs.parquet decompressed", "transcript_turns/", "calls/", "analysis_items/", "changes/"} {
				if !strings.Contains(strings.Join(where, "\n"), at) {
					t.Errorf("nothing is planted in %s", at)
				}
			}
			plan, err := w.Forget(t.Context(), c.sel, true, nil)
			test.OK(t, err)
			r := mustForget(t, w, c.sel)
			calls := int64(5)
			if !c.sel.Before.IsZero() {
				calls++
			}
			for _, of := range []*Receipt{plan, r} {
				if of.Erased.Calls != calls || of.Erased.Customers != 1 || of.Mentioned > 0 {
					t.Errorf("erased %+v, mentioned %v", of.Erased, of.Mentions)
				}
			}
			raw, err := json.Marshal(r)
			test.OK(t, err)
			receipt := filepath.Join(root, "receipt.json")
			test.OK(t, os.WriteFile(receipt, raw, 0o600))
			if after, where := tracesOf(t, root, c.texts...); len(after) > 0 {
				t.Errorf("left are\n%s", strings.Join(where, "\n"))
			}
			test.OK(t, os.Remove(receipt))
			if remaining, _ := tracesOf(t, root, "+14155550100"); c.sel.Before.IsZero() && len(remaining) != 1 {
				t.Errorf("of others stayed %v", remaining)
			}
			wholeOn(t, anywhere, root)
			if again := mustForget(t, w, c.sel); again.Snapshot != r.Snapshot {
				t.Errorf("forgetting it again: %+v", again)
			}
		})
	}
}

// The receipt lists where the number and the ids occur in rows of others, which stay as they are.
func TestForgetListsMentions(t *testing.T) {
	longtest.Only(t)
	w := personWarehouse(t, true)
	r := mustForget(t, w, Selection{Numbers: []string{herSpellings[0]}})
	if _, where := tracesOf(t, w.opts.Root, slices.Concat(herCalls[2:], []string{herWords, "customer-0"})...); len(where) > 0 {
		t.Errorf("left are\n%s", strings.Join(where, "\n"))
	}
	var got []string
	for _, m := range r.Mentions {
		got = append(got, m.Table+"."+m.Column+" "+m.ID)
	}
	slices.Sort(got)
	got = slices.Compact(got) // an object has several changes
	want := []string{"agents.extra agent-0", "analysis_items.value z-other-call", "calls.dynamic_variables a-other-call", "calls.extra z-other-call",
		"calls.metadata b-other-call", "calls.summary z-other-call", "changes.after agent-0", "changes.after customer-1",
		"changes.before agent-0", "changes.before customer-1", "customers.note customer-1",
		"tool_calls.arguments c-other-call", "tool_calls.result c-other-call", "transcript_turns.arguments c-other-call", "transcript_turns.content c-other-call"}
	if !slices.Equal(got, want) || r.Mentioned != int64(len(r.Mentions)) {
		t.Errorf("the receipt lists %d:\n%s", r.Mentioned, strings.Join(got, "\n"))
	}
	if remaining, _ := tracesOf(t, w.opts.Root, "call me at "+herSpellings[3]+", not", "somebody else"); len(remaining) != 2 {
		t.Errorf("of others stayed %v", remaining)
	}
}

// Any spelling finds the calls and the customers.
func TestForgetFindsEverySpelling(t *testing.T) {
	w := older(t)
	test.OK(t, w.Put(context.Background(), personRecords(t, 0, true)...))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	for _, number := range []string{"+1 (201) 555-0100", "tel:+1-201-555-0100", "0012015550100", "12015550100", "2015550100", "＋１ ２０１ ５５５ ０１００"} {
		plan, err := w.Forget(context.Background(), Selection{Numbers: []string{number, "+14155559999"}}, true, nil)
		test.OK(t, err)
		test.Same(t, []Found{{Calls: 5, Customers: 1}, {}}, plan.Numbers, "%s finds", number)
	}
}
