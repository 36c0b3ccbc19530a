// Package render writes calls as the service's JSON, in v3 and v2.
package render

import (
	"strconv"

	"callhouse/internal/sandbox/script"
	"callhouse/internal/sandbox/wire"
	"callhouse/internal/sandbox/world"
)

// Renderer writes calls as the service's JSON, by appending. Its zero value is
// ready; it keeps scratch space and serves one goroutine at a time.
type Renderer struct{ items []world.Item }

// Item appends the call as GET /v3/calls lists it.
func (r *Renderer) Item(dst []byte, v *world.View) []byte {
	return append(r.attributes(dst, v), '}')
}

// Thin appends the call as a service that lists only id, status and start would.
func (r *Renderer) Thin(dst []byte, v *world.View) []byte {
	dst = append(dst, `{"id":"`...)
	dst = v.ID.Append(dst)
	dst = append(dst, `","status":`...)
	dst = wire.AppendString(dst, v.Status)
	dst = append(dst, `,"start_at":`...)
	dst = wire.AppendTime(dst, v.StartAt)
	return append(dst, '}')
}

// Detail appends the call as GET /v3/calls/{call_id} answers it.
func (r *Renderer) Detail(dst []byte, v *world.View) []byte {
	dst = r.attributes(dst, v)
	dst = append(dst, `,"transcript":`...)
	if v.Transcript {
		r.items = v.Timeline(r.items)
		dst = appendTranscript(dst, &v.Call, r.items, false)
	} else {
		dst = append(dst, "null"...)
	}
	return append(dst, '}')
}

func (r *Renderer) attributes(dst []byte, v *world.View) []byte {
	dst = append(dst, `{"id":"`...)
	dst = v.ID.Append(dst)
	dst = append(dst, `","agent":{"agent_id":"`...)
	dst = v.Agent.ID.Append(dst)
	dst = append(dst, `","agent_version":`...)
	dst = wire.AppendString(dst, v.Version)
	dst = append(dst, `},"call_type":`...)
	dst = wire.AppendString(dst, v.Type)
	dst = append(dst, `,"status":`...)
	dst = wire.AppendString(dst, v.Status)
	dst = append(dst, `,"from_number":`...)
	dst = wire.AppendOptional(dst, v.From())
	dst = append(dst, `,"to_number":`...)
	dst = wire.AppendOptional(dst, v.To())
	dst = append(dst, `,"presentation_number":`...)
	dst = wire.AppendOptional(dst, v.Agent.Presentation)
	dst = append(dst, `,"disconnection_reason":`...)
	dst = wire.AppendOptional(dst, v.Reason)
	dst = append(dst, `,"start_at":`...)
	dst = wire.AppendTime(dst, v.StartAt)
	dst = append(dst, `,"end_at":`...)
	dst = wire.AppendTime(dst, v.EndAt)
	dst = append(dst, `,"recording_url":`...)
	dst = appendRecording(dst, v)
	dst = append(dst, `,"metadata":`...)
	dst = appendMetadata(dst, &v.Call)
	dst = append(dst, `,"dynamic_variables":`...)
	dst = appendVariables(dst, &v.Call)
	dst = append(dst, `,"call_analysis":`...)
	dst = appendAnalysis(dst, v, false)
	dst = append(dst, `,"call_cost":`...)
	dst = appendCost(dst, v)
	dst = append(dst, `,"variant_label":`...)
	dst = wire.AppendOptional(dst, v.Variant)
	dst = append(dst, `,"opt_out_sensitive_data_storage":`...)
	dst = strconv.AppendBool(dst, v.OptedOut)
	if v.Drift == world.DriftField {
		dst = append(dst, `,"quality":{"codec":"opus","packet_loss":0.`...)
		dst = strconv.AppendInt(dst, int64(v.Key%90), 10)
		dst = append(dst, `,"carrier":null}`...)
	}
	return dst
}

func appendTranscript(dst []byte, c *world.Call, items []world.Item, spokenOnly bool) []byte {
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
			dst = append(it.Text.Append(dst, c, false), '}')
			continue
		}
		dst = append(dst, `","content":"`...)
		dst = it.Text.Append(dst, c, true)
		dst = append(dst, '"')
		if it.Role <= script.RoleUser {
			dst = append(dst, `,"start_at":`...)
			dst = strconv.AppendInt(dst, it.Start, 10)
			dst = append(dst, `,"end_at":`...)
			dst = strconv.AppendInt(dst, it.End, 10)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
