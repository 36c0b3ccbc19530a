package extractcmd

import (
	"slices"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/resource"
	"callhouse/internal/sink"
)

// wanted returns the resources to fetch besides calls. A child includes its parent, which shows when
// the child is worth a request.
func (s *settings) wanted() ([]*resource.Resource, error) {
	var names []string
	for _, r := range resource.All {
		names = append(names, r.Name)
	}
	chosen := map[*resource.Resource]bool{}
	for name := range strings.SplitSeq(s.Resources, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "all":
			return resource.All, nil
		case name == "", name == "none", name == "calls":
		case slices.Contains(names, name):
			for r := resource.ByName(name); r != nil; r = r.Parent {
				chosen[r] = true
			}
		default:
			return nil, cli.Usage(cli.Suggest(name, names, "available: all, none, "+strings.Join(names, ", ")),
				"unknown resource %q", name)
		}
	}
	return slices.DeleteFunc(slices.Clone(resource.All), func(r *resource.Resource) bool { return !chosen[r] }), nil
}

// unmasked omits resources with people's numbers and names if fields of calls are masked: masks apply
// only to calls.
func unmasked(of []*resource.Resource, w *sink.Warehouse) []*resource.Resource {
	if !w.Masks() {
		return of
	}
	return slices.DeleteFunc(slices.Clone(of), func(r *resource.Resource) bool { return len(r.Contact) > 0 })
}
