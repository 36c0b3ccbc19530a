package wiretest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callhouse/internal/schema"
)

// Pair is a column with two names in the service's JSON.
type Pair struct {
	Column *schema.Column
	V3, V2 string // the two places
}

// Pairs returns the pairs of a table.
func Pairs(t *schema.Table) (out []Pair) {
	for i := range t.Fields {
		c := &t.Fields[i]
		p := Pair{Column: c, V3: c.V3, V2: c.V2}
		if p.V3 != "" && p.V2 != "" && p.V3 != p.V2 {
			out = append(out, p)
		}
	}
	return out
}

// Members returns the ways in which one name of a column may be sent for the n-th object, as JSON
// members without braces. The empty one omits the name.
func (p Pair) Members(place string, n int) []string {
	a, b, wrong := fmt.Sprintf(`"%s a%d"`, p.Column.Name, n), fmt.Sprintf(`"%s b%d"`, p.Column.Name, n), `{"no":"text"}`
	switch p.Column.Type {
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
	out := []string{"", member("null"), member(a), member(b), member(wrong), member(a) + "," + member(b), member(b) + "," + member("null")}
	if nested {
		out = append(out, fmt.Sprintf(`%q:null`, name), fmt.Sprintf(`%q:{}`, name), fmt.Sprintf(`%q:7`, name))
	}
	return out
}

// Bodies returns an object with the column sent in every combination of both names. base is the
// JSON of the object.
func (p Pair) Bodies(t *schema.Table, base []byte) (out []string) {
	for i := range p.Members(p.V3, 0) {
		for j := range p.Members(p.V2, 0) {
			n := len(out)
			members := slices.DeleteFunc([]string{p.Members(p.V3, n)[i], p.Members(p.V2, n)[j]}, func(m string) bool { return m == "" })
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
func without(base []byte, t *schema.Table, p Pair) map[string]json.RawMessage {
	out := Object(base)
	outer, _, _ := strings.Cut(p.V3, ".")
	for _, other := range Pairs(t) {
		if name, _, _ := strings.Cut(other.V3, "."); name == outer {
			delete(out, name)
			delete(out, other.V2)
		}
	}
	return out
}

// Renamed returns an object with v2's names.
func Renamed(t *schema.Table, body []byte) []byte {
	in := Object(body)
	out := maps.Clone(in)
	for _, p := range Pairs(t) {
		at := in
		name, _, nested := strings.Cut(p.V3, ".")
		if nested {
			at = Object(in[name])
		}
		delete(out, name)
		if value, ok := at[p.V3[strings.LastIndexByte(p.V3, '.')+1:]]; ok {
			out[p.V2] = value
		}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return raw
}

// Object parses a JSON object. An empty text is an empty object.
func Object(body []byte) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	if len(body) == 0 {
		return out
	}
	if err := json.Unmarshal(body, &out); err != nil {
		panic(err)
	}
	return out
}
