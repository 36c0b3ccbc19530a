package mask

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"callhouse/internal/personal"
	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// Redactor replaces personal data in the texts of a call: of its transcript, tools, metadata,
// variables, analysis and unknown fields, wherever they are. Names of members stay, and so do the
// fields that decide the call's life cycle, its numbers and links.
//
// A match becomes its kind, [card], or with a key a token of its normal form, [card:…]: the first 8
// bytes of the HMAC-SHA-256 of the kind, a colon and the normal form, as the letters a to p for the
// hex digits. Letters, so that no token contains digits in which something could be found.
//
// It is safe for concurrent use.
type Redactor struct {
	finder   *personal.Finder
	patterns bool // there are custom patterns
	key      []byte
	sums     sync.Pool // of hash.Hash
	buffers  sync.Pool // of *[]byte

	mu     sync.Mutex
	counts map[string]int64
}

// NewRedactor returns a redactor. Without a key, replacements are only kinds.
func NewRedactor(o personal.Options, key []byte) (*Redactor, error) {
	finder, err := personal.New(o)
	if err != nil {
		return nil, err
	}
	r := &Redactor{finder: finder, patterns: len(o.Patterns) > 0, key: key, counts: map[string]int64{}}
	r.buffers.New = func() any { return new([]byte) }
	r.sums.New = func() any { return hmac.New(sha256.New, key) }
	return r, nil
}

// Counts returns how many values were replaced so far, by kind.
func (r *Redactor) Counts() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

const tokenBytes = 8

// replacement returns what is stored instead of a match.
func (r *Redactor) replacement(s personal.Span) string {
	if r.key == nil {
		return personal.Plain(s)
	}
	h, _ := r.sums.Get().(hash.Hash)
	defer r.sums.Put(h)
	h.Reset()
	h.Write([]byte(string(s.Kind) + ":" + s.Normal))
	token := []byte("[" + string(s.Kind) + ":")
	var sum [sha256.Size]byte
	for _, b := range h.Sum(sum[:0])[:tokenBytes] {
		token = append(token, 'a'+b>>4, 'a'+b&15)
	}
	return string(append(token, ']'))
}

// redacting redacts one call.
type redacting struct {
	*Redactor
	found map[string]int64
	turns []personal.Turn // of the last transcript, and what is in them
	in    []personal.Span
}

// spansOf returns the spans in a conversation. v2 sends each twice, with the items of tools and
// without.
func (r *redacting) spansOf(turns []personal.Turn) []personal.Span {
	if !slices.Equal(turns, r.turns) {
		r.turns, r.in = turns, r.finder.Conversation(turns)
		r.count(r.in)
	}
	return r.in
}

func (r *redacting) done() {
	if len(r.found) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, n := range r.found {
		r.counts[k] += n
	}
}

func (r *redacting) count(spans []personal.Span) {
	for _, s := range spans {
		if s.More {
			continue
		}
		if r.found == nil {
			r.found = map[string]int64{}
		}
		r.found[string(s.Kind)]++
	}
}

// Apply returns body, the JSON of a call, redacted; body itself, not copied, if nothing was found. It
// fails with a *scan.Error inside if body is not one JSON object.
func (r *Redactor) Apply(body []byte) (clean []byte, changed bool, err error) {
	var s scan.Scanner
	if !s.Object(body) {
		return nil, false, fmt.Errorf("cannot be decoded: %w", s.Err())
	}
	one := &redacting{Redactor: r}
	buffer, _ := r.buffers.Get().(*[]byte)
	dst := append((*buffer)[:0], '{')
	defer func() {
		if cap(dst) <= mostKept {
			*buffer = dst
			r.buffers.Put(buffer)
		}
	}()
	from := len(dst)
	for first := true; ; first = false {
		key, st := s.Key(first)
		if st == scan.StepEnd && s.End() {
			break
		}
		v, ok := scan.Value{}, false
		if st == scan.StepNext {
			v, ok = s.Value(1)
		}
		if !ok {
			return nil, false, fmt.Errorf("cannot be decoded: %w", s.Err())
		}
		member := scan.Member{Name: scan.KeyText(key), Key: key, Value: v}
		dst = scan.AppendMember(dst, from, key, nil)
		of := callFields[string(member.Name)]
		c := false
		switch {
		case of != nil && (!of.maskable || of.phone || of.link):
			dst = append(dst, member.Value.Raw...)
		case of != nil && of.turns && member.Value.Shape == scan.IsArray:
			dst, c = one.transcript(dst, member.Value.Raw)
		default:
			dst, c = one.value(dst, member.Value, member.Name)
		}
		changed = changed || c
	}
	if !changed {
		return body, false, nil
	}
	one.done()
	dst = append(dst, '}')
	return bytes.Clone(dst), true, nil
}

// mostKept is the largest buffer that is kept for the next call.
const mostKept = 256 << 10

// find looks for personal data in a text. Most texts hold none.
func (r *redacting) find(called []byte, text string) []personal.Span {
	if !r.patterns && !personal.MayHold(text) {
		return nil
	}
	return r.finder.Find(string(called), text)
}

// textOf is the text of a string, which lives as long as the call's JSON.
func textOf(v scan.Value) string {
	b := scan.KeyText(v)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// value appends a value; called is what it is called.
func (r *redacting) value(dst []byte, v scan.Value, called []byte) (out []byte, changed bool) {
	switch v.Shape {
	case scan.IsObject:
		return r.object(dst, v.Raw, nil)
	case scan.IsArray:
		dst = append(dst, '[')
		from := len(dst)
		for e := range scan.Elements(v.Raw) {
			var c bool
			dst, c = r.value(scan.Comma(dst, from), e, called)
			changed = changed || c
		}
		return append(dst, ']'), changed
	case scan.IsString:
		return r.quoted(dst, v, called)
	case scan.IsNumber:
		if s, ok := r.number(v.Raw, called); ok {
			return scan.AppendString(dst, []byte(s)), true
		}
	}
	return append(dst, v.Raw...), false
}

// least and most digits of a number that is looked at.
const (
	leastDigits = 6
	mostDigits  = 19
)

// number returns the replacement of a JSON number that is personal data as a whole.
func (r *redacting) number(text []byte, called []byte) (string, bool) {
	if len(text) < leastDigits || len(text) > mostDigits {
		return "", false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return "", false
		}
	}
	spans := r.finder.Find(string(called), string(text))
	if len(spans) != 1 || spans[0].From != 0 || spans[0].To != len(text) {
		return "", false
	}
	r.count(spans)
	return r.replacement(spans[0]), true
}

// object appends an object; own are replacements of some of its members, by name.
func (r *redacting) object(dst, text []byte, own func(name []byte, v scan.Value) []byte) (out []byte, changed bool) {
	dst = append(dst, '{')
	from := len(dst)
	for m := range scan.Members(text) {
		if own != nil {
			if replaced := own(m.Name, m.Value); replaced != nil {
				dst = scan.AppendMember(dst, from, m.Key, replaced)
				changed = changed || !bytes.Equal(replaced, m.Value.Raw)
				continue
			}
		}
		inner := m.Name
		if string(inner) == "value" || string(inner) == "values" {
			if other := named(text); other != nil {
				inner = other
			}
		}
		var c bool
		dst, c = r.value(scan.AppendMember(dst, from, m.Key, nil), m.Value, inner)
		changed = changed || c
	}
	return append(dst, '}'), changed
}

// named returns the name in an object such as {"name":"phone","value":"…"}; nil if it has none.
func named(text []byte) []byte {
	for m := range scan.Members(text) {
		if m.Value.Shape == scan.IsString && (string(m.Name) == "name" || string(m.Name) == "key" || string(m.Name) == "label") {
			return scan.KeyText(m.Value)
		}
	}
	return nil
}

// quoted appends a string, whose text may be JSON itself.
func (r *redacting) quoted(dst []byte, v scan.Value, called []byte) (out []byte, changed bool) {
	text := textOf(v)
	if inner, ok := composite(text); ok {
		clean, changed := r.value(nil, inner, called)
		if !changed {
			return append(dst, v.Raw...), false
		}
		return scan.AppendString(dst, scan.AppendValid(nil, clean)), true
	}
	spans := r.find(called, text)
	r.count(spans)
	return r.spans(dst, v, spans)
}

// composite parses a text that is an object or an array of JSON.
func composite(text string) (v scan.Value, ok bool) {
	start := strings.TrimLeft(text, " \t\r\n")
	if start == "" || start[0] != '{' && start[0] != '[' {
		return v, false
	}
	var s scan.Scanner
	s.Reset(unsafe.Slice(unsafe.StringData(text), len(text))) // only read
	s.Space()
	v, ok = s.Value(0)
	return v, ok && s.End()
}

// spans appends a string with spans of its text replaced. The rest of it stays as it was spelled.
func (r *redacting) spans(dst []byte, v scan.Value, spans []personal.Span) (out []byte, changed bool) {
	if len(spans) == 0 {
		return append(dst, v.Raw...), false
	}
	raw, at, n := v.Raw[1:len(v.Raw)-1], 0, 0
	dst = append(dst, '"')
	for _, s := range spans {
		from := offset(raw, &at, &n, s.From)
		dst = append(dst, raw[from[0]:from[1]]...)
		offset(raw, &at, &n, s.To)
		dst = append(dst, r.replacement(s)...)
	}
	return append(append(dst, raw[at:]...), '"'), true
}

// offset moves on in a spelled text, at, until its unescaped form has reached to, and returns what was
// passed.
func offset(raw []byte, at, n *int, to int) (passed [2]int) {
	from := *at
	for *n < to {
		if raw[*at] != '\\' {
			*at, *n = *at+1, *n+1
			continue
		}
		size, _ := scan.Escape(raw[*at:])
		*n += len(scan.AppendApart(nil, raw[*at:*at+size]))
		*at += size
	}
	return [2]int{from, *at}
}

// speech is an item of a transcript that is speech.
type speech struct {
	speaker, text string
	more          bool // it has other members than speech has
}

// speechOf returns what an item of a transcript says, if it is speech.
func speechOf(v scan.Value) (s speech, ok bool) {
	if v.Shape != scan.IsObject {
		return s, false
	}
	var content scan.Value
	tool := false
	for m := range scan.Members(v.Raw) {
		switch string(m.Name) {
		case "role":
			if m.Value.Shape == scan.IsString {
				s.speaker = textOf(m.Value)
			}
		case "content":
			content = m.Value
		case "tool_call_id":
			tool = true
		case "start_at", "end_at":
		default:
			s.more = true
		}
	}
	if tool || content.Shape != scan.IsString || strings.HasPrefix(s.speaker, "tool") {
		return s, false
	}
	s.text = textOf(content)
	_, structured := composite(s.text)
	return s, !structured
}

// transcript appends a transcript. Numbers may be spread over several turns.
func (r *redacting) transcript(dst, text []byte) (out []byte, changed bool) {
	items := slices.Collect(scan.Elements(text))
	var turns []personal.Turn
	of := make([]int, len(items)) // the turn of an item, from 1
	more := make([]bool, len(items))
	for i, v := range items {
		if said, ok := speechOf(v); ok {
			turns = append(turns, personal.Turn{Speaker: said.speaker, Text: said.text})
			of[i], more[i] = len(turns), said.more
		}
	}
	spans := r.spansOf(turns)
	dst = append(dst, '[')
	from := len(dst)
	for i, v := range items {
		dst = scan.Comma(dst, from)
		var c bool
		switch {
		case of[i] > 0:
			var mine []personal.Span
			if mine, spans = ofTurn(spans, of[i]-1); len(mine) == 0 && !more[i] {
				dst = append(dst, v.Raw...)
				continue
			}
			dst, c = r.object(dst, v.Raw, func(name []byte, v scan.Value) []byte {
				switch string(name) {
				case "content":
					clean, _ := r.spans(nil, v, mine)
					return clean
				case "role", "start_at", "end_at":
					return v.Raw
				}
				return nil
			})
		case v.Shape == scan.IsObject:
			dst, c = r.object(dst, v.Raw, keptOfTool)
		default:
			dst, c = r.value(dst, v, nil)
		}
		changed = changed || c
	}
	return append(dst, ']'), changed
}

// keptOfTool returns the members of a tool's item that stay.
func keptOfTool(name []byte, v scan.Value) []byte {
	switch string(name) {
	case "role", "tool_call_id", "name":
		return v.Raw
	}
	return nil
}

// ofTurn splits the spans of a turn from those of later ones.
func ofTurn(spans []personal.Span, turn int) (mine, rest []personal.Span) {
	n := 0
	for n < len(spans) && spans[n].Turn == turn {
		n++
	}
	return spans[:n], spans[n:]
}

// Object redacts the stored rows of a call, and reports whether anything was found.
func (r *Redactor) Object(o *schema.Object) (changed bool) {
	one := &redacting{Redactor: r}
	var turns []personal.Turn
	var spoken []schema.Row
	role, content, tool := schema.Turns.Column("role"), schema.Turns.Column("content"), schema.Turns.Column("tool_call_id")
	for t, row := range o.Rows() {
		named := t.Column("name")
		for i := range t.Columns {
			c := &t.Columns[i]
			if c.Type != schema.Text && c.Type != schema.JSON {
				continue
			}
			text := schema.TextOf(row[i])
			switch {
			case text == nil || c.Phone || c.Link || c.Mask == schema.NeverMasked && c.Name != "extra":
				continue
			case t == &schema.Turns && i == content && isSpoken(row, role, tool, text):
				turns = append(turns, personal.Turn{Speaker: string(schema.TextOf(row[role])), Text: string(text)})
				spoken = append(spoken, row)
				continue
			}
			called := []byte(c.Name)
			if named >= 0 && c.Name == "value" {
				called = schema.TextOf(row[named])
			}
			if clean, ok := one.cell(c.Type, text, called); ok {
				row[i], changed = schema.TextValue(clean), true
			}
		}
	}
	spans := r.finder.Conversation(turns)
	one.count(spans)
	for i, row := range spoken {
		var mine []personal.Span
		if mine, spans = ofTurn(spans, i); len(mine) > 0 {
			row[content], changed = schema.TextValue([]byte(personal.Rewrite(turns[i].Text, mine, r.replacement))), true
		}
	}
	one.done()
	return changed
}

func isSpoken(row schema.Row, role, tool int, text []byte) bool {
	if !row[tool].IsNull() || bytes.HasPrefix(schema.TextOf(row[role]), []byte("tool")) {
		return false
	}
	_, structured := composite(string(text))
	return !structured
}

// cell redacts a text, or a value of JSON.
func (r *redacting) cell(is schema.Type, text []byte, called []byte) (clean []byte, changed bool) {
	if is == schema.JSON {
		var s scan.Scanner
		s.Reset(text)
		s.Space()
		v, ok := s.Value(0)
		if !ok || !s.End() {
			return text, false
		}
		return r.value(nil, v, called)
	}
	if v, ok := composite(string(text)); ok {
		return r.value(nil, v, called)
	}
	spans := r.find(called, string(text))
	if len(spans) == 0 {
		return text, false
	}
	r.count(spans)
	return []byte(personal.Rewrite(string(text), spans, r.replacement)), true
}
