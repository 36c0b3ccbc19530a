package organisation

import "fmt"

// alertRules watch over calls. Their channels may hold secrets.
var alertRules = &Resource{
	Name: "alert_rules", Own: "alert_rule_id", List: "/v3/alert-rules", Item: "/v3/alert-rules/{alert_rule_id}",
	From:  "documented; observed to answer 500",
	Sorts: []string{"created_at", "updated_at", "name"},
	ID:    own, lives: func(o *Organisation, _ string, until int64) []*life {
		return o.populate("alert rules", population{
			places: o.cfg.Sizes.AlertRules, every: 20, lifetime: 400,
			born: func(d *draw) Object {
				metric := pick(&d.Dice, "call_count", "concurrency", "tool_call_count", "api_call_count")
				return Object{
					"id": d.id, "name": fmt.Sprintf("Too many %s %d", metric, d.n+1), "description": nil, "metric_type": metric,
					"labels": Object{"disconnection_reason": "dial_failed"}, "threshold_type": pick(&d.Dice, "absolute", "relative"),
					"comparison_op": pick(&d.Dice, "gt", "gte"), "threshold_value": 10 + d.Below(90), "time_window": "5m", "evaluation_frequency": "1m",
					"enabled": true, "paused": false, "status": "active", "paused_until": nil, "last_notified_at": nil, "active_schedule": nil,
					"notification_channels": []any{
						Object{"type": "email", "address": "duty@company.example"},
						Object{"type": "webhook", "url": "https://alerts.example/hook/" + secret(d.Next())},
					},
					"created_at": d.at, "updated_at": d.at,
				}
			},
			edit: func(d *draw, was Object) Object {
				if was["paused"] == true || d.Chance(.3) {
					paused := was["paused"] != true
					return Object{"paused": paused, "status": map[bool]string{true: "paused", false: "active"}[paused]}
				}
				return Object{"threshold_value": 10 + d.Below(90)}
			},
		}, until)
	},
}

// incidents open, are looked after and close.
var incidents = &Resource{
	Name: "incidents", Own: "incident_id", List: "/v3/incidents",
	From:    "documented",
	Filters: []Filter{is("status", true, "triggered", "active", "resolved")},
	Sorts:   []string{"created_at"},
	ID:      own, lives: func(o *Organisation, _ string, until int64) []*life {
		rules := o.history(Named("alert_rules"), "", until).lives
		return o.arrive("incidents", stream{n: o.cfg.Sizes.Incidents, every: 2 * msDay, born: func(d *draw) *life {
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
			l := &life{first: Object{
				"id": d.id, "alert_rule_id": rule["id"], "status": "triggered", "metric_value": threshold + 1 + d.Below(50),
				"threshold_value": threshold, "change_rate": nil, "created_at": d.at,
			}}
			seen := d.at + d.Between(2, 30)*msMinute
			l.steps = append(l.steps, set(seen, Object{"status": "active"}), set(seen+d.Between(10, 1500)*msMinute, Object{"status": "resolved"}))
			return l
		}}, until)
	},
}
