package mask

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"hash/maphash"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"callhouse/internal/personal"
	"callhouse/internal/personal/kinds"
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
	finder *personal.Finder
	key    []byte
	sums   sync.Pool // of hash.Hash
	calls  sync.Pool // of *redacting
	ask    Service   // nil: only what has a structure is found

	seed  maphash.Seed
	known [mostKnown]atomic.Pointer[known]

	mu     sync.Mutex
	counts map[string]int64
}

// known is what to replace in an object of a call. A call comes as an item of a list and as a record,
// with the same variables. A newer object takes the place of an older one.
type known struct {
	hash  uint64
	edits []edit
}

// Limits of the objects that are remembered: how many, their bytes, and the edits in each.
const (
	mostKnown  = 1 << 14
	leastBytes = 256
	mostEdits  = 16
)

// Service finds what has no structure, such as names, in texts: the spans of each one. It fails if it
// did not check all of them.
type Service func(texts []string) ([][]personal.Span, error)

// Ask makes the redactor ask a service as well, with texts in which what it finds itself is replaced.
func (r *Redactor) Ask(s Service) { r.ask = s }

// Asks reports whether a service is asked.
func (r *Redactor) Asks() bool { return r.ask != nil }

// Try reports why the service does not answer; nil if it does, or if none is asked.
func (r *Redactor) Try() error {
	if r.ask == nil {
		return nil
	}
	_, err := r.ask([]string{"Is anybody there at " + time.Now().String()}) // no answer to it is remembered
	return err
}

// Unchecked counts the calls that the service did not check, beside the kinds in Counts.
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

// NewRedactor returns a redactor. Without a key, replacements are only kinds.
func NewRedactor(o personal.Options, key []byte) (*Redactor, error) {
	finder, err := personal.New(o)
	if err != nil {
		return nil, err
	}
	r := &Redactor{finder: finder, key: key, seed: maphash.MakeSeed(), counts: map[string]int64{}}
	r.calls.New = func() any { return new(redacting) }
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
	found   map[string]int64
	turns   []personal.Turn // of the last transcript, and what is in them
	in      []personal.Span
	arena   []byte // unescaped texts; they are valid until the call is done
	members []scan.Member
	look    look

	nextTurns []personal.Turn // buffers
	contents  []scan.Value
}

// look returns what to replace in a text; nil is the finder.
type look func(text []byte) []edit

// edit is a replacement in a text. kind is empty if the value was counted before.
type edit struct {
	from, to int
	with     string
	kind     kinds.Kind
}

// doc is JSON that is walked over once, and the edits in it.
type doc struct {
	*redacting
	scan.Scanner
	text  []byte
	edits []edit
}

// at returns where a part of the text begins.
func (d *doc) at(part []byte) int { return cap(d.text) - cap(part) }

// edited returns the text with the edits, which it counts; the text itself if there are none.
func (d *doc) edited() (text []byte, changed bool) {
	if len(d.edits) == 0 {
		return d.text, false
	}
	slices.SortFunc(d.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	out, at := make([]byte, 0, len(d.text)+64), 0
	for _, e := range d.edits {
		out = append(append(out, d.text[at:e.from]...), e.with...)
		at = e.to
		if e.kind != "" {
			d.counted(string(e.kind))
		}
	}
	return append(out, d.text[at:]...), true
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

// begin returns what redacts a call, and end gives it back.
func (r *Redactor) begin() *redacting {
	one, _ := r.calls.Get().(*redacting)
	*one = redacting{Redactor: r, arena: one.arena[:0], members: one.members[:0],
		turns: one.turns[:0], nextTurns: one.nextTurns[:0], contents: one.contents[:0]}
	return one
}

func (r *redacting) end() {
	if r.done(); cap(r.arena) <= mostKept && cap(r.contents) <= mostTurns {
		r.calls.Put(r)
	}
}

// The largest buffers that are kept for the next call, in bytes and turns.
const (
	mostKept  = 256 << 10
	mostTurns = 4096
)

// Apply returns body, the JSON of a call, redacted; body itself, not copied, if nothing was found. It
// fails with a *scan.Error inside if body is not one JSON object.
func (r *Redactor) Apply(body []byte) (clean []byte, changed bool, err error) {
	one := r.begin()
	defer one.end()
	d := doc{redacting: one, text: body}
	if !d.Scanner.Object(body) || !d.call() {
		return nil, false, fmt.Errorf("cannot be decoded: %w", d.Err())
	}
	clean, changed = d.edited()
	if r.ask == nil {
		return clean, changed, nil
	}
	err = one.asked(func() {
		d := doc{redacting: one, text: clean}
		_ = d.Scanner.Object(clean) && d.call() // as before
		var more bool
		clean, more = d.edited()
		changed = changed || more
	})
	if err != nil {
		one.found = map[string]int64{Unchecked: 1}
		return nil, false, &UncheckedError{withoutTexts(clean), err}
	}
	return clean, changed, nil
}

// asked asks the service for the texts in what walk walks over, and lets walk replace what it found.
func (r *redacting) asked(walk func()) error {
	var texts []string
	places := map[string]int{}
	r.look = func(text []byte) []edit {
		if _, ok := places[string(text)]; !ok && hasWord(text) {
			places[string(text)] = len(texts)
			texts = append(texts, string(text))
		}
		return nil
	}
	walk()
	if len(texts) == 0 {
		return nil
	}
	found, err := r.ask(texts)
	if err != nil {
		return err
	}
	r.look = func(text []byte) []edit {
		if i, ok := places[string(text)]; ok {
			return r.editsBy(found[i])
		}
		return nil
	}
	walk()
	return nil
}

// hasWord reports whether a text has two letters in a row, or any of another script.
func hasWord(text []byte) bool {
	for i, c := range text {
		if c >= 0x80 || i > 0 && isLetter(c) && isLetter(text[i-1]) {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// withoutTexts returns a call without what may hold texts. What is known of these stays.
func withoutTexts(body []byte) []byte {
	out := []byte{'{'}
	for m := range scan.Members(bytes.TrimLeft(body, " \t\r\n")) {
		if of := callFields[string(m.Name)]; of.stays() {
			out = scan.AppendMember(out, 1, m.Key, m.Value.Raw)
		}
	}
	return append(out, '}')
}

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
	place, from, n := &d.known[hash%mostKnown], d.at(v.Raw), len(d.edits)
	if k := place.Load(); k != nil && k.hash == hash {
		d.edits = append(d.edits, k.edits...)
		moved(d.edits[n:], from)
		return true
	}
	d.within(v, name)
	if found := slices.Clone(d.edits[n:]); len(found) <= mostEdits {
		moved(found, -from)
		place.Store(&known{hash, found})
	}
	return true
}

// moved moves edits in a text.
func moved(edits []edit, by int) {
	for i := range edits {
		edits[i].from += by
		edits[i].to += by
	}
}

// stringOf returns bytes, which nothing changes, as a string.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// textOf returns the text of a string.
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
		d.replace(v, d.editsOf(d.textOf(v), called))
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
		at := d.at(text)
		d.edits = append(d.edits, edit{at, at + len(text), `"` + d.replacement(spans[0]) + `"`, spans[0].Kind})
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

// editsOf returns the edits of a text, which may be JSON itself.
func (r *redacting) editsOf(text []byte, called []byte) []edit {
	if edits, ok := r.composite(text, called); ok {
		return edits
	}
	if r.look != nil {
		return r.look(text)
	}
	return r.editsBy(r.finder.Find(stringOf(called), stringOf(text)))
}

// editsBy returns the edits that replace spans of a text.
func (r *redacting) editsBy(spans []personal.Span) (edits []edit) {
	for _, s := range spans {
		e := edit{from: s.From, to: s.To, with: r.replacement(s)}
		if !s.More {
			e.kind = s.Kind
		}
		edits = append(edits, e)
	}
	return edits
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

// composite returns the edits of a text if it is an object or an array of JSON.
func (r *redacting) composite(text []byte, called []byte) (edits []edit, ok bool) {
	if !mayBeComposite(text) {
		return nil, false
	}
	return r.document(text, called)
}

// document returns the edits of a text if it is JSON.
func (r *redacting) document(text []byte, called []byte) (edits []edit, ok bool) {
	d := doc{redacting: r, text: text}
	d.Reset(text)
	d.Space()
	ok = d.value(0, called) && d.End()
	return d.edits, ok
}

// replace replaces parts of a string's text. The rest of it stays as it was spelled.
func (d *doc) replace(v scan.Value, edits []edit) {
	if len(edits) == 0 {
		return
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	raw := v.Raw[1 : len(v.Raw)-1]
	base, at, n := d.at(raw), 0, 0
	for _, e := range edits {
		from := passed(raw, &at, &n, e.from)
		to := passed(raw, &at, &n, e.to)
		d.edits = append(d.edits, edit{base + from, base + to, strings.ReplaceAll(e.with, `"`, `\"`), e.kind})
	}
}

// passed moves on in a spelled text, at, until its unescaped form has reached to.
func passed(raw []byte, at, n *int, to int) int {
	var buf [8]byte
	for *n < to {
		if raw[*at] != '\\' {
			*at, *n = *at+1, *n+1
			continue
		}
		size, _ := scan.Escape(raw[*at:])
		*n += len(scan.AppendApart(buf[:0], raw[*at:*at+size]))
		*at += size
	}
	return *at
}

// transcript walks over a transcript. Numbers may be spread over several turns.
func (d *doc) transcript() bool {
	if !d.Enter(1) {
		return false
	}
	turns, contents := d.nextTurns[:0], d.contents[:0]
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
		content, text, speaker, ok := d.item()
		if !ok {
			return false
		}
		if content.Shape == scan.IsString {
			turns = append(turns, personal.Turn{Speaker: stringOf(speaker), Text: stringOf(text)})
			contents = append(contents, content)
		}
	}
	d.contents = contents
	if d.look != nil {
		for i := range contents {
			d.replace(contents[i], d.look([]byte(turns[i].Text)))
		}
		return true
	}
	// v2 sends each conversation twice, with the items of tools and without.
	again := slices.Equal(turns, d.turns)
	if !again {
		d.nextTurns, d.turns, d.in = d.turns, turns, d.finder.Conversation(turns)
	}
	spans := d.in
	for i := range contents {
		var mine []personal.Span
		mine, spans = ofTurn(spans, i)
		edits := d.editsBy(mine)
		for k := range edits {
			if again {
				edits[k].kind = ""
			}
		}
		d.replace(contents[i], edits)
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

// Object redacts the stored rows of a call, and reports whether anything was found. What a service
// did not check stays, and is counted.
func (r *Redactor) Object(o *schema.Object) (changed bool) {
	one := r.begin()
	defer one.end()
	changed = one.rows(o)
	if r.ask != nil && one.asked(func() { changed = one.rows(o) || changed }) != nil {
		one.counted(Unchecked)
	}
	return changed
}

func (r *redacting) rows(o *schema.Object) (changed bool) {
	var turns []personal.Turn
	var spoken []schema.Row
	role, content, tool := schema.Turns.Column("role"), schema.Turns.Column("content"), schema.Turns.Column("tool_call_id")
	apply := func(row schema.Row, i int, edits []edit) {
		d := doc{redacting: r, text: schema.TextOf(row[i]), edits: edits}
		if clean, ok := d.edited(); ok {
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
				apply(row, i, r.editsOf(text, called))
			} else if edits, ok := r.document(text, called); ok {
				apply(row, i, edits)
			}
		}
	}
	if r.look != nil {
		for i, row := range spoken {
			apply(row, content, r.look([]byte(turns[i].Text)))
		}
		return changed
	}
	spans := r.finder.Conversation(turns)
	for i, row := range spoken {
		var mine []personal.Span
		mine, spans = ofTurn(spans, i)
		apply(row, content, r.editsBy(mine))
	}
	return changed
}
