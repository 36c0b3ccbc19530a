package schema

import "github.com/parquet-go/parquet-go"

// This file has the fields of a call that are more than a value in a column.

// custom is how a field is decoded and rebuilt that no type describes.
type custom interface {
	decode(d *Decoder, p *part, f field)
	rebuild(r *rebuild, f field)
}

// Fields of a call, by position.
var (
	wholeCall       = CallResource.nodes[0]
	transcriptField = wholeCall.byName["transcript"]
	toolsField      = wholeCall.byName["transcript_with_tool_calls"]
	optOutField     = wholeCall.byName["opt_out_sensitive_data_storage"]
	analysisField   = wholeCall.byName["call_analysis"]
	costField       = wholeCall.byName["call_cost"]
)

// duration is duration_ms. v3 sends none, and then, as where v2 leaves it
// out, it is the time from start to end.
type duration struct{}

func (duration) decode(d *Decoder, p *part, f field) {
	v, row := &p.vals[f], d.o.Row
	if take(&p.patch, f, v, p.shown[d.source]) {
		if d.source == V3 {
			p.patch.as |= 1 << f
			d.drift(p.slots[f].path, DriftRenamed)
		}
		row[colDurationMS] = longValue(d.integer(&p.patch, f, v))
		return
	}
	start, end := d.o.millis(colStartAt), d.o.millis(colEndAt)
	if v.shape == isNull && d.source == V2 || !start.OK || !end.OK {
		return
	}
	if end.V < start.V {
		d.drift(p.slots[f].path, DriftMisfit)
		return
	}
	row[colDurationMS] = parquet.Int64Value(end.V - start.V)
}

func (duration) rebuild(r *rebuild, f field) {
	v := r.row[colDurationMS]
	if r.source == V3 && !r.patch.as.has(f) {
		v = parquet.Value{} // derived
	}
	r.leaf(f, v)
}

// optOutFlag is opt_out_sensitive_data_storage. What is not plainly false counts as
// true: data that was stored cannot be unstored.
type optOutFlag struct{}

func (optOutFlag) decode(d *Decoder, p *part, f field) {
	v := &p.vals[f]
	if !take(&p.patch, f, v, p.shown[d.source]) {
		return
	}
	if v.shape != isTrue && v.shape != isFalse {
		p.patch.keep(f, v)
		d.drift(p.slots[f].path, DriftConverted)
	}
	d.o.Row[colOptOut] = parquet.BooleanValue(optedOut(v))
}

func (optOutFlag) rebuild(r *rebuild, f field) { r.leaf(f, r.row[colOptOut]) }

// optedOut says whether a value of opt_out_sensitive_data_storage forbids
// storage: any but false, "false", null and none.
func optedOut(v *val) bool {
	switch v.shape {
	case isAbsent, isNull, isFalse:
		return false
	case isString:
		return string(v.raw) != `"false"`
	}
	return true
}

// transcripts is the call's time line, which v3 sends as transcript. v2 sends
// it as transcript_with_tool_calls, and as transcript its spoken turns alone.
//
// turn_count is null where nothing is known of the transcript: nothing was
// sent, or a v3 list item has null or [] for it. It is 0 where there is none.
type transcripts struct{}

func (transcripts) decode(d *Decoder, p *part, f field) {
	if f != transcriptField {
		return // both come together
	}
	c := Call{*d.o}
	if d.source == V2 {
		d.transcriptV2(p, &c)
	} else {
		d.transcriptV3(p, &c)
	}
	if !c.TurnCount().OK {
		c.Turns().Cut(0)
	}
}

// swap takes the turns of the list that is kept apart for the call's.
func (d *Decoder) swap() {
	turns := &d.o.Lists[turnList]
	*turns, d.spare = d.spare, *turns
}

func (d *Decoder) transcriptV3(p *part, c *Call) {
	f := transcriptField
	switch {
	case p.vals[toolsField].shape == isAbsent:
	case p.vals[f].shape != isAbsent:
		d.demote(p, toolsField)
	default:
		f = toolsField
		p.patch.as |= 1 << f
		d.drift(p.slots[f].path, DriftRenamed)
		d.swap()
	}
	if c.Turns().Len() > 0 || d.kind == KindDetail {
		c.setTurnCount()
	}
	switch v := &p.vals[f]; v.shape {
	case isArray:
		if c.Turns().Len() == 0 {
			p.patch.empty |= 1 << f
		}
	case isNull:
		if d.kind == KindItem { // an item without a transcript leaves it out
			p.patch.null |= 1 << f &^ p.patch.as
		}
	case isAbsent:
		if d.kind == KindDetail {
			p.patch.absent |= 1 << f
		}
	default:
		d.misfit(&p.patch, f, v)
	}
}

func (d *Decoder) transcriptV2(p *part, c *Call) {
	whole, copied := &p.vals[toolsField], &p.vals[transcriptField]
	if d.spare.Len() > 0 {
		d.swap()
		c.setTurnCount()
		twice := copied.shape == isArray && copies(c.Turns(), &d.spare)
		d.other(p, transcriptField, copied, twice, d.spare.Len())
		return
	}
	if c.Turns().Len() > 0 {
		c.setTurnCount()
		d.other(p, toolsField, whole, false, 0)
		return
	}
	if d.kind == KindDetail || whole.shape != isAbsent || copied.shape != isAbsent {
		c.setTurnCount()
		d.other(p, toolsField, whole, whole.shape == isNull, 0)
		d.other(p, transcriptField, copied, copied.shape == isNull, 0)
	}
}

// other has extra say what was sent as the one of v2's two transcripts that the
// turns were not made of, unless it is what the rule makes of the turns. If it
// is an array, n is its length.
func (d *Decoder) other(p *part, f field, v *val, ruled bool, n int) {
	switch {
	case ruled:
	case v.shape == isAbsent:
		p.patch.absent |= 1 << f
	case v.shape == isNull:
		p.patch.null |= 1 << f
	case v.shape == isArray && n == 0:
		p.patch.empty |= 1 << f
	case v.shape == isArray:
		p.patch.keep(f, v)
	default:
		d.misfit(&p.patch, f, v)
	}
}

// copies says whether some turns are just the spoken ones of all.
func copies(all, some *Rows) bool {
	n := 0
	for i := range all.Len() {
		if !spoken(all.At(i)) {
			continue
		}
		if n == some.Len() || !sameRow(&Turns, all.At(i), some.At(n)) {
			return false
		}
		n++
	}
	return n == some.Len()
}

// spoken says whether a turn is one that v2's transcript holds too.
func spoken(turn Row) bool {
	role := textOf(turn[colTurnRole])
	return string(role) == "agent" || string(role) == "user"
}

// rebuild appends the time line, and for v2 its spoken turns once more.
func (transcripts) rebuild(r *rebuild, f field) {
	if f != transcriptField {
		return
	}
	p := &r.patch
	if !r.row[colTurnCount].IsNull() {
		r.shown |= 1<<transcriptField | 1<<toolsField
	}
	if r.source == V3 {
		if p.as.has(toolsField) {
			f = toolsField
		}
		r.turns(f, false)
		return
	}
	// The turns are those of transcript if the other one says it has none.
	alone := (p.absent | p.null | p.empty).has(toolsField) || p.at(toolsField).shape != isAbsent
	r.turns(toolsField, false)
	r.turns(transcriptField, !alone)
}

// turns appends the turns, or just the spoken ones, as an array.
func (r *rebuild) turns(f field, onlySpoken bool) {
	if !r.special(f, r.o.Lists[turnList].Len() == 0) {
		r.list(f, func(turn Row) bool { return !onlySpoken || spoken(turn) })
	}
}
