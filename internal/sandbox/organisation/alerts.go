package organisation

import "fmt"

// alertRules watch calls. Their channels may contain secrets.
func init() {
	populated("alert_rules", population{
		every: 20, lifetime: 400,
		born: func(d *draw) Object {
			metric := pick(&d.Dice, "call_count", "concurrency", "tool_call_count", "api_call_count")
			return Object{
				"name": fmt.Sprintf("Too many %s %d", metric, d.n+1), "metric_type": metric, "threshold_type": pick(&d.Dice, "absolute", "relative"),
				"comparison_op": pick(&d.Dice, "gt", "gte"), "threshold_value": 10 + d.Below(90),
				"notification_channels": []any{
					Object{"type": "email", "address": "duty@company.example"},
					Object{"type": "webhook", "url": "https://alerts.example/hook/" + secret(d.Next())},
				},
			}
		},
		edit: func(d *draw, was Object) Object {
			if was["paused"] == true || d.Chance(.3) {
				paused := was["paused"] != true
				return Object{"paused": paused, "status": map[bool]string{true: "paused", false: "active"}[paused]}
			}
			return Object{"threshold_value": 10 + d.Below(90)}
		},
	})
}

// incidents open, are handled and close.
func init() { lives["incidents"] = incidents }

func incidents(o *Organisation, _ string, until int64) []*life {
	rules := o.history(Named("alert_rules"), "", until).lives
	return o.arrive("incidents", stream{n: o.size("incidents"), every: 2 * msDay, born: func(d *draw) *life {
		var watching []Object
		for _, l := range rules {
			if rule := l.at(d.at); rule != nil {
				watching = append(watching, rule)
			}
		}
		if len(watching) == 0 {
			return nil
		}
		rule := watching[d.Below(len(watching))]
		threshold, _ := rule["threshold_value"].(int)
		l := &life{first: d.object("Incident", Object{
			"alert_rule_id": rule["id"], "metric_value": threshold + 1 + d.Below(50), "threshold_value": threshold,
		})}
		seen := d.at + d.Between(2, 30)*msMinute
		l.steps = append(l.steps, set(seen, Object{"status": "active"}), set(seen+d.Between(10, 1500)*msMinute, Object{"status": "resolved"}))
		return l
	}}, until)
}
