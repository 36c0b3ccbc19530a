package resource_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

func decode(t *testing.T, of *resource.Resource, body []byte) *schema.Object {
	t.Helper()
	var d wire.Decoder
	o := new(schema.Object)
	test.OK(t, d.Decode(of.Resource, body, schema.KindItem, o))
	o.Own()
	return o
}

// Every declared resource is in All.
func TestAll(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	test.OK(t, err)
	declared := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		test.OK(t, err)
		declared += len(regexp.MustCompile(`(?m)= Declare\(Resource\{$`).FindAll(text, -1))
	}
	if n := len(resource.All); n != declared {
		t.Errorf("%d resources are declared, %d are in All", declared, n)
	}
}

// No column of a resource is forgotten: if only it changes, the comparison of two states detects
// the change, the row of changes names only that field, and the merge keeps the value.
func TestEveryColumn(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, of := range resource.All {
		a, b := decode(t, of, wiretest.Record(of, 1, 0)), decode(t, of, wiretest.Record(of, 1, 1))
		for i := range of.Table.Columns {
			c := &of.Table.Columns[i]
			if c.V3 == "" || of.IsKey(i) {
				continue
			}
			tried++
			if schema.SameValue(c.Type, a.Row[i], b.Row[i]) {
				t.Errorf("%s.%s: two versions have one value: %v", of.Name, c.Name, a.Row[i])
				continue
			}
			old, now := new(schema.Object), new(schema.Object)
			old.Set(a)
			now.Set(a)
			now.Row[i] = b.Row[i]
			f := resource.Fetched{At: 5_000, Run: "r"}
			own := slices.Contains(of.Own, c.Name)
			var changed bool
			if own {
				merged := new(schema.Object)
				merged.Set(old)
				changed = of.MergeRecord(merged, now, f)
				now = merged
			} else {
				changed = of.MergeItem(old, now, f)
			}
			if !changed || of.Same(old, now) || !schema.SameValue(c.Type, now.Row[i], b.Row[i]) {
				t.Errorf("%s.%s: its change is not seen", of.Name, c.Name)
			}
			row := of.Change(old, now, f, 1_000)
			if row == nil {
				t.Errorf("%s.%s: no row of changes", of.Name, c.Name)
				continue
			}
			var fields []string
			var after map[string]any
			if json.Unmarshal(row[resource.Changes.Column("fields")].ByteArray(), &fields) != nil || !slices.Contains(fields, c.Name) ||
				len(slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == c.Name || f == "own_extra" })) > 0 {
				t.Errorf("%s.%s: the changed fields are %v", of.Name, c.Name, fields)
			}
			if json.Unmarshal(row[resource.Changes.Column("after")].ByteArray(), &after) != nil || after[c.Name] == nil {
				t.Errorf("%s.%s: since then %v", of.Name, c.Name, after)
			}
			if own {
				if item := decode(t, of, wiretest.Item(of, 1, 0)); of.MergeItem(now, item, f) || !schema.SameValue(c.Type, item.Row[i], b.Row[i]) {
					t.Errorf("%s.%s: an item takes it away", of.Name, c.Name)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d columns were tried", tried)
	}
}
