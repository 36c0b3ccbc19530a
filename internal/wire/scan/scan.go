// Package scan walks through JSON text, strictly and without copying it, and writes JSON text. It
// handles only text, not its meaning.
package scan

import (
	"fmt"
	"iter"
)

// maxDepth is the maximum nesting of objects and arrays.
const maxDepth = 1000

// Error describes why a text is not JSON, or not what the caller expects.
type Error struct {
	Reason string
	// Offset is the position in the text, in bytes. Each byte that is not valid UTF-8 counts as
	// three.
	Offset int
}

func (e *Error) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset) }

// Shape is the JSON type of a value. Its zero value means no value at all.
type Shape uint8

// The JSON types.
const (
	IsAbsent Shape = iota
	IsNull
	IsString
	IsNumber
	IsTrue
	IsFalse
	IsObject
	IsArray
)

// Marks are special properties of a value's content.
type Marks uint8

// Special contents.
const (
	Escaped Marks = 1 << iota // a string with a backslash
	Lone                      // an escaped half of a surrogate pair
)

// Value is one value found in the JSON: its text, verbatim, and its type.
type Value struct {
	Raw   []byte
	Shape Shape
	Marks Marks
}

// Member is one member of an object.
type Member struct {
	Name  []byte // without quotes and escapes
	Key   Value  // as sent
	Value Value
}

// Scanner walks through JSON text, once and strictly: anything that RFC 8259 does not allow stops
// it. It assumes valid UTF-8. It keeps the first error, and never recurses deeper than maxDepth.
type Scanner struct {
	b     []byte
	p     int
	marks Marks // of everything since they were last cleared
	why   string
	at    int
}

// Reset starts with a new text.
func (s *Scanner) Reset(b []byte) { *s = Scanner{b: b} }

// Text returns the whole text.
func (s *Scanner) Text() []byte { return s.b }

// Before reports whether b is the next byte.
func (s *Scanner) Before(b byte) bool { return s.p < len(s.b) && s.b[s.p] == b }

// Opened is the beginning of an object or array.
type Opened struct {
	from  int
	outer Marks
}

// Open moves into the object or array that begins here with the given brace or bracket.
func (s *Scanner) Open(bracket byte) (o Opened, ok bool) {
	if !s.Before(bracket) {
		return o, false
	}
	o = Opened{s.p, s.marks}
	s.marks = 0
	s.p++
	return o, true
}

// Closed returns the object or array that just ended.
func (s *Scanner) Closed(o Opened, is Shape) Value {
	v := Value{s.b[o.from:s.p], is, s.marks}
	s.marks |= o.outer
	return v
}

// Fail records the first error, at the current place, and returns false.
func (s *Scanner) Fail(why string) bool {
	if s.why == "" {
		s.why, s.at = why, s.p
	}
	return false
}

// Err returns the first error.
func (s *Scanner) Err() error {
	if s.why == "" {
		return nil
	}
	return &Error{Reason: s.why, Offset: s.at}
}

// Space skips white space.
func (s *Scanner) Space() {
	for s.p < len(s.b) {
		switch s.b[s.p] {
		case ' ', '\t', '\n', '\r':
			s.p++
		default:
			return
		}
	}
}

// End fails unless only space is left.
func (s *Scanner) End() bool {
	s.Space()
	return s.p == len(s.b) || s.Fail("text after the value")
}

// Step is the scanner's position between the elements of an object or array.
type Step uint8

const (
	StepFail Step = iota
	StepNext      // there is another element
	StepEnd       // the object or array has ended; the scanner is after it
)

// Key moves to the next member of the object that the scanner is in: after its opening brace
// (first) or after the previous member's value. It returns the member's name with its quotes, and
// leaves the scanner before the value.
func (s *Scanner) Key(first bool) (name Value, st Step) {
	s.Space()
	if s.p >= len(s.b) {
		return name, failed(s.Fail("unfinished object"))
	}
	switch c := s.b[s.p]; {
	case c == '}':
		s.p++
		return name, StepEnd
	case first:
	case c == ',':
		s.p++
		s.Space()
	default:
		return name, failed(s.Fail("no comma or brace after a member"))
	}
	if s.p >= len(s.b) || s.b[s.p] != '"' {
		return name, failed(s.Fail("no name of a member"))
	}
	from, outer := s.p, s.marks
	s.marks = 0
	if !s.str() {
		return name, StepFail
	}
	name = Value{s.b[from:s.p], IsString, s.marks}
	s.marks |= outer
	s.Space()
	if s.p >= len(s.b) || s.b[s.p] != ':' {
		return name, failed(s.Fail("no colon after a name"))
	}
	s.p++
	s.Space()
	return name, StepNext
}

// Element moves to the next element of the array that the scanner is in.
func (s *Scanner) Element(first bool) Step {
	s.Space()
	if s.p >= len(s.b) {
		return failed(s.Fail("unfinished array"))
	}
	switch c := s.b[s.p]; {
	case c == ']':
		s.p++
		return StepEnd
	case first:
	case c == ',':
		s.p++
		s.Space()
	default:
		return failed(s.Fail("no comma or bracket after an element"))
	}
	return StepNext
}

func failed(bool) Step { return StepFail }

// Whole scans a text that should be one object.
func Whole(text []byte) (v Value, err error) {
	s := Scanner{b: text}
	s.Space()
	v, ok := s.Value(0)
	if ok && v.Shape != IsObject {
		s.p = 0
		ok = s.Fail("not a JSON object")
	}
	if !ok || !s.End() {
		return v, s.Err()
	}
	return v, nil
}

// Members yields the members of an object, as far as the text is valid.
func Members(text []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		s := Scanner{b: text}
		s.Space()
		if _, ok := s.Open('{'); !ok {
			return
		}
		for first := true; ; first = false {
			key, st := s.Key(first)
			if st != StepNext {
				return
			}
			v, ok := s.Value(1)
			if !ok || !yield(Member{Name: KeyText(key), Key: key, Value: v}) {
				return
			}
		}
	}
}

// Elements yields the elements of an array, as far as the text is valid.
func Elements(text []byte) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		s := Scanner{b: text}
		if _, ok := s.Open('['); !ok {
			return
		}
		for first := true; s.Element(first) == StepNext; first = false {
			s.Space()
			if v, ok := s.Value(1); !ok || !yield(v) {
				return
			}
		}
	}
}

// KeyText returns a key's text.
func KeyText(key Value) []byte {
	b := key.Raw[1 : len(key.Raw)-1]
	if key.Marks&Escaped != 0 {
		return AppendUnescaped(nil, b)
	}
	return b
}

// Value scans the next value. depth is the number of objects and arrays around it.
func (s *Scanner) Value(depth int) (v Value, ok bool) {
	from, outer := s.p, s.marks
	s.marks = 0
	if !s.skip(depth, &v.Shape) {
		return v, false
	}
	v.Raw, v.Marks = s.b[from:s.p], s.marks
	s.marks |= outer
	return v, true
}

// skip skips a value and sets its type.
func (s *Scanner) skip(depth int, is *Shape) bool {
	if s.p >= len(s.b) {
		return s.Fail("no value")
	}
	switch s.b[s.p] {
	case '"':
		*is = IsString
		return s.str()
	case '{':
		*is = IsObject
		if !s.enter(depth) {
			return false
		}
		var inner Shape
		for first := true; ; first = false {
			switch _, st := s.Key(first); st {
			case StepEnd:
				return true
			case StepFail:
				return false
			}
			if !s.skip(depth+1, &inner) {
				return false
			}
		}
	case '[':
		*is = IsArray
		if !s.enter(depth) {
			return false
		}
		var inner Shape
		for first := true; ; first = false {
			switch s.Element(first) {
			case StepEnd:
				return true
			case StepFail:
				return false
			}
			if !s.skip(depth+1, &inner) {
				return false
			}
		}
	case 't':
		*is = IsTrue
		return s.literal("true")
	case 'f':
		*is = IsFalse
		return s.literal("false")
	case 'n':
		*is = IsNull
		return s.literal("null")
	}
	*is = IsNumber
	return s.number()
}

// enter moves into the object or array that begins here. depth is the number of those around it.
func (s *Scanner) enter(depth int) bool {
	if depth >= maxDepth {
		return s.Fail("nested too deep")
	}
	s.p++
	return true
}

func (s *Scanner) literal(word string) bool {
	if len(s.b)-s.p < len(word) || string(s.b[s.p:s.p+len(word)]) != word {
		return s.Fail("no value")
	}
	s.p += len(word)
	return true
}

// number skips a number: -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *Scanner) number() bool {
	b, p := s.b, s.p
	if p < len(b) && b[p] == '-' {
		p++
	}
	from := p
	p = digits(b, p)
	switch {
	case p == from:
		return s.Fail("no value")
	case b[from] == '0' && p > from+1:
		return s.Fail("a number with a leading zero")
	}
	if p < len(b) && b[p] == '.' {
		from = p + 1
		if p = digits(b, from); p == from {
			return s.Fail("a number without digits after its point")
		}
	}
	if p < len(b) && (b[p] == 'e' || b[p] == 'E') {
		p++
		if p < len(b) && (b[p] == '+' || b[p] == '-') {
			p++
		}
		from = p
		if p = digits(b, from); p == from {
			return s.Fail("a number without digits in its exponent")
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

// str skips the string whose opening quote the scanner is at.
func (s *Scanner) str() bool {
	b, p := s.b, s.p+1
	for {
		p = plain(b, p)
		if p >= len(b) {
			return s.Fail("unfinished string")
		}
		switch b[p] {
		case '"':
			s.p = p + 1
			return true
		case '\\':
			n, half := Escape(b[p:])
			if n == 0 {
				s.p = p
				return s.Fail("an unknown escape")
			}
			s.marks |= Escaped
			if half {
				s.marks |= Lone
			}
			p += n
		default:
			s.p = p
			return s.Fail("a control character in a string")
		}
	}
}

// plain returns the first place from p on with a quote, a backslash or a control character.
func plain(b []byte, p int) int {
	for p < len(b) && b[p] >= ' ' && b[p] != '"' && b[p] != '\\' {
		p++
	}
	return p
}

// IsJSONNumber reports whether text is spelled as a JSON number.
func IsJSONNumber(text []byte) bool {
	s := Scanner{b: text}
	return s.number() && s.p == len(text)
}
