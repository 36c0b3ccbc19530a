package operation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Resource declares one kind of object: where it is served, and what may be asked for.
type Resource struct {
	Name string // plural, as in options, truth and log
	// From is where its path and its fields are taken from: the contract, what is
	// documented elsewhere or was observed, or nothing.
	From string
	Own  string // what some crawls of the service called its own key; empty: it has no key to rename

	// List and Item are paths, with a name in braces for what names an object. Either
	// may be empty.
	List, Item string
	Items      string   // name of the list in its envelope; empty: items
	Unpaged    bool     // the list takes neither cursor nor limit and has no next_cursor
	Parent     string   // of what resource the name in List is an object
	Key        []string // fields that name an object within its list; nil: id
	Object     string   // the schema of an object; empty: the singular of Name
	Listed     string   // the schema of a list's item; empty: Object

	// Inside are fields that only the item has, and lists where Include is asked
	// for with true.
	Inside  []string
	Include string

	Filters   []Filter
	Fixed     bool     // the list does not take sort_order
	Sorts     []string // fields to sort by; the first is usual. nil: by created_at, and no parameter sort_by
	Versioned bool     // Item takes the parameter version
}

// Filter is a query parameter that leaves objects out: those whose field of the same name has
// another value, unless it says otherwise.
type Filter struct {
	Parameter   `yaml:",inline"`
	Within      string   // the object that the field is in
	Holds       []string // fields of which one has the value in it, in whatever case
	Since, Till string   // a time that is not before the value, or not after it
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

// instant reads milliseconds, or seconds where they can be nothing else.
func instant(value string) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err == nil && len(value) <= 11 {
		n *= 1000
	}
	return n
}

// Resources are those that there are, in the order of the documentation.
var Resources = func() []*Resource {
	for _, r := range declared.Resources {
		r.Object = cmp.Or(r.Object, camel(r.singular()))
		r.Listed = cmp.Or(r.Listed, r.Object)
		r.Items = cmp.Or(r.Items, "items")
		if r.Key == nil {
			r.Key = []string{"id"}
		}
	}
	return declared.Resources
}()

// Paths are where the resource is served.
func (r *Resource) Paths() []string {
	return slices.DeleteFunc([]string{r.List, r.Item}, func(p string) bool { return p == "" })
}

// ID names an object within its list.
func (r *Resource) ID(o Object) string {
	var all []string
	for _, name := range r.Key {
		all = append(all, fmt.Sprint(o[name]))
	}
	return strings.Join(all, "/")
}

func (r *Resource) singular() string { return strings.TrimSuffix(r.Name, "s") }

// lookups are the operations that list a resource, or get an object of one.
func lookups() []Operation {
	var all []Operation
	for _, r := range Resources {
		words := strings.ReplaceAll(r.Name, "_", " ")
		if r.Item != "" {
			o := Operation{
				ID: "get" + camel(r.singular()), Route: "GET " + r.Item, Kind: "object", Resource: r.Name,
				Summary: "One of the " + words, From: r.From, Answer: r.Object,
			}
			if r.Versioned {
				o.Query = []Parameter{{Name: "version", Note: "current, production or vN"}}
			}
			if r.Name == "schemas" { // the contract names the path of tools apart
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

// parameters are what the list takes.
func (r *Resource) parameters() []Parameter {
	if r.Unpaged {
		return nil
	}
	all, order := slices.Clone(declared.Paging[:2]), declared.Paging[2]
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

// camel turns telephone_numbers into TelephoneNumbers.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
