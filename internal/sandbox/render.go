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
	dst = appendTime(dst, v.StartAt)
	return append(dst, '}')
}

// Detail appends the call as GET /v3/calls/{call_id} answers it.
func (r *Renderer) Detail(dst []byte, v *View) []byte {
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

func (r *Renderer) attributes(dst []byte, v *View) []byte {
	dst = append(dst, `{"id":"`...)
	dst = v.ID.append(dst)
	dst = append(dst, `","agent":{"agent_id":"`...)
	dst = v.Agent.ID.append(dst)
	dst = append(dst, `","agent_version":`...)
	dst = appendString(dst, v.Version)
	dst = append(dst, `},"call_type":`...)
	dst = appendString(dst, v.Type)
	dst = append(dst, `,"status":`...)
	dst = appendString(dst, v.Status)
	dst = append(dst, `,"from_number":`...)
	dst = appendOptional(dst, v.From())
	dst = append(dst, `,"to_number":`...)
	dst = appendOptional(dst, v.To())
	dst = append(dst, `,"presentation_number":`...)
	dst = appendOptional(dst, v.Presentation())
	dst = append(dst, `,"disconnection_reason":`...)
	dst = appendOptional(dst, v.Reason)
	dst = append(dst, `,"start_at":`...)
	dst = appendTime(dst, v.StartAt)
	dst = append(dst, `,"end_at":`...)
	dst = appendTime(dst, v.EndAt)
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
			dst = c.AppendToolCallID(dst, it.call)
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
