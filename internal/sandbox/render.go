package sandbox

import "strconv"

// Renderer writes calls as the service's JSON, by appending. Its zero value is
// ready; it keeps scratch space and serves one goroutine at a time.
type Renderer struct{ items []item }

// Item appends the call as GET /v3/calls lists it.
func (r *Renderer) Item(dst []byte, v *View) []byte {
	return append(r.attributes(dst, v), '}')
}

// Thin appends the call as a service that lists only id, status and start would.
func (r *Renderer) Thin(dst []byte, v *View) []byte {
	dst = append(dst, `{"id":"`...)
	dst = v.ID.append(dst)
	dst = append(dst, `","status":`...)
	dst = appendString(dst, v.Status)
	dst = append(dst, `,"start_at":`...)
	dst = appendTime(dst, v.startAt())
	return append(dst, '}')
}

// Detail appends the call as GET /v3/calls/{call_id} answers it.
func (r *Renderer) Detail(dst []byte, v *View) []byte {
	dst = r.attributes(dst, v)
	dst = append(dst, `,"transcript":`...)
	if v.Transcript {
		r.items = timeline(&v.Call, r.items)
		dst = appendTranscript(dst, &v.Call, r.items, false)
	} else {
		dst = append(dst, "null"...)
	}
	return append(dst, '}')
}

func (v *View) startAt() int64 {
	if v.Started {
		return v.StartAt
	}
	return 0
}

func (v *View) endAt() int64 {
	if v.Over {
		return v.EndAt
	}
	return 0
}

func (r *Renderer) attributes(dst []byte, v *View) []byte {
	dst = append(dst, `{"id":"`...)
	dst = v.ID.append(dst)
	dst = append(dst, `","agent":{"agent_id":"`...)
	dst = append(dst, v.Agent.id...)
	dst = append(dst, `","agent_version":`...)
	dst = appendString(dst, v.Version)
	dst = append(dst, `},"call_type":`...)
	dst = appendString(dst, v.Type)
	dst = append(dst, `,"status":`...)
	dst = appendString(dst, v.Status)
	dst = append(dst, `,"from_number":`...)
	dst = v.appendFrom(dst)
	dst = append(dst, `,"to_number":`...)
	dst = v.appendTo(dst)
	dst = append(dst, `,"presentation_number":`...)
	dst = appendOptional(dst, v.presentation())
	dst = append(dst, `,"disconnection_reason":`...)
	dst = appendOptional(dst, v.Reason)
	dst = append(dst, `,"start_at":`...)
	dst = appendTime(dst, v.startAt())
	dst = append(dst, `,"end_at":`...)
	dst = appendTime(dst, v.endAt())
	dst = append(dst, `,"recording_url":`...)
	dst = v.appendRecording(dst)
	dst = append(dst, `,"metadata":`...)
	dst = v.appendMetadata(dst)
	dst = append(dst, `,"dynamic_variables":`...)
	dst = v.appendVariables(dst)
	dst = append(dst, `,"call_analysis":`...)
	dst = v.appendAnalysis(dst, false)
	dst = append(dst, `,"call_cost":`...)
	dst = v.appendCost(dst)
	dst = append(dst, `,"variant_label":`...)
	dst = appendOptional(dst, v.Variant)
	dst = append(dst, `,"opt_out_sensitive_data_storage":`...)
	dst = strconv.AppendBool(dst, v.OptedOut)
	if v.drift == driftField {
		dst = append(dst, `,"quality":{"codec":"opus","packet_loss":0.`...)
		dst = strconv.AppendInt(dst, int64(v.key%90), 10)
		dst = append(dst, `,"carrier":null}`...)
	}
	return dst
}

func (c *Call) appendFrom(dst []byte) []byte {
	switch {
	case c.Type == "web", c.anonymous():
		return append(dst, "null"...)
	case c.Agent.Direction == "inbound":
		return append(appendPhone(append(dst, '"'), c.Agent.Language, c.customer), '"')
	}
	return appendString(dst, c.Agent.Line)
}

func (c *Call) appendTo(dst []byte) []byte {
	switch {
	case c.Type == "web":
		return append(dst, "null"...)
	case c.Agent.Direction == "inbound":
		return appendString(dst, c.Agent.Line)
	}
	return append(appendPhone(append(dst, '"'), c.Agent.Language, c.customer), '"')
}

// anonymous callers withhold their number.
func (c *Call) anonymous() bool {
	return c.Agent.Direction == "inbound" && unit(hash(c.key, 11)) < .03
}

func (c *Call) presentation() string {
	if c.Agent.Direction == "inbound" {
		return ""
	}
	return c.Agent.Presentation
}

// appendRecording writes a signed link. As with real ones, a new signature and
// expiry come every hour, so the text differs between two looks at one call.
func (v *View) appendRecording(dst []byte) []byte {
	if !v.Recording {
		return append(dst, "null"...)
	}
	hour := v.At / msHour
	dst = append(dst, `"https://recordings.voice.example/v1/objects/calls/`...)
	dst = v.ID.append(dst)
	dst = append(dst, `/mixed.mp3?response-content-type=audio%2Fmpeg&key-id=VREC`...)
	dst = appendHex(dst, hash(v.key, 12))
	dst = append(dst, `&expires=`...)
	dst = strconv.AppendInt(dst, (hour+2)*3600, 10)
	dst = append(dst, `&signature=`...)
	for i := range uint64(4) {
		dst = appendHex(dst, hash(v.key^uint64(hour), 13+i))
	}
	return append(dst, '"')
}

// appendMetadata writes what the company noted about the call when it made it.
func (c *Call) appendMetadata(dst []byte) []byte {
	h := hash(c.key, 17)
	u := unit(h)
	if u < .06 {
		return append(dst, "{}"...)
	}
	dst = append(dst, `{"campaign":`...)
	dst = appendString(dst, c.Campaign())
	dst = append(dst, `,"customer_id":"`...)
	dst = appendSlot(dst, c, slotCustomer)
	dst = append(dst, '"')
	if u < .4 {
		dst = append(dst, `,"source":{"system":"crm","batch":`...)
		dst = strconv.AppendInt(dst, int64(c.StartAt/msDay%1000), 10)
		dst = append(dst, `,"row":`...)
		dst = strconv.AppendInt(dst, int64(pick(mix(h), 5000)), 10)
		dst = append(dst, `,"tags":["`...)
		dst = append(dst, c.Agent.Language...)
		dst = append(dst, `","`...)
		dst = append(dst, c.Agent.Scenario...)
		dst = append(dst, `"]}`...)
	}
	if u > .8 {
		dst = append(dst, `,"priority":`...)
		dst = strconv.AppendInt(dst, int64(1+pick(mix(h), 3)), 10)
		dst = append(dst, `,"is-vip":`...)
		dst = strconv.AppendBool(dst, u > .95)
	}
	return append(dst, '}')
}

// Campaign is the metadata key "campaign", where the call has metadata.
func (c *Call) Campaign() string {
	all := c.scenario.campaigns
	return all[pick(hash(c.key, 18), len(all))]
}

func (c *Call) appendVariables(dst []byte) []byte {
	dst = append(dst, '{')
	for i := range c.scenario.variables {
		p := &c.scenario.variables[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, p.key)
		dst = append(dst, `:"`...)
		dst = p.value.of(hash(c.key, 60+uint64(i))).append(dst, c, true)
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

func (v *View) appendAnalysis(dst []byte, evaluation bool) []byte {
	if !v.Analysis {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"summary":"`...)
	dst = v.scenario.summaries[v.summary].of(hash(v.key, 19)).append(dst, &v.Call, true)
	dst = append(dst, `","user_sentiment":`...)
	dst = appendOptional(dst, v.Sentiment)
	dst = append(dst, `,"custom_analysis_data":[`...)
	first := true
	for i := range v.scenario.extracts {
		if v.extracts>>i&1 == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		e := &v.scenario.extracts[i]
		dst = append(dst, `{"type":"`...)
		dst = append(dst, e.kind...)
		dst = append(dst, `","name":"`...)
		dst = append(dst, e.name...)
		dst = append(dst, `","value":`...)
		dst = v.appendExtract(dst, e, i)
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if evaluation {
		dst = append(dst, `,"evaluation":{"task_completed":`...)
		dst = strconv.AppendBool(dst, v.good)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

func (v *View) appendCost(dst []byte) []byte {
	if !v.CostKnown {
		return append(dst, "null"...)
	}
	if v.drift == driftNumber {
		dst = append(dst, `{"total_cost":`...)
		return append(appendDecimal(dst, v.Cost), '}')
	}
	dst = append(dst, `{"total_cost":"`...)
	return append(appendDecimal(dst, v.Cost), `"}`...)
}

func appendTranscript(dst []byte, c *Call, items []item, spokenOnly bool) []byte {
	dst = append(dst, '[')
	first := true
	for i := range items {
		it := &items[i]
		if spokenOnly && it.role > roleUser {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, `{"role":"`...)
		dst = append(dst, roleNames[it.role]...)
		if it.call > 0 {
			dst = append(dst, `","tool_call_id":"`...)
			dst = c.appendToolCallID(dst, it.call)
		}
		if it.role == roleInvocation {
			dst = append(dst, `","name":"`...)
			dst = append(dst, it.tool...)
			dst = append(dst, `","arguments":`...)
			dst = append(it.text.append(dst, c, false), '}')
			continue
		}
		dst = append(dst, `","content":"`...)
		dst = it.text.append(dst, c, true)
		dst = append(dst, '"')
		if it.role <= roleUser {
			dst = append(dst, `,"start_at":`...)
			dst = strconv.AppendInt(dst, it.start, 10)
			dst = append(dst, `,"end_at":`...)
			dst = strconv.AppendInt(dst, it.end, 10)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
