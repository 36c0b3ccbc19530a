package organisation

import (
	"fmt"
	"slices"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/world"
)

// tools are the API tools that agents call. Their headers may contain secrets.
func tools(o *Organisation, _ string, until int64) []*life {
	if o.size("tools") == 0 {
		return nil
	}
	called := tool(func(d *draw) string { return o.called[d.n] })
	called.name, called.behind = "called tools", true
	others := tool(func(d *draw) string {
		kind := pick(&d.Dice, "lookup_order", "book_slot", "send_link", "get_balance", "open_ticket")
		return fmt.Sprintf("%s_%d", kind, d.n+10_000*d.generation)
	})
	others.name, others.lifetime = "tools", 600
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

// tool is a population of tools.
func tool(name func(d *draw) string) population {
	return population{
		resource: "tools", every: 240,
		born: func(d *draw) Object {
			name := name(d)
			return Object{
				"name": name, "input_schema": Object{
					"type": "object", "required": []any{"customer"},
					"properties": Object{"customer": Object{"type": "string"}, "count": Object{"type": "integer", "minimum": d.Below(3)}},
				},
				"api_configuration":                   apiConfiguration(d, name),
				"speak_during_execution":              Object{"enabled": d.Chance(.5), "messages": []any{"One moment, please."}},
				"allow_interruption_during_execution": d.Chance(.5),
			}
		},
		edit: func(d *draw, was Object) Object {
			switch d.Below(3) {
			case 0:
				return Object{"description": fmt.Sprintf("Asks the company's own system, revision %d", d.Below(1000))}
			case 1:
				return Object{"api_configuration": apiConfiguration(d, fmt.Sprint(was["name"]))}
			}
			return Object{"allow_interruption_during_execution": was["allow_interruption_during_execution"] != true}
		},
	}
}

// apiConfiguration is the endpoint of a tool. A new one has a new secret.
func apiConfiguration(d *draw, name string) Object {
	headers := Object{"Accept": "application/json"}
	every := d.o.size("secret_headers")
	guarded := every > 0 && d.n%every == 0
	auth := any(nil)
	if guarded {
		headers["X-Api-Key"] = secret(d.Next())
		headers["Authorization"] = "Bearer " + secret(dice.Mix(d.Next()))
		auth = "bearer"
	}
	return Object{
		"url": "https://backend.example/" + name, "method": pick(&d.Dice, "GET", "POST"), "headers": headers,
		"auth_type": auth, "has_auth_credentials": guarded, "timeout_seconds": 5 + d.Below(20),
	}
}
