package mask

import (
	"bytes"
	"fmt"
	"maps"
	"sync"

	"callhouse/internal/personal"
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
	ask    Service // nil: only structured data is found

	mu     sync.Mutex
	counts map[string]int64
}

// Service finds unstructured personal data, such as names: it returns the spans in each text. It
// fails unless it checked all of them.
type Service func(texts []string) ([][]personal.Span, error)

// Ask makes the redactor also ask a service. The service gets texts in which its own matches are
// already replaced.
func (r *Redactor) Ask(s Service) { r.ask = s }

// Try returns the service's error; nil if it answers, or none is used.
func (r *Redactor) Try() error {
	if r.ask == nil {
		return nil
	}
	_, err := r.ask([]string{"Is anybody there?"})
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
	return &Redactor{finder: finder, counts: map[string]int64{}}, nil
}

// Counts returns the number of values replaced so far, by kind.
func (r *Redactor) Counts() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// redacting redacts one call.
type redacting struct {
	*Redactor
	text  []byte // the JSON that is walked over
	edits []edit // of it, and of the text in it that is walked over
	found map[string]int64
	turns []personal.Turn // of the last transcript, with the spans found in them
	in    []personal.Span
	look  look
}

// look records the edits of a text; nil: the finder does.
type look func(text []byte)

// edited applies the edits to a text, and counts them.
func (r *redacting) edited(text []byte) (clean []byte, changed bool) {
	clean, changed = edited(text, r.edits)
	for i := range r.edits {
		if e := &r.edits[i]; !e.again {
			r.found[string(e.kind)]++
		}
	}
	r.edits = r.edits[:0]
	return clean, changed
}

func (r *Redactor) begin() *redacting { return &redacting{Redactor: r, found: map[string]int64{}} }

// end adds the counts of a call.
func (r *redacting) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, n := range r.found {
		r.counts[k] += n
	}
}

// Apply redacts body, the JSON of a call. If nothing was found, it returns body itself. If body is not a
// single JSON object, the error wraps a *scan.Error.
func (r *Redactor) Apply(body []byte) (clean []byte, changed bool, err error) {
	if _, err := scan.Whole(body); err != nil {
		return nil, false, fmt.Errorf("cannot be decoded: %w", err)
	}
	one := r.begin()
	defer one.end()
	clean = body
	if err := one.redact(func() (more bool) {
		one.call(clean)
		clean, more = one.edited(clean)
		changed = changed || more
		return more
	}); err != nil {
		one.found = map[string]int64{Unchecked: 1}
		return nil, false, &UncheckedError{withoutTexts(clean), err}
	}
	return clean, changed, nil
}

// maxWalks is the maximum number of times that the finder reads a call.
const maxWalks = 32

// redact repeats a walk over a call while the finder finds something: once a value is replaced, the
// digits and words next to it may be recognized, and a text may become JSON. So a redacted call,
// redacted again, stays as it is. Then it asks the service. The error is the service's.
func (r *redacting) redact(walk func() (replaced bool)) error {
	settle := func(again bool) {
		r.look = nil
		for n := 0; again && n < maxWalks; n++ {
			again = walk()
		}
	}
	settle(true)
	if r.ask == nil {
		return nil
	}
	replaced := false
	if err := r.callService(func() { replaced = walk() || replaced }); err != nil {
		return err
	}
	settle(replaced)
	return nil
}

// callService sends the texts that walk visits to the service, and calls walk again to replace the matches.
func (r *redacting) callService(walk func()) error {
	var texts []string
	places := map[string]int{}
	r.look = func(text []byte) {
		if _, ok := places[string(text)]; !ok {
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

// find records the edits of a text, which may itself be JSON.
func (r *redacting) find(text []byte, called []byte) {
	switch {
	case mayBeComposite(text) && r.document(text, called):
	case r.look != nil:
		r.look(text)
	default:
		r.note(r.finder.Find(string(called), string(text)), false)
	}
}

// note records edits for the spans of a text.
func (r *redacting) note(spans []personal.Span, again bool) {
	for i := range spans {
		s := &spans[i]
		r.edits = append(r.edits, edit{from: s.From, to: s.To, kind: s.Kind, again: again || s.More})
	}
}

// Object redacts the stored rows of a call, and reports whether anything was found. A call that the
// service did not check is kept, and counted as unchecked.
func (r *Redactor) Object(o *schema.Object) (changed bool) {
	one := r.begin()
	defer one.end()
	if one.redact(func() bool {
		more := one.rows(o)
		changed = changed || more
		return more
	}) != nil {
		one.found[Unchecked]++
	}
	return changed
}

func (r *redacting) rows(o *schema.Object) (changed bool) {
	var turns []personal.Turn
	var spoken []schema.Row
	role, content, tool := schema.Turns.Column("role"), schema.Turns.Column("content"), schema.Turns.Column("tool_call_id")
	apply := func(row schema.Row, i int) {
		if clean, ok := r.edited(schema.TextOf(row[i])); ok {
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
		var own []personal.Span
		own, spans = ofTurn(spans, i)
		r.note(own, false)
		apply(row, content)
	}
	return changed
}
