package operation

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Resource declares a kind of object: the content of a file in resources.
type Resource struct {
	Name string `yaml:"-"` // that of the file: plural, as in options, truth and log
	// From is the source of its path and fields: the contract, other documentation, an observation,
	// or nothing.
	From     string
	Contract []string // which of its paths are in the contract: list, item

	// List and Item are paths with placeholders in braces. Either may be empty.
	List, Item string
	Items      string   // the list's name in its envelope; empty: items
	Unpaged    bool     // the list has no cursor, limit or next_cursor
	Parent     string   // the resource of the placeholder in List
	Key        []string // fields of an object's key within its list; nil: id
	Object     string   // schema of an object; empty: the singular of Name
	Listed     string   // schema of a list item; empty: Object

	// Inside are fields that lists omit unless the parameter Include is true.
	Inside  []string
	Include string

	Filters   []Filter
	Fixed     bool     // the list has no sort_order
	Sorts     []string // sortable fields, the first is the default. nil: created_at, without sort_by
	Versioned bool     // Item has the parameter version

	Sizes map[string]Size // numbers of objects, by the resource's name or others
	Draw  *Draw           // nil: package organisation has code for it
	// Settings are the members of an agent's data.
	Settings []Setting
	Schemas  Object // of the object, and of other bodies and answers about it
}

// Draw is how objects are drawn.
type Draw struct {
	Lifetime, Every float64 // means, in days, until an object vanishes, and between two edits
	New, Edit       string  // templates of the drawn fields and of those that an edit changes, as JSON
}

// Setting is how a member of an agent's data is drawn.
type Setting struct {
	Name  string
	Often int    // weight of edits by the author
	Draw  string // a template of its value, as JSON
}

// Size is a number of objects in a small and a large organisation, and in one with only the
// service's defaults.
type Size struct{ Small, Large, None int }

// Filter is a query parameter that selects objects: by default those with the value in the field of
// the same name.
type Filter struct {
	Parameter   `yaml:",inline"`
	Within      string   // the object with the field
	Holds       []string // fields one of which must contain the value, ignoring case
	Since, Till string   // a time not before, or not after, the value
}

// Match reports whether an object has the value.
func (f *Filter) Match(o Object, value string) bool {
	switch {
	case f.Holds != nil:
		var all []any
		for _, name := range f.Holds {
			all = append(all, o[name])
		}
		return strings.Contains(strings.ToLower(fmt.Sprint(all...)), strings.ToLower(value))
	case f.Since+f.Till != "":
		t, _ := o[f.Since+f.Till].(int64)
		return f.Since != "" && t >= instant(value) || f.Till != "" && t <= instant(value)
	case f.Within != "":
		o, _ = o[f.Within].(Object)
	}
	return fmt.Sprint(o[f.Name]) == value
}

// instant parses milliseconds, or seconds where the value is too small for them.
func instant(value string) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err == nil && len(value) <= 11 {
		n *= 1000
	}
	return n
}

// Resources returns all resources, by name.
var Resources = sync.OnceValue(func() (all []*Resource) {
	read("resources/*.yaml", func(name string) any {
		all = append(all, &Resource{Name: strings.TrimSuffix(path.Base(name), ".yaml")})
		return all[len(all)-1]
	})
	for _, r := range all {
		r.Object = cmp.Or(r.Object, camel(r.singular()))
		r.Listed = cmp.Or(r.Listed, r.Object)
		r.Items = cmp.Or(r.Items, "items")
		if r.Key == nil {
			r.Key = []string{"id"}
		}
	}
	return all
})

// Named returns a named resource; nil if there is none.
func Named(name string) *Resource {
	all := Resources()
	if i := slices.IndexFunc(all, func(r *Resource) bool { return r.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// Paths returns the paths of the resource.
func (r *Resource) Paths() []string {
	return slices.DeleteFunc([]string{r.List, r.Item}, func(p string) bool { return p == "" })
}

// ID returns an object's key within its list.
func (r *Resource) ID(o Object) string {
	var all []string
	for _, name := range r.Key {
		all = append(all, fmt.Sprint(o[name]))
	}
	return strings.Join(all, "/")
}

func (r *Resource) singular() string { return strings.TrimSuffix(r.Name, "s") }

// lookups returns the operations that list a resource or get one of its objects.
func lookups() []Operation {
	var all []Operation
	for _, r := range Resources() {
		words := strings.ReplaceAll(r.Name, "_", " ")
		if r.Item != "" {
			o := Operation{
				ID: "get" + camel(r.singular()), Route: "GET " + r.Item, Kind: "object", Resource: r.Name,
				Summary: "One of the " + words, From: r.From, Answer: r.Object,
			}
			if r.Versioned {
				o.Query = []Parameter{{Name: "version", Note: "current, production or vN"}}
			}
			if r.Name == "schemas" { // the contract has a separate path for tools
				tool := o
				tool.ID, tool.Summary = "getToolSchema", "The schema of a built-in tool"
				tool.Route, tool.Prefix = "GET /v3/schemas/tool-schema/{schema_type}", "tool-schema/"
				all = append(all, tool)
			}
			all = append(all, o)
		}
		if r.List != "" {
			all = append(all, Operation{
				ID: "list" + camel(r.Name), Route: "GET " + r.List, Kind: "list", Resource: r.Name,
				Summary: "All " + words, From: r.From, Query: r.parameters(), Answer: camel(r.singular()) + "List",
			})
		}
	}
	return all
}

// parameters returns the parameters of the list.
func (r *Resource) parameters() []Parameter {
	if r.Unpaged {
		return nil
	}
	all, order := slices.Clone(declared().Paging[:2]), declared().Paging[2]
	if r.Include != "" {
		all = append(all, Parameter{Name: r.Include, Type: "boolean", Default: "false", Contract: true})
	}
	if !r.Fixed {
		all = append(all, order)
	}
	if r.Sorts != nil {
		all = append(all, Parameter{Name: "sort_by", Values: r.Sorts, Default: r.Sorts[0]})
	}
	for i := range r.Filters {
		f := &r.Filters[i]
		if f.Since+f.Till != "" {
			f.Type, f.Note = "integer", "unix milliseconds, or seconds where it has no more than 11 digits"
		} else if f.Values == nil {
			f.Values = enum(r.Listed, f.Name)
		}
		all = append(all, f.Parameter)
	}
	return all
}

// camel converts telephone_numbers to TelephoneNumbers.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
