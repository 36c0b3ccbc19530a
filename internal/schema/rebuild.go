package schema

import "strconv"

// AppendJSON appends the JSON object that the call's rows stand for: that which
// the service sent, value for value. Members come in a fixed order, and white
// space between them is gone; numbers have the spelling in which they came.
//
// A call merged of several responses gives an object of all that is known. What
// was withheld for an opted-out call is null, and unknown fields of it are gone.
func (c *Call) AppendJSON(dst []byte) []byte {
	r := rebuild{c: c, patch: readPatch(c.Extra, callObject), of: callObject, dst: append(dst, '{')}
	r.from = len(r.dst)
	r.shown = c.sent(callObject, callShown[V3])
	if c.Source == V2 {
		r.shown = c.sent(callObject, callShown[V2])
	}
	r.text(r.spelled(fID, fCallID), c.ID)
	r.agent()
	r.text(fCallType, c.CallType)
	r.text(fStatus, c.Status)
	r.text(fDisconnectionReason, c.DisconnectionReason)
	r.text(r.spelled(fFromNumber, fCallFrom), c.FromNumber)
	r.text(r.spelled(fToNumber, fCallTo), c.ToNumber)
	r.text(fPresentationNumber, c.PresentationNumber)
	r.integer(r.spelled(fStartAt, fStartTimestamp), c.StartAt)
	r.integer(r.spelled(fEndAt, fEndTimestamp), c.EndAt)
	if c.Source == V3 && !r.patch.as.has(fDurationMS) {
		r.integer(fDurationMS, Opt[int64]{}) // derived
	} else {
		r.integer(fDurationMS, c.DurationMS)
	}
	r.text(fRecordingURL, c.RecordingURL)
	r.json(fMetadata, c.Metadata)
	r.json(fDynamicVariables, c.DynamicVariables)
	r.analysis()
	r.cost()
	r.text(fVariantLabel, c.VariantLabel)
	if c.OptOut.OK {
		r.json(fOptOut, strconv.AppendBool(nil, c.OptOut.V))
	} else {
		r.json(fOptOut, nil)
	}
	r.transcripts()
	r.rest()
	return append(r.dst, '}')
}

// rebuild is one object on its way back to JSON.
type rebuild struct {
	c     *Call
	of    *object
	patch patchView
	shown fieldSet // fields that are there even when null
	done  fieldSet // of patch.over
	dst   []byte
	from  int // where the members begin in dst
}

// inner begins an object inside of r's. Its dst goes back into r at its end.
func (r *rebuild) inner(of *object, extra []byte, shown fieldSet) rebuild {
	in := rebuild{c: r.c, of: of, patch: readPatch(extra, of), shown: r.c.sent(of, shown), dst: append(r.dst, '{')}
	in.from = len(in.dst)
	return in
}

func (r *rebuild) close(in *rebuild) {
	in.rest()
	r.dst = append(in.dst, '}')
}

// spelled returns the field of two that the column came from.
func (r *rebuild) spelled(v3, v2 field) field {
	if (r.c.Source == V2) != (r.patch.as.has(v3) || r.patch.as.has(v2)) {
		return v2
	}
	return v3
}

func (r *rebuild) name(f field) {
	r.dst = appendString(comma(r.dst, r.from), r.of.names[f])
	r.dst = append(r.dst, ':')
}

// special deals with a field that is not what its column says, and reports
// whether it did. null says that the column is null.
func (r *rebuild) special(f field, null bool) bool {
	p := &r.patch
	switch v := &p.over[f]; {
	case p.absent.has(f):
	case p.null.has(f):
		r.name(f)
		r.dst = append(r.dst, "null"...)
	case p.empty.has(f):
		r.name(f)
		r.dst = append(r.dst, "[]"...)
	case v.shape != isAbsent:
		r.name(f)
		r.dst = append(r.dst, v.raw...)
		r.done |= 1 << f
	case !null:
		return false
	case r.shown.has(f) || p.as.has(f):
		r.name(f)
		r.dst = append(r.dst, "null"...)
	}
	return true
}

func (r *rebuild) text(f field, b []byte) {
	if !r.special(f, b == nil) {
		r.name(f)
		r.dst = appendString(r.dst, b)
	}
}

func (r *rebuild) json(f field, b []byte) {
	if !r.special(f, b == nil) {
		r.name(f)
		r.dst = append(r.dst, b...)
	}
}

func (r *rebuild) integer(f field, n Opt[int64]) {
	if !r.special(f, !n.OK) {
		r.name(f)
		r.dst = strconv.AppendInt(r.dst, n.V, 10)
	}
}

func (r *rebuild) plain(f field, n Opt[Decimal]) {
	if !r.special(f, !n.OK) {
		r.name(f)
		r.dst = appendPlain(r.dst, n.V)
	}
}

// rest appends the fields that no column is for.
func (r *rebuild) rest() {
	p := &r.patch
	for f := range r.of.names {
		if v := &p.over[f]; v.shape != isAbsent && !r.done.has(field(f)) {
			r.name(field(f))
			r.dst = append(r.dst, v.raw...)
		}
	}
	for i := range p.unknown {
		m := &p.unknown[i]
		if r.dst = comma(r.dst, r.from); m.lone() && m.key.raw != nil {
			r.dst = append(r.dst, m.key.raw...)
		} else {
			r.dst = appendString(r.dst, m.name)
		}
		r.dst = append(append(r.dst, ':'), m.v.raw...)
	}
}

// object appends an inner object: null where nothing says that it is one, and
// otherwise its members by fill.
func (r *rebuild) object(f field, of *object, null bool, shown fieldSet, fill func(*rebuild)) {
	var extra []byte
	if v := &r.patch.over[f]; v.shape == isObject {
		extra, null = v.raw, false
		r.done |= 1 << f
		*v = val{}
	}
	if r.special(f, null) {
		return
	}
	r.name(f)
	in := r.inner(of, extra, shown)
	fill(&in)
	r.close(&in)
}

func (r *rebuild) agent() {
	c, as := r.c, r.patch.as
	flat := as.has(fAgentID) || as.has(fAgentVersion)
	if c.Source == V2 && !as.has(fAgent) || flat {
		r.text(fAgentID, c.AgentID)
		r.text(fAgentVersion, c.AgentVersion)
		return
	}
	r.object(fAgent, agentObject, c.AgentID == nil && c.AgentVersion == nil, agentShown, func(in *rebuild) {
		in.text(aAgentID, c.AgentID)
		in.text(aAgentVersion, c.AgentVersion)
	})
}

func (r *rebuild) analysis() {
	c := r.c
	null := c.Summary == nil && c.UserSentiment == nil && c.Evaluation == nil && len(c.Items) == 0
	r.object(fCallAnalysis, analysisObject, null, analysisShown, func(in *rebuild) {
		in.text(nSummary, c.Summary)
		in.text(nUserSentiment, c.UserSentiment)
		if !in.special(nItems, false) {
			in.items()
		}
		in.json(nEvaluation, c.Evaluation)
	})
}

func (r *rebuild) cost() {
	c := r.c
	null := !c.TotalCost.OK && !c.CreditsUsed.OK && !c.BilledSeconds.OK
	r.object(fCallCost, costObject, null, costShown[c.Source], func(in *rebuild) {
		if !in.special(kTotalCost, !c.TotalCost.OK) {
			in.name(kTotalCost)
			in.dst = append(in.dst, '"')
			in.dst = append(appendMoney(in.dst, c.TotalCost.V), '"')
		}
		in.plain(kTotalCredits, c.CreditsUsed)
		in.plain(kDurationSeconds, c.BilledSeconds)
	})
}

// transcripts appends the time line, and for v2 its spoken turns once more.
func (r *rebuild) transcripts() {
	c, p := r.c, &r.patch
	if c.TurnCount.OK {
		r.shown |= setOf(fTranscript, fTranscriptTools)
	}
	if c.Source == V3 {
		r.turnList(r.spelled(fTranscript, fTranscriptTools), false)
		return
	}
	// The turns are those of transcript if the other one says it has none.
	whole := fTranscriptTools
	alone := (p.absent | p.null | p.empty).has(whole) || p.over[whole].shape != isAbsent
	r.turnList(whole, false)
	r.turnList(fTranscript, !alone)
}

// turnList appends the turns, or just the spoken ones, as an array.
func (r *rebuild) turnList(f field, spoken bool) {
	if r.special(f, len(r.c.Turns) == 0) {
		return
	}
	r.name(f)
	r.dst = append(r.dst, '[')
	from := len(r.dst)
	for i := range r.c.Turns {
		if t := &r.c.Turns[i]; !spoken || t.spoken() {
			r.dst = comma(r.dst, from)
			r.turn(t)
		}
	}
	r.dst = append(r.dst, ']')
}

func (r *rebuild) turn(t *Turn) {
	in := r.inner(turnObject, t.Extra, turnShown(t.Role))
	if in.patch.is != nil {
		r.dst = append(r.dst, in.patch.is...)
		return
	}
	in.text(tRole, t.Role)
	in.text(tContent, t.Content)
	in.integer(tStartAt, t.StartAt)
	in.integer(tEndAt, t.EndAt)
	in.text(tToolCallID, t.ToolCallID)
	in.text(tName, t.ToolName)
	in.json(tArguments, t.Arguments)
	r.close(&in)
}

func (r *rebuild) items() {
	r.name(nItems)
	r.dst = append(r.dst, '[')
	from := len(r.dst)
	for i := range r.c.Items {
		t := &r.c.Items[i]
		r.dst = comma(r.dst, from)
		in := r.inner(itemObject, t.Extra, itemShown)
		if in.patch.is != nil {
			r.dst = append(r.dst, in.patch.is...)
			continue
		}
		in.text(iType, t.Type)
		in.text(iName, t.Name)
		in.json(iValue, t.Value)
		r.close(&in)
	}
	r.dst = append(r.dst, ']')
}
