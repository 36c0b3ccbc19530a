// Package resource declares the organisation's data besides its calls: agents, campaigns, tools and
// so on. One file declares everything about a resource: the path of its list, its columns, and when
// an object's own record is worth a request. The crawler, the sink and the queries loop over [All].
//
// The package only declares; it does no input or output.
package resource

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// Resource is one kind of object: how to request it from the service, and what to store. There is
// one row for each object that was ever listed, including those that no longer exist.
type Resource struct {
	*schema.Resource
	Name string // name of its table
	Doc  string // a short description
	Text string // further notes for readers; may be empty
	// Path is the path of the list. With a Parent, each of the parent's objects has a list, and its
	// key replaces "{}" there or in Queries.
	Path   string
	Parent *Resource
	// Single means that there is no list: Path is that of the only object, and its key, which is a
	// setting, replaces "{}".
	Single bool
	// Queries are requested one after the other, and together make up the list; nil: one request
	// without query parameters of its own.
	Queries []url.Values
	// Items is the name of the list's items in the answer; empty: "items".
	Items string
	// Unpaged means that the answer is the whole list, whatever its length.
	Unpaged bool
	// Every is how long a complete list stays valid; 0: it is requested every night. For a resource
	// with a parent, it applies to the list of one parent, unless the parent itself changes; 0: the
	// list stays valid.
	Every time.Duration
	// Record is the path of an object's own record, in which its key replaces "{}", and Own are the
	// columns that only this record has. The record is requested when the object is new or its item
	// changes. Empty if the list has everything.
	Record string
	Own    []string
	// Key are the columns that identify an object, the parent's first. The table is sorted by them.
	Key []string
	// ColumnsOnly means that only the columns of an item are stored, and no changes are recorded, because
	// the items only serve as links.
	ColumnsOnly bool
	// OfCall is the column with the call that a row belongs to. The row is removed when the call is
	// forgotten. Empty if rows do not belong to calls.
	OfCall string
	// Secrets are names of members, at any depth and in lower case, whose values are never stored,
	// in addition to those that package secret recognises.
	Secrets []string
	// Contact are the JSON columns that may hold a person's number or name: see extract forget.
	Contact []string

	keys, own                                                      []int // positions of columns
	extra, ownExtra, firstSeen, changed, run, deleted, completedAt int
}

// Common are the columns that every resource has after its own.
var Common = []schema.Column{
	{ID: 101, Name: "source", Type: schema.Word, Required: true,
		Doc: "v3: the key was sent as id; v2: the key was sent under its longer name"},
	{ID: 102, Name: "extra", Type: schema.JSON,
		Doc: "members of the list item that no column holds"},
	{ID: 103, Name: "own_extra", Type: schema.JSON, Fetch: true,
		Doc: "such fields of the object's own record, if it has one"},
	{ID: 104, Name: "first_seen_at", Type: schema.Timestamp, Required: true, Fetch: true,
		Doc: "time it was first listed"},
	{ID: 105, Name: "changed_at", Type: schema.Timestamp, Required: true, Fetch: true,
		Doc: "time of the first fetch that returned these values"},
	{ID: 106, Name: "run_id", Type: schema.Word, Required: true, Fetch: true,
		Doc: "run that fetched these values, as in runs"},
	{ID: 107, Name: "deleted_at", Type: schema.Timestamp,
		Doc: "time of the first complete list without it; null: not deleted"},
	{ID: 108, Name: "completed_at", Type: schema.Timestamp, Fetch: true,
		Doc: "time its own record and lists were fetched since its last change; null: pending, or it has none"},
}

// Declare completes a resource with its fields, in the order of the service's JSON.
func Declare(r Resource, fields ...schema.Column) *Resource {
	for i := range fields {
		if c := &fields[i]; c.V2 == "" {
			c.V2 = c.V3 // one shape, apart from the name of the key
		}
	}
	fields = append(fields, Common...)
	t := schema.NewTable(r.Name, fields...)
	r.Resource = schema.NewResource(&t)
	wire.Check(r.Resource)
	for _, name := range r.Key {
		r.keys = append(r.keys, t.Column(name))
	}
	for _, name := range append(r.Own, "own_extra") {
		r.own = append(r.own, t.Column(name))
	}
	r.extra, r.ownExtra = t.Column("extra"), t.Column("own_extra")
	r.firstSeen, r.changed, r.run = t.Column("first_seen_at"), t.Column("changed_at"), t.Column("run_id")
	r.deleted, r.completedAt = t.Column("deleted_at"), t.Column("completed_at")
	return &r
}

// KeyOf returns the key of an object: the texts of its key columns, escaped as in a path and joined
// by slashes. A key begins with the parent's key.
func (r *Resource) KeyOf(row schema.Row) string {
	parts := make([]string, len(r.keys))
	for i, col := range r.keys {
		parts[i] = Part(string(schema.TextOf(row[col])))
	}
	return strings.Join(parts, "/")
}

// Part returns a text as a part of a key.
func Part(text string) string { return url.PathEscape(text) }

// Plain returns the text of a part of a key.
func Plain(part string) string {
	text, _ := url.PathUnescape(part) // KeyOf escaped it
	return text
}

// All are the resources besides calls, in the order of their requests: a parent comes before its
// children.
var All = []*Resource{Agents, AgentVersions, Campaigns, CampaignCalls, Knowledges, KnowledgeDocuments, Tools, LLMs, Voices,
	Schemas, Numbers,
	AlertRules, Incidents, Customers, CustomerAttributes, Organizations}

// Children returns the resources that have a list for each object of this one.
func (r *Resource) Children() (out []*Resource) {
	for _, c := range All {
		if c.Parent == r {
			out = append(out, c)
		}
	}
	return out
}

// ByName returns the resource with a table, or nil.
func ByName(name string) *Resource {
	if i := slices.IndexFunc(All, func(r *Resource) bool { return r.Name == name }); i >= 0 {
		return All[i]
	}
	return nil
}

// ParentOf returns the parent's part of a key; empty if there is no parent.
func (r *Resource) ParentOf(key string) string {
	if r.Parent == nil {
		return ""
	}
	return key[:strings.LastIndexByte(key, '/')]
}

// SetParent sets the column with the parent's key, which may be missing from the service's JSON.
func (r *Resource) SetParent(o *schema.Object, parent string) {
	if r.Parent != nil {
		o.Row[r.keys[0]] = schema.TextValue([]byte(Plain(parent)))
	}
}

// IsKeyPath reports whether a place in the JSON is part of the key.
func (r *Resource) IsKeyPath(path string) bool {
	return slices.ContainsFunc(r.keys, func(col int) bool {
		c := &r.Table.Columns[col]
		return c.V3 == path || c.V2 == path
	})
}

// Forgot reports whether an object, or the call that it belongs to, was forgotten.
func (r *Resource) Forgot(key string, forgot func(id string) bool) bool {
	if forgot(key) {
		return true
	}
	if r.OfCall == "" {
		return false
	}
	return forgot(Plain(key[strings.LastIndexByte(key, '/')+1:]))
}

// IsKey reports whether a column is part of the key.
func (r *Resource) IsKey(col int) bool { return slices.Contains(r.keys, col) }

// Tables are all tables of a warehouse.
var Tables = func() []*schema.Table {
	out := slices.Clone(schema.Tables)
	for _, r := range All {
		out = append(out, r.Table)
	}
	return append(out, &Changes)
}()

// Stored returns the table of a relation such as stored.calls; nil for any other relation.
func Stored(relation string) *schema.Table {
	for _, t := range Tables {
		if relation == "stored."+t.Name {
			return t
		}
	}
	return nil
}
