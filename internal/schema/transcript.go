package schema

// transcript reads the call's time line, which v3 sends as transcript. v2 sends
// it as transcript_with_tool_calls, and as transcript its spoken turns alone.
//
// turn_count is null where nothing is known of the transcript: nothing was
// sent, or a v3 list item has null or [] for it. It is 0 where there is none.
func (d *Decoder) transcript(kind Kind, c *Call) {
	if c.Source == V2 {
		d.transcriptV2(kind, c)
	} else {
		d.transcriptV3(kind, c)
	}
	if !c.TurnCount.OK {
		c.Turns = c.Turns[:0]
	}
}

func (d *Decoder) transcriptV3(kind Kind, c *Call) {
	p := &d.call
	f, v := d.pick(V3, fTranscript, fTranscriptTools)
	if f == fTranscriptTools {
		c.Turns, d.tools = d.tools, c.Turns
	}
	if len(c.Turns) > 0 || kind == KindDetail {
		c.TurnCount = turnCount(c.Turns)
	}
	switch v.shape {
	case isArray:
		if len(c.Turns) == 0 {
			p.empty |= 1 << f
		}
	case isNull:
		if kind == KindItem { // an item without a transcript leaves it out
			p.null |= 1 << f &^ p.as
		}
	case isAbsent:
		if kind == KindDetail {
			p.absent |= 1 << f
		}
	default:
		d.misfit(p, f, v)
	}
}

func (d *Decoder) transcriptV2(kind Kind, c *Call) {
	whole, copied := &d.top[fTranscriptTools], &d.top[fTranscript]
	if len(d.tools) > 0 {
		c.Turns, d.tools = d.tools, c.Turns
		c.TurnCount = turnCount(c.Turns)
		spokenTwice := copied.shape == isArray && d.copies(c.Turns, d.tools)
		d.other(fTranscript, copied, spokenTwice, len(d.tools))
		return
	}
	if len(c.Turns) > 0 {
		c.TurnCount = turnCount(c.Turns)
		d.other(fTranscriptTools, whole, false, 0)
		return
	}
	if kind == KindDetail || whole.shape != isAbsent || copied.shape != isAbsent {
		c.TurnCount = Some[int32](0)
		d.other(fTranscriptTools, whole, whole.shape == isNull, 0)
		d.other(fTranscript, copied, copied.shape == isNull, 0)
	}
}

// other has extra say what was sent as the one of v2's two transcripts that the
// turns were not made of, unless it is what the rule makes of the turns. If it
// is an array, n is its length.
func (d *Decoder) other(f field, v *val, ruled bool, n int) {
	p := &d.call
	switch {
	case ruled:
	case v.shape == isAbsent:
		p.absent |= 1 << f
	case v.shape == isNull:
		p.null |= 1 << f
	case v.shape == isArray && n == 0:
		p.empty |= 1 << f
	case v.shape == isArray:
		p.keep(f, v)
	default:
		d.misfit(p, f, v)
	}
}

// copies says whether some turns are just the spoken ones of all.
func (d *Decoder) copies(all, some []Turn) bool {
	n := 0
	for i := range all {
		if !all[i].spoken() {
			continue
		}
		if n == len(some) || !sameTurn(&all[i], &some[n]) {
			return false
		}
		n++
	}
	return n == len(some)
}

// makeTurn makes a turn of what array noted.
func (d *Decoder) makeTurn(t *Turn) {
	p := &d.part
	if p.is.shape != isAbsent {
		t.Extra = d.extra(p)
		return
	}
	if v := &d.turn[tRole]; v.shape > isNull {
		t.Role = d.text(p, tRole, v)
	}
	shown := turnShown(t.Role)
	if t.Role == nil {
		take(p, tRole, &d.turn[tRole], shown)
	} else if shown == 0 {
		d.drift(p.of.paths[tRole], DriftUnknownValue)
	}
	if v := &d.turn[tContent]; take(p, tContent, v, shown) {
		t.Content = d.text(p, tContent, v)
	}
	if v := &d.turn[tStartAt]; take(p, tStartAt, v, shown) {
		t.StartAt = d.instant(p, tStartAt, v)
	}
	if v := &d.turn[tEndAt]; take(p, tEndAt, v, shown) {
		t.EndAt = d.instant(p, tEndAt, v)
	}
	if v := &d.turn[tToolCallID]; take(p, tToolCallID, v, shown) {
		t.ToolCallID = d.text(p, tToolCallID, v)
	}
	if v := &d.turn[tName]; take(p, tName, v, shown) {
		t.ToolName = d.text(p, tName, v)
	}
	if v := &d.turn[tArguments]; take(p, tArguments, v, shown) {
		t.Arguments = d.object(p, tArguments, v)
	}
	t.Extra = d.partExtra()
}

// makeItem makes an analysis item of what array noted.
func (d *Decoder) makeItem(t *Item) {
	p := &d.part
	if p.is.shape != isAbsent {
		t.Extra = d.extra(p)
		return
	}
	if v := &d.item[iType]; take(p, iType, v, itemShown) {
		t.Type = d.word(p, iType, v, knownItemType)
	}
	if v := &d.item[iName]; take(p, iName, v, itemShown) {
		t.Name = d.text(p, iName, v)
	}
	if v := &d.item[iValue]; take(p, iValue, v, itemShown) {
		t.Value = d.json(p, iValue, v)
	}
	t.Extra = d.partExtra()
}

// partExtra returns the extra of the turn or item that was just made.
func (d *Decoder) partExtra() []byte {
	p := &d.part
	for i := range p.unknown {
		d.driftUnknown(p, i, DriftUnknownField)
	}
	if p.bare() {
		return nil
	}
	return d.extra(p)
}
