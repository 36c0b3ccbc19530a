package calls

import (
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/wire/wiretest"
)

func TestPeek(t *testing.T) {
	for _, c := range []struct {
		body  string
		id    string // empty: not ok
		start schema.Opt[int64]
	}{
		{`{"id":"a","agent":{"start_at":7},"start_at":5,"end_at":9}`, "a", schema.Some[int64](5)},
		{` { "start_at" : null , "id" : "a" } `, "a", schema.Opt[int64]{}},
		{`{"call_id":"a","start_timestamp":-5}`, "a", schema.Some[int64](-5)},
		{`{"id":"a","start_at":5} and no JSON behind`, "a", schema.Some[int64](5)},
		{`{"id":"a","start_at":5,"start_at":6}`, "a", schema.Some[int64](5)}, // a guess
		{`{"id":"a"}`, "", schema.Opt[int64]{}},
		{`{"id":1,"start_at":5}`, "", schema.Opt[int64]{}},
		{`{"id":"","start_at":5}`, "", schema.Opt[int64]{}},
		{`{"id":"\u0061","start_at":5}`, "", schema.Opt[int64]{}},
		{`{"\u0069d":"b","id":"a","start_at":5}`, "", schema.Opt[int64]{}},
		{`{"id":"a","start_at":"5"}`, "", schema.Opt[int64]{}},
		{`{"id":"a","start_at":5.0}`, "", schema.Opt[int64]{}},
		{`{"id":"a","start_at":9e99}`, "", schema.Opt[int64]{}},
		{`{"id":"a","start_at":999999999999999999}`, "", schema.Opt[int64]{}},
		{`{"id":"a" "start_at":5}`, "", schema.Opt[int64]{}},
		{`["id","a"]`, "", schema.Opt[int64]{}},
		{``, "", schema.Opt[int64]{}},
	} {
		id, start, ok := Peek([]byte(c.body))
		if ok != (c.id != "") || string(id) != c.id || ok && start != c.start {
			t.Errorf("Peek(%s) = %q, %v, %v", c.body, id, start, ok)
		}
	}
}

// TestPeekAgrees compares Peek with Decode on the golden payloads.
func TestPeekAgrees(t *testing.T) {
	names := wiretest.Payloads(t)
	met := 0
	for name := range names {
		body := wiretest.Payload(t, name)
		id, start, ok := Peek(body)
		var d Decoder
		var c Call
		if !ok || d.Decode(body, schema.KindDetail, &c) != nil {
			continue
		}
		met++
		if string(c.ID()) != string(id) || c.StartAt() != start {
			t.Errorf("%s: Peek says %q, %v; Decode %q, %v", name, id, start, c.ID(), c.StartAt())
		}
	}
	if met == 0 {
		t.Error("Peek reads none of the payloads")
	}
}
