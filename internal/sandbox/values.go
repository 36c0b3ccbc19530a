package sandbox

import "iter"

// From is from_number; empty for null.
func (c *Call) From() string {
	switch {
	case c.Type == "web":
		return ""
	case c.Agent.Direction != "inbound":
		return c.Agent.Line
	case unit(hash(c.key, 11)) < .03: // the caller withholds it
		return ""
	}
	return string(appendPhone(nil, c.Agent.Language, c.customer))
}

// To is to_number; empty for null.
func (c *Call) To() string {
	switch {
	case c.Type == "web":
		return ""
	case c.Agent.Direction == "inbound":
		return c.Agent.Line
	}
	return string(appendPhone(nil, c.Agent.Language, c.customer))
}

// Presentation is presentation_number; empty for null.
func (c *Call) Presentation() string {
	if c.Agent.Direction == "inbound" {
		return ""
	}
	return c.Agent.Presentation
}

// Campaign is metadata.campaign; empty where the metadata is an empty object.
func (c *Call) Campaign() string {
	if unit(hash(c.key, 17)) < .06 {
		return ""
	}
	all := c.scenario.campaigns
	return all[pick(hash(c.key, 18), len(all))]
}

// Variables yields the names and values of dynamic_variables.
func (c *Call) Variables() iter.Seq2[string, *template] {
	return func(yield func(string, *template) bool) {
		for i, v := range c.scenario.variables {
			if !yield(v.key, v.value.of(hash(c.key, 60+uint64(i)))) {
				return
			}
		}
	}
}

// Summary is call_analysis.summary, once there is an analysis.
func (c *Call) Summary() string {
	all := c.scenario.summaries[c.summary]
	if all == nil {
		return "" // the service broke off: there is never an analysis
	}
	return all.of(hash(c.key, 19)).text(c)
}
