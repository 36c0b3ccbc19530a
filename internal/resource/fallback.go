package resource

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// Fallback describes v2's source for a resource. It is requested if v3 reports that it has no such
// list. It has fewer fields; the missing ones keep the values from v3.
type Fallback struct {
	// Path is the path of its list; "{}" is replaced by the key of the parent. With Of there is no
	// list, but one object for each key, which replaces "{}".
	Path    string
	Post    bool   // the list is requested with a body
	Items   string // name of the list's items
	Unpaged bool
	// Of is the resource whose objects name the keys, and Keys returns the keys that one of its
	// objects names.
	Of   *Resource
	Keys func(*schema.Object) []string
	// Names maps members of v2 to places in v3's JSON; those with an empty place belong to another
	// resource. Members without an entry have the same name in v3.
	Names map[string]string
	// Versions is the member with the version of an agent, which is a number in v2 and a name in
	// v3: 12 is v12. Empty if there is none.
	Versions string
	// Alone are the columns that v3 does not have. v2's values stay when v3 is available again.
	Alone []string
}

// Translate converts an object of v2 to the shape of v3. Times, in v2 texts of ISO 8601, become
// milliseconds.
func (r *Resource) Translate(body []byte) ([]byte, error) {
	var from map[string]json.RawMessage
	if err := json.Unmarshal(body, &from); err != nil {
		return nil, err
	}
	to, nested := map[string]json.RawMessage{}, map[string]map[string]json.RawMessage{}
	for name, value := range from {
		place, renamed := r.Fallback.Names[name]
		switch {
		case !renamed:
			place = name
		case place == "":
			continue
		}
		if r.isInstant(place) {
			value = milliseconds(value)
		}
		if name == r.Fallback.Versions {
			n, err := strconv.Atoi(string(value))
			if string(value) == "null" {
				continue // it must not change the value from v3
			} else if err == nil {
				value = strconv.AppendQuote(nil, "v"+strconv.Itoa(n))
			}
		}
		outer, inner, isNested := strings.Cut(place, ".")
		if !isNested {
			to[outer] = value
			continue
		}
		if nested[outer] == nil {
			nested[outer] = map[string]json.RawMessage{}
		}
		nested[outer][inner] = value
	}
	for outer, members := range nested {
		to[outer], _ = json.Marshal(members) // it was JSON
	}
	return json.Marshal(to)
}

// isInstant reports whether a place in the JSON holds a time.
func (r *Resource) isInstant(place string) bool {
	return slices.ContainsFunc(r.Table.Columns, func(c schema.Column) bool {
		return c.Type == schema.Timestamp && strings.TrimSuffix(c.V3, "?") == place
	})
}

// milliseconds converts a time in ISO 8601 to milliseconds; anything else stays unchanged, for the
// decoder: also a time without a zone, which counts as drift, and one of which a part would be lost.
func milliseconds(value json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return value
	}
	at, zoned, ok := wire.ParseTime(text)
	if !ok || !zoned || len(text) > len(time.RFC3339Nano) || at.Nanosecond()%int(time.Millisecond) != 0 {
		return value
	}
	return strconv.AppendInt(nil, at.UnixMilli(), 10)
}

// Overlay returns the JSON of an object from v3, updated with v2's values: brief, in the shape of
// v3. Values without a column stay as v3 sent them.
func (r *Resource) Overlay(o *schema.Object, brief []byte) ([]byte, error) {
	var was, is map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(r.ItemJSON(o), &was), json.Unmarshal(brief, &is)); err != nil {
		return nil, err
	}
	for name, value := range is {
		if r.IsKeyPath(name) || !r.isMember(name) && !r.fromV2(o) {
			continue
		}
		var outer, inner map[string]json.RawMessage
		if json.Unmarshal(was[name], &outer) == nil && json.Unmarshal(value, &inner) == nil && outer != nil && inner != nil && r.isNested(name) {
			maps.Copy(outer, inner)
			value, _ = json.Marshal(outer) // it was JSON
		}
		was[name] = value
	}
	return json.Marshal(was)
}

// isMember reports whether a member of an object, or something inside it, has a column.
func (r *Resource) isMember(name string) bool {
	return slices.ContainsFunc(r.Table.Columns, func(c schema.Column) bool {
		outer, _, _ := strings.Cut(strings.TrimSuffix(c.V3, "?"), ".")
		return outer == name
	})
}

// isNested reports whether something inside a member has a column.
func (r *Resource) isNested(name string) bool {
	return slices.ContainsFunc(r.Table.Columns, func(c schema.Column) bool { return strings.HasPrefix(c.V3, name+".") })
}

// fromV2 reports whether v3 has not sent an object yet.
func (r *Resource) fromV2(o *schema.Object) bool {
	return r.Fallback != nil && o.Source() == schema.V2
}

// told reports whether v2 sent a field of an object.
func (r *Resource) told(o *schema.Object, col int) bool {
	return col < 0 || col != r.extra && r.nameOf(col) != "source" && !o.Row[col].IsNull()
}

// Outlives reports whether an object stays although it is missing from a list: a list of v2 does
// not affect objects from v3.
func (r *Resource) Outlives(o *schema.Object, l schema.Listed) bool { return l.Brief && !r.fromV2(o) }
