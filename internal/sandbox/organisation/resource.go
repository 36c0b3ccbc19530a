package organisation

import (
	"fmt"
	"slices"

	"callhouse/internal/sandbox/operation"
)

// Resource declares one kind of object.
type Resource = operation.Resource

// All are the resources in the order of the documentation.
var All = operation.Resources

// Named returns a named resource, or panics.
func Named(name string) *Resource {
	i := slices.IndexFunc(All, func(r *Resource) bool { return r.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("sandbox: unknown resource %q", name))
	}
	return All[i]
}

// lives return the objects of each resource: those of a parent, until some time.
var lives map[string]func(o *Organisation, parent string, until int64) []*life

func init() { // some of them refer to others
	lives = map[string]func(o *Organisation, parent string, until int64) []*life{
		"agents": agents, "agent_versions": agentVersions, "campaigns": campaigns, "tools": tools,
		"telephone_numbers": numbers, "incidents": incidents,
		"knowledges": populated("knowledges", knowledges), "knowledge_documents": knowledgeDocuments,
		"llms": populated("llms", llms), "voices": populated("voices", voices), "schemas": populated("schemas", schemas),
		"alert_rules": populated("alert rules", alertRules), "customers": populated("customers", customers),
		"customer_attributes": populated("customer attributes", customerAttributes), "organizations": populated("organizations", organizations),
	}
}

// populated returns the lives of one population.
func populated(name string, of func(o *Organisation) population) func(o *Organisation, _ string, until int64) []*life {
	return func(o *Organisation, _ string, until int64) []*life { return o.populate(name, of(o), until) }
}
