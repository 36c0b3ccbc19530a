package world

import (
	"iter"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/script"
)

// From returns from_number; empty for null.
func (c *Call) From() string {
	switch {
	case c.Order != nil:
		return c.Order.From
	case c.Type == "web":
		return ""
	case c.Agent.Direction != "inbound":
		return c.Agent.Line
	case dice.Unit(dice.Hash(c.Key, 11)) < .03: // the caller withholds it
		return ""
	}
	return CustomerPhone(c.Agent.Language, c.customer)
}

// To returns to_number; empty for null.
func (c *Call) To() string {
	switch {
	case c.Order != nil:
		return c.Order.To
	case c.Type == "web":
		return ""
	case c.Agent.Direction == "inbound":
		return c.Agent.Line
	}
	return CustomerPhone(c.Agent.Language, c.customer)
}

// Presentation returns presentation_number; empty for null.
func (c *Call) Presentation() string {
	if c.Order != nil {
		return c.Order.Presentation
	}
	return c.Agent.Presentation
}

// Campaign returns metadata.campaign; empty if the metadata is an empty object.
func (c *Call) Campaign() string {
	if dice.Unit(dice.Hash(c.Key, 17)) < .06 {
		return ""
	}
	all := c.scenario.Campaigns
	return all[dice.Pick(dice.Hash(c.Key, 18), len(all))]
}

// Variables yields the names and values of dynamic_variables.
func (c *Call) Variables() iter.Seq2[string, *script.Template] {
	return func(yield func(string, *script.Template) bool) {
		for i, v := range c.scenario.Variables {
			if !yield(v.Key, v.Value.Of(dice.Hash(c.Key, 60+uint64(i)))) {
				return
			}
		}
	}
}

// Summary returns call_analysis.summary, for when there is an analysis.
func (c *Call) Summary() string {
	all := c.scenario.Summaries[c.summary]
	if all == nil {
		return "" // after a failure of the service there is never an analysis
	}
	text := all.Of(dice.Hash(c.Key, 19)).Text(c)
	if name, value := c.Profile(); name != "" {
		text += " (" + name + ": " + value + ")"
	}
	return text
}
