package sandbox

import "strconv"

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
	if u < noMetadata {
		return append(dst, "{}"...)
	}
	dst = append(dst, `{"campaign":`...)
	dst = appendString(dst, c.Campaign())
	dst = append(dst, `,"customer_id":"`...)
	dst = appendSlot(dst, c, slotCustomer)
	dst = append(dst, '"')
	if u < .4 {
		dst = append(dst, `,"source":{"system":"crm","batch":`...)
		dst = strconv.AppendInt(dst, c.StartAt/msDay%1000, 10)
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

// noMetadata is the share of calls whose metadata is an empty object.
const noMetadata = .06

// Campaign is metadata.campaign; empty where there is none.
func (c *Call) Campaign() string {
	if unit(hash(c.key, 17)) < noMetadata {
		return ""
	}
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
	dst = v.appendSummary(dst, true)
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

// Summary is call_analysis.summary, once there is an analysis.
func (c *Call) Summary() string { return string(c.appendSummary(nil, false)) }

func (c *Call) appendSummary(dst []byte, escaped bool) []byte {
	all := c.scenario.summaries[c.summary]
	if all == nil {
		return dst // the service broke off: no analysis ever
	}
	return all.of(hash(c.key, 19)).append(dst, c, escaped)
}

// From is from_number; empty for null.
func (c *Call) From() string { return unquote(c.appendFrom(nil)) }

// To is to_number; empty for null.
func (c *Call) To() string { return unquote(c.appendTo(nil)) }

func unquote(number []byte) string {
	if number[0] != '"' {
		return ""
	}
	return string(number[1 : len(number)-1])
}
