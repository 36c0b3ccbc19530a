package render

import (
	"strconv"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/script"
	"callhouse/internal/sandbox/wire"
	"callhouse/internal/sandbox/world"
)

// appendRecording writes a signed link. As with real ones, a new signature and
// expiry come every hour, so the text differs between two looks at one call.
func appendRecording(dst []byte, v *world.View) []byte {
	if !v.Recording {
		return append(dst, "null"...)
	}
	hour := v.At / time.Hour.Milliseconds()
	dst = append(dst, `"https://recordings.voice.example/v1/objects/calls/`...)
	dst = v.ID.Append(dst)
	dst = append(dst, `/mixed.mp3?response-content-type=audio%2Fmpeg&key-id=VREC`...)
	dst = wire.AppendHex(dst, dice.Hash(v.Key, 12))
	dst = append(dst, `&expires=`...)
	dst = strconv.AppendInt(dst, (hour+2)*3600, 10)
	dst = append(dst, `&signature=`...)
	for i := range uint64(4) {
		dst = wire.AppendHex(dst, dice.Hash(v.Key^uint64(hour), 13+i))
	}
	return append(dst, '"')
}

// appendMetadata writes what the company noted about the call when it made it.
func appendMetadata(dst []byte, c *world.Call) []byte {
	campaign := c.Campaign()
	if campaign == "" {
		return append(dst, "{}"...)
	}
	h := dice.Hash(c.Key, 17)
	u := dice.Unit(h)
	dst = append(dst, `{"campaign":`...)
	dst = wire.AppendString(dst, campaign)
	dst = append(dst, `,"customer_id":"`...)
	dst = c.AppendSlot(dst, script.SlotCustomer)
	dst = append(dst, '"')
	if u < .4 {
		dst = append(dst, `,"source":{"system":"crm","batch":`...)
		dst = strconv.AppendInt(dst, c.StartAt/(24*time.Hour).Milliseconds()%1000, 10)
		dst = append(dst, `,"row":`...)
		dst = strconv.AppendInt(dst, int64(dice.Pick(dice.Mix(h), 5000)), 10)
		dst = append(dst, `,"tags":["`...)
		dst = append(dst, c.Agent.Language...)
		dst = append(dst, `","`...)
		dst = append(dst, c.Agent.Scenario...)
		dst = append(dst, `"]}`...)
	}
	if u > .8 {
		dst = append(dst, `,"priority":`...)
		dst = strconv.AppendInt(dst, int64(1+dice.Pick(dice.Mix(h), 3)), 10)
		dst = append(dst, `,"is-vip":`...)
		dst = strconv.AppendBool(dst, u > .95)
	}
	return append(dst, '}')
}

func appendVariables(dst []byte, c *world.Call) []byte {
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
	dst = append(dst, `{"summary":`...)
	dst = wire.AppendString(dst, v.Summary())
	dst = append(dst, `,"user_sentiment":`...)
	dst = wire.AppendOptional(dst, v.Sentiment)
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
		dst = append(dst, `,"evaluation":{"task_completed":`...)
		dst = strconv.AppendBool(dst, v.Good)
		dst = append(dst, '}')
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
