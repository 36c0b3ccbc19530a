// Package operation declares what the sandbox answers under /v3 and /v2: operations.yaml has
// each operation's method, path, parameters and schemas, and whether the service is known to
// have it; schemas has the fields of every object.
//
// The router, the OpenAPI documents, the checks of parameters and bodies, the objects that are
// made and the tables of docs/reference/sandbox.md all come from it, so none can say what
// another does not.
package operation

import (
	"bytes"
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Operation is one thing that can be asked for.
type Operation struct {
	ID           string // operationId
	Route        string // method and path
	Method, Path string `yaml:"-"` // a path holds a name in braces for what names an object
	Summary      string

	From   string // where it is taken from: the contract, what is documented elsewhere or was observed, or nothing
	Beware string // what a client must not rely on, besides all that is not of the contract

	Kind     string // page, detail, bulk, list, object or write, as in statistics and faults
	Resource string // likewise; empty for the calls of v3
	Prefix   string // of the object's id: what the path says in words

	Query  []Parameter
	Body   string // the name of its schema; empty for no body
	Status int    // of a good answer; 0 is 200
	Answer string // the name of its schema
}

// V2 reports whether it belongs to the deprecated API.
func (o *Operation) V2() bool { return IsV2(o.Path) }

// IsV2 reports whether a path belongs to the deprecated API.
func IsV2(path string) bool {
	return strings.HasPrefix(path, "/v2/") || strings.HasPrefix(path, "/functions/")
}

// Good is the status of a good answer.
func (o *Operation) Good() int { return max(o.Status, http.StatusOK) }

// Parameter is one of the query.
type Parameter struct {
	Name     string
	Type     string   // string (where it is empty), integer or boolean
	Values   []string // that it can have; nil: any
	Of       string   // a schema whose field of the same name can have these values
	Min, Max int64    // of an integer, where they differ
	Many     bool     // may be given several times
	Default  string
	Contract bool // the contract has it
	Note     string
}

// Parameters returns the names of the query's parameters, or of those that the
// contract has.
func (o *Operation) Parameters(contractOnly bool) []string {
	var names []string
	for _, p := range o.Query {
		if p.Contract || !contractOnly {
			names = append(names, p.Name)
		}
	}
	return names
}

// Parameter returns one of the query; nil if there is none of that name.
func (o *Operation) Parameter(name string) *Parameter {
	i := slices.IndexFunc(o.Query, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Query[i]
}

// Check says what is wrong with a parameter's values; nothing if it is empty.
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

//go:embed operations.yaml
var text []byte

// declared is what operations.yaml holds.
var declared = func() (d struct {
	Paging    []Parameter
	Resources []*Resource
	V3, V2    []Operation
}) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&d); err != nil {
		panic("sandbox: operations.yaml: " + err.Error()) // it is ours
	}
	return d
}()

// All are the operations, v3 first. Of two paths that match a request, the first is meant.
var All = func() []Operation {
	all := slices.Concat(declared.V3, lookups(), declared.V2)
	for i := range all {
		o := &all[i]
		o.Method, o.Path, _ = strings.Cut(o.Route, " ")
		if o.Kind == "page" {
			o.Query = slices.Concat(declared.Paging, o.Query)
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
}()

// hidden are helpers of the service that are not part of its public contract and must
// not be exposed, where the path would be one of an object otherwise.
var hidden = []string{"/v3/agents/autofix-flow-data", "/v3/agents/validate-flow-data"}

// Match finds the operation of a request, and the ids in its path, joined by slashes.
// Where the path is known and the method is not, it returns an operation of the path
// and the methods that are allowed.
func Match(method, path string) (o *Operation, id string, allowed []string) {
	if slices.Contains(hidden, path) {
		return nil, "", nil
	}
	for i := range All {
		ids, ok := match(All[i].Path, path)
		if !ok || o != nil && o.Path != All[i].Path {
			continue
		}
		if All[i].Method == method {
			return &All[i], All[i].Prefix + ids, nil
		}
		if o == nil {
			o, id = &All[i], All[i].Prefix+ids
		}
		allowed = append(allowed, All[i].Method)
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
