package render

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/recordings"
	"callhouse/internal/sandbox/script"
	"callhouse/internal/sandbox/wire"
	"callhouse/internal/sandbox/world"
)

// spellings are those of the fault odd-times.
var spellings = []string{
	"2006-01-02T15:04:05.000000Z07:00", "2006-01-02T15:04:05.000000000Z07:00", "2006-01-02T15:04:05.000-0700",
	"2006-01-02 15:04:05.000000-07", "2006-01-02 15:04:05.000Z07:00", "2006-01-02T15:04:05.000000-0700",
}

// appendTime writes a time of a call in its form: between ms and the next millisecond.
func appendTime(dst []byte, v *world.View, ms int64) []byte {
	n := v.Form.Times
	if n == 0 || ms == 0 {
		return wire.AppendTime(dst, ms)
	}
	micros := int64(dice.Pick(dice.Hash(n, uint64(ms)), 1000))
	i := dice.Pick(dice.Mix(n), len(spellings)+1)
	if i == len(spellings) {
		return fmt.Appendf(dst, "%d.%03d", ms, micros)
	}
	zone := time.FixedZone("", int(n%2)*9*3600)
	return append(time.UnixMicro(ms*1000+micros).In(zone).AppendFormat(append(dst, '"'), spellings[i]), '"')
}

// appendEnd writes the end of a call.
func appendEnd(dst []byte, v *world.View) []byte {
	if n := v.Form.Ends; n > 0 && v.Started && !v.Over {
		return strconv.AppendInt(dst, (n-1)*(v.StartAt-1), 10)
	}
	return appendTime(dst, v, v.EndAt)
}

// appendRecording writes a signed link.
func (r *Renderer) appendRecording(dst []byte, v *world.View) []byte {
	if !v.Recording {
		return append(dst, "null"...)
	}
	return append(recordings.AppendLink(append(dst, '"'), cmp.Or(r.Recordings, recordings.Elsewhere), v), '"')
}

// appendMetadata writes the metadata of the call's creator.
func appendMetadata(dst []byte, c *world.Call) []byte {
	if c.Order != nil {
		return append(dst, c.Order.Metadata...)
	}
	campaign := c.Campaign()
	profile, value := c.Profile()
	if campaign == "" {
		if profile != "" {
			dst = wire.AppendString(append(dst, '{'), profile)
			return append(wire.AppendString(append(dst, ':'), value), '}')
		}
		return append(dst, "{}"...)
	}
	h := dice.Hash(c.Key, 17)
	u := dice.Unit(h)
	dst = wire.AppendString(append(dst, `{"campaign":`...), campaign)
	dst = append(dst, `,"customer_id":"`...)
	dst = c.AppendSlot(dst, script.SlotOf("customer"))
	dst = append(dst, '"')
	if u < .4 {
		dst = strconv.AppendInt(append(dst, `,"source":{"system":"crm","batch":`...), c.StartAt/(24*time.Hour).Milliseconds()%1000, 10)
		dst = strconv.AppendInt(append(dst, `,"row":`...), int64(dice.Pick(dice.Mix(h), 5000)), 10)
		dst = append(dst, `,"tags":["`...)
		dst = append(dst, c.Agent.Language...)
		dst = append(dst, `","`...)
		dst = append(dst, c.Agent.Scenario...)
		dst = append(dst, `"]}`...)
	}
	if u > .8 {
		dst = strconv.AppendInt(append(dst, `,"priority":`...), int64(1+dice.Pick(dice.Mix(h), 3)), 10)
		dst = strconv.AppendBool(append(dst, `,"is-vip":`...), u > .95)
	}
	if profile != "" {
		dst = wire.AppendString(append(dst, ','), profile)
		dst = wire.AppendString(append(dst, ':'), value)
	}
	return append(dst, '}')
}

func appendVariables(dst []byte, c *world.Call) []byte {
	if c.Order != nil {
		return append(dst, c.Order.Variables...)
	}
	dst = append(dst, '{')
	begun := len(dst)
	for name, value := range c.Variables() {
		if len(dst) > begun {
			dst = append(dst, ',')
		}
		dst = append(wire.AppendString(dst, name), `:"`...)
		dst = append(value.Append(dst, c, true), '"')
	}
	return append(dst, '}')
}

func appendAnalysis(dst []byte, v *world.View, evaluation bool) []byte {
	if !v.Analysis {
		return append(dst, "null"...)
	}
	dst = wire.AppendString(append(dst, `{"summary":`...), v.Summary())
	dst = wire.AppendOptional(append(dst, `,"user_sentiment":`...), v.Sentiment)
	dst = append(dst, `,"custom_analysis_data":[`...)
	for i, it := range v.CustomItems() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"`...)
		dst = append(dst, it.Type...)
		dst = append(dst, `","name":"`...)
		dst = append(dst, it.Name...)
		dst = append(dst, `","value":`...)
		dst = append(dst, it.Value...)
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if evaluation {
		dst = appendEvaluation(append(dst, `,"evaluation":`...), v)
	}
	return append(dst, '}')
}

// appendEvaluation writes an object in one of three forms, by the call's agent: the contract does
// not define it.
func appendEvaluation(dst []byte, v *world.View) []byte {
	tone, accuracy := 1+dice.Pick(dice.Hash(v.Key, 90), 5), 1+dice.Pick(dice.Hash(v.Key, 91), 9)
	switch v.Agent.Number % 3 {
	case 1:
		dst = strconv.AppendBool(append(dst, `{"task_completed":`...), v.Good)
		dst = strconv.AppendInt(append(dst, `,"scores":{"tone":`...), int64(tone), 10)
		dst = strconv.AppendFloat(append(dst, `,"accuracy":`...), float64(accuracy)/2, 'f', -1, 64)
		dst = wire.AppendString(append(dst, `},"reason":`...), v.Summary())
	case 2:
		dst = strconv.AppendBool(append(dst, `{"criteria":[{"name":"task_completed","passed":`...), v.Good)
		dst = strconv.AppendInt(append(dst, `,"score":null},{"name":"tone","passed":null,"score":`...), int64(tone), 10)
		dst = append(dst, `}],"tags":[]`...)
	default:
		dst = strconv.AppendBool(append(dst, `{"task_completed":`...), v.Good)
	}
	return append(dst, '}')
}

func appendCost(dst []byte, v *world.View) []byte {
	if !v.CostKnown {
		return append(dst, "null"...)
	}
	if v.Drift == world.DriftNumber {
		dst = append(dst, `{"total_cost":`...)
		return append(wire.AppendDecimal(dst, v.Cost), '}')
	}
	dst = append(dst, `{"total_cost":"`...)
	return append(wire.AppendDecimal(dst, v.Cost), `"}`...)
}
