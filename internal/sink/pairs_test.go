package sink

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/resource/resourcetest"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

// Columns that the service sends under two names, in every combination: objects are committed as
// list items and as records, and verified; repeating them changes nothing, and other
// combinations replace them.
func TestEveryPairInAWarehouse(t *testing.T) {
	t.Parallel()
	sampled, tried := longtest.Each(8), 0
	for i, of := range resource.All {
		pairs := resourcetest.Pairs(of.Table)
		tried += len(pairs)
		if len(pairs) == 0 || !sampled(i) && !slices.ContainsFunc(pairs, func(p resourcetest.Pair) bool { return p.Column.Name != of.Table.Fields[0].Name }) {
			continue // its key equals that of others
		}
		t.Run(of.Name, func(t *testing.T) {
			t.Parallel()
			x := &paired{things: things{T: t, of: of, root: t.TempDir()}}
			var err error
			if x.fsys, err = disk.Open(x.root); err != nil {
				t.Fatal(err)
			}
			if of.Parent != nil {
				x.parent = resourcetest.Key(of.Parent, "", resourcetest.ParentNumber)
			}
			items, records := x.bodies(pairs, resourcetest.Item(of, 1, 0)), x.bodies(pairs, resourcetest.Record(of, 1, 0))
			x.list(items, 0)
			x.back(items, 0, false)
			if of.Record != "" {
				x.open()
				for i := range items {
					x.send(schema.KindDetail, items[i].key, records[i].body)
				}
				x.commit()
				x.back(items, 0, false)
				x.back(records, 0, true)
			}
			x.list(items, 0)
			x.wantChanges()
			x.list(items, 1) // each object with the next one's combination
			x.back(items, 1, false)
			x.list(items, 0)
			x.back(items, 0, false)
		})
	}
	if tried < 15 {
		t.Errorf("only %d pairs", tried)
	}
}

// paired is a resource with pairs of names.
type paired struct{ things }

// sent is what is sent of an object.
type sent struct {
	key  string
	body []byte
}

// bodies returns an object for each combination of each pair, with a key.
func (x *paired) bodies(pairs []resourcetest.Pair, base []byte) (out []sent) {
	x.Helper()
	for i, p := range pairs {
		for _, body := range p.Bodies(x.of.Table, base, 1000*i, func(n int) string { return fmt.Sprint("k", n) }) {
			if key, ok := x.keyOf([]byte(body)); ok {
				out = append(out, sent{key, []byte(body)})
			}
		}
	}
	return out
}

// keyOf returns the key of an object, if it has one.
func (x *paired) keyOf(body []byte) (string, bool) {
	var d wire.Decoder
	var o schema.Object
	if d.Decode(x.of.Resource, body, schema.KindItem, &o) != nil {
		return "", false
	}
	x.of.SetParent(&o, x.parent)
	return x.of.KeyOf(o.Row), true
}

func (x *paired) send(kind schema.Kind, key string, body []byte) {
	x.Helper()
	clean, err := x.of.Scrub(body) // as the crawler does
	test.OK(x, err)
	test.OK(x, x.w.Put(context.Background(), schema.Record{Resource: x.of.Name, Kind: kind, CallID: key,
		FetchedAt: x.w.opts.Now().UnixMilli() + 1000, Body: clean}))
}

// list commits a complete list. Each object has the combination of the one shift places after it.
func (x *paired) list(items []sent, shift int) {
	x.Helper()
	x.open()
	for i := range items {
		x.send(schema.KindItem, items[i].key, x.shifted(items, i, shift))
	}
	x.listed(len(items))
	x.commit()
}

func (x *paired) shifted(items []sent, i, shift int) []byte {
	other := items[(i+shift)%len(items)]
	mine, theirs := items[i].key, other.key
	if at := strings.LastIndexByte(mine, '/'); at >= 0 {
		mine, theirs = mine[at+1:], theirs[at+1:]
	}
	text := func(key string) string {
		raw, _ := json.Marshal(resource.Plain(key)) // a string always encodes
		return string(raw)
	}
	return []byte(strings.ReplaceAll(string(other.body), text(theirs), text(mine)))
}

// back compares all objects with the records, or items, sent. For items, the columns of the
// object's own record are ignored: they keep its values.
func (x *paired) back(items []sent, shift int, records bool) {
	x.Helper()
	state := x.state()
	if len(state) < len(items) {
		x.Fatalf("%d of %d objects are there", len(state), len(items))
	}
	for i := range items {
		if body := x.shifted(items, i, shift); records {
			x.lostNothing(state[items[i].key], body, "own_extra")
		} else {
			x.holds(state[items[i].key], body)
		}
	}
}

// Calls, too: every combination is committed and verified, and a later record in another
// combination replaces an item's values.
func TestEveryPairOfCalls(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "w")
	of := schema.CallResource
	start := testDay.UnixMilli()
	base := fmt.Appendf(nil, `{"id":"x","agent":{"agent_id":"g","agent_version":"v1"},"status":"ended","from_number":"1","to_number":"2",
		"start_at":%d,"end_at":%d,"metadata":{}}`, start, start+1000)
	var ids []string
	bodies := map[string][]byte{}
	for i, p := range resourcetest.Pairs(of.Table) {
		for v, base := range [][]byte{base, resourcetest.Renamed(of.Table, base)} {
			for _, body := range p.Bodies(of.Table, base, 1000*(2*i+v), func(n int) string { return fmt.Sprint("k", n) }) {
				var d calls.Decoder
				var c calls.Call
				if d.Decode([]byte(body), schema.KindItem, &c) == nil {
					ids = append(ids, string(c.ID()))
					bodies[string(c.ID())] = []byte(body)
				}
			}
		}
	}
	if len(ids) < 600 || len(ids) != len(bodies) {
		t.Fatalf("%d calls with %d ids", len(ids), len(bodies))
	}
	check := func(shift int, exactly bool) {
		t.Helper()
		wholeOn(t, anywhere, root)
		s, err := layout.Current(root)
		test.OK(t, err)
		all := readCalls(t, anywhere, s)
		for i, id := range ids {
			if all[id] == nil {
				t.Fatalf("%s is not there", id)
			}
			body, bare := otherCall(ids, bodies, i, shift), all[id].Copy()
			bare.Row[schema.Calls.Column("extra")] = parquet.Value{}
			if lost := wiretest.Lost(t, &schema.Calls, body, bare.AppendJSON(nil), all[id].Text("extra")); len(lost) > 0 {
				t.Errorf("%s is there as %s, without %s", body, all[id].AppendJSON(nil), lost)
			}
			var want calls.Call
			test.OK(t, new(calls.Decoder).Decode(body, schema.KindItem, &want))
			for _, field := range schema.Differences(&want.Object, &all[id].Object) {
				if exactly && field != "transcript_state" && field != "settlement" {
					t.Errorf("%s: another %s: %s", body, field, all[id].AppendJSON(nil))
				}
			}
		}
	}
	for n, kind := range []schema.Kind{schema.KindItem, schema.KindItem, schema.KindDetail} {
		w := night(t, nil, root, n)
		for i, id := range ids {
			at := testDay.UnixMilli() + int64(n)*3_600_000
			test.OK(t, w.Put(context.Background(), schema.Record{Kind: kind, CallID: id, FetchedAt: at, Body: otherCall(ids, bodies, i, n/2)}))
		}
		mustCommit(t, w)
		test.OK(t, w.Close())
		check(n/2, n < 2)
	}
}

// otherCall returns the i-th call in another's combination.
func otherCall(ids []string, bodies map[string][]byte, i, shift int) []byte {
	other := ids[(i+shift)%len(ids)]
	return []byte(strings.ReplaceAll(string(bodies[other]), fmt.Sprintf("%q", other), fmt.Sprintf("%q", ids[i])))
}
