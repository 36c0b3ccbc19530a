package render

import (
	"slices"
	"strconv"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/script"
	"callhouse/internal/sandbox/wire"
	"callhouse/internal/sandbox/world"
)

// V2 appends the call as an item of the deprecated POST /v2/calls/list, transcript included. v2 has
// no variant and no presentation number, uses other names, sends the duration, and has the
// conversation twice: the speech, and the whole time line.
func (r *Renderer) V2(dst []byte, v *world.View) []byte { return r.FormV2(dst, v, V2Form{}) }

// V2Form is the form of a v2 call.
type V2Form struct {
	// Single is the form of GET /v2/calls/{call_id}, without fields only of list items.
	Single bool
	// Wrong, if not 0, is the draw for an error in the transcript: a missing turn, or a wrong
	// character.
	Wrong uint64
	// SpokenOnly omits the whole time line.
	SpokenOnly bool
	// Twice repeats the member status with another value.
	Twice bool
}

// FormV2 appends the call in a given form.
func (r *Renderer) FormV2(dst []byte, v *world.View, form V2Form) []byte {
	dst = v.ID.Append(append(dst, `{"call_id":"`...))
	dst = v.Agent.ID.Append(append(dst, `","agent_id":"`...))
	dst = wire.AppendString(append(dst, `","call_type":`...), v.Type)
	if !form.Single {
		dst = wire.AppendString(append(dst, `,"status":`...), v.Status)
	}
	dst = wire.AppendOptional(append(dst, `,"call_from":`...), v.From())
	dst = wire.AppendOptional(append(dst, `,"call_to":`...), v.To())
	dst = wire.AppendOptional(append(dst, `,"disconnection_reason":`...), v.Reason)
	dst = appendTime(append(dst, `,"start_timestamp":`...), v, v.StartAt)
	dst = appendEnd(append(dst, `,"end_timestamp":`...), v)
	dst = append(dst, `,"duration_ms":`...)
	if v.Over {
		dst = strconv.AppendInt(dst, v.EndAt-v.StartAt, 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = r.appendRecording(append(dst, `,"recording_url":`...), v)
	dst = appendMetadata(append(dst, `,"metadata":`...), &v.Call)
	dst = appendVariables(append(dst, `,"dynamic_variables":`...), &v.Call)
	dst = appendAnalysis(append(dst, `,"call_analysis":`...), v, !form.Single)
	dst = append(dst, `,"call_cost":`...)
	if v.CostKnown {
		dst = wire.AppendDecimal(append(dst, `{"total_credits_used":`...), v.Cost)
		dst = strconv.AppendInt(append(dst, `,"duration_seconds":`...), (v.EndAt-v.StartAt+999)/1000, 10)
		dst = append(dst, '}')
	} else {
		dst = append(dst, "null"...)
	}
	dst = strconv.AppendBool(append(dst, `,"opt_out_sensitive_data_storage":`...), v.OptedOut)
	if form.Twice && !form.Single {
		dst = append(dst, `,"status":"ringing"`...)
	}
	if !v.Transcript || !v.Readable() {
		return append(dst, `,"transcript":null,"transcript_with_tool_calls":null}`...)
	}
	r.items = v.Timeline(r.items)
	if form.Wrong != 0 {
		r.items = spoil(r.items, &v.Call, form.Wrong)
	}
	dst = appendTranscript(append(dst, `,"transcript":`...), v, r.items, true)
	if form.SpokenOnly {
		return append(dst, `,"transcript_with_tool_calls":null}`...)
	}
	dst = appendTranscript(append(dst, `,"transcript_with_tool_calls":`...), v, r.items, false)
	return append(dst, '}')
}

// spoil drops a turn, or changes a character of a turn or tool result.
func spoil(items []world.Item, c *world.Call, h uint64) []world.Item {
	change := h%2 == 0
	var at []int
	for i := range items {
		if r := items[i].Role; r <= script.RoleUser || change && r == script.RoleResult {
			at = append(at, i)
		}
	}
	i := at[dice.Pick(dice.Mix(h), len(at))]
	if !change {
		return slices.Delete(items, i, i+1)
	}
	text := []rune(string(items[i].Append(nil, c, false)))
	text[dice.Pick(dice.Hash(h, 1), len(text))]++
	other := script.Plain(string(text))
	items[i].Text = &other
	return items
}
