package mask

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"slices"

	"callhouse/internal/personal"
	"callhouse/internal/wire/scan"
)

// doc is JSON that is walked over once.
type doc struct {
	*redacting
	scan.Scanner
	text []byte
}

// at returns where a part of the text begins.
func (d *doc) at(part []byte) int { return cap(d.text) - cap(part) }

// stays reports whether a field holds no text, but a number, an id or a time; nil is an unknown field.
func (f *field) stays() bool { return f != nil && (!f.maskable || f.phone || f.link) }

// call walks over the members of a call.
func (d *doc) call() bool {
	for first := true; ; first = false {
		key, st := d.Key(first)
		if st != scan.StepNext {
			return st == scan.StepEnd && d.End()
		}
		name := scan.KeyText(key)
		of := callFields[string(name)]
		var ok bool
		switch {
		case of.stays():
			_, ok = d.Value(1)
		case of != nil && of.turns && d.Before('['):
			ok = d.transcript()
		case d.Before('{') && d.look == nil:
			ok = d.fieldOf(name)
		default:
			ok = d.value(1, name)
		}
		if !ok {
			return false
		}
	}
}

// fieldOf walks over a field of the call that is an object, unless it is known.
func (d *doc) fieldOf(name []byte) bool {
	v, ok := d.Value(1)
	if !ok || len(v.Raw) < leastBytes {
		d.within(v, name)
		return ok
	}
	hash := maphash.Bytes(d.seed, v.Raw) ^ bits.RotateLeft64(maphash.Bytes(d.seed, name), 32)
	from, n := int32(d.at(v.Raw)), len(d.edits) //nolint:gosec // a call is smaller
	if d.recall(hash) {
		moved(d.edits[n:], from)
		return true
	}
	d.within(v, name)
	if found := d.edits[n:]; len(found) <= mostEdits {
		d.remember(hash, found, from)
	}
	return true
}

// value walks over a value; called is what it is called.
func (d *doc) value(depth int, called []byte) bool {
	switch {
	case d.Before('{'):
		return d.object(depth, called)
	case d.Before('['):
		if !d.Enter(depth) {
			return false
		}
		for first := true; ; first = false {
			if st := d.Element(first); st != scan.StepNext {
				return st == scan.StepEnd
			}
			if !d.value(depth+1, called) {
				return false
			}
		}
	}
	v, ok := d.Value(depth)
	if ok {
		d.scalar(v, called)
	}
	return ok
}

// scalar redacts a value that is neither an object nor an array.
func (d *doc) scalar(v scan.Value, called []byte) {
	switch v.Shape {
	case scan.IsString:
		n := len(d.edits)
		d.find(d.textOf(v), called)
		d.replace(v, n)
	case scan.IsNumber:
		d.number(v.Raw, called)
	}
}

// within walks over a value that was scanned before.
func (d *doc) within(v scan.Value, called []byte) {
	if v.Shape != scan.IsObject && v.Shape != scan.IsArray {
		d.scalar(v, called)
		return
	}
	outer := d.Scanner
	d.Reset(v.Raw)
	d.value(0, called)
	d.Scanner = outer
}

// least and most digits of a number that is looked at.
const (
	leastDigits = 6
	mostDigits  = 19
)

// number replaces a JSON number that is personal data as a whole.
func (d *doc) number(text []byte, called []byte) {
	if len(text) < leastDigits || len(text) > mostDigits || d.look != nil {
		return
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return
		}
	}
	spans := d.finder.Find(stringOf(called), stringOf(text))
	if len(spans) == 1 && spans[0].From == 0 && spans[0].To == len(text) {
		d.note(spans, false)
		e := &d.edits[len(d.edits)-1]
		e.quotes = 1
		moved(d.edits[len(d.edits)-1:], int32(d.at(text))) //nolint:gosec // a call is smaller
	}
}

// object walks over an object.
func (d *doc) object(depth int, called []byte) bool {
	text := d.Rest()
	if !d.Enter(depth) {
		return false
	}
	for first := true; ; first = false {
		key, st := d.Key(first)
		if st != scan.StepNext {
			return st == scan.StepEnd
		}
		if !d.member(depth+1, scan.KeyText(key), text) {
			return false
		}
	}
}

// member walks over the value of a member of an object that begins with of.
func (d *doc) member(depth int, name, of []byte) bool {
	if string(name) == "value" || string(name) == "values" {
		if other := named(of); other != nil {
			name = other
		}
	}
	return d.value(depth, name)
}

// named returns the name in an object such as {"name":"phone","value":"…"}; nil if it has none.
func named(text []byte) []byte {
	for m := range scan.Members(text) {
		if isName(m) {
			return scan.KeyText(m.Value)
		}
	}
	return nil
}

func isName(m scan.Member) bool {
	return m.Value.Shape == scan.IsString && (string(m.Name) == "name" || string(m.Name) == "key" || string(m.Name) == "label")
}

// mayBeComposite reports whether a text begins like an object or array of JSON.
func mayBeComposite(text []byte) bool {
	for _, c := range text {
		if c > ' ' {
			return c == '{' || c == '['
		}
	}
	return false
}

// document notes the edits of a text if it is JSON.
func (r *redacting) document(text []byte, called []byte) (ok bool) {
	d, n := doc{redacting: r, text: text}, len(r.edits)
	d.Reset(text)
	d.Space()
	if ok = d.value(0, called) && d.End(); !ok {
		r.edits = r.edits[:n]
	}
	return ok
}

// replace makes the edits of a string's text, from the given one on, edits of the JSON that it is in.
// The rest of it stays as it was spelled.
func (d *doc) replace(v scan.Value, n int) {
	edits := d.edits[n:]
	if len(edits) == 0 {
		return
	}
	byPlace(edits)
	raw := v.Raw[1 : len(v.Raw)-1]
	base, at, passed := int32(d.at(raw)), 0, 0 //nolint:gosec // a call is smaller
	for i := range edits {
		e := &edits[i]
		for _, place := range [...]*int32{&e.from, &e.to} {
			for passed < int(*place) {
				size, length := 1, 1
				if raw[at] == '\\' {
					size, _ = scan.Escape(raw[at:])
					length = len(scan.AppendApart(d.arena[len(d.arena):], raw[at:at+size]))
				}
				at, passed = at+size, passed+length
			}
			*place = base + int32(at) //nolint:gosec // a call is smaller
		}
		if e.quotes > 0 {
			e.quotes++
		}
	}
}

// transcript walks over a transcript. Numbers may be spread over several turns.
func (d *doc) transcript() bool {
	if !d.Enter(1) {
		return false
	}
	turns, items := d.nextTurns[:0], d.nextSaid[:0]
	for first := true; ; first = false {
		if st := d.Element(first); st == scan.StepEnd {
			break
		} else if st == scan.StepFail {
			return false
		}
		if !d.Before('{') {
			if !d.value(2, nil) {
				return false
			}
			continue
		}
		item, n := d.Rest(), len(d.edits)
		// v2 sends each conversation twice, with the items of tools and without.
		if k := len(turns); k < len(d.said) && d.said[k].item != nil && bytes.HasPrefix(item, d.said[k].item) {
			was := d.said[k]
			d.Skip(len(was.item))
			from := cap(was.item) - cap(was.content.Raw)
			was.content.Raw = item[from : from+len(was.content.Raw)]
			was.item = item[:len(was.item)]
			turns, items = append(turns, d.turns[k]), append(items, was)
			continue
		}
		content, text, speaker, ok := d.item()
		if !ok {
			return false
		}
		if content.Shape == scan.IsString {
			turns = append(turns, personal.Turn{Speaker: stringOf(speaker), Text: stringOf(text)})
			items = append(items, said{content: content})
			if len(d.edits) == n && d.look == nil {
				items[len(items)-1].item = item[:len(item)-len(d.Rest())]
			}
		}
	}
	if d.look != nil {
		for i := range items {
			n := len(d.edits)
			d.look([]byte(turns[i].Text))
			d.replace(items[i].content, n)
		}
		return true
	}
	again := slices.Equal(turns, d.turns)
	if !again {
		d.in = d.finder.Conversation(turns)
	}
	d.nextTurns, d.turns, d.nextSaid, d.said = d.turns, turns, d.said, items
	for spans, i := d.in, 0; len(spans) > 0; i++ {
		var mine []personal.Span
		mine, spans = ofTurn(spans, i)
		d.doubt = d.doubt || len(mine) > 0 && mayBeComposite([]byte(turns[i].Text))
		n := len(d.edits)
		d.note(mine, again)
		d.replace(items[i].content, n)
	}
	return true
}

// item walks over an item of a transcript, and returns its content and its text if it is speech.
func (d *doc) item() (content scan.Value, text, speaker []byte, ok bool) {
	if !d.collect() {
		return content, nil, nil, false
	}
	tool, last := false, -1
	for i, m := range d.members {
		switch string(m.Name) {
		case "role":
			if m.Value.Shape == scan.IsString {
				speaker = scan.KeyText(m.Value)
			}
		case "content":
			last = i
		case "tool_call_id":
			tool = true
		}
	}
	if last >= 0 && !tool && !bytes.HasPrefix(speaker, []byte("tool")) {
		if v := d.members[last].Value; v.Shape == scan.IsString {
			if text = d.textOf(v); !isComposite(text) {
				content = v
			}
		}
	}
	speech := content.Shape == scan.IsString
	for i, m := range d.members {
		switch string(m.Name) {
		case "role":
			continue
		case "content":
			if speech && i == last {
				continue
			}
		case "start_at", "end_at":
			if speech {
				continue
			}
		case "tool_call_id", "name":
			if !speech {
				continue
			}
		}
		d.within(m.Value, m.Name)
	}
	return content, text, speaker, true
}

// collect walks over an item of a transcript, except the members whose meaning depends on others: it
// collects them.
func (d *doc) collect() bool {
	item := d.Rest()
	if !d.Enter(2) {
		return false
	}
	d.members = d.members[:0]
	for first := true; ; first = false {
		key, st := d.Key(first)
		if st != scan.StepNext {
			return st == scan.StepEnd
		}
		name := scan.KeyText(key)
		switch string(name) {
		case "role", "content", "tool_call_id", "name", "start_at", "end_at":
			v, ok := d.Value(3)
			if !ok {
				return false
			}
			d.members = append(d.members, scan.Member{Name: name, Value: v})
		default:
			if !d.member(3, name, item) {
				return false
			}
		}
	}
}

// isComposite reports whether a text is an object or array of JSON.
func isComposite(text []byte) bool {
	if !mayBeComposite(text) {
		return false
	}
	var s scan.Scanner
	s.Reset(text)
	s.Space()
	_, ok := s.Value(0)
	return ok && s.End()
}

// ofTurn splits the spans of a turn from those of later ones.
func ofTurn(spans []personal.Span, turn int) (mine, rest []personal.Span) {
	n := 0
	for n < len(spans) && spans[n].Turn == turn {
		n++
	}
	return spans[:n], spans[n:]
}
