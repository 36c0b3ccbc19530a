package schema

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
)

// maxDepth is how deep objects and arrays may nest in a call's JSON.
const maxDepth = 1000

// DecodeError says why a body is not the JSON of a call.
type DecodeError struct {
	Reason string
	// Offset is the place in the body, in bytes. In a body that holds bytes
	// which are no UTF-8, each of those counts as three.
	Offset int
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("decode a call: %s at byte %d", e.Reason, e.Offset)
}

// shape is the JSON type of a value. Its zero value is no value at all.
type shape uint8

const (
	isAbsent shape = iota
	isNull
	isString
	isNumber
	isTrue
	isFalse
	isObject
	isArray
)

// marks say what was met inside a value.
type marks uint8

const (
	escaped marks = 1 << iota // a string with a backslash
	lone                      // an escaped half of a surrogate pair
)

// val is one value found in the JSON: its text, verbatim, and what it is.
type val struct {
	raw   []byte
	shape shape
	marks marks
}

// scanner walks over JSON text, once and strictly: what RFC 8259 does not
// allow stops it. It takes for granted that the text is valid UTF-8. It keeps
// the first error and never recurses deeper than maxDepth.
type scanner struct {
	b     []byte
	p     int
	marks marks // of everything since they were last cleared
	why   string
	at    int
}

func (s *scanner) reset(b []byte) { *s = scanner{b: b} }

// fail notes the first error, at the present place, and returns false.
func (s *scanner) fail(why string) bool {
	if s.why == "" {
		s.why, s.at = why, s.p
	}
	return false
}

func (s *scanner) err() error {
	if s.why == "" {
		return nil
	}
	return &DecodeError{Reason: s.why, Offset: s.at}
}

func (s *scanner) space() {
	for s.p < len(s.b) {
		switch s.b[s.p] {
		case ' ', '\t', '\n', '\r':
			s.p++
		default:
			return
		}
	}
}

// end demands that nothing but space is left.
func (s *scanner) end() bool {
	s.space()
	return s.p == len(s.b) || s.fail("text after the value")
}

// step is what a scanner finds between the elements of an object or array.
type step uint8

const (
	stepFail step = iota
	stepNext      // there is another element
	stepEnd       // the object or array is over, and the scanner behind it
)

// key moves to the next member of the object that the scanner is in: behind
// its opening brace (first) or behind the last member's value. It returns the
// member's name with its quotes, and leaves the scanner before the value.
func (s *scanner) key(first bool) (name val, st step) {
	s.space()
	if s.p >= len(s.b) {
		return name, failed(s.fail("unfinished object"))
	}
	switch c := s.b[s.p]; {
	case c == '}':
		s.p++
		return name, stepEnd
	case first:
	case c == ',':
		s.p++
		s.space()
	default:
		return name, failed(s.fail("no comma or brace after a member"))
	}
	if s.p >= len(s.b) || s.b[s.p] != '"' {
		return name, failed(s.fail("no name of a member"))
	}
	if end := unescaped(s.b, s.p); end > 0 {
		name = val{raw: s.b[s.p:end], shape: isString}
		if s.p = end; end+1 < len(s.b) && s.b[end] == ':' && s.b[end+1] > ' ' {
			s.p++
			return name, stepNext
		}
	} else {
		from, outer := s.p, s.marks
		s.marks = 0
		if !s.str() {
			return name, stepFail
		}
		name = val{s.b[from:s.p], isString, s.marks}
		s.marks |= outer
	}
	s.space()
	if s.p >= len(s.b) || s.b[s.p] != ':' {
		return name, failed(s.fail("no colon after a name"))
	}
	s.p++
	s.space()
	return name, stepNext
}

// expected moves as key does if the next member has just the given name, with
// its quotes and colon, no space around it, and its value behind it; else it
// does not move.
func (s *scanner) expected(first bool, quoted []byte) bool {
	p := s.p
	if !first {
		if p >= len(s.b) || s.b[p] != ',' {
			return false
		}
		p++
	}
	if !bytes.HasPrefix(s.b[p:], quoted) {
		return false
	}
	if p += len(quoted); p >= len(s.b) || s.b[p] <= ' ' {
		return false
	}
	s.p = p
	return true
}

// element moves to the next element of the array that the scanner is in.
func (s *scanner) element(first bool) step {
	s.space()
	if s.p >= len(s.b) {
		return failed(s.fail("unfinished array"))
	}
	switch c := s.b[s.p]; {
	case c == ']':
		s.p++
		return stepEnd
	case first:
	case c == ',':
		s.p++
		s.space()
	default:
		return failed(s.fail("no comma or bracket after an element"))
	}
	return stepNext
}

func failed(bool) step { return stepFail }

// members yields the members of an object, as far as the text is one.
func members(text []byte) iter.Seq[member] {
	return func(yield func(member) bool) {
		s := scanner{b: text}
		if s.space(); s.p == len(text) || text[s.p] != '{' {
			return
		}
		s.p++
		for first := true; ; first = false {
			key, st := s.key(first)
			if st != stepNext {
				return
			}
			v, ok := s.value(1)
			if !ok || !yield(member{name: keyText(key), key: key, v: v}) {
				return
			}
		}
	}
}

// elements yields the elements of an array, as far as the text is one.
func elements(text []byte) iter.Seq[val] {
	return func(yield func(val) bool) {
		s := scanner{b: text}
		if len(text) == 0 || text[0] != '[' {
			return
		}
		s.p++
		for first := true; s.element(first) == stepNext; first = false {
			s.space()
			if v, ok := s.value(1); !ok || !yield(v) {
				return
			}
		}
	}
}

// keyText returns a key's text as Decoder.name does.
func keyText(key val) []byte {
	b := key.raw[1 : len(key.raw)-1]
	switch {
	case key.marks&lone != 0:
		return appendApart(nil, b)
	case key.marks&escaped != 0:
		return appendUnescaped(nil, b)
	}
	return b
}

// value scans the value that the scanner is before. depth is how many objects
// and arrays it lies in.
func (s *scanner) value(depth int) (v val, ok bool) {
	if s.p < len(s.b) && s.b[s.p] == '"' {
		if end := unescaped(s.b, s.p); end > 0 {
			v = val{raw: s.b[s.p:end], shape: isString}
			s.p = end
			return v, true
		}
	}
	from, outer := s.p, s.marks
	s.marks = 0
	if !s.skip(depth, &v.shape) {
		return v, false
	}
	v.raw, v.marks = s.b[from:s.p], s.marks
	s.marks |= outer
	return v, true
}

// skip moves behind a value and says of what type it is.
func (s *scanner) skip(depth int, is *shape) bool {
	if s.p >= len(s.b) {
		return s.fail("no value")
	}
	switch s.b[s.p] {
	case '"':
		*is = isString
		return s.str()
	case '{':
		*is = isObject
		if !s.deeper(depth) {
			return false
		}
		var inner shape
		for first := true; ; first = false {
			switch _, st := s.key(first); st {
			case stepEnd:
				return true
			case stepFail:
				return false
			}
			if !s.skip(depth+1, &inner) {
				return false
			}
		}
	case '[':
		*is = isArray
		if !s.deeper(depth) {
			return false
		}
		var inner shape
		for first := true; ; first = false {
			switch s.element(first) {
			case stepEnd:
				return true
			case stepFail:
				return false
			}
			if !s.skip(depth+1, &inner) {
				return false
			}
		}
	case 't':
		*is = isTrue
		return s.literal("true")
	case 'f':
		*is = isFalse
		return s.literal("false")
	case 'n':
		*is = isNull
		return s.literal("null")
	}
	*is = isNumber
	return s.number()
}

// deeper moves behind an opening brace or bracket.
func (s *scanner) deeper(depth int) bool {
	if depth >= maxDepth {
		return s.fail("nested too deep")
	}
	s.p++
	return true
}

func (s *scanner) literal(word string) bool {
	if len(s.b)-s.p < len(word) || string(s.b[s.p:s.p+len(word)]) != word {
		return s.fail("no value")
	}
	s.p += len(word)
	return true
}

// number moves behind a number: -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *scanner) number() bool {
	b, p := s.b, s.p
	if p < len(b) && b[p] == '-' {
		p++
	}
	from := p
	p = digits(b, p)
	switch {
	case p == from:
		return s.fail("no value")
	case b[from] == '0' && p > from+1:
		return s.fail("a number with a leading zero")
	}
	if p < len(b) && b[p] == '.' {
		from = p + 1
		if p = digits(b, from); p == from {
			return s.fail("a number without digits after its point")
		}
	}
	if p < len(b) && (b[p] == 'e' || b[p] == 'E') {
		p++
		if p < len(b) && (b[p] == '+' || b[p] == '-') {
			p++
		}
		from = p
		if p = digits(b, from); p == from {
			return s.fail("a number without digits in its exponent")
		}
	}
	s.p = p
	return true
}

func digits(b []byte, p int) int {
	for p < len(b) && b[p]-'0' <= 9 {
		p++
	}
	return p
}

// str moves behind the string whose opening quote the scanner is at.
func (s *scanner) str() bool {
	b, p := s.b, s.p+1
	for {
		p = plain(b, p)
		if p >= len(b) {
			return s.fail("unfinished string")
		}
		switch b[p] {
		case '"':
			s.p = p + 1
			return true
		case '\\':
			n, half := escape(b[p:])
			if n == 0 {
				s.p = p
				return s.fail("an unknown escape")
			}
			s.marks |= escaped
			if half {
				s.marks |= lone
			}
			p += n
		default:
			s.p = p
			return s.fail("a control character in a string")
		}
	}
}

// unescaped returns where the string that begins at b[p] ends, or 0 where it is
// not as simple as most strings are.
func unescaped(b []byte, p int) int {
	if p = plain(b, p+1); p < len(b) && b[p] == '"' {
		return p + 1
	}
	return 0
}

// plain returns the first place from p on that holds a quote, a backslash or a
// control character. It looks at eight bytes at a time: in each lane the top
// bit of m is set where the byte is one of these. A borrow can set the bit of a
// lane above such a byte, never of one below, so the lowest one is right.
func plain(b []byte, p int) int {
	const (
		low  = 0x0101010101010101
		high = 0x8080808080808080
	)
	for p+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[p:])
		quote, slash := w^'"'*low, w^'\\'*low
		m := ((w-' '*low)&^w | (quote-low)&^quote | (slash-low)&^slash) & high
		if m != 0 {
			return p + bits.TrailingZeros64(m)>>3
		}
		p += 8
	}
	for p < len(b) && b[p] >= ' ' && b[p] != '"' && b[p] != '\\' {
		p++
	}
	return p
}
