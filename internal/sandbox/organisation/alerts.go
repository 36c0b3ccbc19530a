package organisation

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
		threshold, _ := rule["threshold_value"].(int64)
		l := &life{first: d.object("Incident", Object{
			"alert_rule_id": rule["id"], "metric_value": threshold + 1 + int64(d.Below(50)), "threshold_value": threshold,
		})}
		seen := d.at + d.Between(2, 30)*msMinute
		l.steps = append(l.steps, set(seen, Object{"status": "active"}), set(seen+d.Between(10, 1500)*msMinute, Object{"status": "resolved"}))
		return l
	}}, until)
}
