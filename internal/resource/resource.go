// Package resource declares what the organisation has beside its calls: agents,
// campaigns, tools and so on. One file says all that there is to say of one resource:
// where it is listed, what of it is kept in which column, and when a record of its own
// is worth a request. The crawler, the sink and the queries loop over [All].
//
// It declares, and does no input or output.
package resource

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// Resource is one kind of object, how the service is asked for it, and what is kept.
// There is one row for each object that was ever listed, also for those that are gone
// since.
type Resource struct {
	*schema.Resource
	Name string // of its table
	Doc  string // what it holds, in a few words
	Text string // what else a reader should know; may be empty
	// Path is where the list is. With a Parent, each of the parent's objects has a list,
	// and "{}" stands for its key, there or in Queries.
	Path   string
	Parent *Resource
	// Single says that there is no list: Path is that of the one object, and "{}" stands for
	// its key, which the settings tell.
	Single bool
	// Queries are asked one after the other, and make up the list together; nil: it is
	// asked for without parameters of its own.
	Queries []url.Values
	// Items is the name of the list's items in the answer; empty: "items".
	Items string
	// Fallback is where v2 tells of it; nil: nowhere.
	Fallback *Fallback
	// Unpaged says that the answer is the whole list, whatever its length.
	Unpaged bool
	// Every is how long a complete list is good for; 0: it is asked for every night. Of a
	// resource with a parent: how long that of one parent is good for, unless the parent
	// itself changes; 0: for ever.
	Every time.Duration
	// Record is where an object has a record of its own, in which "{}" stands for its key,
	// and Own are the columns that this record alone tells. It is asked for when the
	// object is new or its item changes. Empty: the list tells all.
	Record string
	Own    []string
	// By says, with a Parent, that Record is the parent's: it is asked for with this
	// parameter, the last part of the key, and Pick makes the object's record of the answer.
	By   string
	Pick func(answer []byte, parent string) ([]byte, error)
	// Lasting says that records never change. They are asked for once, if the run is to ask
	// for them at all, after everything else, and are no part of the changes.
	Lasting bool
	// Key are the columns that tell one object from all others; that of the parent comes
	// first. The table is sorted by them.
	Key []string
	// Slim says that of an item nothing is kept but the columns, and that no changes are
	// told: the items are there for what they join.
	Slim bool
	// OfCall is the column of the call that a row is about: it goes when the call is
	// forgotten. Empty: rows are about no call.
	OfCall string
	// Secrets are names of members, at any depth, whose values are never kept, beside
	// those that package secret recognises; in small letters.
	Secrets []string
	// Moves are columns that may change while updated_at stays as it was: they tell of what
	// happens to an object, and not of an edit.
	Moves []string
	// Contact are the JSON columns that may hold a person's number or name: see
	// extract forget.
	Contact []string

	keys, own, alone                                               []int // positions of columns
	extra, ownExtra, firstSeen, changed, run, deleted, completedAt int
	created, updated                                               int // -1: the service does not tell
}

// Common are the columns that every resource has after its own.
var Common = []schema.Column{
	{ID: 101, Name: "source", Type: schema.Word, Required: true,
		Doc: "v3: the key was sent as id; v2: the key was sent under its longer name, or only v2 lists the object"},
	{ID: 102, Name: "extra", Type: schema.JSON,
		Doc: "fields of the list item without a column of their own"},
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

// Register adds resources to All. Only tests do.
func Register(more ...*Resource) {
	All = append(All, more...)
	Tables, AllTables = tables(schema.Tables), tables(schema.AllTables)
}

// Declare completes a resource by its fields, in the order of the service's JSON. A
// field that is a list of objects names the table of its rows: see [schema.ListOf].
func Declare(r Resource, fields ...schema.Column) *Resource {
	var lists []*schema.Table
	for i := range fields {
		c := &fields[i]
		if c.V2 == "" {
			c.V2 = c.V3 // one shape, but for the name of the key
		}
		if c.List != nil {
			lists = append(lists, c.List)
		}
	}
	fields = append(fields, Common...)
	t := schema.NewTable(r.Name, fields...)
	r.Resource = schema.NewResource(&t, lists...)
	wire.Check(r.Resource)
	for _, name := range r.Key {
		r.keys = append(r.keys, t.Column(name))
	}
	for _, name := range append(r.Own, "own_extra") {
		r.own = append(r.own, t.Column(name))
	}
	if r.Fallback != nil {
		for _, name := range r.Fallback.Alone {
			r.alone = append(r.alone, t.Column(name))
		}
	}
	r.extra, r.ownExtra = t.Column("extra"), t.Column("own_extra")
	r.firstSeen, r.changed, r.run = t.Column("first_seen_at"), t.Column("changed_at"), t.Column("run_id")
	r.deleted, r.completedAt = t.Column("deleted_at"), t.Column("completed_at")
	r.created, r.updated = t.Column("created_at"), t.Column("updated_at")
	return &r
}

// KeyOf returns the key of an object: the texts of its columns, escaped as in a
// path and joined by slashes. A key begins with that of the parent.
func (r *Resource) KeyOf(row schema.Row) string {
	parts := make([]string, len(r.keys))
	for i, col := range r.keys {
		parts[i] = Part(string(schema.TextOf(row[col])))
	}
	return strings.Join(parts, "/")
}

// Part returns the part of a key that stands for a text.
func Part(text string) string { return url.PathEscape(text) }

// Plain returns the text that a part of a key stands for.
func Plain(part string) string {
	text, _ := url.PathUnescape(part) // KeyOf escaped it
	return text
}

// All are the resources besides calls, in the order in which they are asked for: a
// parent stands before its children.
var All = []*Resource{Agents, AgentVersions, Campaigns, CampaignCalls, Knowledges, KnowledgeDocuments, Tools, LLMs, Voices, Schemas, Numbers,
	AlertRules, Incidents, Customers, CustomerAttributes, Organizations}

// Children returns the resources of which each object of this one has a list.
func (r *Resource) Children() (out []*Resource) {
	for _, c := range All {
		if c.Parent == r {
			out = append(out, c)
		}
	}
	return out
}

// ByName returns a resource, or nil.
func ByName(name string) *Resource {
	if i := slices.IndexFunc(All, func(r *Resource) bool { return r.Name == name }); i >= 0 {
		return All[i]
	}
	return nil
}

// ParentOf returns the part of a key that is the parent's; empty where there is none.
func (r *Resource) ParentOf(key string) string {
	if r.Parent == nil {
		return ""
	}
	return key[:strings.LastIndexByte(key, '/')]
}

// SetParent sets the column of the parent's key, where the service's JSON may not tell it.
func (r *Resource) SetParent(o *schema.Object, parent string) {
	if r.Parent != nil {
		o.Row[r.keys[0]] = schema.TextValue([]byte(Plain(parent)))
	}
}

// IsKeyPath says whether a place in the JSON is that of a part of the key.
func (r *Resource) IsKeyPath(path string) bool {
	return slices.ContainsFunc(r.keys, func(col int) bool {
		c := &r.Table.Columns[col]
		return c.V3 == path || c.V2 == path
	})
}

// Owner returns the resource that a table is of, as its own or as one of its lists; nil
// is none.
func Owner(table string) *Resource {
	for _, r := range All {
		if slices.ContainsFunc(r.Tables(), func(t *schema.Table) bool { return t.Name == table }) {
			return r
		}
	}
	return nil
}

// Forgot says whether an object, or the call that it is about, was forgotten.
func (r *Resource) Forgot(key string, forgot func(id string) bool) bool {
	if forgot(key) {
		return true
	}
	if r.OfCall == "" {
		return false
	}
	return forgot(Plain(key[strings.LastIndexByte(key, '/')+1:]))
}

// IsKey says whether a column is a part of the key.
func (r *Resource) IsKey(col int) bool { return slices.Contains(r.keys, col) }

// Tables returns the tables of a resource: its own and those of its lists.
func (r *Resource) Tables() []*schema.Table { return append([]*schema.Table{r.Table}, r.Lists...) }

// Tables are all tables of a warehouse but for the tallies.
var Tables = tables(schema.Tables)

// AllTables are all tables that have files.
var AllTables = tables(schema.AllTables)

func tables(of []*schema.Table) []*schema.Table {
	out := slices.Clone(of)
	for _, r := range All {
		out = append(out, r.Tables()...)
	}
	return append(out, &Changes)
}
