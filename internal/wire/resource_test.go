package wire

import (
	"bytes"
	"encoding/json"
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/test"
)

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
