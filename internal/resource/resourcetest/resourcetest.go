// Package resourcetest makes JSON of any resource from its declaration, for tests. Only tests use
// it.
package resourcetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// ParentNumber is the number of the parent in items that have a parent.
const ParentNumber = 7

// Item returns an item of a resource's list: its n-th object in its v-th version. All its fields
// have values; those outside the key change with v.
func Item(of *resource.Resource, n, v int) []byte { return object(of, n, v, false) }

// Record returns the object's own record.
func Record(of *resource.Resource, n, v int) []byte { return object(of, n, v, true) }

// Key returns the key of the n-th object; parent is the key of the parent of its list.
func Key(of *resource.Resource, parent string, n int) string {
	var parts []string
	if of.Parent != nil {
		parts = append(parts, parent)
	}
	for _, name := range of.Key[len(parts):] {
		parts = append(parts, text(name, n))
	}
	return strings.Join(parts, "/")
}

// List returns a page of a list with these items and the cursor of the next page.
func List(of *resource.Resource, items [][]byte, next string) []byte {
	name := of.Items
	if name == "" {
		name = "items"
	}
	raw := []json.RawMessage{}
	for _, item := range items {
		raw = append(raw, item)
	}
	page := map[string]any{name: raw, "total_count": len(items), "next_cursor": nil}
	if next != "" {
		page["next_cursor"] = next
	}
	body, err := json.Marshal(page)
	if err != nil {
		panic(err)
	}
	return body
}

func text(column string, n int) string { return fmt.Sprintf("%s-%03d", column, n) }

func object(of *resource.Resource, n, v int, whole bool) []byte {
	root := map[string]any{}
	for i := range of.Table.Fields {
		c := &of.Table.Fields[i]
		path := strings.Split(strings.TrimSuffix(c.V3, "?"), ".")
		if c.V3 == "" || !whole && slices.Contains(of.Own, c.Name) {
			continue
		}
		if of.Parent != nil && c.Name == of.Key[0] {
			root[c.V3] = text(c.Name, ParentNumber)
			continue
		}
		at := root
		for _, name := range path[:len(path)-1] {
			inner, _ := at[name].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
				at[name] = inner
			}
			at = inner
		}
		name := path[len(path)-1]
		if c.List == nil {
			at[name] = value(c, slices.Contains(of.Key, c.Name), n, v)
			continue
		}
		var list []any
		for e := range 1 + (n+v)%3 {
			list = append(list, fields(c.List, e, v))
		}
		at[name] = list
	}
	body, err := json.Marshal(root)
	if err != nil {
		panic(err)
	}
	return body
}

// fields returns an element of a list.
func fields(t *schema.Table, n, v int) map[string]any {
	out := map[string]any{}
	for i := range t.Fields {
		if c := &t.Fields[i]; c.V3 != "" {
			out[strings.TrimSuffix(c.V3, "?")] = value(c, false, n, v)
		}
	}
	return out
}

func value(c *schema.Column, key bool, n, v int) any {
	switch {
	case key:
		return text(c.Name, n)
	case c.Known != nil:
		return c.Known[(n+v)%len(c.Known)]
	}
	switch c.Type {
	case schema.Timestamp:
		return int64(1_790_000_000_000) + int64(n)*1000 + int64(v)
	case schema.Int64:
		return n + 100*v
	case schema.Exact:
		if c.Amount {
			return fmt.Sprintf("%d.%02d", n, v)
		}
		return json.Number(fmt.Sprintf("%d.%02d", n, v))
	case schema.Bool:
		return (n+v)%2 == 0
	case schema.JSON:
		return map[string]any{"version": v, "of": n, "list": []any{"x", 1.5, nil}}
	}
	return fmt.Sprintf("%s %d.%d", c.Name, n, v)
}

// MadeUp are two invented resources: one with its own record and an inner list of objects, and one
// with a list for each object of the first. They prove that a declaration is all that a resource
// needs.
var MadeUp = func() []*resource.Resource {
	parts := schema.NewTable("gadget_parts",
		schema.Column{ID: 1, Name: "gadget_id", Type: schema.Text, Required: true, Parent: "gadget_id", Doc: "the gadget"},
		schema.Column{ID: 2, Name: "position", Type: schema.Int32, Required: true, Parent: schema.Position, Doc: "its place"},
		schema.Column{ID: 3, Name: "name", Type: schema.Word, V3: "name", V2: "name", Doc: "its name"},
		schema.Column{ID: 4, Name: "weight", Type: schema.Exact, V3: "weight?", V2: "weight?", Doc: "its weight"},
		schema.Column{ID: 5, Name: "extra", Type: schema.JSON, Doc: "the rest"})
	gadgets := resource.Declare(resource.Resource{
		Name: "gadgets", Doc: "gadgets", Path: "/v3/gadgets", Key: []string{"gadget_id"}, Record: "/v3/gadgets/{}", Own: []string{"plan"},
	},
		schema.Column{ID: 1, Name: "gadget_id", Type: schema.Text, Required: true, V3: "id", V2: "gadget_id", Doc: "the gadget"},
		schema.Column{ID: 2, Name: "name", Type: schema.Text, V3: "name", Doc: "its name"},
		schema.Column{List: &parts, V3: "inside.parts", V2: "inside.parts"},
		schema.Column{ID: 3, Name: "colour", Type: schema.Word, V3: "inside.colour", Doc: "its colour"},
		schema.Column{ID: 4, Name: "plan", Type: schema.JSON, V3: "plan?", AnyValue: true, Doc: "how it is made"})
	notes := resource.Declare(resource.Resource{
		Name: "gadget_notes", Doc: "notes on gadgets", Path: "/v3/gadgets/{}/notes", Parent: gadgets, Items: "notes", Unpaged: true,
		Key: []string{"gadget_id", "note"},
	},
		schema.Column{ID: 2, Name: "note", Type: schema.Text, Required: true, V3: "note", Doc: "its number"},
		schema.Column{ID: 1, Name: "gadget_id", Type: schema.Text, Required: true, Doc: "the gadget"},
		schema.Column{ID: 3, Name: "cost", Type: schema.Exact, V3: "cost", Amount: true, Doc: "what it cost"})
	return []*resource.Resource{gadgets, notes}
}()

// Register registers the made-up resources in the tests' program.
func Register() { resource.Register(MadeUp...) }
