package calls

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

// Nothing of an opted-out call's conversation passes Decode or Redact, and both give the same rows.
func TestOptOut(t *testing.T) {
	t.Parallel()
	body := payload(t, "v3_detail_opt_out_sent")
	clean, changed, err := wire.Redact(schema.CallResource, body)
	if err != nil || !changed {
		t.Fatalf("redact: changed %v, %v", changed, err)
	}
	if bytes.Contains(clean, []byte("SECRET")) {
		t.Errorf("in the journal: %s", clean)
	}
	c := decoded(t, body, schema.KindDetail)
	eachText(c, func(text *parquet.Value, _ bool) {
		if bytes.Contains(text.ByteArray(), []byte("SECRET")) {
			t.Errorf("in the rows: %s", text)
		}
	})
	if c.TranscriptState() != Withheld || c.CanHaveTranscript() || c.DetailDue() {
		t.Errorf("transcript %v", c.TranscriptState())
	}
	test.NoDiff(t, cmp.Diff(c, decoded(t, clean, schema.KindDetail), sameRows), "the redacted body makes other rows")
	if again, changed, err := wire.Redact(schema.CallResource, clean); changed || err != nil || &again[0] != &clean[0] {
		t.Errorf("redacted twice: changed %v, %v", changed, err)
	}
}

// Everything that is not plainly false forbids storage.
func TestOptOutSpellings(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		`true`: true, `"true"`: true, `1`: true, `0`: true, `"no"`: true, `{}`: true, `[]`: true, `"f\u0061lse"`: true,
		`false`: false, `null`: false, `"false"`: false,
	} {
		for _, body := range []string{
			`{"id":"a","transcript":[{"content":"SECRET"}],"opt_out_sensitive_data_storage":` + value + `}`,
			`{"\u006fpt_out_sensitive_data_storage":` + value + `,"x":"SECRET","id":"a"}`,
			`{"opt_out_sensitive_data_storage":false,"x":"SECRET","id":"a","opt_out_sensitive_data_storage":` + value + `}`,
		} {
			c := decoded(t, []byte(body), schema.KindDetail)
			clean, changed, err := wire.Redact(schema.CallResource, []byte(body))
			test.OK(t, err)
			remains := c.Turns().Len() > 0 || bytes.Contains(c.Text("extra"), []byte("SECRET"))
			if remains == want || changed != want || bytes.Contains(clean, []byte("SECRET")) == want || c.OptedOut() != want {
				t.Errorf("%s: opted out %v, kept %v, redacted %s", body, c.OptedOut(), remains, clean)
			}
		}
	}
}

// Redact copies nothing if there is nothing to remove.
func TestRedactUnchanged(t *testing.T) { // not parallel: it counts allocations
	for _, name := range []string{"v3_detail", "v2_item", "v3_detail_opt_out", "v3_item_thin"} {
		body := payload(t, name)
		clean, changed, err := wire.Redact(schema.CallResource, body)
		if err != nil || changed || &clean[0] != &body[0] {
			t.Errorf("%s: changed %v, %v", name, changed, err)
		}
		if n := testing.AllocsPerRun(100, func() { _, _, _ = wire.Redact(schema.CallResource, body) }); n != 0 && !bytes.Contains(body, []byte(`storage": true`)) {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	for _, body := range wiretest.Hostile[:20] {
		if _, _, err := wire.Redact(schema.CallResource, []byte(body)); err == nil && !objectJSON([]byte(body)) {
			t.Errorf("redacts %q", body)
		}
	}
}

// For any call, redacting first does not change the rows.
func TestRedactThenDecode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := wiretest.DrawKind(t)
		body := wiretest.DrawCall(t, 40)
		if rapid.Bool().Draw(t, "opted out") {
			body = bytes.ReplaceAll(body, []byte(`_storage":false`), []byte(`_storage":true`))
		}
		var d Decoder
		var c Call
		if d.Decode(body, kind, &c) != nil {
			return
		}
		clean, _, err := wire.Redact(schema.CallResource, body)
		test.OK(t, err)
		want := c.Clone()
		test.OK(t, d.Decode(clean, kind, &c))
		if diff := cmp.Diff(want, &c, sameRows); diff != "" {
			t.Fatalf("%s\nredacted %s\n%s", body, clean, diff)
		}
	})
}

// An opted-out call loses fields without a column. A former cost that is invalid goes with them, or
// the same response would change the call again.
func TestWithheldCostMergesOnce(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"true", "null"}, {"-0", "null"}, {"true", `{"total_cost":null}`}, {`"ok"`, `{}`}} {
		old := decoded(t, []byte(`{"id":"a","call_cost":{"extra_fee":{"of":null}}}`), schema.KindItem)
		newer := decoded(t, []byte(`{"id":"a","call_cost":`+c[1]+`,"opt_out_sensitive_data_storage":`+c[0]+`}`), schema.KindDetail)
		once := merged(t, old, newer, schema.KindDetail)
		mustSame(t, "twice", once, merged(t, once, newer, schema.KindDetail))
	}
}

// No time that follows from a transcript is negative, whatever its turns say. A turn that ends
// before it starts is drift, and 0 long: so the other turns count as without it.
func TestNoNegativeTimes(t *testing.T) {
	const start = 1_790_000_000_000
	turn := func(role string, from, to any) string {
		return fmt.Sprintf(`{"role":%q,"content":"x","start_at":%v,"end_at":%v}`, role, from, to)
	}
	tool := func(role string, from any) string {
		return fmt.Sprintf(`{"role":"tool_call_%s","tool_call_id":"t","tool_name":"n","start_at":%v,"end_at":null}`, role, from)
	}
	user := turn("user", start+1000, start+3000)
	for name, c := range map[string]struct {
		turns                     string
		drift                     int
		spoken, agent, user, tool string
		response                  string
	}{
		"backwards agent": {user + "," + turn("agent", start+4000, start+3500), 1, "2", "0", "2000", "", "[1000]"},
		"backwards user":  {turn("user", start+9000, start+8000) + "," + turn("agent", start+9500, start+9700), 1, "2", "200", "0", "", "[500]"},
		"both backwards":  {turn("user", start+9, start+8) + "," + turn("agent", start+7, start+6), 2, "2", "0", "0", "", ""},
		"end 0":           {user + "," + turn("agent", start+4000, 0), 1, "2", "0", "2000", "", "[1000]"},
		"start far ahead": {user + "," + turn("agent", 4*start, start+4000), 1, "2", "0", "2000", "", fmt.Sprintf("[%d]", int64(4*start-start-3000))},
		"end long ago":    {user + "," + turn("agent", start+4000, 1), 1, "2", "0", "2000", "", "[1000]"},
		"no time":         {user + "," + turn("agent", start+5, start+5), 0, "2", "0", "2000", "", ""},
		"no end":          {user + "," + turn("agent", start+4000, "null"), 0, "1", "0", "2000", "", ""},
		"no start":        {user + "," + turn("agent", "null", start+4000), 0, "1", "0", "2000", "", ""},
		"before the call": {turn("agent", start-5000, start-4000), 0, "1", "1000", "0", "", ""},
		"since it began":  {turn("user", 1, 2) + "," + turn("agent", 3, 5), 0, "2", "2", "1", "", "[1]"},
		"result before":   {tool("invocation", start+50) + "," + tool("result", start+40), 0, "0", "0", "0", "0", ""},
		"backwards result": {tool("invocation", start+50) + `,{"role":"tool_call_result","tool_call_id":"t","start_at":` +
			fmt.Sprint(start+60) + `,"end_at":` + fmt.Sprint(start+40) + `}`, 1, "0", "0", "0", "0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var d Decoder
			var call Call
			body := fmt.Appendf(nil, `{"id":"a","status":"ended","start_at":%d,"end_at":%d,"transcript":[%s]}`, start, start+10000, c.turns)
			test.OK(t, d.Decode(body, schema.KindDetail, &call))
			drift := 0
			for _, at := range d.Drift {
				if at.Path == "transcript[].end_at" {
					drift += at.Count
				}
			}
			test.Same(t, c.drift, drift, "drift is %v", d.Drift)
			var rows ToolRows
			call.Complete(rows.Of(&call))
			of := func(column string) string {
				switch v := call.Row[schema.Calls.Column(column)]; {
				case v.IsNull():
					return ""
				default:
					return v.String()
				}
			}
			for column, want := range map[string]string{"spoken_turns": c.spoken, "agent_talk_ms": c.agent, "user_talk_ms": c.user, "response_ms": c.response} {
				test.Same(t, want, of(column), "%s", column)
			}
			for _, column := range []string{"agent_talk_ms", "user_talk_ms", "longest_silence_ms"} {
				if v := call.Row[schema.Calls.Column(column)]; !v.IsNull() && v.Int64() < 0 {
					t.Errorf("%s is %v", column, v)
				}
			}
			err := rows.Each(&call, func(row schema.Row) error {
				if v := row[schema.ToolCalls.Column("duration_ms")]; v.String() != c.tool {
					t.Errorf("the tool takes %v", v)
				}
				return nil
			})
			test.OK(t, err)
		})
	}
}

// A v2 page gives the turns and fields that only v2 sends: the call's v3 record has neither credits
// nor an evaluation, so they would be lost.
func TestBulkGivesWhatOnlyV2Sends(t *testing.T) {
	const item = `{"id":"a","status":"ended","start_at":1795089600000,"end_at":1795089660000,"call_analysis":{"summary":"S"},"call_cost":{"total_cost":"2.00"}}`
	const page = `{"call_id":"a","status":"ended","start_timestamp":1795089600000,"end_timestamp":1795089660000,` +
		`"call_analysis":{"summary":"S","evaluation":{"score":1}},"call_cost":{"total_credits_used":3,"duration_seconds":60},` +
		`"transcript_with_tool_calls":[{"role":"user","content":"hello"}]}`
	known := decoded(t, []byte(item), schema.KindItem)
	known.Settle(1795089660000)
	call := merged(t, known, decoded(t, []byte(page), schema.KindBulk), schema.KindBulk)
	if call.Turns().Len() != 1 || !call.InBulk() {
		t.Fatalf("%d turns, in bulk %t", call.Turns().Len(), call.InBulk())
	}
	for _, column := range []string{"credits_used", "billed_seconds", "evaluation"} {
		if call.Row[schema.Calls.Column(column)].IsNull() {
			t.Errorf("%s is lost", column)
		}
	}
}

// The page may have been read before the list item that is on record, if the clock was set back or two
// listings reported the call.
func TestBulkReadBeforeTheItem(t *testing.T) {
	known := decoded(t, []byte(`{"id":"a","status":"ended","start_at":1795089600000,"end_at":1795089660000}`), schema.KindItem)
	known.Fetched(2000, 2000, nil)
	known.Settle(1795089660000)
	page := decoded(t, []byte(`{"call_id":"a","status":"ended","start_timestamp":1795089600000,"end_timestamp":1795089660000,`+
		`"transcript_with_tool_calls":[{"role":"user","content":"hello"}]}`), schema.KindBulk)
	page.Fetched(1000, 1000, nil)
	if call := merged(t, known, page, schema.KindBulk); call.FirstSeenAt() != 1000 || call.FetchedAt() != 1000 {
		t.Errorf("first seen %d, fetched %d", call.FirstSeenAt(), call.FetchedAt())
	}
}

// A transcript of v2 is one until v3's replaces it: list items leave it, an opt-out erases it, and if
// v3 has none, it remains, and is not requested again.
func TestSourceOfTheTranscript(t *testing.T) {
	const item = `{"id":"a","status":"ended","start_at":1795089600000,"end_at":1795089660000,"call_analysis":{"summary":"S"},"call_cost":{"total_cost":"2.00"}`
	const page = `{"call_id":"a","status":"ended","start_timestamp":1795089600000,"end_timestamp":1795089660000,"transcript_with_tool_calls":`
	const spoken = `[{"role":"user","content":"hello"}]`
	from := func(transcript string) *Call {
		known := decoded(t, []byte(item+"}"), schema.KindItem)
		known.Settle(1795089660000)
		return merged(t, known, decoded(t, []byte(page+transcript+"}"), schema.KindBulk), schema.KindBulk)
	}
	for _, c := range []struct {
		name, came, then string
		kind             schema.Kind
		source           string
		turns            int
	}{
		{"listed again", spoken, item + "}", schema.KindItem, fromV2, 1},
		{"nobody spoke, and listed again", "[]", item + "}", schema.KindItem, fromV2, 0},
		{"the same", spoken, item + `,"transcript":` + spoken + "}", schema.KindDetail, "", 1},
		{"another one", spoken, item + `,"transcript":[{"role":"user","content":"bye"},{"role":"agent","content":"bye"}]}`, schema.KindDetail, "", 2},
		{"nobody spoke", "[]", item + `,"transcript":[]}`, schema.KindDetail, "", 0},
		{"v3 has none", spoken, item + `,"transcript":null}`, schema.KindDetail, fromV2Only, 1},
		{"v3 no longer has the call", spoken, "", schema.KindMissing, fromV2Only, 1},
		{"opted out", spoken, item + `,"opt_out_sensitive_data_storage":true}`, schema.KindItem, "", 0},
	} {
		call := from(c.came)
		now := NewCall("a")
		if c.then != "" {
			now = decoded(t, []byte(c.then), c.kind)
		}
		call = merged(t, call, now, c.kind)
		if got := string(call.text(colTranscriptSource)); got != c.source || call.Turns().Len() != c.turns || call.DetailDue() {
			t.Errorf("%s: from %q, %d turns, %s", c.name, got, call.Turns().Len(), call.TranscriptState())
		}
		if c.source == fromV2Only {
			if again := merged(t, call, decoded(t, []byte(item+"}"), schema.KindItem), schema.KindItem); string(again.text(colTranscriptSource)) != fromV2Only {
				t.Errorf("%s: a later item makes it %q", c.name, again.text(colTranscriptSource))
			}
		}
	}
}
