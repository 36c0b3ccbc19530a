package schema

import (
	"bytes"
	"math"
	"math/bits"
)

// assemble makes the columns of a call out of what scan noted.
func (d *Decoder) assemble(kind Kind, replaced bool, c *Call) error {
	p := &d.call
	if c.Source = d.source; !d.forced {
		c.Source = d.guessSource()
	}
	if optedOut(&d.top[fOptOut]) {
		d.withhold(replaced, c)
	}
	for i := range p.unknown {
		d.driftUnknown(p, i, DriftUnknownField)
	}
	if err := d.id(c, replaced); err != nil {
		return err
	}
	d.agentFields(c)
	shown := callShown[c.Source]
	if f, v := fCallType, &d.top[fCallType]; take(p, f, v, shown) {
		c.CallType = d.word(p, f, v, knownCallType)
	}
	if f, v := fStatus, &d.top[fStatus]; take(p, f, v, shown) {
		c.Status = d.word(p, f, v, knownStatus)
	}
	if f, v := fDisconnectionReason, &d.top[fDisconnectionReason]; take(p, f, v, shown) {
		c.DisconnectionReason = d.word(p, f, v, knownReason)
	}
	if f, v := d.pick(c.Source, fFromNumber, fCallFrom); take(p, f, v, shown) {
		c.FromNumber = d.text(p, f, v)
	}
	if f, v := d.pick(c.Source, fToNumber, fCallTo); take(p, f, v, shown) {
		c.ToNumber = d.text(p, f, v)
	}
	if f, v := fPresentationNumber, &d.top[fPresentationNumber]; take(p, f, v, shown) {
		c.PresentationNumber = d.text(p, f, v)
	}
	if f, v := d.pick(c.Source, fStartAt, fStartTimestamp); take(p, f, v, shown) {
		c.StartAt = d.instant(p, f, v)
	}
	if f, v := d.pick(c.Source, fEndAt, fEndTimestamp); take(p, f, v, shown) {
		c.EndAt = d.instant(p, f, v)
	}
	d.duration(c)
	if f, v := fRecordingURL, &d.top[fRecordingURL]; take(p, f, v, shown) {
		c.RecordingURL = d.text(p, f, v)
	}
	if f, v := fMetadata, &d.top[fMetadata]; take(p, f, v, shown) {
		c.Metadata = d.object(p, f, v)
	}
	if f, v := fDynamicVariables, &d.top[fDynamicVariables]; take(p, f, v, shown) {
		c.DynamicVariables = d.object(p, f, v)
	}
	if f, v := fCallAnalysis, &d.top[fCallAnalysis]; take(p, f, v, shown) {
		d.analysisColumns(v, c)
	}
	if f, v := fCallCost, &d.top[fCallCost]; take(p, f, v, shown) {
		d.costColumns(v, c)
	}
	if f, v := fVariantLabel, &d.top[fVariantLabel]; take(p, f, v, shown) {
		c.VariantLabel = d.text(p, f, v)
	}
	if f, v := fOptOut, &d.top[fOptOut]; take(p, f, v, shown) {
		c.OptOut = d.optOut(p, f, v)
	}
	d.transcript(kind, c)
	c.TranscriptState = decodedState(c)
	if !p.bare() {
		c.Extra = d.extra(p)
	}
	return nil
}

// guessSource tells v3 from v2: by the name of the id, and where that is v2's or
// both are there, by how many of the other names belong to which. So one field
// under its other name does not change what the whole is taken for.
func (d *Decoder) guessSource() Source {
	var sent fieldSet
	for f := range d.top {
		if d.top[f].shape != isAbsent {
			sent |= 1 << f
		}
	}
	v3, v2 := bits.OnesCount32(uint32(sent&onlyV3)), bits.OnesCount32(uint32(sent&onlyV2))
	if !sent.has(fCallID) || v3 > v2 || v3 == v2 && sent.has(fID) {
		return V3
	}
	return V2
}

// withhold drops what an opted-out call must not leave behind, as if the
// service had sent null for it, and counts it.
func (d *Decoder) withhold(replaced bool, c *Call) {
	d.Drift = d.Drift[:0] // it names what was inside
	if replaced {
		d.drift(wholeBody, DriftReplaced)
	}
	c.Turns, c.Items, d.tools = c.Turns[:0], c.Items[:0], d.tools[:0]
	for _, f := range [...]field{fTranscript, fTranscriptTools, fRecordingURL, fCallAnalysis} {
		if v := &d.top[f]; v.shape > isNull {
			*v = val{shape: isNull}
			d.drift(callObject.paths[f], DriftWithheld)
		}
	}
	for _, p := range [...]*patch{&d.call, &d.agentPatch, &d.costPatch} {
		for range p.unknown {
			d.drift(p.of.prefix+otherFields, DriftWithheld)
		}
		p.unknown = p.unknown[:0]
	}
}

func (d *Decoder) driftUnknown(p *patch, i int, kind DriftKind) {
	m := &p.unknown[i]
	if m.key.marks&lone != 0 {
		d.drift(p.of.prefix+otherFields, DriftReplaced)
		return
	}
	d.driftField(p.of.prefix, m.name, kind)
}

// pick returns the field that stands for a column with two spellings: the one
// that belongs to the source, or the other one if only that was sent. If both
// were, the other one is an unknown field.
func (d *Decoder) pick(source Source, v3, v2 field) (field, *val) {
	own, other := v3, v2
	if source == V2 {
		own, other = v2, v3
	}
	if d.top[other].shape == isAbsent {
		return own, &d.top[own]
	}
	if d.top[own].shape != isAbsent {
		d.demote(other)
		return own, &d.top[own]
	}
	d.rename(other)
	return other, &d.top[other]
}

func (d *Decoder) rename(f field) {
	d.call.as |= 1 << f
	d.drift(callObject.paths[f], DriftRenamed)
}

// demote makes a known field an unknown one. With an opted-out call it is lost,
// like every other unknown field.
func (d *Decoder) demote(f field) {
	if d.top[f].shape == isAbsent {
		return
	}
	if optedOut(&d.top[fOptOut]) {
		if d.top[f].shape != isNull {
			d.drift(callObject.paths[f], DriftWithheld)
		}
		return
	}
	d.call.unknown = append(d.call.unknown, member{name: callObject.names[f], v: d.top[f]})
	d.drift(callObject.paths[f], DriftUnknownField)
}

func (d *Decoder) id(c *Call, replaced bool) error {
	f, v := d.pick(c.Source, fID, fCallID)
	switch {
	case v.shape == isAbsent:
		return errNoID("no id", d.s.b, v)
	case v.shape != isString && v.shape != isNumber:
		return errNoID("an id that is no text", d.s.b, v)
	case v.marks&lone != 0, replaced && bytes.Contains(v.raw, []byte("\uFFFD")):
		return errNoID("an id that is no Unicode", d.s.b, v)
	}
	if c.ID = d.text(&d.call, f, v); len(c.ID) == 0 {
		return errNoID("an empty id", d.s.b, v)
	}
	return nil
}

// duration reads duration_ms. v3 sends none, and then, as where v2 leaves it
// out, it is the time from start to end.
func (d *Decoder) duration(c *Call) {
	p, f, v := &d.call, fDurationMS, &d.top[fDurationMS]
	if take(p, f, v, callShown[c.Source]) {
		if c.Source == V3 {
			d.rename(f)
		}
		c.DurationMS = d.integer(p, f, v)
		return
	}
	if v.shape == isNull && c.Source == V2 || !c.StartAt.OK || !c.EndAt.OK {
		return
	}
	if c.EndAt.V < c.StartAt.V {
		d.drift(p.of.paths[f], DriftMisfit)
		return
	}
	c.DurationMS = Some(c.EndAt.V - c.StartAt.V)
}

// extra returns the text of a patch.
func (d *Decoder) extra(p *patch) []byte {
	from := len(d.arena)
	d.arena = appendPatch(d.arena, p)
	return d.arena[from:len(d.arena):len(d.arena)]
}

// userTurns is the column that [Call.UserTurns] counts for.
const userTurns = "user_turns"

// UserTurns is the number, for the column user_turns, of turns in which the
// caller says something. It is null where turn_count is.
func (c *Call) UserTurns() Opt[int32] {
	if !c.TurnCount.OK {
		return Opt[int32]{}
	}
	n := 0
	for i := range c.Turns {
		if c.Turns[i].ByUser() {
			n++
		}
	}
	return Some(int32(min(n, math.MaxInt32)))
}

// ByUser says whether the caller says something in a turn: its role is user, and
// its content is not blank.
func (t *Turn) ByUser() bool { return string(t.Role) == "user" && !blank(t.Content) }

// blank says whether a text holds nothing but white space, of any script.
func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// turnCount is the number of turns for the column turn_count.
func turnCount(turns []Turn) Opt[int32] {
	return Some(int32(min(len(turns), math.MaxInt32)))
}
