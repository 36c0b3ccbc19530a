package wiretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"pgregory.net/rapid"

	"callhouse/internal/schema"
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

// Value parses JSON with encoding/json, without nulls and empty arrays and objects. Numbers keep
// their spelling, and of a repeated name the last value counts.
func Value(t rapid.TB, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("parse %q: %v", text, err)
	}
	return filled(v)
}

// filled returns a value without nulls and empty arrays and objects; nil if nothing is left.
func filled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if v[name] = filled(inner); v[name] == nil {
				delete(v, name)
			}
		}
		if len(v) > 0 {
			return v
		}
		return nil
	case []any:
		var out []any
		for _, inner := range v {
			if inner = filled(inner); inner != nil {
				out = append(out, inner)
			}
		}
		if out == nil {
			return nil
		}
		return out
	}
	return v
}

// Lost returns the values in the JSON of an object, sent, that neither its columns nor extra have:
// columns is the JSON of the columns alone, and extra the text of that column. Columns may spell
// a number or a flag differently, and have it under the name of the other version.
func Lost(t rapid.TB, of *schema.Table, sent, columns, extra []byte) (lost []string) {
	t.Helper()
	v2 := func(path string) string {
		for i := range of.Fields {
			c := &of.Fields[i]
			if rest, ok := strings.CutPrefix(path, "."+c.V3+"."); ok && c.V2 != "" && c.V3 != "" && c.Count == "" {
				return "." + c.V2 + "." + rest
			}
		}
		if rest, ok := strings.CutPrefix(path, ".transcript_with_tool_calls."); ok {
			return ".transcript." + rest
		}
		return path
	}
	have := map[string]bool{}
	leaves(Value(t, columns), ".", func(path, value string) {
		have[v2(path)+value], have[v2(path)+plain(value)] = true, true
	})
	if extra != nil {
		leaves(Value(t, extra), ".", func(path, value string) { have[v2(path)+value] = true })
	}
	leaves(Value(t, sent), ".", func(path, value string) {
		if path = v2(path); !have[path+value] && !have[path+plain(value)] {
			lost = append(lost, path+value)
		}
	})
	return lost
}

// leaves calls do with each text, number and flag in a value, and with the names around it.
func leaves(v any, path string, do func(path, value string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			leaves(inner, path+name+".", do)
		}
	case []any:
		for _, inner := range v {
			leaves(inner, path, do)
		}
	case string:
		do(path, fmt.Sprintf("%q", v))
	case nil:
	default:
		do(path, fmt.Sprint(v))
	}
}

// plain returns a number or a flag, perhaps in quotes, in one spelling.
func plain(value string) string {
	value = strings.Trim(value, `"`)
	if n, ok := new(big.Rat).SetString(value); ok && scan.IsJSONNumber([]byte(value)) {
		return n.RatString()
	}
	return value
}
