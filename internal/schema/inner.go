package schema

// agentFields reads agent_id and agent_version, which v3 has in the object
// agent and v2 beside it. Each takes the other's form if only that was sent.
func (d *Decoder) agentFields(c *Call) {
	p := &d.call
	flat := d.top[fAgentID].shape != isAbsent || d.top[fAgentVersion].shape != isAbsent
	nested := d.top[fAgent].shape != isAbsent
	if c.Source == V3 && !nested && flat {
		for _, f := range [...]field{fAgentID, fAgentVersion} {
			if v := &d.top[f]; v.shape != isAbsent {
				d.rename(f)
				if v.shape != isNull {
					d.agentColumn(c, p, f, v)
				}
			}
		}
		return
	}
	if c.Source == V2 && !flat && d.top[fAgent].shape == isObject {
		d.rename(fAgent)
		d.agentObject(c)
		return
	}
	if c.Source == V2 {
		d.demote(fAgent)
		for _, f := range [...]field{fAgentID, fAgentVersion} {
			if v := &d.top[f]; take(p, f, v, callShown[V2]) {
				d.agentColumn(c, p, f, v)
			}
		}
		return
	}
	d.demote(fAgentID)
	d.demote(fAgentVersion)
	if v := &d.top[fAgent]; take(p, fAgent, v, callShown[V3]) {
		if v.shape != isObject {
			d.misfit(p, fAgent, v)
			return
		}
		d.agentObject(c)
	}
}

func (d *Decoder) agentObject(c *Call) {
	p := &d.agentPatch
	for f := aAgentID; f < numAgentFields; f++ {
		if v := &d.agent[f]; take(p, f, v, agentShown) {
			d.agentColumn(c, p, f, v)
		}
	}
	d.patched(fAgent, p, c.AgentID == nil && c.AgentVersion == nil)
}

func (d *Decoder) agentColumn(c *Call, p *patch, f field, v *val) {
	if p == &d.call && f == fAgentID || p != &d.call && f == aAgentID {
		c.AgentID = d.text(p, f, v)
	} else {
		c.AgentVersion = d.text(p, f, v)
	}
}

// patched ends an object inside of the call: extra has a patch for it where it
// departs from the rule, or where all that it holds is null.
func (d *Decoder) patched(f field, p *patch, hollow bool) {
	for i := range p.unknown {
		d.driftUnknown(p, i, DriftUnknownField)
	}
	if hollow || !p.bare() {
		d.call.over = append(d.call.over, override{f: f, sub: p})
	}
}

func (d *Decoder) analysisColumns(v *val, c *Call) {
	if v.shape != isObject {
		d.misfit(&d.call, fCallAnalysis, v)
		return
	}
	p := &d.analysisPatch
	if v := &d.analysis[nSummary]; take(p, nSummary, v, analysisShown) {
		c.Summary = d.text(p, nSummary, v)
	}
	if v := &d.analysis[nUserSentiment]; take(p, nUserSentiment, v, analysisShown) {
		c.UserSentiment = d.text(p, nUserSentiment, v)
	}
	if v := &d.analysis[nEvaluation]; take(p, nEvaluation, v, analysisShown) {
		c.Evaluation = d.object(p, nEvaluation, v)
	}
	switch v := &d.analysis[nItems]; v.shape {
	case isArray:
	case isNull: // the rule is []
		p.null |= 1 << nItems
	default:
		if take(p, nItems, v, analysisShown) {
			d.misfit(p, nItems, v)
		}
	}
	d.patched(fCallAnalysis, p,
		c.Summary == nil && c.UserSentiment == nil && c.Evaluation == nil && len(c.Items) == 0)
}

func (d *Decoder) costColumns(v *val, c *Call) {
	if v.shape != isObject {
		d.misfit(&d.call, fCallCost, v)
		return
	}
	p, shown := &d.costPatch, costShown[c.Source]
	if v := &d.cost[kTotalCost]; take(p, kTotalCost, v, shown) {
		c.TotalCost = d.exact(p, kTotalCost, v, isString)
	}
	if v := &d.cost[kTotalCredits]; take(p, kTotalCredits, v, shown) {
		c.CreditsUsed = d.exact(p, kTotalCredits, v, isNumber)
	}
	if v := &d.cost[kDurationSeconds]; take(p, kDurationSeconds, v, shown) {
		c.BilledSeconds = d.exact(p, kDurationSeconds, v, isNumber)
	}
	d.patched(fCallCost, p, !c.TotalCost.OK && !c.CreditsUsed.OK && !c.BilledSeconds.OK)
}
