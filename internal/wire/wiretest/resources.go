package wiretest

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

func text(column string, n int) string { return fmt.Sprintf("%s-%03d", column, n) }

func object(of *resource.Resource, n, v int, whole bool) []byte {
	root := map[string]any{}
	for i := range of.Table.Fields {
		c := &of.Table.Fields[i]
		path := strings.Split(c.V3, ".")
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
		at[name] = value(c, slices.Contains(of.Key, c.Name), n, v)
	}
	body, err := json.Marshal(root)
	if err != nil {
		panic(err)
	}
	return body
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
