package mask

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"
	"unsafe"

	"callhouse/internal/personal"
	"callhouse/internal/personal/kinds"
	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// Redactor replaces personal data in a call's texts: in its transcript, tools, metadata, variables,
// analysis and unknown fields, at any depth. Member names, the fields of the life cycle, telephone
// numbers and links are unchanged.
//
// A match is replaced by its kind, [card]. It is safe for concurrent use.
type Redactor struct {
	finder *personal.Finder
	calls  sync.Pool // of *redacting
	ask    Service   // nil: only structured data is found

	kinds []kinds.Kind // indexed by edit.kind

	seed    maphash.Seed
	knowing sync.Mutex
	known   []known // indexed by part of the hash; allocated on first use

	mu     sync.Mutex
	counts map[string]int64
}

// known caches the edits of an object within a call: a call arrives both as a list item and as a
// record, with the same variables. A newer object replaces an older one in its place. It has no
// pointers, so the garbage collector need not scan it.
type known struct {
	hash  uint64
	n     int
	edits [mostEdits]edit
}

// Limits of the cache: the number of objects, the least size of an object in bytes, and the edits
// in each.
const (
	mostKnown  = 1 << 14
	leastBytes = 128
	mostEdits  = 6
)

// Service finds unstructured personal data, such as names: it returns the spans in each text. It
// fails unless it checked all of them.
type Service func(texts []string) ([][]personal.Span, error)

// Ask makes the redactor also ask a service. The service gets texts in which its own matches are
// already replaced.
func (r *Redactor) Ask(s Service) { r.ask = s }

// Asks reports whether a service is used.
func (r *Redactor) Asks() bool { return r.ask != nil }

// Try returns the service's error; nil if it answers, or none is used.
func (r *Redactor) Try() error {
	if r.ask == nil {
		return nil
	}
	_, err := r.ask([]string{"Is anybody there at " + time.Now().String()}) // unique, so that no answer is cached
	return err
}

// Unchecked is the key in Counts for calls that the service did not check.
const Unchecked = "unchecked"

// UncheckedError is returned for a call whose texts the service did not check.
type UncheckedError struct {
	Rest []byte // the call without its texts
	Err  error
}

func (e *UncheckedError) Error() string {
	return fmt.Sprintf("its texts could not be checked: %v", e.Err)
}
func (e *UncheckedError) Unwrap() error { return e.Err }

// NewRedactor returns a redactor.
func NewRedactor(o personal.Options) (*Redactor, error) {
	finder, err := personal.New(o)
	if err != nil {
		return nil, err
	}
	r := &Redactor{finder: finder, kinds: kinds.All, seed: maphash.MakeSeed(), counts: map[string]int64{}}
	for _, p := range o.Patterns {
		r.kinds = append(r.kinds, p.Kind)
	}
	r.kinds = slices.Clip(r.kinds)
	r.calls.New = func() any { return new(redacting) }
	return r, nil
}

// Counts returns the number of values replaced so far, by kind.
func (r *Redactor) Counts() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// appendReplacement appends the replacement of a match.
func (r *redacting) appendReplacement(dst []byte, e *edit) []byte {
	dst = appendQuote(dst, int(e.quotes))
	dst = append(append(dst, '['), r.kinds[e.kind]...)
	return appendQuote(append(dst, ']'), int(e.quotes))
}

// appendQuote appends a quote nested in JSON strings, depth-1 levels deep.
func appendQuote(dst []byte, depth int) []byte {
	switch depth {
	case 0:
		return dst
	case 1:
		return append(dst, '"')
	case 2:
		return append(dst, `\"`...)
	}
	dst = append(dst, '\\')
	for range depth - 2 { // escaped backslashes would double at each level
		dst = append(dst, "u005c"...)
	}
	return append(dst, "u0022"...)
}

// redacting redacts one call.
type redacting struct {
	*Redactor
	kinds   []kinds.Kind // including the service's
	found   map[string]int64
	turns   []personal.Turn // of the last transcript, with the spans found in them
	in      []personal.Span
	arena   []byte // unescaped texts, valid until the call is done
	members []scan.Member
	edits   []edit // of the call, and of the current text in it
	look    look
	said    []said // the items of the turns
	doubt   bool   // a text was found in that may become JSON by its replacements

	nextTurns []personal.Turn // buffers
	nextSaid  []said
}

// look records the edits of a text; nil: the finder does.
type look func(text []byte)

// edit replaces a span of a text with its kind.
type edit struct {
	from, to int32
	kind     uint16 // index in kinds
	quotes   uint16 // the replacement needs quotes, nested in one less JSON strings; 0: none
	again    bool   // the value was already counted
}

// said is a spoken item of a transcript.
type said struct {
	item    []byte // nil if it has edits outside its content
	content scan.Value
}

// Room is the expected maximum growth of a redacted text, in bytes.
const Room = 64

// edited applies the edits to a text, appending the result to room, and counts them. Without edits
// it returns the text itself.
func (r *redacting) edited(room *[]byte, text []byte) (clean []byte, changed bool) {
	if len(r.edits) == 0 {
		return text, false
	}
	byPlace(r.edits)
	from, at := len(*room), int32(0)
	out := slices.Grow(*room, len(text)+Room)
	for i := range r.edits {
		e := &r.edits[i]
		out = r.appendReplacement(append(out, text[at:e.from]...), e)
		at = e.to
		if !e.again {
			r.counted(string(r.kinds[e.kind]))
		}
	}
	r.edits = r.edits[:0]
	*room = append(out, text[at:]...)
	return (*room)[from:len(*room):len(*room)], true
}

func byPlace(edits []edit) {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
}

func (r *redacting) counted(kind string) {
	if r.found == nil {
		r.found = map[string]int64{}
	}
	r.found[kind]++
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

// begin returns a redacting for one call; end releases it.
func (r *Redactor) begin() *redacting {
	one, _ := r.calls.Get().(*redacting)
	*one = redacting{Redactor: r, kinds: r.kinds, arena: one.arena[:0], members: one.members[:0],
		edits: one.edits[:0], turns: one.turns[:0], nextTurns: one.nextTurns[:0], said: one.said[:0], nextSaid: one.nextSaid[:0]}
	return one
}

func (r *redacting) end() {
	if r.done(); cap(r.arena) <= mostKept && max(cap(r.edits), cap(r.said), cap(r.nextSaid)) <= mostTurns {
		r.calls.Put(r)
	}
}

// Limits of the buffers kept for the next call, in bytes and in turns.
const (
	mostKept  = 256 << 10
	mostTurns = 4096
)

// Apply redacts body, the JSON of a call. It may append the result to room; if nothing was found,
// it returns body itself. If body is not a single JSON object, the error wraps a *scan.Error.
func (r *Redactor) Apply(room *[]byte, body []byte) (clean []byte, changed bool, err error) {
	one := r.begin()
	defer one.end()
	d := doc{redacting: one, text: body}
	if !d.Scanner.Object(body) || !d.call() {
		return nil, false, fmt.Errorf("cannot be decoded: %w", d.Err())
	}
	clean, changed = one.edited(room, body)
	walk := func() (more bool) {
		d := doc{redacting: one, text: clean}
		_ = d.Scanner.Object(clean) && d.call() // cannot fail: it did not before
		clean, more = one.edited(room, clean)
		changed = changed || more
		return more
	}
	one.settle(one.doubt, walk)
	if r.ask == nil {
		return clean, changed, nil
	}
	replaced := false
	if err := one.asked(func() { replaced = walk() || replaced }); err != nil {
		one.found = map[string]int64{Unchecked: 1}
		return nil, false, &UncheckedError{withoutTexts(clean), err}
	}
	one.settle(replaced, walk)
	return clean, changed, nil
}

// mostWalks is the maximum number of times that a call is read again.
const mostWalks = 4

// settle repeats a walk of the finder while it finds something.
func (r *redacting) settle(again bool, walk func() bool) {
	for n := 0; again && n < mostWalks; n++ {
		r.look = nil
		again = walk()
	}
}

// asked sends the texts visited by walk to the service, and calls walk again to replace the
// matches.
func (r *redacting) asked(walk func()) error {
	var texts []string
	places := map[string]int{}
	r.look = func(text []byte) {
		if _, ok := places[string(text)]; !ok && hasWord(text) {
			places[string(text)] = len(texts)
			texts = append(texts, string(text))
		}
	}
	walk()
	if len(texts) == 0 {
		return nil
	}
	found, err := r.ask(texts)
	if err != nil {
		return err
	}
	r.look = func(text []byte) {
		if i, ok := places[string(text)]; ok {
			r.note(found[i], false)
		}
	}
	walk()
	return nil
}

// hasWord reports whether a text contains two consecutive letters, or any non-ASCII character.
func hasWord(text []byte) bool {
	for i, c := range text {
		if c >= 0x80 || i > 0 && isLetter(c) && isLetter(text[i-1]) {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// withoutTexts returns a call with only the fields that cannot contain texts.
func withoutTexts(body []byte) []byte {
	out := []byte{'{'}
	for m := range scan.Members(bytes.TrimLeft(body, " \t\r\n")) {
		if of := callFields[string(m.Name)]; of.stays() {
			out = scan.AppendMember(out, 1, m.Key, m.Value.Raw)
		}
	}
	return append(out, '}')
}

// recall adds the cached edits of an object, and reports whether it was cached.
func (r *redacting) recall(hash uint64) bool {
	r.knowing.Lock()
	defer r.knowing.Unlock()
	if r.known == nil {
		r.known = make([]known, mostKnown)
	}
	k := &r.known[hash%mostKnown]
	if k.hash != hash {
		return false
	}
	r.edits = append(r.edits, k.edits[:k.n]...)
	return true
}

// remember caches the edits of an object that begins at from.
func (r *redacting) remember(hash uint64, edits []edit, from int32) {
	r.knowing.Lock()
	defer r.knowing.Unlock()
	k := &r.known[hash%mostKnown]
	k.hash, k.n = hash, copy(k.edits[:], edits)
	moved(k.edits[:k.n], -from)
}

// moved shifts edits.
func moved(edits []edit, by int32) {
	for i := range edits {
		edits[i].from += by
		edits[i].to += by
	}
}

// stringOf returns bytes as a string without copying; they must not change.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// textOf returns the unescaped text of a JSON string.
func (r *redacting) textOf(v scan.Value) []byte {
	raw := v.Raw[1 : len(v.Raw)-1]
	if v.Marks&scan.Escaped == 0 {
		return raw
	}
	from := len(r.arena)
	if v.Marks&scan.Lone != 0 {
		r.arena = scan.AppendApart(r.arena, raw)
	} else {
		r.arena = scan.AppendUnescaped(r.arena, raw)
	}
	return r.arena[from:len(r.arena):len(r.arena)]
}

// find records the edits of a text, which may itself be JSON.
func (r *redacting) find(text []byte, called []byte) {
	switch {
	case mayBeComposite(text) && r.document(text, called):
	case r.look != nil:
		r.look(text)
	default:
		spans := r.finder.Find(stringOf(called), stringOf(text))
		r.doubt = r.doubt || len(spans) > 0 && mayBeComposite(text)
		r.note(spans, false)
	}
}

// note records edits for the spans of a text.
func (r *redacting) note(spans []personal.Span, again bool) {
	for i := range spans {
		s := &spans[i]
		kind := slices.Index(r.kinds, s.Kind)
		if kind < 0 {
			kind, r.kinds = len(r.kinds), append(r.kinds, s.Kind)
		}
		e := edit{from: int32(s.From), to: int32(s.To), kind: uint16(kind), again: again || s.More} //nolint:gosec // a call is smaller
		r.edits = append(r.edits, e)
	}
}

// Object redacts the stored rows of a call, and reports whether anything was found. A call that the
// service did not check is kept, and counted as unchecked.
func (r *Redactor) Object(o *schema.Object) (changed bool) {
	one := r.begin()
	defer one.end()
	walk := func() (more bool) {
		more = one.rows(o)
		changed = changed || more
		return more
	}
	one.settle(true, walk)
	if r.ask == nil {
		return changed
	}
	replaced := false
	if one.asked(func() { replaced = walk() || replaced }) != nil {
		one.counted(Unchecked)
	}
	one.settle(replaced, walk)
	return changed
}

func (r *redacting) rows(o *schema.Object) (changed bool) {
	var turns []personal.Turn
	var spoken []schema.Row
	role, content, tool := schema.Turns.Column("role"), schema.Turns.Column("content"), schema.Turns.Column("tool_call_id")
	apply := func(row schema.Row, i int) {
		if clean, ok := r.edited(new([]byte), schema.TextOf(row[i])); ok {
			row[i], changed = schema.TextValue(clean), true
		}
	}
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
			case t == &schema.Turns && i == content && row[tool].IsNull() && !bytes.HasPrefix(schema.TextOf(row[role]), []byte("tool")) &&
				!isComposite(text):
				turns = append(turns, personal.Turn{Speaker: string(schema.TextOf(row[role])), Text: string(text)})
				spoken = append(spoken, row)
				continue
			}
			called := []byte(c.Name)
			if named >= 0 && c.Name == "value" {
				called = schema.TextOf(row[named])
			}
			if c.Type == schema.Text {
				r.find(text, called)
			} else {
				r.document(text, called)
			}
			apply(row, i)
		}
	}
	if r.look != nil {
		for i, row := range spoken {
			r.look([]byte(turns[i].Text))
			apply(row, content)
		}
		return changed
	}
	spans := r.finder.Conversation(turns)
	for i, row := range spoken {
		var mine []personal.Span
		mine, spans = ofTurn(spans, i)
		r.note(mine, false)
		apply(row, content)
	}
	return changed
}
