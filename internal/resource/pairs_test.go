package resource_test

import (
	"encoding/json"
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
		for _, p := range wiretest.Pairs(of.Table) {
			pairs++
			for _, base := range [][]byte{base, wiretest.Renamed(of.Table, base)} {
				for _, body := range p.Bodies(of.Table, base) {
					bodies++
					tryPair(t, of, p, body)
				}
			}
		}
	}
	if pairs < 20 || bodies < 2000 {
		t.Errorf("%d pairs and %d bodies were tried", pairs, bodies)
	}
}

func tryPair(t *testing.T, of *schema.Resource, p wiretest.Pair, body string) {
	t.Helper()
	at := of.Table.Column(p.Column.Name)
	v3, v2 := only(t, of, at, body, p.V2), only(t, of, at, body, p.V3)
	var d wire.Decoder
	var o schema.Object
	if err := d.Decode(of, []byte(body), schema.KindItem, &o); err != nil {
		if v3 != "" || v2 != "" || p.Column.Name != of.Table.Fields[0].Name {
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
		t.Errorf("%s: %s is %q, want %q", body, p.Column.Name, got, want)
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
	members := wiretest.Object([]byte(body))
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
