package organisation

import (
	"fmt"
	"time"

	"callhouse/internal/sandbox/world"
)

// customers are the first of the world's customers, each with the telephone numbers used in calls
// of both languages.
func init() {
	populated("customers", population{
		every: 60, lifetime: 800,
		born: func(d *draw) Object {
			return Object{
				"name": world.CustomerName([2]string{"ko", "en"}[d.n%2], d.n), "metadata": Object{"source": pick(&d.Dice, "crm", "import")},
				"identifiers": []any{
					Object{"type": "phone", "value": world.CustomerPhone("ko", d.n)}, Object{"type": "phone", "value": world.CustomerPhone("en", d.n)},
					Object{"type": "external_id", "value": world.CustomerNumber(d.n)},
				},
				"attributes": Object{"tier": pick(&d.Dice, "gold", "silver", "none")},
			}
		},
		edit: func(d *draw, _ Object) Object {
			if d.Chance(.5) {
				return Object{"note": fmt.Sprintf("Prefers calls after %d o'clock", 9+d.Below(9))}
			}
			return Object{"attributes": Object{"tier": pick(&d.Dice, "gold", "silver", "none"), "visits": d.Below(100)}}
		},
	})
}

// Phones returns the telephone numbers of a customer at t.
func (o *Organisation) Phones(id string, t int64) []string {
	var all []string
	identifiers, _ := o.Find(Named("customers"), "", id, time.UnixMilli(t))["identifiers"].([]any)
	for _, i := range identifiers {
		if i := i.(Object); i["type"] == "phone" {
			all = append(all, i["value"].(string))
		}
	}
	return all
}

// customerAttributes are the definitions of customers' attributes.
func init() {
	populated("customer_attributes", population{
		every: 90,
		born: func(d *draw) Object {
			name, kind := fmt.Sprintf("attribute_%d", d.n), [...]string{"enum", "number", "string", "boolean", "date"}[d.n%5]
			if d.n < 2 {
				name = [2]string{"tier", "visits"}[d.n]
			}
			o := Object{"name": name, "type": kind, "conflict_mode": pick(&d.Dice, "overwrite", "fill_if_empty")}
			if kind == "enum" {
				o["enum_options"] = []any{"gold", "silver", "none"}
			}
			return o
		},
		edit: func(d *draw, was Object) Object { return Object{"is_active": was["is_active"] != true} },
	})
}

// organizations is the organisation of the key.
func init() {
	subscription := func(name string, concurrent int) Object {
		return Object{
			"display_name": name, "plan_concurrent_call_limit": concurrent, "plan_hourly_call_limit": 5000, "plan_daily_call_limit": 40000,
		}
	}
	populated("organizations", population{
		every: 150,
		born: func(d *draw) Object {
			return Object{
				"id": d.o.ID(), "webhook_url": "https://hooks.example/organisation?token=" + secret(d.Next()),
				"subscription": subscription("Growth", 50),
			}
		},
		edit: func(d *draw, _ Object) Object {
			return Object{"subscription": subscription(pick(&d.Dice, "Growth", "Scale"), 50+10*d.Below(10))}
		},
	})
}
