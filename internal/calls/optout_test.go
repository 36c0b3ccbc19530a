package calls

import (
	"bytes"
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
	body := wiretest.Payload(t, "v3_detail_opt_out_sent")
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
	test.NoDiff(t, cmp.Diff(c, decoded(t, clean, schema.KindDetail), wiretest.SameRows), "the redacted body makes other rows")
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
			kept := c.Turns().Len() > 0 || bytes.Contains(c.Extra(), []byte("SECRET"))
			if kept == want || changed != want || bytes.Contains(clean, []byte("SECRET")) == want || c.OptedOut() != want {
				t.Errorf("%s: opted out %v, kept %v, redacted %s", body, c.OptedOut(), kept, clean)
			}
		}
	}
}

// Redact copies nothing if there is nothing to remove.
func TestRedactUnchanged(t *testing.T) { // not parallel: it counts allocations
	for _, name := range []string{"v3_detail", "v2_item", "v3_detail_opt_out", "v3_item_thin"} {
		body := wiretest.Payload(t, name)
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
		body := wiretest.DrawCall(t, kind, 40)
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
		if diff := cmp.Diff(want, &c, wiretest.SameRows); diff != "" {
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
