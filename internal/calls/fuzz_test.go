package calls

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/scan"
	"callhouse/internal/wire/wiretest"
)

// objectJSON reports what encoding/json accepts, as a reference. It allows ten times deeper nesting than Decode.
func objectJSON(body []byte) bool {
	text := bytes.TrimLeft(body, " \t\r\n")
	return json.Valid(body) && len(text) > 0 && text[0] == '{'
}

func addPayloads(f *testing.F) {
	for name, kind := range payloads(f) {
		f.Add(payload(f, name), kind == schema.KindDetail)
	}
	for _, s := range wiretest.Hostile {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
}

// FuzzDecode: no input makes Decode panic, and it accepts exactly JSON objects with an id. Of those,
// every value is in the rows.
func FuzzDecode(f *testing.F) {
	addPayloads(f)
	f.Fuzz(func(t *testing.T, body []byte, detail bool) {
		kind := schema.KindItem
		if detail {
			kind = schema.KindDetail
		}
		var d Decoder
		var c Call
		before := bytes.Clone(body)
		err := d.Decode(body, kind, &c)
		if !bytes.Equal(body, before) {
			t.Fatal("Decode changed the body")
		}
		if wrong := (*scan.Error)(nil); err != nil && !errors.As(err, &wrong) {
			t.Fatalf("not a Error: %v", err)
		}
		if err == nil && !objectJSON(body) {
			t.Fatalf("not JSON: %q", body)
		}
		_, _, redactErr := wire.Redact(schema.CallResource, body)
		if err == nil && redactErr != nil {
			t.Fatalf("Redact refuses what Decode takes: %v", redactErr)
		}
		if err != nil {
			if redactErr == nil && !objectJSON(body) {
				t.Fatalf("Redact takes what is not JSON: %q", body)
			}
			return
		}
		checkFit(t, &c)
		if utf8.Valid(body) {
			checkLost(t, body, &c)
		}
		now := c.latestEnd() + 1
		c.Settle(now)
		if again := c.Clone(); true {
			again.Settle(now)
			if again.Settlement() != c.Settlement() || again.TranscriptState() != c.TranscriptState() {
				t.Fatal("Settle is not idempotent")
			}
		}
	})
}

// deepest is the maximum nesting of objects and arrays.
const deepest = 1000

// nested returns a body with depth nested arrays.
func nested(depth int) []byte {
	body := append([]byte(`{"id":"a","deep":`), bytes.Repeat([]byte("["), depth)...)
	return append(append(body, bytes.Repeat([]byte("]"), depth)...), '}')
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		body, reason string
		offset       int
	}{
		{``, "not a JSON object", 0},
		{` [1]`, "not a JSON object", 1},
		{`{"id":"a"} x`, "text after the value", 11},
		{`{"id":"a","b":01}`, "a number with a leading zero", 14},
		{`{"id":"a","b":"\q"}`, "an unknown escape", 15},
		{"{\"id\":\"a\",\"b\":\"\n\"}", "a control character in a string", 15},
		{`{"id":"a"`, "unfinished object", 9},
		{`{"id":"a`, "unfinished string", 6},
		{`{"status":"ended"}`, "no id", 0},
		{`{"status":"ended","id":null}`, "an id that is no text", 23},
		{`{"id":["a"]}`, "an id that is no text", 6},
		{`{"id":""}`, "an empty id", 6},
		{`{"id":"a\ud800"}`, "an id that is no Unicode", 6},
		{string(nested(deepest)), "nested too deep", 17 + deepest - 1},
	} {
		var d Decoder
		err := d.Decode([]byte(tc.body), schema.KindItem, new(Call))
		var got *scan.Error
		if !errors.As(err, &got) || got.Reason != tc.reason || got.Offset != tc.offset {
			t.Errorf("%.60s: %v, want %s at byte %d", tc.body, err, tc.reason, tc.offset)
		}
	}
	var d Decoder
	if err := d.Decode(nested(deepest-1), schema.KindItem, new(Call)); err != nil {
		t.Errorf("just deep enough: %v", err)
	}
	if err := d.Decode([]byte(`{}`), schema.KindMissing, new(Call)); err == nil {
		t.Error("a missing call has no body to decode")
	}
}

// Invalid UTF-8 is the only loss: each such byte is replaced, in every column, and reported.
func TestInvalidUTF8(t *testing.T) {
	t.Parallel()
	var d Decoder
	var c Call
	body := []byte("{\"id\":\"a\",\"status\":\"e\xff\xfed\",\"k\xc3\":\"\xe2\x82\",\"metadata\":{\"x\":\"\xed\xa0\x80\"}}")
	test.OK(t, d.Decode(body, schema.KindItem, &c))
	checkFit(t, &c)
	test.Same(t, "e\uFFFD\uFFFDd", string(c.Status()), "status")
	if !reflect.DeepEqual(wiretest.Value(t, c.AppendJSON(nil)), wiretest.Value(t, body)) {
		t.Errorf("%s", c.AppendJSON(nil))
	}
	test.Same(t, wire.Drift{Path: "(body)", Kind: wire.DriftReplaced, Count: 1}, d.Drift[0], "drift")
	if err := d.Decode([]byte("{\"id\":\"a\xff\"}"), schema.KindItem, &c); err == nil {
		t.Error("an id that is no UTF-8 could be another call's")
	}
}
