// Package operation declares the operations under /v3 and /v2: resources has a file for each kind
// of object, with its paths, parameters, sizes and fields, and the rules by which one is drawn;
// operations.yaml has the other operations, and schemas the fields of calls and the shared schemas.
//
// The router, the OpenAPI documents, the validation of parameters and bodies, new objects and the
// tables of docs/reference/sandbox.md are all derived from it, so they cannot contradict each
// other.
package operation

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Operation is an operation of the API.
type Operation struct {
	ID           string // operationId
	Route        string // method and path
	Method, Path string `yaml:"-"` // placeholders are in braces
	Summary      string

	From   string // its source: the contract, other documentation, an observation, or nothing
	Beware string // properties that clients must not rely on, besides those outside the contract

	Kind     string // page, detail, bulk, list, object or write, in statistics and faults
	Resource string // in statistics and faults; empty for the calls of v3
	Prefix   string // of the object's id: the words of the path

	Query  []Parameter
	Body   string // name of its schema; empty: no body
	Status int    // of success; 0 means 200
	Answer string // name of its schema
}

// V2 reports whether the operation belongs to the deprecated API.
func (o *Operation) V2() bool { return IsV2(o.Path) }

// IsV2 reports whether a path belongs to the deprecated API.
func IsV2(path string) bool {
	return strings.HasPrefix(path, "/v2/") || strings.HasPrefix(path, "/functions/")
}

// Good returns the status of success.
func (o *Operation) Good() int { return max(o.Status, http.StatusOK) }

// Parameter is a query parameter.
type Parameter struct {
	Name     string
	Type     string   // string (default), integer or boolean
	Values   []string // allowed values; nil: any
	Of       string   // schema whose field of the same name lists the allowed values
	Min, Max int64    // bounds of an integer, if any
	Many     bool     // may be repeated
	Default  string
	Contract bool // it is in the contract
	Note     string
}

// Parameters returns the names of the query parameters, or of those in the contract.
func (o *Operation) Parameters(contractOnly bool) []string {
	var names []string
	for _, p := range o.Query {
		if p.Contract || !contractOnly {
			names = append(names, p.Name)
		}
	}
	return names
}

// Parameter returns a named query parameter, or nil.
func (o *Operation) Parameter(name string) *Parameter {
	i := slices.IndexFunc(o.Query, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Query[i]
}

// Check returns what is wrong with a parameter's values; empty if nothing.
func (p *Parameter) Check(values []string) string {
	if len(values) != 1 && !p.Many {
		return p.Name + " must have exactly one value"
	}
	for _, v := range values {
		n, err := strconv.ParseInt(v, 10, 64)
		switch {
		case v == "":
			return p.Name + " must not be empty"
		case p.Values != nil && !slices.Contains(p.Values, v):
			return fmt.Sprintf("%s must be one of %v", p.Name, p.Values)
		case p.Type == "integer" && p.Min < p.Max && (err != nil || n < p.Min || n > p.Max):
			return fmt.Sprintf("%s must be an integer from %d to %d", p.Name, p.Min, p.Max)
		case p.Type == "integer" && err != nil:
			return p.Name + " must be an integer of unix milliseconds"
		case p.Type == "boolean" && v != "true" && v != "false":
			return p.Name + " must be true or false"
		}
	}
	return ""
}

// The files are parsed on first use: most programs and tests that link the package need none.
//
//go:embed operations.yaml registry.yaml resources/*.yaml schemas/*.yaml
var files embed.FS

// read decodes each file of a pattern into what into returns for its name.
func read(pattern string, into func(name string) any) {
	names, err := fs.Glob(files, pattern)
	for _, name := range names {
		text, e := files.ReadFile(name)
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		if err = cmp.Or(err, e, d.Decode(into(name))); err != nil {
			panic("sandbox: " + name + ": " + err.Error()) // built-in
		}
	}
}

// declared is the content of operations.yaml.
var declared = sync.OnceValue(func() (d struct {
	Paging []Parameter
	V3, V2 []Operation
}) {
	read("operations.yaml", func(string) any { return &d })
	return d
})

// All returns the operations, v3 first. The first that matches a request applies.
var All = sync.OnceValue(func() []Operation {
	all := slices.Concat(declared().V3, lookups(), declared().V2)
	for i := range all {
		o := &all[i]
		o.Method, o.Path, _ = strings.Cut(o.Route, " ")
		if o.Kind == "page" {
			o.Query = slices.Concat(declared().Paging, o.Query)
		}
		for j := range o.Query {
			p := &o.Query[j]
			if p.Type == "" {
				p.Type = "string"
			}
			if p.Values == nil && p.Of != "" {
				p.Values = enum(p.Of, p.Name)
			}
		}
	}
	return all
})

// hidden are internal helpers of the service that must not be exposed, although their paths look
// like those of an object.
var hidden = []string{"/v3/agents/autofix-flow-data", "/v3/agents/validate-flow-data"}

// Match finds the operation of a request, and the ids in its path, joined by slashes. If only the
// method is unknown, it returns an operation of the path and the allowed methods.
func Match(method, path string) (o *Operation, id string, allowed []string) {
	if slices.Contains(hidden, path) {
		return nil, "", nil
	}
	all := All()
	for i := range all {
		ids, ok := match(all[i].Path, path)
		if !ok || o != nil && o.Path != all[i].Path {
			continue
		}
		if all[i].Method == method {
			return &all[i], all[i].Prefix + ids, nil
		}
		if o == nil {
			o, id = &all[i], all[i].Prefix+ids
		}
		allowed = append(allowed, all[i].Method)
	}
	return o, id, allowed
}

// match compares a path with a pattern.
func match(pattern, path string) (id string, ok bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return "", false
	}
	var ids []string
	for i := range want {
		if strings.HasPrefix(want[i], "{") && got[i] != "" {
			ids = append(ids, got[i])
		} else if want[i] != got[i] {
			return "", false
		}
	}
	return strings.Join(ids, "/"), true
}
