// Package mask replaces values in a call's JSON with keyed hashes, before any of it is written.
package mask

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/wire/scan"
)

// Prefix starts every masked value; 32 hex digits follow.
const Prefix = "masked:"

// KeyBytes is the length of a key for masks.
const KeyBytes = sha256.Size

// ParseKey parses a key from its file: 64 hex digits.
func ParseKey(raw []byte) ([]byte, error) {
	key, err := hex.DecodeString(string(bytes.TrimSpace(raw)))
	if err != nil || len(key) != KeyBytes {
		return nil, errors.New("it does not hold 64 hex digits")
	}
	return key, nil
}

// KeyHash returns the hash that identifies a key.
func KeyHash(key []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("callhouse: which key is this?"))
	return hex.EncodeToString(h.Sum(nil)[:8])
}

const digits = 32

// Mask replaces values in a call's JSON with keyed hashes: the first half of the HMAC-SHA-256 of a
// string's text, or of the spelling of a number or boolean. Equal values stay equal, wherever they
// occur. With the key, a hash can be compared with a given value. Null and the empty string stay
// unchanged.
//
// A masked number of the call (from_number, to_number and presentation_number) is masked everywhere
// else in the call as well: as a value, or inside a text.
//
// It is safe for concurrent use.
type Mask struct {
	root   *node
	spread map[string]bool // the numbers that are masked everywhere
	key    []byte
	paths  []string

	redactor *Redactor // nil: personal data in texts stays
}

// minSpread is the minimum length of a number that is searched for elsewhere: shorter ones also
// occur in unrelated data.
const minSpread = 7

// node is a place in a call's JSON. Nodes form a tree, like paths.
type node struct {
	all     bool // all its content is masked
	members map[string]*node
	each    *node // every element
}

// New returns the mask of the values at paths, with a key of KeyBytes. It fails with a *PathError.
//
// A path is the name of a call's field in v3, and applies to v2 as well: from_number. For metadata,
// dynamic_variables, evaluation and other objects it may continue: metadata.customer_name, items[]
// for every element of an array. A path that ends at an object or array covers every value in it. If
// the JSON does not have the structure of the path (a string instead of an object), the whole value
// there is masked.
func New(paths []string, key []byte) (*Mask, error) {
	m := &Mask{root: &node{}, spread: map[string]bool{}, key: key, paths: slices.Sorted(slices.Values(paths))}
	for _, p := range paths {
		parts, err := parsePath(p)
		if err != nil {
			return nil, err
		}
		for _, full := range spellings(parts) {
			m.root.add(full)
			if f := callFields[full[0]]; len(full) == 1 && f != nil && f.phone {
				m.spread[full[0]] = true
			}
		}
	}
	return m, nil
}

// Redact makes Apply redact personal data as well, before it masks.
func (m *Mask) Redact(r *Redactor) { m.redactor = r }

// Redactor returns the redactor; nil if there is none.
func (m *Mask) Redactor() *Redactor { return m.redactor }

// Paths returns the paths of the mask, sorted.
func (m *Mask) Paths() []string { return m.paths }

func (n *node) add(parts []string) {
	for _, p := range parts {
		next := n.each
		if p != "[]" {
			next = n.members[p]
		}
		if next == nil {
			next = &node{}
			if p == "[]" {
				n.each = next
			} else {
				if n.members == nil {
					n.members = map[string]*node{}
				}
				n.members[p] = next
			}
		}
		n = next
	}
	n.all = true
}

// Value returns the replacement for a text: Prefix and 32 hex digits.
func (m *Mask) Value(text string) string {
	if masked(text) {
		return text
	}
	h := hmac.New(sha256.New, m.key)
	h.Write([]byte(text))
	return Prefix + hex.EncodeToString(h.Sum(nil)[:digits/2])
}

// masked reports whether a text is a masked value.
func masked(text string) bool {
	hash, ok := strings.CutPrefix(text, Prefix)
	return ok && len(hash) == digits && strings.Trim(hash, "0123456789abcdef") == ""
}

// Apply returns body, the JSON of a call, with the values masked; body itself, not a copy, if there
// are none. Apply follows [wire.Redact]. The error wraps a
// *scan.Error if body is not one JSON object, and is an *UncheckedError if a service did not check
// body.
func (m *Mask) Apply(body []byte) (clean []byte, changed bool, err error) {
	redacted := false
	if m.redactor != nil {
		body, redacted, err = m.redactor.Apply(body)
		if unchecked := (*UncheckedError)(nil); errors.As(err, &unchecked) {
			if unchecked.Rest, _, err = m.mask(unchecked.Rest); err == nil {
				err = unchecked
			}
		}
		if err != nil {
			return nil, false, err
		}
	}
	clean, changed, err = m.mask(body)
	return clean, changed || redacted, err
}

func (m *Mask) mask(body []byte) (clean []byte, changed bool, err error) {
	if len(m.paths) == 0 {
		return body, false, nil
	}
	if _, err := scan.Whole(body); err != nil {
		return nil, false, fmt.Errorf("cannot be decoded: %w", err)
	}
	one := masking{Mask: m, text: body}
	one.collect()
	one.call()
	clean, changed = edited(body, one.edits)
	return clean, changed, nil
}

// masking masks one call.
type masking struct {
	*Mask
	text    []byte
	numbers []string // to be masked everywhere
	edits   []edit
}

// withheld are words that replace a number that the caller hides. They identify nobody, so they
// stay: masked, all these callers would look like one.
var withheld = []string{"anonymous", "blocked", "private", "restricted", "unavailable", "unknown", "withheld"}

func isWithheld(v scan.Value) bool {
	return v.Shape == scan.IsString && slices.Contains(withheld, strings.ToLower(string(scan.KeyText(v))))
}

// collect collects the numbers of the call that must be masked everywhere.
func (m *masking) collect() {
	if len(m.spread) == 0 {
		return
	}
	for field := range scan.Members(m.text) {
		if !m.spread[string(field.Name)] || isWithheld(field.Value) {
			continue
		}
		number := string(field.Value.Raw)
		if field.Value.Shape == scan.IsString {
			number = string(scan.KeyText(field.Value))
		} else if field.Value.Shape != scan.IsNumber {
			continue
		}
		if len(number) >= minSpread && !masked(number) {
			m.numbers = append(m.numbers, number)
		}
	}
}

// call walks over the fields of the call.
func (m *masking) call() {
	for f := range scan.Members(m.text) {
		at := members([]*node{m.root}, f.Name)
		switch of := callFields[string(f.Name)]; {
		case of != nil && of.phone && isWithheld(f.Value):
		case at == nil && of != nil && !of.maskable: // the call's life cycle depends on it
		default:
			m.value(f.Value, at)
		}
	}
}

// value walks over a value at some nodes; without any, it masks only the call's numbers in it.
func (m *masking) value(v scan.Value, at []*node) {
	switch {
	case at == nil && len(m.numbers) == 0:
	case v.Shape == scan.IsObject:
		for member := range scan.Members(v.Raw) {
			m.value(member.Value, members(at, member.Name))
		}
	case v.Shape == scan.IsArray:
		inner := elements(at)
		for e := range scan.Elements(v.Raw) {
			m.value(e, inner)
		}
	case at == nil:
		m.rest(v)
	case v.Shape == scan.IsNull:
	case v.Shape != scan.IsString:
		m.replace(v, `"`+m.Value(string(v.Raw))+`"`)
	default:
		if text := string(scan.KeyText(v)); text != "" && !masked(text) {
			m.replace(v, `"`+m.Value(text)+`"`)
		}
	}
}

// rest masks the call's numbers in a value outside all paths.
func (m *masking) rest(v scan.Value) {
	switch v.Shape {
	case scan.IsNumber:
		if n := string(v.Raw); slices.Contains(m.numbers, n) {
			m.replace(v, `"`+m.Value(n)+`"`)
		}
	case scan.IsString:
		was := string(scan.KeyText(v))
		text := was
		for _, n := range m.numbers {
			text = strings.ReplaceAll(text, n, m.Value(n))
		}
		if text != was {
			quoted, _ := json.Marshal(text) // strings always encode
			m.replace(v, string(quoted))
		}
	}
}

func (m *masking) replace(v scan.Value, by string) {
	at := textAt(m.text, v.Raw)
	m.edits = append(m.edits, edit{from: at, to: at + len(v.Raw), text: by})
}

// members returns the nodes of a member of an object at some nodes.
func members(at []*node, name []byte) (inner []*node) {
	for _, n := range at {
		if n.each != nil && !n.all { // an object in place of the path's array
			n = n.each
		}
		if n.all {
			inner = append(inner, n)
			continue
		}
		if m := n.members[string(name)]; m != nil {
			inner = append(inner, m)
		}
	}
	return inner
}

// elements returns the nodes of the elements of an array at some nodes.
func elements(at []*node) (inner []*node) {
	for _, n := range at {
		if n.each != nil {
			inner = append(inner, n.each)
		}
		if n.all || n.members != nil {
			inner = append(inner, n) // several if the path has an array
		}
	}
	return inner
}
