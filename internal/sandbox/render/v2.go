package render

import (
	"strconv"

	"callhouse/internal/sandbox/wire"
	"callhouse/internal/sandbox/world"
)

// V2 appends the call as the deprecated POST /v2/calls/list answers it: whole,
// transcript included. v2 has no variant and no presentation number, names
// things differently, counts the duration itself, and carries the conversation
// twice: what was said, and the whole time line.
func (r *Renderer) V2(dst []byte, v *world.View) []byte {
	dst = append(dst, `{"call_id":"`...)
	dst = v.ID.Append(dst)
	dst = append(dst, `","agent_id":"`...)
	dst = v.Agent.ID.Append(dst)
	dst = append(dst, `","call_type":`...)
	dst = wire.AppendString(dst, v.Type)
	dst = append(dst, `,"status":`...)
	dst = wire.AppendString(dst, v.Status)
	dst = append(dst, `,"call_from":`...)
	dst = wire.AppendOptional(dst, v.From())
	dst = append(dst, `,"call_to":`...)
	dst = wire.AppendOptional(dst, v.To())
	dst = append(dst, `,"disconnection_reason":`...)
	dst = wire.AppendOptional(dst, v.Reason)
	dst = append(dst, `,"start_timestamp":`...)
	dst = wire.AppendTime(dst, v.StartAt)
	dst = append(dst, `,"end_timestamp":`...)
	dst = wire.AppendTime(dst, v.EndAt)
	dst = append(dst, `,"duration_ms":`...)
	if v.Over {
		dst = strconv.AppendInt(dst, v.EndAt-v.StartAt, 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"recording_url":`...)
	dst = appendRecording(dst, v)
	dst = append(dst, `,"metadata":`...)
	dst = appendMetadata(dst, &v.Call)
	dst = append(dst, `,"dynamic_variables":`...)
	dst = appendVariables(dst, &v.Call)
	dst = append(dst, `,"call_analysis":`...)
	dst = appendAnalysis(dst, v, true)
	dst = append(dst, `,"call_cost":`...)
	if v.CostKnown {
		dst = append(dst, `{"total_credits_used":`...)
		dst = wire.AppendDecimal(dst, v.Cost)
		dst = append(dst, `,"duration_seconds":`...)
		dst = strconv.AppendInt(dst, (v.EndAt-v.StartAt+999)/1000, 10)
		dst = append(dst, '}')
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"opt_out_sensitive_data_storage":`...)
	dst = strconv.AppendBool(dst, v.OptedOut)
	if !v.Transcript {
		return append(dst, `,"transcript":null,"transcript_with_tool_calls":null}`...)
	}
	r.items = v.Timeline(r.items)
	dst = append(dst, `,"transcript":`...)
	dst = appendTranscript(dst, &v.Call, r.items, true)
	dst = append(dst, `,"transcript_with_tool_calls":`...)
	dst = appendTranscript(dst, &v.Call, r.items, false)
	return append(dst, '}')
}
