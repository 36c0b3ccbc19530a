package resource_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

// oneCall is a call in v3's form.
const oneCall = `{"id":"x","agent":{"agent_id":"g","agent_version":"v1"},"call_type":"phone","status":"ended","from_number":"1","to_number":"2",
"start_at":1790000000000,"end_at":1790000001000,"call_cost":{"total_cost":"1.0000"},"metadata":{}}`

// A column with two names has the value under the name of its API version, or else that under the
// other name, for every combination of both. No value is lost.
func TestEveryPairOfNames(t *testing.T) {
	t.Parallel()
	bases := map[*schema.Resource][]byte{schema.CallResource: []byte(oneCall)}
	for _, of := range resource.All {
		bases[of.Resource] = wiretest.Record(of, 1, 0)
	}
	pairs, bodies := 0, 0
	for of, base := range bases {
		for _, p := range pairsOf(of.Table) {
			pairs++
			for _, base := range [][]byte{base, renamed(of.Table, base)} {
				for _, body := range p.bodies(of.Table, base) {
					bodies++
					tryPair(t, of, p, body)
				}
			}
		}
	}
	if pairs < 20 || bodies < 1000 {
		t.Errorf("%d pairs and %d bodies were tried", pairs, bodies)
	}
}

func tryPair(t *testing.T, of *schema.Resource, p pair, body string) {
	t.Helper()
	at := of.Table.Column(p.column.Name)
	v3, v2 := only(t, of, at, body, p.v2), only(t, of, at, body, p.v3)
	var d wire.Decoder
	var o schema.Object
	if err := d.Decode(of, []byte(body), schema.KindItem, &o); err != nil {
		if v3 != "" || v2 != "" || p.column.Name != of.Table.Fields[0].Name {
			t.Errorf("%s: %v", body, err)
		}
		return
	}
	o.Own()
	want := [2]string{v3, v2}[o.Source()]
	if want == "" {
		want = v3 + v2
	}
	if got := o.Row[at].String(); got != want && !(o.Row[at].IsNull() && want == "") {
		t.Errorf("%s: %s is %q, want %q", body, p.column.Name, got, want)
	}
	var bare schema.Object
	bare.Set(&o)
	extra := schema.TextOf(o.Row[of.Table.Column("extra")])
	bare.Row[of.Table.Column("extra")] = parquet.Value{}
	if lost := wiretest.Lost(t, of.Table, []byte(body), wire.AppendJSON(nil, &bare), extra); len(lost) > 0 {
		t.Errorf("%s\nis decoded to %s with extra %s, without %s", body, wire.AppendJSON(nil, &bare), extra, lost)
	}
}

// only returns the column of an object without one of its names; empty if it is null.
func only(t *testing.T, of *schema.Resource, at int, body, without string) string {
	t.Helper()
	members := objectOf([]byte(body))
	name, _, _ := strings.Cut(without, ".")
	delete(members, name)
	raw, err := json.Marshal(members)
	test.OK(t, err)
	var d wire.Decoder
	var o schema.Object
	if d.Decode(of, raw, schema.KindItem, &o) != nil || o.Row[at].IsNull() {
		return ""
	}
	return o.Row[at].String()
}

// pair is a column with two names in the service's JSON.
type pair struct {
	column *schema.Column
	v3, v2 string // the two places
}

// pairsOf returns the pairs of a table.
func pairsOf(t *schema.Table) (out []pair) {
	for i := range t.Fields {
		c := &t.Fields[i]
		p := pair{column: c, v3: c.V3, v2: c.V2}
		if p.v3 != "" && p.v2 != "" && p.v3 != p.v2 {
			out = append(out, p)
		}
	}
	return out
}

// members returns the ways in which one name of a column may be sent for the n-th object, as JSON
// members without braces. The empty one omits the name.
func (p pair) members(place string, n int) []string {
	a, b, wrong := fmt.Sprintf(`"%s a%d"`, p.column.Name, n), fmt.Sprintf(`"%s b%d"`, p.column.Name, n), `{"no":"text"}`
	switch p.column.Type {
	case schema.Timestamp:
		a, b, wrong = fmt.Sprint(1_790_000_000_000+n), fmt.Sprint(1_790_000_100_000+n), `"no time"`
	case schema.JSON:
		a, b, wrong = fmt.Sprintf(`{"nodes":[%d.50]}`, n), fmt.Sprintf(`{"nodes":[%d,null]}`, n), `"no object"`
	}
	name, inner, nested := strings.Cut(place, ".")
	member := func(value string) string {
		if nested {
			value = fmt.Sprintf(`{%q:%s}`, inner, value)
		}
		return fmt.Sprintf(`%q:%s`, name, value)
	}
	out := []string{"", member("null"), member(a), member(b), member(wrong)}
	if nested {
		out = append(out, fmt.Sprintf(`%q:null`, name), fmt.Sprintf(`%q:{}`, name), fmt.Sprintf(`%q:7`, name))
	}
	return out
}

// bodies returns an object with the column sent in every combination of both names. base is the
// JSON of the object.
func (p pair) bodies(t *schema.Table, base []byte) (out []string) {
	for i := range p.members(p.v3, 0) {
		for j := range p.members(p.v2, 0) {
			n := len(out)
			members := slices.DeleteFunc([]string{p.members(p.v3, n)[i], p.members(p.v2, n)[j]}, func(m string) bool { return m == "" })
			for name, value := range without(base, t, p) {
				members = append(members, fmt.Sprintf(`%q:%s`, name, value))
			}
			out = append(out, "{"+strings.Join(members, ",")+"}")
		}
	}
	return out
}

// without returns the members of an object except those of a pair, and except other pairs in the
// same object: an object and its replacement fields are sent together.
func without(base []byte, t *schema.Table, p pair) map[string]json.RawMessage {
	out := objectOf(base)
	outer, _, _ := strings.Cut(p.v3, ".")
	for _, other := range pairsOf(t) {
		if name, _, _ := strings.Cut(other.v3, "."); name == outer {
			delete(out, name)
			delete(out, other.v2)
		}
	}
	return out
}

// renamed returns an object with v2's names.
func renamed(t *schema.Table, body []byte) []byte {
	in := objectOf(body)
	out := maps.Clone(in)
	for _, p := range pairsOf(t) {
		at := in
		name, _, nested := strings.Cut(p.v3, ".")
		if nested {
			at = objectOf(in[name])
		}
		delete(out, name)
		if value, ok := at[p.v3[strings.LastIndexByte(p.v3, '.')+1:]]; ok {
			out[p.v2] = value
		}
	}
	raw, _ := json.Marshal(out) // it was JSON
	return raw
}

// objectOf returns the members of a JSON object; none of an empty text.
func objectOf(body []byte) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	_ = json.Unmarshal(body, &out)
	return out
}
