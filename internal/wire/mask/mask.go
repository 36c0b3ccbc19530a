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
	"hash"
	"slices"
	"strings"
	"sync"

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
	sums   sync.Pool       // of hash.Hash
	paths  []string

	redactor *Redactor // nil: personal data in texts stays
}

// leastSpread is the minimum length of a number that is searched for elsewhere: shorter ones also
// occur in unrelated data.
const leastSpread = 7

// node is a place in a call's JSON. Nodes form a tree, like paths.
type node struct {
	all     bool // all its content is masked
	members map[string]*node
	any     *node // every member
	each    *node // every element
}

// New returns the mask of the values at paths, with a key of KeyBytes. It fails with a *PathError.
//
// A path is the name of a call's field in v3, and applies to v2 as well: from_number. For metadata,
// dynamic_variables, evaluation and other objects it may continue: metadata.customer_name,
// metadata."a.b", metadata.* for every member, items[] for every element of an array. A path that
// ends at an object or array covers every value in it. If the JSON does not have the structure of
// the path (a string instead of an object), the whole value there is masked.
func New(paths []string, key []byte) (*Mask, error) {
	m := &Mask{root: &node{}, spread: map[string]bool{}, paths: slices.Sorted(slices.Values(paths))}
	m.sums.New = func() any { return hmac.New(sha256.New, key) }
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
		var next **node
		switch p {
		case "[]":
			next = &n.each
		case "*":
			next = &n.any
		default:
			if n.members == nil {
				n.members = map[string]*node{}
			}
			at := n.members[p]
			if at == nil {
				at = &node{}
				n.members[p] = at
			}
			next = &at
		}
		if *next == nil {
			*next = &node{}
		}
		n = *next
	}
	n.all = true
}

// Value returns the replacement for a text: Prefix and 32 hex digits.
func (m *Mask) Value(text string) string { return string(m.appendValue(nil, []byte(text))) }

func (m *Mask) appendValue(dst, text []byte) []byte {
	if masked(text) {
		return append(dst, text...)
	}
	h, _ := m.sums.Get().(hash.Hash)
	defer m.sums.Put(h)
	h.Reset()
	h.Write(text)
	var sum [sha256.Size]byte
	return hex.AppendEncode(append(dst, Prefix...), h.Sum(sum[:0])[:digits/2])
}

// masked reports whether a text is a masked value.
func masked(text []byte) bool {
	if len(text) != len(Prefix)+digits || string(text[:len(Prefix)]) != Prefix {
		return false
	}
	for _, c := range text[len(Prefix):] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Apply returns body, the JSON of a call, with the values masked; body itself, not a copy, if there
// are none. The result may be appended to room. Apply follows [wire.Redact]. The error wraps a
// *scan.Error if body is not one JSON object, and is an *UncheckedError if a service did not check
// body.
func (m *Mask) Apply(room *[]byte, body []byte) (clean []byte, changed bool, err error) {
	redacted := false
	if m.redactor != nil {
		body, redacted, err = m.redactor.Apply(room, body)
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
	v, err := scan.Whole(body)
	if err != nil {
		return nil, false, fmt.Errorf("cannot be decoded: %w", err)
	}
	one := masking{Mask: m, top: true}
	one.collect(v.Raw)
	if clean, changed = one.append(make([]byte, 0, len(body)+64), v, []*node{m.root}); !changed {
		return body, false, nil
	}
	return clean, true, nil
}

// masking masks one call.
type masking struct {
	*Mask
	top     bool     // at the top level of the call
	numbers [][]byte // to be masked everywhere
}

// withheld are words that replace a number that the caller hides. They identify nobody, so they
// stay: masked, all these callers would look like one.
var withheld = []string{"anonymous", "blocked", "private", "restricted", "unavailable", "unknown", "withheld"}

func isWithheld(v scan.Value) bool {
	return v.Shape == scan.IsString && slices.ContainsFunc(withheld,
		func(w string) bool { return strings.EqualFold(w, string(scan.KeyText(v))) })
}

// collect collects the numbers of a call that must be masked everywhere.
func (m *masking) collect(text []byte) {
	if len(m.spread) == 0 {
		return
	}
	for field := range scan.Members(text) {
		if !m.spread[string(field.Name)] || isWithheld(field.Value) {
			continue
		}
		number := field.Value.Raw
		if field.Value.Shape == scan.IsString {
			number = scan.KeyText(field.Value)
		} else if field.Value.Shape != scan.IsNumber {
			continue
		}
		if len(number) >= leastSpread && !masked(number) {
			m.numbers = append(m.numbers, number)
		}
	}
}

// appendRest appends a value outside all paths, with the call's numbers masked.
func (m *masking) appendRest(dst []byte, v scan.Value) (out []byte, changed bool) {
	switch {
	case len(m.numbers) == 0:
	case v.Shape == scan.IsObject:
		return m.appendObject(dst, v.Raw, nil)
	case v.Shape == scan.IsArray:
		return m.appendArray(dst, v.Raw, nil)
	case v.Shape == scan.IsNumber:
		for _, n := range m.numbers {
			if bytes.Equal(n, v.Raw) {
				return append(m.appendValue(append(dst, '"'), n), '"'), true
			}
		}
	case v.Shape == scan.IsString:
		text := scan.KeyText(v)
		for _, n := range m.numbers {
			if bytes.Contains(text, n) {
				text, changed = bytes.ReplaceAll(text, n, m.appendValue(nil, n)), true
			}
		}
		if changed {
			quoted, _ := json.Marshal(string(text)) // strings always encode
			return append(dst, quoted...), true
		}
	}
	return append(dst, v.Raw...), false
}

// append appends a value that was scanned before, masked according to the nodes.
func (m *masking) append(dst []byte, v scan.Value, at []*node) (out []byte, changed bool) {
	switch v.Shape {
	case scan.IsObject:
		return m.appendObject(dst, v.Raw, at)
	case scan.IsArray:
		return m.appendArray(dst, v.Raw, at)
	case scan.IsNull:
		return append(dst, v.Raw...), false
	case scan.IsString:
		text := scan.KeyText(v)
		if len(text) == 0 || masked(text) {
			return append(dst, v.Raw...), false
		}
		return append(m.appendValue(append(dst, '"'), text), '"'), true
	}
	return append(m.appendValue(append(dst, '"'), v.Raw), '"'), true
}

func (m *masking) appendObject(dst, text []byte, at []*node) (out []byte, changed bool) {
	dst = append(dst, '{')
	from, top := len(dst), m.top
	m.top = false
	for member := range scan.Members(text) {
		dst = scan.AppendMember(dst, from, member.Key, nil)
		v := member.Value
		var inner []*node
		for _, n := range at {
			if n.each != nil && !n.all { // an object in place of the path's array
				n = n.each
			}
			inner = n.member(inner, member.Name)
		}
		var of *field // set at the top level of the call
		if top {
			of = callFields[string(member.Name)]
		}
		var c bool
		switch {
		case of != nil && of.phone && isWithheld(v):
			dst = append(dst, v.Raw...)
		case inner != nil:
			dst, c = m.append(dst, v, inner)
		case of != nil && !of.maskable: // the call's life cycle depends on it
			dst = append(dst, v.Raw...)
		default:
			dst, c = m.appendRest(dst, v)
		}
		changed = changed || c
	}
	return append(dst, '}'), changed
}

// member appends the nodes of a member of n's object.
func (n *node) member(to []*node, name []byte) []*node {
	if n.all {
		return append(to, n)
	}
	if m := n.members[string(name)]; m != nil {
		to = append(to, m)
	}
	if n.any != nil {
		to = append(to, n.any)
	}
	return to
}

func (m *masking) appendArray(dst, text []byte, at []*node) (out []byte, changed bool) {
	var inner []*node
	for _, n := range at {
		if n.each != nil {
			inner = append(inner, n.each)
		}
		if n.all || n.members != nil || n.any != nil {
			inner = append(inner, n) // several if the path has an array
		}
	}
	dst = append(dst, '[')
	from := len(dst)
	for v := range scan.Elements(text) {
		var c bool
		if dst = scan.Comma(dst, from); inner != nil {
			dst, c = m.append(dst, v, inner)
		} else {
			dst, c = m.appendRest(dst, v)
		}
		changed = changed || c
	}
	return append(dst, ']'), changed
}
