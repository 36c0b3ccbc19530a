package organisation

import (
	"fmt"

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

// lives return the objects of each resource without rules: those of a parent, until some time. The
// file of a resource registers its own.
var lives = map[string]func(o *Organisation, parent string, until int64) []*life{}
