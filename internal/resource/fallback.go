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
)

// Fallback is where v2 tells of a resource. It is asked for where v3 answers that it has no
// such list, and tells less: what it leaves out stays as v3 told it.
type Fallback struct {
	// Path is where its list is, and "{}" stands for the key of the parent. With Of there is
	// no list, but an object for each key: then "{}" stands for that.
	Path    string
	Post    bool   // the list is asked for with a body
	Items   string // name of the list's items
	Unpaged bool
	// Of is the resource whose objects name the keys, and Keys returns those that one names.
	Of   *Resource
	Keys func(*schema.Object) []string
	// Names says which member of v2 is which place of v3's JSON; those with an empty one
	// belong to another resource. Members that it does not have are called as in v3.
	Names map[string]string
	// Versions is the member that is a version of an agent, which v2 counts and v3 names: 12 is
	// v12. Empty: there is none.
	Versions string
	// Alone are the columns that v3 does not tell: what v2 has told stays when v3 is back.
	Alone []string
}

// Translate makes an object as v2 shows it one of the shape that v3 has. Times, which v2
// writes as texts of ISO 8601, become milliseconds.
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
				continue // it says nothing of what v3 has told
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

// isInstant says whether a place in the JSON holds a time.
func (r *Resource) isInstant(place string) bool {
	return slices.ContainsFunc(r.Table.Columns, func(c schema.Column) bool {
		return c.Type == schema.Timestamp && strings.TrimSuffix(c.V3, "?") == place
	})
}

// milliseconds returns the time that a text of ISO 8601 says; anything else stays as it is. One
// without a zone stays a text, of milliseconds: what reads it takes it for UTC, and says so.
func milliseconds(value json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return value
	}
	for _, layout := range []string{"2006-01-02T15:04:05", time.DateTime} {
		if at, err := time.Parse(layout, text); err == nil {
			return strconv.AppendQuote(nil, at.Format("2006-01-02T15:04:05.000"))
		}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return value
	}
	return strconv.AppendInt(nil, at.UnixMilli(), 10)
}

// Overlay returns the JSON of an object that v3 told, with what v2 now tells of it: brief,
// of the shape that v3 has. What no column is for stays as v3 told it.
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

// isMember says whether columns are for a member of an object, or for something in it.
func (r *Resource) isMember(name string) bool {
	return slices.ContainsFunc(r.Table.Columns, func(c schema.Column) bool {
		outer, _, _ := strings.Cut(strings.TrimSuffix(c.V3, "?"), ".")
		return outer == name
	})
}

// isNested says whether columns are for what is in a member.
func (r *Resource) isNested(name string) bool {
	return slices.ContainsFunc(r.Table.Columns, func(c schema.Column) bool { return strings.HasPrefix(c.V3, name+".") })
}

// fromV2 says whether v3 has not told of an object yet.
func (r *Resource) fromV2(o *schema.Object) bool {
	return r.Fallback != nil && o.Source() == schema.V2
}

// told says whether v2 told a field of an object.
func (r *Resource) told(o *schema.Object, col int) bool {
	return col < 0 || col != r.extra && r.nameOf(col) != "source" && !o.Row[col].IsNull()
}

// Outlives says whether an object stays, though a list does not name it: one of v2 says
// nothing of what v3 told.
func (r *Resource) Outlives(o *schema.Object, l schema.Listed) bool { return l.Brief && !r.fromV2(o) }
