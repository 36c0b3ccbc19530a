// Package render writes calls as the service's JSON, in v3 and v2.
package render

import (
	"strconv"

	"callhouse/internal/sandbox/script"
	"callhouse/internal/sandbox/wire"
	"callhouse/internal/sandbox/world"
)

// Renderer writes calls as the service's JSON. Its zero value is ready; it keeps scratch space and
// is not safe for concurrent use.
type Renderer struct {
	Recordings string // address of the host of recordings; empty: recordings.Elsewhere
	items      []world.Item
}

// Item appends the call as a list item of GET /v3/calls.
func (r *Renderer) Item(dst []byte, v *world.View) []byte {
	return append(r.attributes(dst, v), '}')
}

// Thin appends a list item with only id, status and start.
func (r *Renderer) Thin(dst []byte, v *world.View) []byte {
	dst = v.ID.Append(append(dst, `{"id":"`...))
	dst = wire.AppendString(append(dst, `","status":`...), v.Status)
	dst = appendTime(append(dst, `,"start_at":`...), v, v.StartAt)
	return append(dst, '}')
}

// Detail appends the call as the answer of GET /v3/calls/{call_id}.
func (r *Renderer) Detail(dst []byte, v *world.View) []byte {
	dst = r.attributes(dst, v)
	dst = append(dst, `,"transcript":`...)
	if v.Transcript {
		r.items = v.Timeline(r.items)
		dst = appendTranscript(dst, v, r.items, false)
	} else {
		dst = append(dst, "null"...)
	}
	return append(dst, '}')
}

func (r *Renderer) attributes(dst []byte, v *world.View) []byte {
	dst = v.ID.Append(append(dst, `{"id":"`...))
	dst = v.Agent.ID.Append(append(dst, `","agent":{"agent_id":"`...))
	dst = wire.AppendString(append(dst, `","agent_version":`...), v.Version)
	dst = wire.AppendString(append(dst, `},"call_type":`...), v.Type)
	dst = wire.AppendString(append(dst, `,"status":`...), v.Status)
	dst = wire.AppendOptional(append(dst, `,"from_number":`...), v.From())
	dst = wire.AppendOptional(append(dst, `,"to_number":`...), v.To())
	dst = wire.AppendOptional(append(dst, `,"presentation_number":`...), v.Presentation())
	dst = wire.AppendOptional(append(dst, `,"disconnection_reason":`...), v.Reason)
	dst = appendTime(append(dst, `,"start_at":`...), v, v.StartAt)
	dst = appendEnd(append(dst, `,"end_at":`...), v)
	dst = r.appendRecording(append(dst, `,"recording_url":`...), v)
	dst = appendMetadata(append(dst, `,"metadata":`...), &v.Call)
	dst = appendVariables(append(dst, `,"dynamic_variables":`...), &v.Call)
	dst = appendAnalysis(append(dst, `,"call_analysis":`...), v, false)
	dst = appendCost(append(dst, `,"call_cost":`...), v)
	dst = wire.AppendOptional(append(dst, `,"variant_label":`...), v.Variant)
	dst = strconv.AppendBool(append(dst, `,"opt_out_sensitive_data_storage":`...), v.OptedOut)
	if v.Drift == world.DriftField {
		dst = strconv.AppendInt(append(dst, `,"quality":{"codec":"opus","packet_loss":0.`...), int64(v.Key%90), 10)
		dst = append(dst, `,"carrier":null}`...)
	}
	return dst
}

func appendTranscript(dst []byte, v *world.View, items []world.Item, spokenOnly bool) []byte {
	c := &v.Call
	dst = append(dst, '[')
	first := true
	for i := range items {
		it := &items[i]
		if spokenOnly && it.Role > script.RoleUser {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, `{"role":"`...)
		dst = append(dst, script.RoleNames[it.Role]...)
		if it.Call > 0 {
			dst = append(dst, `","tool_call_id":"`...)
			dst = c.AppendToolCallID(dst, it.Call)
		}
		if it.Role == script.RoleInvocation {
			dst = append(dst, `","name":"`...)
			dst = append(dst, it.Tool...)
			dst = append(dst, `","arguments":`...)
			dst = append(it.Append(dst, c, false), '}')
			continue
		}
		dst = append(dst, `","content":"`...)
		dst = it.Append(dst, c, true)
		dst = append(dst, '"')
		if it.Role <= script.RoleUser {
			dst = appendTime(append(dst, `,"start_at":`...), v, it.Start)
			dst = appendTime(append(dst, `,"end_at":`...), v, it.End)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
