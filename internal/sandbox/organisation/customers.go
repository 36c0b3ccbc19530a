package organisation

import (
	"fmt"
	"time"

	"callhouse/internal/sandbox/world"
)

// customers are the first of those who take part in calls, with their numbers in
// calls of both languages.
var customers = &Resource{
	Name: "customers", Own: "customer_id", List: "/v3/customers", Item: "/v3/customers/{customer_id}", Fixed: true,
	From:    "invented: paths, times; documented: the other fields, as inputs",
	Filters: []Filter{{Name: "q", Match: func(o Object, value string) bool { return contains(fmt.Sprint(o["name"], o["identifiers"]), value) }}},
	ID:      own, lives: func(o *Organisation, _ string, until int64) []*life {
		return o.populate("customers", population{
			places: o.cfg.Sizes.Customers, every: 60, lifetime: 800,
			born: func(d *draw) Object {
				language := [2]string{"ko", "en"}[d.n%2]
				return Object{
					"id": d.id, "name": world.CustomerName(language, d.n), "note": nil, "metadata": Object{"source": pick(&d.Dice, "crm", "import")},
					"identifiers": []any{
						Object{"type": "phone", "value": world.CustomerPhone("ko", d.n)}, Object{"type": "phone", "value": world.CustomerPhone("en", d.n)},
						Object{"type": "external_id", "value": world.CustomerNumber(d.n)},
					},
					"attributes": Object{"tier": pick(&d.Dice, "gold", "silver", "none")}, "created_at": d.at, "updated_at": d.at,
				}
			},
			edit: func(d *draw, _ Object) Object {
				if d.Chance(.5) {
					return Object{"note": fmt.Sprintf("Prefers calls after %d o'clock", 9+d.Below(9))}
				}
				return Object{"attributes": Object{"tier": pick(&d.Dice, "gold", "silver", "none"), "visits": d.Below(100)}}
			},
		}, until)
	},
}

// Phones returns the telephone numbers of a customer at t.
func (o *Organisation) Phones(id string, t int64) []string {
	var all []string
	identifiers, _ := o.Find(customers, "", id, time.UnixMilli(t))["identifiers"].([]any)
	for _, i := range identifiers {
		if i := i.(Object); i["type"] == "phone" {
			all = append(all, i["value"].(string))
		}
	}
	return all
}

// customerAttributes are the definitions of what is kept of customers.
var customerAttributes = &Resource{
	Name: "customer_attributes", Own: "definition_id", List: "/v3/customer-attribute-definitions", Fixed: true,
	From: "invented: path, times; documented: the other fields, as inputs",
	ID:   own, lives: func(o *Organisation, _ string, until int64) []*life {
		return o.populate("customer attributes", population{
			places: o.cfg.Sizes.Attributes, every: 90,
			born: func(d *draw) Object {
				kind := [...]string{"enum", "number", "string", "boolean", "date"}[d.n%5]
				options := []any{}
				if kind == "enum" {
					options = []any{"gold", "silver", "none"}
				}
				name := fmt.Sprintf("attribute_%d", d.n)
				if d.n < 2 {
					name = [2]string{"tier", "visits"}[d.n]
				}
				return Object{
					"id": d.id, "name": name, "type": kind, "description": "Taken from conversations",
					"enum_options": options, "conflict_mode": pick(&d.Dice, "overwrite", "fill_if_empty"), "is_active": true, "created_at": d.at, "updated_at": d.at,
				}
			},
			edit: func(d *draw, was Object) Object { return Object{"is_active": was["is_active"] != true} },
		}, until)
	},
}

// organizations is the one organisation that the key belongs to.
var organizations = &Resource{
	Name: "organizations", Own: "organization_id", Item: "/v3/organizations/{organization_id}",
	From: "documented",
	ID:   own, lives: func(o *Organisation, _ string, until int64) []*life {
		return o.populate("organizations", population{
			places: 1, every: 150,
			born: func(d *draw) Object {
				return Object{
					"id": o.ID(), "name": "Sandbox Company", "is_main": true, "webhook_version": "v2", "webhook_event_subscriptions": []any{"call_ended", "call_analyzed"},
					"created_at": d.at, "parent_organization_id": nil, "webhook_url": "https://hooks.example/organisation?token=" + secret(d.Next()),
					"billing_invoice_recipient_emails": []any{"billing@company.example"},
					"subscription":                     Object{"display_name": "Growth", "plan_concurrent_call_limit": 50, "plan_hourly_call_limit": 5000, "plan_daily_call_limit": 40000},
				}
			},
			edit: func(d *draw, _ Object) Object {
				return Object{"subscription": Object{
					"display_name": pick(&d.Dice, "Growth", "Scale"), "plan_concurrent_call_limit": 50 + 10*d.Below(10),
					"plan_hourly_call_limit": 5000, "plan_daily_call_limit": 40000,
				}}
			},
		}, until)
	},
}
