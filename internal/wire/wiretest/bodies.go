package wiretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire/scan"
)

// Hostile are hostile or broken bodies.
var Hostile = []string{
	``, `null`, `[]`, `{}`, `{"id":""}`, `{"id":null}`, `{"id":"a"}x`, `{"id":"a",}`, `{"id" "a"}`, `{"id":"a"`,
	`{"id":01}`, `{"id":-}`, `{"id":1.}`, `{"id":1e}`, `{"id":"\x"}`, `{"id":"\u12"}`, "{\"id\":\"\x01\"}",
	`{"id":tru}`, `{"id":"a","id":"b","status":1,"status":"ended"}`, "{\"id\":\"a\",\"x\xff\":\"\xc3\x28\"}",
	`{"id":"\ud800"}`, `{"id":"a","\ud800":1,"\ud801":2,"\ud800":3}`, `{"id":"a","start_at":1e400}`,
	`{"id":"a","$":{"absent":["id"]},"$$":1,"agent":{"$":1}}`, `{"id":"a","transcript":[[],{},null,1]}`,
	`{"id":"a","call_id":"b","call_from":1,"call_to":2,"start_timestamp":3,"agent":{"agent_id":"c"}}`,
	`{"call_id":"a","transcript":[{"role":"user"}],"transcript_with_tool_calls":[{"role":"user"},{"role":"x"}]}`,
	`{"call_id":"a","transcript":[[]],"transcript_with_tool_calls":[]}`,
	`{"id":"a","opt_out_sensitive_data_storage":1,"transcript":"SECRET","call_analysis":{},"x":"SECRET"}`,
	`{"id":"a","call_analysis":{"custom_analysis_data":null,"evaluation":null},"call_cost":{"total_cost":"1e2"}}`,
}

// folder returns the project's testdata.
func folder(t testing.TB) string {
	t.Helper()
	for at := "testdata"; len(at) < 60; at = filepath.Join("..", at) {
		if _, err := os.Stat(filepath.Join(at, "payloads")); err == nil {
			return at
		}
	}
	t.Fatal("no testdata")
	return ""
}

// Payloads returns the names of testdata/payloads, and the kind of each.
func Payloads(t testing.TB) map[string]schema.Kind {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder(t), "payloads", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no payloads: %v", err)
	}
	kinds := map[string]schema.Kind{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		kinds[name] = schema.KindItem
		if strings.Contains(name, "_detail") {
			kinds[name] = schema.KindDetail
		}
	}
	return kinds
}

// Payload returns one payload.
func Payload(t testing.TB, name string) []byte {
	t.Helper()
	body := test.Read(t, filepath.Join(folder(t), "payloads", name+".json"))
	return body
}

// ObservedDetail returns the JSON of a detail shaped as observed, without any white space between
// its tokens, and about 7 KB long.
func ObservedDetail(t testing.TB) []byte {
	t.Helper()
	var small bytes.Buffer
	test.OK(t, json.Compact(&small, Payload(t, "v3_detail")))
	list := []byte(`"transcript":[`)
	at := bytes.Index(small.Bytes(), list) + len(list)
	head, turns := small.Bytes()[:at], bytes.TrimSuffix(small.Bytes()[at:], []byte("]}"))
	body := append([]byte(nil), head...)
	for i := range 8 {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, turns...)
	}
	return append(body, "]}"...)
}

// Value parses JSON with encoding/json. Numbers keep their spelling, and of a repeated name the
// last value counts. Escaped halves of surrogate pairs, which encoding/json would make all the
// same, are made distinct first.
func Value(t rapid.TB, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(SpellHalves(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("parse %q: %v", text, err)
	}
	return v
}

// SpellHalves replaces the escaped halves of surrogate pairs by plain text.
func SpellHalves(text []byte) []byte {
	var out []byte
	for p := 0; p < len(text); {
		n, half := 1, false
		if text[p] == '\\' {
			n, half = scan.Escape(text[p:])
		}
		if half {
			out = fmt.Appendf(out, "<half %s>", bytes.ToLower(text[p+2:p+6]))
		} else {
			out = append(out, text[p:p+n]...)
		}
		p += n
	}
	return out
}

// SameRows compares calls by the values of their rows.
var SameRows = cmp.Options{
	cmp.Comparer(func(a, b schema.Rows) bool {
		return cmp.Equal(a.Cells(), b.Cells(), cmpopts.EquateEmpty(), cmp.Comparer(parquet.Equal))
	}),
	cmp.Comparer(func(a, b parquet.Row) bool { return slices.EqualFunc(a, b, parquet.Equal) }),
	cmpopts.IgnoreFields(schema.Object{}, "Of"),
}
