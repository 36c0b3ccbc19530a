package settings

import (
	"slices"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/resource"
	"callhouse/internal/sink"
)

// Wanted returns what the settings say is fetched besides calls. With a child comes
// its parent, which tells when the child is worth a request.
func (s *Settings) Wanted() ([]*resource.Resource, error) {
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

// Unasked names the resource that the settings choose and that is not asked for, since its
// id is not known; empty: there is none.
func (s *Settings) Unasked(of []*resource.Resource) string {
	if s.OrganizationID != "" || !slices.Contains(of, resource.Organizations) {
		return ""
	}
	return resource.Organizations.Name + ": set organization_id to the organisation's id"
}

// Unmasked leaves out what holds people's numbers and names, where fields of calls are
// masked: a mask knows calls alone.
func Unmasked(of []*resource.Resource, w *sink.Warehouse) []*resource.Resource {
	if !w.Masks() {
		return of
	}
	return slices.DeleteFunc(slices.Clone(of), func(r *resource.Resource) bool { return len(r.Contact) > 0 })
}
