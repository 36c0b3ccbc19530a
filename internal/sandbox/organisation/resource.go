package organisation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Resource declares one kind of object: where it is served, what may be asked
// for, and how its objects come about.
type Resource struct {
	Name string // plural, as in options, truth and log
	// From is where its path and its fields are taken from: the contract, what is
	// documented elsewhere or was observed, or nothing.
	From string
	Own  string // what some crawls of the service called its own key; empty: it has no key to rename

	// List and Item are paths, with a name in braces for what names an object. Either
	// may be empty.
	List, Item string
	Items      string // name of the list in its envelope; empty: items
	Unpaged    bool   // the list takes neither cursor nor limit and has no next_cursor
	Parent     string // of what resource the name in List is an object

	// Inside are fields that only the item has, and lists where Include is asked
	// for with true.
	Inside  []string
	Include string

	Filters []Filter
	Fixed   bool     // the list does not take sort_order
	Sorts   []string // fields to sort by; the first is usual. nil: by created_at, and no parameter sort_by

	// Version, where set, makes Item take the parameter version, and returns the
	// object as it is then; nil where there is no such version.
	Version func(o *Organisation, id, version string, t int64) Object

	// ID names an object within its list.
	ID    func(Object) string
	lives func(o *Organisation, parent string, until int64) []*life
}

// Paths are where the resource is served.
func (r *Resource) Paths() []string {
	return slices.DeleteFunc([]string{r.List, r.Item}, func(p string) bool { return p == "" })
}

// Filter is a query parameter that leaves objects out.
type Filter struct {
	Name    string
	Many    bool     // may be given several times
	Values  []string // nil: any
	Time    bool     // it is a time: milliseconds, or seconds
	Default string   // where it is not given
	// Contract is whether the contract has it.
	Contract bool
	Match    func(o Object, value string) bool
}

// All are the resources, in the order of the documentation.
var All []*Resource

func init() {
	All = []*Resource{
		agents, agentVersions, campaigns, knowledges, knowledgeDocuments, tools, llms, voices, schemas,
		numbers, alertRules, incidents, customers, customerAttributes, organizations,
	}
}

// Named returns a resource; it panics if there is none of that name.
func Named(name string) *Resource {
	i := slices.IndexFunc(All, func(r *Resource) bool { return r.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("sandbox: no resource is called %q", name))
	}
	return All[i]
}

func own(o Object) string { return fmt.Sprint(o["id"]) }

// is keeps objects whose field is the value.
func is(field string, many bool, values ...string) Filter {
	return Filter{Name: field, Many: many, Values: values, Match: func(o Object, value string) bool {
		return fmt.Sprint(o[field]) == value
	}}
}

// holds keeps objects with the value, in whatever case, in one of the fields.
func holds(name string, fields ...string) Filter {
	return Filter{Name: name, Match: func(o Object, value string) bool {
		return slices.ContainsFunc(fields, func(f string) bool { return contains(fmt.Sprint(o[f]), value) })
	}}
}

func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// since and till keep objects by a time of theirs, the instant included.
func since(name, field string) Filter {
	return Filter{Name: name, Time: true, Match: func(o Object, value string) bool { return at(o, field) >= instant(value) }}
}

func till(name, field string) Filter {
	return Filter{Name: name, Time: true, Match: func(o Object, value string) bool { return at(o, field) <= instant(value) }}
}

func at(o Object, field string) int64 {
	t, _ := o[field].(int64)
	return t
}

// instant reads milliseconds, or seconds where they can be nothing else.
func instant(value string) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err == nil && len(value) <= 11 {
		n *= 1000
	}
	return n
}
