package organisation

import (
	"fmt"
	"slices"

	"callhouse/internal/sandbox/world"
)

// tools are the API tools that agents call, and others.
func tools(o *Organisation, _ string, until int64) []*life {
	if o.size("tools") == 0 {
		return nil
	}
	others := populationOf(Named("tools"))
	born, edit := others.born, others.edit
	others.edit = func(d *draw, was Object) Object {
		d.Name = fmt.Sprint(was["name"])
		return edit(d, was)
	}
	called := others
	called.name, called.behind, called.lifetime = "called tools", true, 0
	called.born = func(d *draw) Object {
		d.Name = o.called[d.N]
		return born(d)
	}
	others.born = func(d *draw) Object {
		kind := d.Pick("lookup_order", "book_slot", "send_link", "get_balance", "open_ticket")
		d.Name = fmt.Sprintf("%s_%d", kind, d.N+10_000*d.Generation)
		return born(d)
	}
	return append(o.populate(called, len(o.called), until), o.populate(others, o.size("tools"), until)...)
}

func init() { lives["tools"] = tools }

// calledBy returns the names of the tools called by agents, without built-in ones, in order.
func calledBy(agents []*world.Agent) []string {
	var all []string
	for _, a := range agents {
		for _, name := range a.Tools() {
			if i, known := slices.BinarySearch(all, name); !known && !isBuiltIn(name) {
				all = slices.Insert(all, i, name)
			}
		}
	}
	return all
}
