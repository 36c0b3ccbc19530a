package schema

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Decoder decodes the JSON of calls. Its zero value is ready for use, and it is
// meant to be used again and again, by one goroutine at a time: in the steady
// state it allocates nothing.
//
// # Ownership
//
// The byte slices of a decoded Call point into the body where a value stands in
// it as it is, and into the Decoder's own memory where it had to be made (text
// without its escapes, extra). So a Call is good until its body is changed or
// its Decoder is used again, whichever comes first; Clone makes it last.
// Decode empties the Call that it is given and uses the room of its slices.
type Decoder struct {
	// Drift counts what the last Decode found to depart from what the columns
	// expect, and only that: how often for each place and kind. It is
	// overwritten by the next Decode; its strings are not.
	Drift []Drift
	// MaxParts is how many turns, analysis items and unknown fields together a call
	// may have; 0: any number. Each takes up to a kilobyte of memory on its way into
	// the tables.
	MaxParts int

	s        scanner
	valid    []byte // the body, where it had to be made UTF-8
	arena    []byte
	top      [numCallFields]val
	agent    [numAgentFields]val
	analysis [numAnalysisFields]val
	cost     [numCostFields]val
	turn     [numTurnFields]val
	item     [numItemFields]val

	call, agentPatch, analysisPatch, costPatch, part patch
	tools                                            []Turn // of transcript_with_tool_calls
	names                                            map[driftName]string

	// follows says which field came behind another the last time, by object: a
	// guess at what comes next, which spares it to be looked up.
	follows [numObjects][numTurnFields + 1]field

	parts  int  // turns, items and unknown fields met so far
	forced bool // the call is of source, whatever it looks like
	source Source
}

// The paths under which Drift counts what concerns no single field.
const (
	wholeBody = "(body)"
)

// Decode decodes body, the JSON object of one call, into c. kind is KindItem
// for an item of a list and KindDetail for a call's own record; v3 and v2 are
// told apart by the names in the object.
//
// It sets every column that comes from the service, Source, and what the body
// says of TranscriptState; FirstSeenAt, FetchedAt and RunID are zero, and
// Settlement waits for [Call.Settle].
//
// It fails, with a *DecodeError, only where body is not one JSON object of
// valid syntax (RFC 8259, no deeper than 1,000 levels), has more than MaxParts
// parts, or has no usable id: a string that is not empty, or a number, which
// becomes its text. Anything else
// that departs from what is expected is counted in Drift. Of a repeated name
// the last value counts, as everywhere in encoding/json.
//
// Where opt_out_sensitive_data_storage is anything but false, null or absent,
// then transcript, recording, analysis and unknown fields are dropped.
func (d *Decoder) Decode(body []byte, kind Kind, c *Call) error {
	if kind != KindItem && kind != KindDetail {
		return errors.New("decode a call: neither a list item nor a detail")
	}
	*c = Call{Turns: c.Turns[:0], Items: c.Items[:0]}
	d.Drift = d.Drift[:0]
	d.tools = d.tools[:0]
	if d.arena = d.arena[:0]; d.arena == nil {
		d.arena = make([]byte, 0, 1<<12) // so that no slice of it is ever nil
	}
	d.call.reset(callObject)
	d.agentPatch.reset(agentObject)
	d.analysisPatch.reset(analysisObject)
	d.costPatch.reset(costObject)
	d.part.reset(turnObject)
	replaced := !utf8.Valid(body)
	if replaced {
		d.valid = appendValid(d.valid[:0], body)
		body = d.valid
	}
	if d.parts = 0; !d.scan(body, c) || d.tooMany() {
		return d.s.err()
	}
	if replaced {
		d.drift(wholeBody, DriftReplaced)
	}
	return d.assemble(kind, replaced, c)
}

// scan walks over the body once: it notes where the values of the call's own
// fields stand, and makes turns and items on the way.
func (d *Decoder) scan(body []byte, c *Call) bool {
	s := &d.s
	s.reset(body)
	d.top = [numCallFields]val{}
	s.space()
	if s.p >= len(body) || body[s.p] != '{' {
		return s.fail("not a JSON object")
	}
	s.p++
	for first := true; ; first = false {
		key, st := s.key(first)
		switch st {
		case stepEnd:
			return s.end()
		case stepFail:
			return false
		}
		f := findCall(d.name(key))
		var v val
		var ok bool
		switch f {
		case fAgent:
			v, ok = d.fields(&d.agentPatch, d.agent[:], 1)
		case fCallAnalysis:
			c.Items = c.Items[:0]
			v, ok = d.analysisFields(c)
		case fCallCost:
			v, ok = d.fields(&d.costPatch, d.cost[:], 1)
		case fTranscript:
			v, ok = d.turns(&c.Turns)
		case fTranscriptTools:
			v, ok = d.turns(&d.tools)
		default:
			v, ok = s.value(1)
		}
		if !ok {
			return false
		}
		if f < numCallFields {
			d.top[f] = v
		} else {
			d.addUnknown(&d.call, key, v)
		}
	}
}

// name returns a key's text.
func (d *Decoder) name(key val) []byte {
	b := key.raw[1 : len(key.raw)-1]
	switch {
	case key.marks&escaped == 0:
		return b
	case key.marks&lone == 0:
		from := len(d.arena)
		d.arena = appendUnescaped(d.arena, b)
		return d.arena[from:]
	}
	from := len(d.arena)
	d.arena = appendApart(d.arena, b)
	return d.arena[from:]
}

// another counts a part of the call, and says whether it may have so many.
func (d *Decoder) another() bool {
	d.parts++
	return !d.tooMany() || d.s.fail(fmt.Sprintf("more than %d turns, items and unknown fields", d.MaxParts))
}

func (d *Decoder) tooMany() bool { return d.MaxParts > 0 && d.parts > d.MaxParts }

// addUnknown notes a field that no column is for.
func (d *Decoder) addUnknown(p *patch, key, v val) {
	if !d.another() {
		return // the call is refused
	}
	p.unknown = append(p.unknown, member{name: d.name(key), key: key, v: v})
}

// fields scans a value that is known to be an object with the fields of p.of,
// and notes those in slots. Of another value, and of what an earlier value of
// the same name said, nothing stays. depth is how deep the value lies.
func (d *Decoder) fields(p *patch, slots []val, depth int) (v val, ok bool) {
	s := &d.s
	p.unknown = p.unknown[:0]
	clear(slots)
	if s.p >= len(s.b) || s.b[s.p] != '{' {
		return s.value(depth)
	}
	from, outer := s.p, s.marks
	s.marks = 0
	s.p++
	last := 0 // behind which field of the object we are: 1 and its number, 0 for none
	for first := true; ; first = false {
		// Objects of a kind have their fields in the same order as a rule.
		if f := d.follows[p.of.id][last]; s.expected(first, p.of.quoted[f]) {
			m, ok := s.value(depth + 1)
			if !ok {
				return v, false
			}
			slots[f] = m
			last = int(f) + 1
			continue
		}
		key, st := s.key(first)
		switch st {
		case stepEnd:
			v = val{s.b[from:s.p], isObject, s.marks}
			s.marks |= outer
			return v, true
		case stepFail:
			return v, false
		}
		f := p.of.find(d.name(key))
		m, ok := s.value(depth + 1)
		if !ok {
			return v, false
		}
		if int(f) < len(slots) {
			slots[f] = m
			d.follows[p.of.id][last] = f
			last = int(f) + 1
		} else {
			d.addUnknown(p, key, m)
		}
	}
}

// analysisFields is fields for call_analysis, whose custom_analysis_data become
// items as they are met.
func (d *Decoder) analysisFields(c *Call) (v val, ok bool) {
	s, p := &d.s, &d.analysisPatch
	if s.p >= len(s.b) || s.b[s.p] != '{' {
		return d.fields(p, d.analysis[:], 1)
	}
	p.unknown = p.unknown[:0]
	clear(d.analysis[:])
	from, outer := s.p, s.marks
	s.marks = 0
	s.p++
	for first := true; ; first = false {
		key, st := s.key(first)
		switch st {
		case stepEnd:
			v = val{s.b[from:s.p], isObject, s.marks}
			s.marks |= outer
			return v, true
		case stepFail:
			return v, false
		}
		var m val
		f := findAnalysis(d.name(key))
		if f == nItems {
			m, ok = d.items(&c.Items)
		} else {
			m, ok = s.value(2)
		}
		switch {
		case !ok:
			return v, false
		case f < numAnalysisFields:
			d.analysis[f] = m
		default:
			d.addUnknown(p, key, m)
		}
	}
}

// turns scans a value that is known to be a transcript, and makes its turns.
func (d *Decoder) turns(list *[]Turn) (v val, ok bool) {
	*list = (*list)[:0]
	return d.array(1, turnObject, d.turn[:], func() {
		*list = append(*list, Turn{})
		d.makeTurn(&(*list)[len(*list)-1])
	})
}

// items scans a value that is known to be custom_analysis_data, and makes its
// items.
func (d *Decoder) items(list *[]Item) (v val, ok bool) {
	*list = (*list)[:0]
	return d.array(2, itemObject, d.item[:], func() {
		*list = append(*list, Item{})
		d.makeItem(&(*list)[len(*list)-1])
	})
}

// array scans a value that is known to be an array of objects, and calls add
// after each, when its fields are in slots and the rest of it in d.part.
func (d *Decoder) array(depth int, of *object, slots []val, add func()) (v val, ok bool) {
	s := &d.s
	if s.p >= len(s.b) || s.b[s.p] != '[' {
		return s.value(depth)
	}
	from, outer := s.p, s.marks
	s.marks = 0
	s.p++
	for first := true; ; first = false {
		switch s.element(first) {
		case stepEnd:
			v = val{s.b[from:s.p], isArray, s.marks}
			s.marks |= outer
			return v, true
		case stepFail:
			return v, false
		}
		if !d.another() {
			return v, false
		}
		d.part.reset(of)
		element, ok := d.fields(&d.part, slots, depth+1)
		if !ok {
			return v, false
		}
		if element.shape != isObject {
			d.part.is = element
			d.drift(of.prefix[:len(of.prefix)-1], DriftMisfit)
		}
		add()
	}
}

// errNoID returns the error for a call without a usable id.
func errNoID(reason string, body []byte, v *val) error {
	at := 0
	if v.shape != isAbsent {
		at = max(0, bytes.Index(body, v.raw))
	}
	return &DecodeError{Reason: reason, Offset: at}
}
