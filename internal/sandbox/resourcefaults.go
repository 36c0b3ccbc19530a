package sandbox

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/sandbox/organisation"
)

// ResourceFault names one way in which a resource is not as it should be, for as
// long as it is set. Besides them, 403, 404 and 500 are faults with which every
// request for the resource is answered.
type ResourceFault string

const (
	ResourceNoList  ResourceFault = "no-list"     // the list answers 404; its objects are served
	ResourceEmpty   ResourceFault = "empty"       // 200, and no item
	ResourceCut     ResourceFault = "cut-list"    // the first page has half of the items, and every other answers 500
	ResourceLoop    ResourceFault = "loop"        // next_cursor leads to the page that it stands on
	ResourceRenamed ResourceFault = "renamed-key" // an object's id is called agent_id, tool_id, …
	ResourceField   ResourceFault = "new-field"   // objects have a field that nobody knows
	ResourceDrift   ResourceFault = "drift"       // times are texts of digits, and name is an object
	ResourceThin    ResourceFault = "thin"        // list items hold only ids and times
)

var resourceFaultKinds = []ResourceFault{
	"403", "404", "500", ResourceNoList, ResourceEmpty, ResourceCut, ResourceLoop, ResourceRenamed, ResourceField, ResourceDrift, ResourceThin,
}

// ResourceFaults are the faults of each resource, by its name, or of all of them
// under "all".
type ResourceFaults map[string][]ResourceFault

// ParseResourceFaults reads "agents=403,tools=drift,tools=loop,all=renamed-key".
func ParseResourceFaults(text string) (ResourceFaults, error) {
	all := ResourceFaults{}
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		name, kind, ok := strings.Cut(entry, "=")
		if !ok {
			return nil, fmt.Errorf("parse resource fault %q: want RESOURCE=KIND", entry)
		}
		all[name] = append(all[name], ResourceFault(kind))
	}
	return all, all.check()
}

func (fs ResourceFaults) check() error {
	names := []string{"all"}
	for _, r := range organisation.All {
		names = append(names, r.Name)
	}
	names = append(names, "v2_agents", v2Campaigns, v2Knowledges) // with 403, 404, 500 and empty
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no resource is called %q; there are %s", name, strings.Join(names, ", "))
		}
		for _, kind := range fs[name] {
			if !slices.Contains(resourceFaultKinds, kind) {
				return fmt.Errorf("no fault of resources is called %q; there are %v", kind, resourceFaultKinds)
			}
		}
	}
	return nil
}

// SetResourceFaults replaces the faults of a resource (or of "all") from now on;
// none makes it whole again.
func (s *Server) SetResourceFaults(resource string, kinds ...ResourceFault) error {
	if err := (ResourceFaults{resource: kinds}).check(); err != nil {
		return fmt.Errorf("set resource faults: %w", err)
	}
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	s.faulty = maps.Clone(s.faulty)
	if s.faulty == nil {
		s.faulty = ResourceFaults{}
	}
	s.faulty[resource] = kinds
	return nil
}

// resourceFaults are those of one resource.
type resourceFaults map[ResourceFault]bool

func (s *Server) resourceFaults(resource string) resourceFaults {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	set := resourceFaults{}
	for _, kind := range slices.Concat(s.faulty["all"], s.faulty[resource]) {
		set[kind] = true
	}
	return set
}

// status is what every request of a kind is answered with; 0: it is served.
func (f resourceFaults) status(kind string) int {
	if f[ResourceNoList] && kind == "list" {
		return http.StatusNotFound
	}
	for fault := range f {
		if status, err := strconv.Atoi(string(fault)); err == nil {
			return status
		}
	}
	return 0
}

// distort makes a list wrong.
func (f resourceFaults) distort(p *page[entry]) {
	switch {
	case f[ResourceEmpty]:
		p.items, p.next, p.total = nil, "", 0
	case f[ResourceCut]:
		p.shorten(len(p.items) / 2)
	case f[ResourceLoop]:
		p.next = p.seal(p.start)
	}
}

// object returns an object as the faults show it; the one given is not changed.
func (f resourceFaults) object(r *organisation.Resource, o organisation.Object) organisation.Object {
	o = maps.Clone(o)
	if f[ResourceRenamed] && r.Own != "" {
		o[r.Own] = o["id"]
		delete(o, "id")
	}
	if f[ResourceField] {
		o["x_tomorrow"] = map[string]any{"phase": 2, "tags": []string{"new"}}
	}
	if f[ResourceDrift] {
		for name, value := range o {
			if ms, ok := value.(int64); ok && strings.HasSuffix(name, "_at") {
				o[name] = strconv.FormatInt(ms, 10)
			}
		}
		if name, ok := o["name"].(string); ok {
			o["name"] = map[string]any{"text": name, "as_of": time.Unix(0, 0).UTC().Format(time.DateOnly)}
		}
	}
	return o
}
