package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// sent returns the JSON of a call of which only one field is more than null: the
// column's, in v3.
func sent(c *Column, value string) []byte {
	inner := fmt.Sprintf("%q:%s", strings.TrimSuffix(c.V3[strings.LastIndexByte(c.V3, '.')+1:], "?"), value)
	if object, _, nested := strings.Cut(c.V3, "."); nested {
		inner = fmt.Sprintf("%q:{%s}", object, inner)
	}
	if c.V3 == "id" {
		return []byte("{" + inner + "}")
	}
	return []byte(`{"id":"a",` + inner + "}")
}

// valuesOf returns two values of a column's type, as JSON.
func valuesOf(c *Column) (a, b string) {
	switch {
	case c.Type == Timestamp, c.Type == Int64:
		return "1795079700000", "1795079700001"
	case c.Amount:
		return `"1.50"`, `"1.51"`
	case c.Type == Exact:
		return "1", "2"
	case c.Type == Bool:
		return "true", "false"
	case c.Type == JSON:
		return `{"x":1}`, `{"x":2}`
	}
	return `"one"`, `"two"`
}

// No column of a call is forgotten: by decode, compare, clone, merge, files or the
// way back to JSON.
func TestEveryColumn(t *testing.T) {
	t.Parallel()
	tried := 0
	for i := range Calls.Columns {
		col := &Calls.Columns[i]
		if col.V3 == "" {
			continue
		}
		tried++
		one, two := valuesOf(col)
		a, b := decoded(t, sent(col, one), KindItem), decoded(t, sent(col, two), KindItem)
		if a.Row[i].IsNull() || parquet.Equal(a.Row[i], b.Row[i]) {
			t.Errorf("%s: %s is decoded as %v, %s as %v", col.Name, one, a.Row[i], two, b.Row[i])
		}
		if Same(a, b) || !slices.ContainsFunc(Differences(a, b), func(d Difference) bool { return d.Field == col.Name }) {
			t.Errorf("%s: the difference between %s and %s is not seen", col.Name, one, two)
		}
		if !Same(a, a.Clone()) || !parquet.Equal(a.Row[i], a.Clone().Row[i]) {
			t.Errorf("%s: not in the clone", col.Name)
		}
		for _, old := range []*Call{b, decoded(t, []byte(`{"id":"a","metadata":null}`), KindItem)} {
			if now := merged(t, old, a, KindItem); !parquet.Equal(now.Row[i], a.Row[i]) {
				t.Errorf("%s: merged it is %v, not %v", col.Name, now.Row[i], a.Row[i])
			}
		}
		if thin := decoded(t, []byte(`{"id":"a"}`), KindItem); col.Name != "call_id" {
			if now := merged(t, a, thin, KindItem); !parquet.Equal(now.Row[i], a.Row[i]) {
				t.Errorf("%s: a thin item takes it away", col.Name)
			}
		}
		if got := viaRows(t, []*Call{a})[0]; !Same(a, got) || cmp.Diff(value(t, sent(col, one)), value(t, got.AppendJSON(nil))) != "" {
			t.Errorf("%s: from files it comes back as %s", col.Name, got.AppendJSON(nil))
		}
	}
	if tried < 20 {
		t.Errorf("only %d columns were tried", tried)
	}
	for _, table := range CallResource.Lists {
		for i := range table.Columns {
			if col := &table.Columns[i]; col.V3 != "" {
				var a, b Call
				for _, c := range []*Call{&a, &b} {
					c.Set(&NewCall("a").Object)
					c.Lists[slices.Index(CallResource.Lists, table)].Add()
				}
				at := &a.Lists[slices.Index(CallResource.Lists, table)]
				if at.At(0)[i] = textValue([]byte("x")); Same(&a, &b) || !Same(&a, a.Clone()) || len(Differences(&a, &b)) != 1 {
					t.Errorf("%s.%s: the difference is not seen", table.Name, col.Name)
				}
			}
		}
	}
}

// A column more is one line: it is decoded, compared, cloned, written, read and
// rebuilt; files that lack it are read, and rebuild what was sent.
func TestAColumnMore(t *testing.T) {
	t.Parallel()
	more := table("calls", append(slices.Clone(Calls.fields), Column{ID: 99, Name: "made_up", Type: Word, V3: "made_up?", V2: "made_up?", Since: "9.9.9"})...)
	resource := resource(&more, &Turns, &Items)
	at := more.Column("made_up")
	var d Decoder
	decode := func(body string) *Object {
		var o Object
		if err := d.decode(resource, []byte(body), KindItem, &o); err != nil {
			t.Fatal(err)
		}
		o.own()
		return &o
	}
	const body = `{"id":"a","made_up":"ko"}`
	a, b := decode(body), decode(`{"id":"a","made_up":"en"}`)
	if string(textOf(a.Row[at])) != "ko" || sameObject(a, b) {
		t.Fatalf("the row is %v", a.Row)
	}
	if diff := cmp.Diff(value(t, []byte(body)), value(t, a.AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
	if none := decode(`{"id":"a"}`); !none.Row[at].IsNull() || !strings.Contains(string(none.AppendJSON(nil)), `"id":"a"`) || strings.Contains(string(none.AppendJSON(nil)), "made_up") {
		t.Errorf("without it: %s", none.AppendJSON(nil))
	}

	// Who does not know the column keeps it in extra, and its file lacks it.
	old := decoded(t, []byte(body), KindItem)
	file, rows := roundTrip(t, ParquetSchema(&Calls), Calls.AppendRow(nil, old.Row))
	r, err := NewRowReader(file, &more)
	if err != nil {
		t.Fatal(err)
	}
	var o Object
	o.begin(resource)
	if o.Lacks = r.lacking(resource); o.Lacks == nil || r.Has(at) {
		t.Fatal("the file is not said to lack it")
	}
	if err := r.read(rows[0], o.Row); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(value(t, []byte(body)), value(t, o.AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
}

// madeUp are two resources that no service has: what is declared of them is all
// that decode, compare, clone, files and the way back need.
func madeUp() []*Resource {
	voices := table("agent_voices",
		Column{ID: 1, Name: "agent_id", Type: Text, Required: true, Parent: "agent_id"},
		Column{ID: 2, Name: "position", Type: Int32, Required: true, Parent: Position},
		Column{ID: 3, Name: "name", Type: Word, V3: "name", V2: "name"},
		Column{ID: 4, Name: "speed", Type: Exact, V3: "speed?", V2: "speed?"},
		Column{ID: 5, Name: "extra", Type: JSON})
	agents := table("agents",
		Column{ID: 1, Name: "agent_id", Type: Text, Required: true, V3: "id", V2: "agent_id"},
		Column{ID: 2, Name: "name", Type: Text, V3: "name", V2: "name"},
		Column{ID: 3, Name: "model", Type: Word, V3: "settings.model", V2: "settings.model"},
		Column{ID: 4, Name: "tools", Type: JSON, V3: "settings.tools", V2: "settings.tools", AnyValue: true},
		Column{list: &voices, V3: "settings.voices", V2: "settings.voices"},
		Column{ID: 5, Name: "is_live", Type: Bool, V3: "is_live", V2: "is_live"},
		Column{ID: 6, Name: "changed_at", Type: Timestamp, V3: "updated_at", V2: "updated_at"},
		Column{ID: 7, Name: "source", Type: Word, Required: true},
		Column{ID: 8, Name: "extra", Type: JSON})
	numbers := table("numbers",
		Column{ID: 1, Name: "number", Type: Text, Required: true, V3: "number", V2: "number"},
		Column{ID: 2, Name: "agent_id", Type: Text, V3: "agent?", V2: "agent?"},
		Column{ID: 3, Name: "monthly_cost", Type: Exact, V3: "cost", V2: "cost", Amount: true},
		Column{ID: 4, Name: "calls", Type: Int64, V3: "calls", V2: "calls"},
		Column{ID: 5, Name: "extra", Type: JSON})
	return []*Resource{resource(&agents, &voices), resource(&numbers)}
}

// What is declared of a resource gives back what was sent, from files as well.
func TestResources(t *testing.T) {
	t.Parallel()
	all := madeUp()
	for body, of := range map[string]*Resource{
		`{"id":"a","name":"Haru","settings":{"model":"m1","tools":["x",{"y":1.50}],"voices":[{"name":"v","speed":1.25},{"name":null,"new":1},7]},"is_live":true,"updated_at":1795079700000}`: all[0],
		`{"agent_id":"a","name":"Haru","settings":null,"is_live":"true","updated_at":null}`:                                                                                                  all[0],
		`{"id":"a","settings":{"voices":null},"is_live":"yes","name":7,"updated_at":"2026-11-19T09:15:00.000Z"}`:                                                                             all[0],
		`{"number":"+821012345678","cost":"150.1234","calls":12}`:                                                                                                                            all[1],
		`{"number":821012345678,"cost":150,"calls":1.5,"agent":null,"region":"KR"}`:                                                                                                          all[1],
	} {
		var d Decoder
		var o Object
		if err := d.decode(of, []byte(body), KindItem, &o); err != nil {
			t.Fatal(err)
		}
		o.own()
		back := Object{}
		back.begin(of)
		for at, in := range o.Rows() {
			file, rows := roundTrip(t, ParquetSchema(at), at.AppendRow(nil, in))
			r, err := NewRowReader(file, at)
			if err != nil {
				t.Fatal(err)
			}
			if at == of.Table {
				err = r.read(rows[0], back.Row)
			} else {
				err = r.Add(rows[0], &back.Lists[slices.Index(of.Lists, at)])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !sameObject(&o, &back) {
			t.Errorf("%s: the files hold another object", body)
		}
		if diff := cmp.Diff(value(t, []byte(body)), value(t, back.AppendJSON(nil))); diff != "" {
			t.Errorf("%s comes back as %s (-want +got):\n%s", body, back.AppendJSON(nil), diff)
		}
	}
	var d Decoder
	if err := d.decode(all[1], []byte(`{"cost":"1.00"}`), KindItem, new(Object)); err == nil {
		t.Error("a number without its key is taken")
	}
}
