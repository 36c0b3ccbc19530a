package mask

import (
	"bytes"
	"slices"

	"callhouse/internal/personal"
	"callhouse/internal/wire/scan"
)

// stays reports whether a field holds no text, but a number, an id or a time; nil is an unknown field.
func (f *field) stays() bool { return f != nil && (!f.maskable || f.phone || f.link) }

// call walks over a call: the values in JSON that was scanned before.
func (r *redacting) call(body []byte) {
	r.text = body
	for m := range scan.Members(body) {
		switch of := callFields[string(m.Name)]; {
		case of.stays():
		case of != nil && of.turns && m.Value.Shape == scan.IsArray:
			r.transcript(m.Value.Raw)
		default:
			r.value(m.Value, m.Name)
		}
	}
}

// value walks over a value; called is what it is called.
func (r *redacting) value(v scan.Value, called []byte) {
	switch v.Shape {
	case scan.IsObject:
		for m := range scan.Members(v.Raw) {
			r.member(m, v.Raw)
		}
	case scan.IsArray:
		for e := range scan.Elements(v.Raw) {
			r.value(e, called)
		}
	case scan.IsString:
		n := len(r.edits)
		r.find(scan.KeyText(v), called)
		r.replace(v, n)
	case scan.IsNumber:
		r.number(v.Raw, called)
	}
}

// member walks over the value of a member of an object.
func (r *redacting) member(m scan.Member, of []byte) {
	if string(m.Name) == "value" || string(m.Name) == "values" {
		if other := named(of); other != nil {
			m.Name = other
		}
	}
	r.value(m.Value, m.Name)
}

// named returns the name in an object such as {"name":"phone","value":"…"}; nil if it has none.
func named(text []byte) []byte {
	for m := range scan.Members(text) {
		if m.Value.Shape == scan.IsString && slices.Contains([]string{"name", "key", "label"}, string(m.Name)) {
			return scan.KeyText(m.Value)
		}
	}
	return nil
}

// least and most digits of a number that is looked at.
const (
	minDigits = 6
	maxDigits = 19
)

// number replaces a JSON number that is personal data as a whole.
func (r *redacting) number(text, called []byte) {
	if len(text) < minDigits || len(text) > maxDigits || r.look != nil || len(bytes.Trim(text, "0123456789")) > 0 {
		return
	}
	spans := r.finder.Find(string(called), string(text))
	if len(spans) == 1 && spans[0].From == 0 && spans[0].To == len(text) {
		at := textAt(r.text, text)
		r.edits = append(r.edits, edit{from: at, to: at + len(text), kind: spans[0].Kind, quotes: 1})
	}
}

// mayBeComposite reports whether a text begins like an object or array of JSON.
func mayBeComposite(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// isComposite reports whether a text is an object or array of JSON.
func isComposite(text []byte) bool {
	_, ok := parsed(text)
	return ok && mayBeComposite(text)
}

// parsed returns the value of a text that is JSON.
func parsed(text []byte) (v scan.Value, ok bool) {
	var s scan.Scanner
	s.Reset(text)
	s.Space()
	v, ok = s.Value(0)
	return v, ok && s.End()
}

// document notes the edits of a text if it is JSON.
func (r *redacting) document(text, called []byte) bool {
	v, ok := parsed(text)
	if ok {
		outer := r.text
		r.text = text
		r.value(v, called)
		r.text = outer
	}
	return ok
}

// replace makes the edits of a string's text, from the given one on, edits of the JSON that it is in.
// The rest of it stays as it was spelled.
func (r *redacting) replace(v scan.Value, n int) {
	edits := r.edits[n:]
	byPlace(edits)
	raw := v.Raw[1 : len(v.Raw)-1]
	base, at, passed := textAt(r.text, raw), 0, 0
	for i := range edits {
		e := &edits[i]
		for _, place := range [...]*int{&e.from, &e.to} {
			for passed < *place {
				size, length := 1, 1
				if raw[at] == '\\' {
					size, _ = scan.Escape(raw[at:])
					length = len(scan.AppendUnescaped(nil, raw[at:at+size]))
				}
				at, passed = at+size, passed+length
			}
			*place = base + at
		}
		if e.quotes > 0 {
			e.quotes++
		}
	}
}

// transcript walks over a transcript. Numbers may be spread over several turns.
func (r *redacting) transcript(items []byte) {
	var turns []personal.Turn
	var contents []scan.Value
	for item := range scan.Elements(items) {
		if item.Shape != scan.IsObject {
			r.value(item, nil)
		} else if content, speaker := r.item(item.Raw); content.Shape == scan.IsString {
			turns = append(turns, personal.Turn{Speaker: string(speaker), Text: string(scan.KeyText(content))})
			contents = append(contents, content)
		}
	}
	if r.look != nil {
		for i, content := range contents {
			n := len(r.edits)
			r.look([]byte(turns[i].Text))
			r.replace(content, n)
		}
		return
	}
	again := slices.Equal(turns, r.turns) // v2 sends each conversation twice
	if !again {
		r.turns, r.in = turns, r.finder.Conversation(turns)
	}
	spans := r.in
	for i, content := range contents {
		var own []personal.Span
		own, spans = ofTurn(spans, i)
		n := len(r.edits)
		r.note(own, again)
		r.replace(content, n)
	}
}

// item walks over an item of a transcript, but not over its content if it is speech: it returns that,
// and who speaks.
func (r *redacting) item(item []byte) (content scan.Value, speaker []byte) {
	tool := false
	for m := range scan.Members(item) {
		switch string(m.Name) {
		case "role":
			if m.Value.Shape == scan.IsString {
				speaker = scan.KeyText(m.Value)
			}
		case "content":
			content = m.Value
		case "tool_call_id":
			tool = true
		}
	}
	if tool || content.Shape != scan.IsString || bytes.HasPrefix(speaker, []byte("tool")) || isComposite(scan.KeyText(content)) {
		content = scan.Value{}
	}
	speech := content.Shape == scan.IsString
	for m := range scan.Members(item) {
		switch string(m.Name) {
		case "role":
			continue
		case "content":
			if speech && textAt(item, m.Value.Raw) == textAt(item, content.Raw) {
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
		r.member(m, item)
	}
	return content, speaker
}

// ofTurn splits the spans of a turn from those of later ones.
func ofTurn(spans []personal.Span, turn int) (own, rest []personal.Span) {
	n := 0
	for n < len(spans) && spans[n].Turn == turn {
		n++
	}
	return spans[:n], spans[n:]
}
