package organisation

import (
	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/world"
)

// incidents open, are handled and close: some by the organisation's origin, and one every two days
// after it.
func init() { lives["incidents"] = incidents }

func incidents(o *Organisation, _ string, until int64) (all []*life) {
	rules := o.history(Named("alert_rules"), "", until).lives
	const every = 2 * msDay
	key := o.key("incidents")
	begin := func(i int64) int64 {
		return world.Epoch + i*every + int64(dice.Pick(dice.Hash(key, uint64(i)), int(every)))
	}
	last := (o.origin - world.Epoch) / every
	for begin(last) > o.origin {
		last--
	}
	for i := last - int64(o.size("incidents")) + 1; begin(i) <= until && (i <= last || o.cfg.Pace > 0); i++ {
		h := dice.Hash(key^1, uint64(i))
		d := &draw{source: source{dice.New(h)}, at: begin(i), id: world.NewUUID(h).String()}
		var watching []Object
		for _, l := range rules {
			if rule := l.at(d.at); rule != nil {
				watching = append(watching, rule)
			}
		}
		if len(watching) == 0 {
			continue
		}
		rule := watching[d.Below(len(watching))]
		threshold, _ := rule["threshold_value"].(int64)
		l := &life{serial: i + 1<<40, born: d.at, first: d.object("Incident", Object{
			"alert_rule_id": rule["id"], "metric_value": threshold + 1 + int64(d.Below(50)), "threshold_value": threshold,
		})}
		seen := d.at + d.Between(2, 30)*msMinute
		l.steps = append(l.steps, set(seen, Object{"status": "active"}), set(seen+d.Between(10, 1500)*msMinute, Object{"status": "resolved"}))
		all = append(all, l)
	}
	return all
}
