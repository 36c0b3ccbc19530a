package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire/wiretest"
)

// madeUp are two invented resources: their declaration is all that decode, compare, clone and files
// need.
func madeUp() []*schema.Resource {
	voices := schema.NewTable("agent_voices",
		schema.Column{ID: 1, Name: "agent_id", Type: schema.Text, Required: true, Parent: "agent_id"},
		schema.Column{ID: 2, Name: "position", Type: schema.Int32, Required: true, Parent: schema.Position},
		schema.Column{ID: 3, Name: "name", Type: schema.Word, V3: "name", V2: "name"},
		schema.Column{ID: 4, Name: "speed", Type: schema.Exact, V3: "speed", V2: "speed"},
		schema.Column{ID: 5, Name: "extra", Type: schema.JSON})
	agents := schema.NewTable("agents",
		schema.Column{ID: 1, Name: "agent_id", Type: schema.Text, Required: true, V3: "id", V2: "agent_id"},
		schema.Column{ID: 2, Name: "name", Type: schema.Text, V3: "name", V2: "name"},
		schema.Column{ID: 3, Name: "model", Type: schema.Word, V3: "settings.model", V2: "settings.model"},
		schema.Column{ID: 4, Name: "tools", Type: schema.JSON, V3: "settings.tools", V2: "settings.tools", AnyValue: true},
		schema.Column{List: &voices, V3: "settings.voices", V2: "settings.voices"},
		schema.Column{ID: 5, Name: "is_live", Type: schema.Bool, V3: "is_live", V2: "is_live"},
		schema.Column{ID: 6, Name: "changed_at", Type: schema.Timestamp, V3: "updated_at", V2: "updated_at"},
		schema.Column{ID: 7, Name: "source", Type: schema.Word, Required: true},
		schema.Column{ID: 8, Name: "extra", Type: schema.JSON})
	numbers := schema.NewTable("numbers",
		schema.Column{ID: 1, Name: "number", Type: schema.Text, Required: true, V3: "number", V2: "number"},
		schema.Column{ID: 2, Name: "agent_id", Type: schema.Text, V3: "agent", V2: "agent"},
		schema.Column{ID: 3, Name: "monthly_cost", Type: schema.Exact, V3: "cost", V2: "cost", Amount: true},
		schema.Column{ID: 4, Name: "calls", Type: schema.Int64, V3: "calls", V2: "calls"},
		schema.Column{ID: 5, Name: "extra", Type: schema.JSON})
	return []*schema.Resource{schema.NewResource(&agents, &voices), schema.NewResource(&numbers)}
}

// No value of a declared resource is lost, also not in files.
func TestResources(t *testing.T) {
	t.Parallel()
	all := madeUp()
	for body, of := range map[string]*schema.Resource{
		`{"id":"a","name":"Haru","settings":{"model":"m1","tools":["x",{"y":1.50}],"voices":[{"name":"v","speed":1.25},{"name":null,"new":1},7]},"is_live":true,"updated_at":1795079700000}`: all[0],
		`{"agent_id":"a","name":"Haru","settings":null,"is_live":"true","updated_at":null}`:                                                                                                  all[0],
		`{"id":"a","settings":{"voices":null},"is_live":"yes","name":7,"updated_at":"2026-11-19T09:15:00.000Z"}`:                                                                             all[0],
		`{"number":"+821012345678","cost":"150.1234","calls":12}`:                                                                                                                            all[1],
		`{"number":821012345678,"cost":150,"calls":1.5,"agent":null,"region":"KR"}`:                                                                                                          all[1],
	} {
		var d Decoder
		var o schema.Object
		test.OK(t, d.Decode(of, []byte(body), schema.KindItem, &o))
		o.Own()
		back := schema.Object{}
		back.Begin(of)
		for at, in := range o.Rows() {
			file, rows := wiretest.RoundTrip(t, schema.ParquetSchema(at), at.AppendRow(nil, in))
			test.OK(t, schema.SameColumns(file, at))
			if at == of.Table {
				schema.SetRow(back.Row, rows[0])
			} else {
				back.Lists[slices.Index(of.Lists, at)].AddRow(rows[0])
			}
		}
		if !schema.SameObject(&o, &back) {
			t.Errorf("%s: the files hold another object", body)
		}
		if lost := wiretest.Lost(t, of.Table, []byte(body), AppendJSON(nil, &back), nil); len(lost) > 0 {
			t.Errorf("%s comes back as %s without %s", body, AppendJSON(nil, &back), lost)
		}
	}
	var d Decoder
	if err := d.Decode(all[1], []byte(`{"cost":"1.00"}`), schema.KindItem, new(schema.Object)); err == nil {
		t.Error("a number without its key is taken")
	}
}

// A resource whose declaration is unreadable is refused at program start.
func TestCheck(t *testing.T) {
	t.Parallel()
	inner := schema.NewTable("inner", schema.Column{ID: 1, Name: "word", Type: schema.Text, V3: "word", V2: "word"})
	nested := schema.NewTable("nested", inner.Columns[0], schema.Column{List: &inner, V3: "inner", V2: "inner"})
	key := schema.Column{ID: 1, Name: "key", Type: schema.Text, V3: "id", V2: "id"}
	counted := schema.Column{List: &inner, V3: "some", V2: "some", Count: "key", Short: true}
	for what, fields := range map[string][]schema.Column{
		"a list sent twice without a count": {key, schema.Column{List: &inner, V3: "one", V2: "one"}, schema.Column{List: &inner, V3: "two", V2: "two"}},
		"a list counted and sent once":      {key, counted},
		"a list inside a list":              {key, schema.Column{List: &nested, V3: "nested", V2: "nested"}},
		"a list that is none of its own":    {key, schema.Column{List: &schema.Runs, V3: "other", V2: "other"}},
	} {
		table := schema.NewTable("outer", fields...)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", what)
				}
			}()
			Check(schema.NewResource(&table, &inner, &nested))
		}()
	}
}

// Whatever a hostile body contains, its Drift stays small.
func TestDriftBounded(t *testing.T) {
	t.Parallel()
	var d Decoder
	var o schema.Object
	for round := range 3 {
		body := []byte(`{"id":"a"`)
		for i := range 2000 {
			name, _ := json.Marshal(string(bytes.Repeat([]byte{'a' + byte(i%26)}, 1+i%100)) + string(rune('A'+round)))
			body = append(append(append(body, ','), name...), ":1"...)
		}
		test.OK(t, d.Decode(schema.CallResource, append(body, '}'), schema.KindItem, &o))
		n := 0
		for _, r := range d.Drift {
			n += r.Count
		}
		if len(d.Drift) > maxDriftNames+1 || n != 2000 {
			t.Errorf("%d paths for %d unknown fields", len(d.Drift), n)
		}
	}
}
