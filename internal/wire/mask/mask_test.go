package mask

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

var maskTestKey = bytes.Repeat([]byte{7}, KeyBytes)

func maskOf(t testing.TB, paths ...string) *Mask {
	t.Helper()
	m, err := New(paths, maskTestKey)
	test.OK(t, err)
	return m
}

// The values of a path are masked, in either spelling of the API, as is everything at a place where
// the path does not fit; the rest is unchanged byte for byte.
func TestMask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, paths, body, want string }{
		{"v3", "from_number", `{"id":"a","from_number":"+1","to_number":"+1"}`, `{"id":"a","from_number":<+1>,"to_number":"+1"}`},
		{"v2", "from_number", `{"call_id":"a","call_from":"+1","call_to":"+1"}`, `{"call_id":"a","call_from":<+1>,"call_to":"+1"}`},
		{"by v2's name", "call_to", `{"to_number":"+1","call_to":"+1"}`, `{"to_number":<+1>,"call_to":<+1>}`},
		{"escaped", "from_number", `{"fr\u006fm_number":"\u002b1"}`, `{"fr\u006fm_number":<+1>}`},
		{"twice", "from_number", `{"from_number":"+1","from_number":"+2"}`, `{"from_number":<+1>,"from_number":<+2>}`},
		{"null and empty stay", "from_number,to_number", `{"from_number":null,"to_number":""}`, `{"from_number":null,"to_number":""}`},
		{"a number", "from_number", `{"from_number":15550001}`, `{"from_number":<15550001>}`},
		{"an object in its place", "from_number", `{"from_number":{"e164":"+1","n":[true,null]}}`, `{"from_number":{"e164":<+1>,"n":[<true>,null]}}`},
		{"several in its place", "from_number", `{"from_number":["+1","+2"]}`, `{"from_number":[<+1>,<+2>]}`},
		{"a member", "metadata.name", `{"metadata":{"name":"Ann","plan":"Ann"}}`, `{"metadata":{"name":<Ann>,"plan":"Ann"}}`},
		{"deeper", "metadata.who.name", `{"metadata":{"who":{"name":"Ann","x":1},"name":"b"}}`, `{"metadata":{"who":{"name":<Ann>,"x":1},"name":"b"}}`},
		{"all of an object", "metadata", `{"metadata":{"a":["x",{"b":2.50}]}}`, `{"metadata":{"a":[<x>,{"b":<2.50>}]}}`},
		{"elements", "metadata.tags[]", `{"metadata":{"tags":["x","y"],"z":["x"]}}`, `{"metadata":{"tags":[<x>,<y>],"z":["x"]}}`},
		{"members of elements", "metadata.people[].name", `{"metadata":{"people":[{"name":"x","y":1}]}}`, `{"metadata":{"people":[{"name":<x>,"y":1}]}}`},
		{"a string where members are meant", "metadata.name", `{"metadata":"{\"name\":\"Ann\"}"}`, `{"metadata":<{"name":"Ann"}>}`},
		{"a string where elements are meant", "transcript[].content", `{"transcript":"hello"}`, `{"transcript":<hello>}`},
		{"elements where members are meant", "metadata.name", `{"metadata":[{"name":"Ann","x":"y"}]}`, `{"metadata":[{"name":<Ann>,"x":"y"}]}`},
		{"members where elements are meant", "transcript[].content", `{"transcript":{"role":"user","content":"hi"}}`, `{"transcript":{"role":"user","content":<hi>}}`},
		{"both transcripts", "transcript[].content", `{"transcript":[{"role":"user","content":"hi"}],"transcript_with_tool_calls":[{"content":"hi"}]}`,
			`{"transcript":[{"role":"user","content":<hi>}],"transcript_with_tool_calls":[{"content":<hi>}]}`},
		{"by a column's name", "summary", `{"call_analysis":{"summary":"s","user_sentiment":"s"}}`, `{"call_analysis":{"summary":<s>,"user_sentiment":"s"}}`},
		{"items", "call_analysis.custom_analysis_data[].value", `{"call_analysis":{"custom_analysis_data":[{"name":"n","value":7}]}}`,
			`{"call_analysis":{"custom_analysis_data":[{"name":"n","value":<7>}]}}`},
		{"a field without a column", "extra.customer.phone", `{"customer":{"phone":"+1","x":"+1"},"extra":{"customer":"+1"}}`,
			`{"customer":{"phone":<+1>,"x":"+1"},"extra":{"customer":"+1"}}`},
		{"wherever it stands", "from_number", `{"id":"+15550001","from_number":"+15550001","to_number":"+15550001","metadata":{"a":["+15550001","call +15550001!\u0021",15550001]}}`,
			`{"id":"+15550001","from_number":<+15550001>,"to_number":<+15550001>,"metadata":{"a":[<+15550001>,"call ` + "{+15550001}" + `!!",15550001]}}`},
		{"wherever it stands, a number", "to_number", `{"call_to":15550001,"x":{"y":15550001},"from_number":"15550001"}`,
			`{"call_to":<15550001>,"x":{"y":<15550001>},"from_number":<15550001>}`},
		{"a short one is part of anything", "from_number", `{"from_number":"1588","metadata":"15881"}`, `{"from_number":<1588>,"metadata":"15881"}`},
		{"a number withheld", "from_number,metadata.name", `{"from_number":"Anonymous","metadata":{"name":"anonymous","x":"anonymous"},"call_from":"anonymous bob"}`,
			`{"from_number":"Anonymous","metadata":{"name":<anonymous>,"x":"anonymous"},"call_from":<anonymous bob>}`},
		{"nothing there", "from_number,metadata.name", ` {"id" : "a", "metadata":{"x":1} } `, ` {"id" : "a", "metadata":{"x":1} } `},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := maskOf(t, strings.Split(c.paths, ",")...)
			want := strings.ReplaceAll(c.want, "{+15550001}", m.Value("+15550001"))
			for strings.Contains(want, "<") {
				before, rest, _ := strings.Cut(want, "<")
				text, after, _ := strings.Cut(rest, ">")
				want = before + `"` + m.Value(text) + `"` + after
			}
			got, changed, err := m.Apply([]byte(c.body))
			if err != nil || string(got) != want || changed != (want != c.body) {
				t.Fatalf("got  %s (changed %v), %v\nwant %s", got, changed, err, want)
			}
			if again, changed, err := m.Apply(got); changed || err != nil || !bytes.Equal(again, got) {
				t.Errorf("masked twice: %s, %v", again, err)
			}
		})
	}
}

// The hash is as documented: equal values stay equal, and another key gives another hash.
func TestMaskValue(t *testing.T) {
	t.Parallel()
	m := maskOf(t)
	const want = "masked:89a91a809bae0bc7e6a9c75b9900d56a" // printf %s +15550001111 | openssl dgst -sha256 -mac HMAC -macopt hexkey:0707…
	test.Same(t, want, m.Value("+15550001111"), "the hash")
	other, err := New(nil, bytes.Repeat([]byte{8}, KeyBytes))
	test.OK(t, err)
	if m.Value("+1") == m.Value("+2") || m.Value("+1") == other.Value("+1") {
		t.Error("different values or keys make the same hash")
	}
}

func TestMaskPaths(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"from_nubmer", "status", "id", "start_at", "agent.agent_id", "call_cost.total_cost", "transcript[].role",
		"transcript", "call_analysis", "from_number.x", "summary.x", "", ".", "metadata.", "metadata..a", `metadata."a"`, "metadata[", "metadata.*", "extra", "extra.status", "extra.*", "opt_out_sensitive_data_storage"} {
		_, err := New([]string{p}, maskTestKey)
		var e *PathError
		if !errors.As(err, &e) || e.Path != p {
			t.Errorf("%q: %v", p, err)
		}
	}
	for _, p := range Names() {
		if _, err := New([]string{p}, maskTestKey); err != nil {
			t.Error(err)
		}
	}
}

// For any call, its JSON and rows contain no masked value.
func TestMaskedCalls(t *testing.T) {
	t.Parallel()
	m := maskOf(t, "from_number", "to_number", "metadata", "transcript[].content")
	const number, secret = "+49170SECRET", "SECRET word"
	rapid.Check(t, func(t *rapid.T) {
		kind, body := drawn(t)
		_, v2 := body["call_id"]
		if v2 {
			body["call_from"] = number
		} else {
			body["from_number"] = number
		}
		body["metadata"] = map[string]any{"name": secret, "deep": []any{map[string]any{"x": secret}}}
		clean, c, plain := cleaned(t, kind, body, m.Apply)
		if bytes.Contains(clean, []byte("SECRET")) {
			t.Fatalf("masked: %s", clean)
		}
		if c == nil {
			return
		}
		// A masked value of the wrong type is a text, and so precedes one under the other name.
		_, old := body["call_from"]
		_, both := body["from_number"]
		both = both && old
		if string(plain.Text("from_number")) == number && string(c.Text("from_number")) != m.Value(number) && !both {
			t.Fatalf("from_number %s", c.Text("from_number"))
		}
		for _, row := range c.Rows() {
			for _, v := range row {
				if v.Kind() == parquet.ByteArray && bytes.Contains(v.ByteArray(), []byte("SECRET")) {
					t.Fatalf("in the rows: %s", v)
				}
			}
		}
	})
}

// drawn returns a call of any kind, parsed.
func drawn(t *rapid.T) (kind schema.Kind, body map[string]any) {
	kind = wiretest.DrawKind(t)
	dec := json.NewDecoder(bytes.NewReader(wiretest.DrawCall(t, 40)))
	dec.UseNumber()
	if err := dec.Decode(&body); err != nil {
		t.Skip("no object")
	}
	return kind, body
}

// cleaned returns a call as apply changes it, which must be JSON, and both decoded; nil if it is no
// call either way.
func cleaned(t *rapid.T, kind schema.Kind, body map[string]any, apply func([]byte) ([]byte, bool, error)) (
	clean []byte, c, plain *calls.Call) {
	raw, err := json.Marshal(body)
	test.OK(t, err)
	clean, changed, err := apply(raw)
	if err != nil || !changed || !json.Valid(clean) {
		t.Fatalf("it became %s, %v", clean, err)
	}
	var d, plainDecoder calls.Decoder
	c, plain = new(calls.Call), new(calls.Call)
	perr := plainDecoder.Decode(raw, kind, plain)
	if err := d.Decode(clean, kind, c); (err == nil) != (perr == nil) {
		t.Fatalf("decoded as it became: %v, as it was: %v", err, perr)
	}
	if perr != nil {
		return clean, nil, nil
	}
	return clean, c, plain
}

// Anything but an object is refused, as by Redact.
func TestMaskHostile(t *testing.T) {
	t.Parallel()
	m, r := maskOf(t, "metadata"), redactorOf(t)
	for _, body := range wiretest.Hostile {
		_, _, merr := m.Apply([]byte(body))
		_, _, rerr := r.Apply([]byte(body))
		_, _, werr := wire.Redact(schema.CallResource, []byte(body))
		if (merr == nil) != (werr == nil) || (rerr == nil) != (werr == nil) {
			t.Errorf("%.60q: mask %v, redacted %v, withheld %v", body, merr, rerr, werr)
		}
	}
}
