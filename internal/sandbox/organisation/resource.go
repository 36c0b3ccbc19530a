package organisation

import (
	"fmt"
	"strings"

	"callhouse/internal/sandbox/operation"
)

// Resource declares one kind of object.
type Resource = operation.Resource

// All returns the resources, by name.
var All = operation.Resources

// Named returns a named resource, or panics.
func Named(name string) *Resource {
	r := operation.Named(name)
	if r == nil {
		panic(fmt.Sprintf("sandbox: unknown resource %q", name))
	}
	return r
}

// lives return the objects of each resource: those of a parent, until some time. The file of a
// resource registers its own.
var lives = map[string]func(o *Organisation, parent string, until int64) []*life{}

// populated registers a resource that is one population, of the resource's size.
func populated(resource string, p population) {
	p.resource, p.name = resource, strings.ReplaceAll(resource, "_", " ")
	lives[resource] = func(o *Organisation, _ string, until int64) []*life { return o.populate(p, o.size(resource), until) }
}
