package crawler

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"callhouse/internal/api"
)

// pageData is a page as the service sent it.
type pageData struct {
	items [][]byte // as sent; whether each is a call is for the decoder to say
	next  string   // empty: it was the last one
	total int64    // -1: not said
	at    int64    // when it arrived, ms
	// Of a page that is not whole:
	list      bool // it is one: its items have begun
	nextKnown bool // next is known all the same
}

var (
	errNoList = errors.New("not a page of a list: no items")
)

// parsePage takes the envelope of a page apart. It is strict about where values
// begin and end, and about nothing inside them, so an item that is no JSON (a
// control character in a text, NaN, any depth) does not hide the others: it is
// an item like them, which the decoder will refuse.
//
// Where the items cannot be told apart, or the body is not whole, it returns
// api.ErrBroken with those items that came before. nextKnown then says that the
// cursor is known all the same: it stood before the items, or at the end of tail, which is
// the end of the body. A cursor is opaque; a number is passed on as it is written.
func parsePage(body, tail []byte) (pageData, error) {
	s := splitter{b: body}
	p := pageData{total: -1}
	s.space()
	whole := s.take('{') && p.members(&s)
	switch p.list = p.items != nil; {
	case !p.list:
		return p, errNoList
	case whole:
		return p, nil
	case !p.nextKnown:
		p.readTail(tail)
	}
	return p, api.ErrBroken
}

// members reads the members of the envelope, up to the end of the text.
func (p *pageData) members(s *splitter) bool {
	if s.space(); s.take('}') {
		return s.over()
	}
	for {
		key, ok := s.key()
		if !ok {
			return false
		}
		if name, _ := unquote(key); name == "items" && s.at() == '[' {
			ok = p.readItems(s)
		} else {
			from := s.p
			if ok = s.value(); ok {
				p.set(name, s.b[from:s.p])
			}
		}
		if !ok {
			return false
		}
		switch s.space(); {
		case s.take('}'):
			return s.over()
		case !s.take(','):
			return false
		}
	}
}

// readItems notes where each item lies. Nothing is lost of a second list of items.
func (p *pageData) readItems(s *splitter) bool {
	s.p++
	if p.items == nil {
		p.items = [][]byte{}
	}
	if s.space(); s.take(']') {
		return true
	}
	for {
		s.space()
		from := s.p
		if !s.value() {
			return false
		}
		p.items = append(p.items, s.b[from:s.p:s.p])
		switch s.space(); {
		case s.take(']'):
			return true
		case !s.take(','):
			return false
		}
	}
}

func (p *pageData) set(name string, v []byte) {
	switch name {
	case "next_cursor":
		p.next, p.nextKnown = "", true
		if text, ok := unquote(v); ok {
			p.next = text
		} else if string(v) != "null" {
			p.next = string(v)
		}
	case "total_count":
		if n, err := strconv.ParseInt(string(bytes.Trim(v, `"`)), 10, 64); err == nil && n >= 0 {
			p.total = n
		}
	}
}

// readTail reads what stands behind the items. Any closing bracket may be theirs,
// the last one first; behind it nothing but members of the envelope may follow.
func (p *pageData) readTail(tail []byte) {
	const most = 64
	end := len(tail)
	for range most {
		if end = bytes.LastIndexByte(tail[:end], ']'); end < 0 {
			return
		}
		s := splitter{b: tail, p: end + 1}
		behind := pageData{total: -1}
		if s.space(); s.take(',') && behind.members(&s) && behind.nextKnown {
			p.next, p.total, p.nextKnown = behind.next, behind.total, true
			return
		}
	}
}

// splitter finds where JSON values begin and end. It wants their structure to be
// right: names, colons, commas, brackets in pairs, texts that end. Words and the
// inside of texts may be anything.
type splitter struct {
	b    []byte
	p    int
	open []byte // the brackets that have to come
}

func (s *splitter) at() byte {
	if s.p < len(s.b) {
		return s.b[s.p]
	}
	return 0
}

func (s *splitter) take(c byte) bool {
	if s.at() != c || s.p >= len(s.b) {
		return false
	}
	s.p++
	return true
}

func (s *splitter) space() {
	for s.p < len(s.b) && (s.b[s.p] == ' ' || s.b[s.p] == '\n' || s.b[s.p] == '\t' || s.b[s.p] == '\r') {
		s.p++
	}
}

// over says that nothing but space is left.
func (s *splitter) over() bool {
	s.space()
	return s.p == len(s.b)
}

// key moves behind a member's name and its colon.
func (s *splitter) key() (name []byte, ok bool) {
	s.space()
	from := s.p
	if !s.text() {
		return nil, false
	}
	name = s.b[from:s.p]
	if s.space(); !s.take(':') {
		return nil, false
	}
	s.space()
	return name, true
}

// text moves behind a text.
func (s *splitter) text() bool {
	if !s.take('"') {
		return false
	}
	for s.p < len(s.b) {
		switch s.b[s.p] {
		case '"':
			s.p++
			return true
		case '\\':
			s.p++
		}
		s.p++
	}
	s.p = len(s.b)
	return false
}

// word moves behind anything that stands where a number, true, false or null would.
func (s *splitter) word() bool {
	from := s.p
	for s.p < len(s.b) && !slices.Contains([]byte(`,:{}[]" `+"\n\t\r"), s.b[s.p]) {
		s.p++
	}
	return s.p > from
}

// value moves behind a value, whatever its depth.
func (s *splitter) value() bool {
	s.open = s.open[:0]
	for {
		s.space()
		switch c := s.at(); c {
		case '{', '[':
			s.p++
			s.open = append(s.open, c+2) // its other half, in ASCII
			if s.space(); s.at() == c+2 {
				break
			}
			if c == '{' {
				if _, ok := s.key(); !ok {
					return false
				}
			}
			continue
		case '"':
			if !s.text() {
				return false
			}
		default:
			if !s.word() {
				return false
			}
		}
		more, ok := s.close()
		if !ok || !more {
			return ok
		}
	}
}

// close moves behind the brackets that end here. more says that another value
// follows.
func (s *splitter) close() (more, ok bool) {
	for len(s.open) > 0 {
		s.space()
		last := s.open[len(s.open)-1]
		switch {
		case s.take(last):
			s.open = s.open[:len(s.open)-1]
		case !s.take(','):
			return false, false
		case last == '}':
			_, ok := s.key()
			return true, ok
		default:
			return true, true
		}
	}
	return false, true
}

// unquote returns what a text says.
func unquote(v []byte) (string, bool) {
	if len(v) < 2 || v[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1]), true
	}
	var text string
	if json.Unmarshal(v, &text) != nil {
		return "", false
	}
	return text, true
}

// idOf finds an id in an item that could not be decoded, for the report.
func idOf(item []byte) string {
	s := splitter{b: item}
	if s.space(); !s.take('{') {
		return ""
	}
	for {
		key, ok := s.key()
		from := s.p
		if !ok || !s.value() {
			return ""
		}
		if name, _ := unquote(key); name == "id" || name == "call_id" {
			id, _ := unquote(s.b[from:s.p])
			return id
		}
		if s.space(); !s.take(',') {
			return ""
		}
	}
}
