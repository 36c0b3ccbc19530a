// Package envelope splits the pages of lists into their items without decoding them.
package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"callhouse/internal/api"
)

// Page is a page as the service sent it.
type Page struct {
	name  string   // name of the member with the items
	Items [][]byte // as sent; the decoder checks whether each is a call
	Next  string   // empty on the last page
	Odd   bool     // Next may also mean the end: zero, false, "null" and the like
	Total int64    // -1 if not sent
	At    int64    // when it arrived, ms
	// Of an incomplete page:
	List      bool // it is a list: its items have begun
	NextKnown bool // Next is known nevertheless

	wrong bool // something else is in place of the items
}

// The spellings of no items, and of cursors that may mean the end of the list.
var (
	noItems = []string{"null", "{}", `""`, "false"}
	odd     = []string{"0", "-1", "false", "null", "none", "nil", "undefined", "[]", "{}"}
)

// ErrNoList means that an answer is not a page of a list at all.
var ErrNoList = errors.New("not a page of a list: no items")

// Parse splits the envelope of a page. name is the member with the items. It is strict about the
// boundaries of values, but does not check their content. So an item that is not valid JSON (a
// control character in a text, NaN, any depth) does not hide the others: it is returned like them,
// and the decoder refuses it.
//
// If the items cannot be separated, or the body is incomplete, it returns api.ErrBroken with the
// items before that point. NextKnown then reports whether the cursor is known nevertheless: it was
// before the items, or at the end of tail, which is the end of the body. A cursor is opaque; a
// number keeps its spelling.
func Parse(name string, body, tail []byte) (Page, error) {
	s := splitter{b: body}
	p := Page{name: name, Total: -1}
	s.space()
	whole := s.take('{') && p.members(&s)
	if whole && p.Items == nil && !p.wrong && p.Total >= 0 { // some services leave out an empty list
		p.Items = [][]byte{}
	}
	switch p.List = p.Items != nil; {
	case !p.List:
		return p, ErrNoList
	case whole:
		return p, nil
	case !p.NextKnown:
		p.readTail(tail)
	}
	return p, api.ErrBroken
}

// members reads the members of the envelope, up to the end of the text.
func (p *Page) members(s *splitter) bool {
	return s.members(func(name string) bool {
		if name == p.name && s.take('[') {
			return p.readItems(s)
		}
		v, ok := s.value()
		if p.wrong = p.wrong || name == p.name && !slices.Contains(noItems, string(v)); ok {
			p.set(name, v)
		}
		return ok
	}) && s.over()
}

// readItems records the place of each item. A second list of items is added to the first.
func (p *Page) readItems(s *splitter) bool {
	if p.Items == nil {
		p.Items = [][]byte{}
	}
	return s.each(']', func() bool {
		item, ok := s.value()
		if ok {
			p.Items = append(p.Items, item)
		}
		return ok
	})
}

func (p *Page) set(name string, v []byte) {
	switch name {
	case "next_cursor":
		p.Next, p.NextKnown = "", true
		if text, ok := unquote(v); ok {
			p.Next = text
		} else if string(v) != "null" {
			p.Next = string(v)
		}
		p.Odd = slices.Contains(odd, strings.ToLower(p.Next))
	case "total_count":
		if n, err := strconv.ParseInt(string(bytes.Trim(v, `"`)), 10, 64); err == nil && n >= 0 {
			p.Total = n
		}
	}
}

// readTail reads the members after the items. Any closing bracket may be the end of the items, so
// it tries the last one first; after it only members of the envelope may follow.
func (p *Page) readTail(tail []byte) {
	const maxTries = 64
	end := len(tail)
	for range maxTries {
		if end = bytes.LastIndexByte(tail[:end], ']'); end < 0 {
			return
		}
		s := splitter{b: tail, p: end + 1}
		rest := Page{name: p.name, Total: -1}
		if s.space(); s.take(',') && rest.members(&s) && rest.NextKnown {
			p.Next, p.Odd, p.Total, p.NextKnown = rest.Next, rest.Odd, rest.Total, true
			return
		}
	}
}

// splitter finds where JSON values begin and end. Their structure must be valid: names, colons,
// commas, matching brackets, terminated texts. Words and the content of texts are not checked.
type splitter struct {
	b    []byte
	p    int
	open []byte // the closing brackets that must follow
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

// over reports whether only space is left.
func (s *splitter) over() bool {
	s.space()
	return s.p == len(s.b)
}

// each visits the parts of a list or an object, up to its end. part skips one of them.
func (s *splitter) each(end byte, part func() bool) bool {
	if s.space(); s.take(end) {
		return true
	}
	for {
		s.space()
		if !part() {
			return false
		}
		switch s.space(); {
		case s.take(end):
			return true
		case !s.take(','):
			return false
		}
	}
}

// members visits the members of an object. member skips the value.
func (s *splitter) members(member func(name string) bool) bool {
	return s.each('}', func() bool {
		key, ok := s.key()
		name, _ := unquote(key)
		return ok && member(name)
	})
}

// value skips a value, and returns it.
func (s *splitter) value() ([]byte, bool) {
	from := s.p
	ok := s.skip()
	return s.b[from:s.p:s.p], ok
}

// key skips a member's name and its colon.
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

// text skips a text.
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

// word skips anything in place of a number, true, false or null.
func (s *splitter) word() bool {
	from := s.p
	for s.p < len(s.b) && !slices.Contains([]byte(`,:{}[]" `+"\n\t\r"), s.b[s.p]) {
		s.p++
	}
	return s.p > from
}

// skip skips a value of any depth.
func (s *splitter) skip() bool {
	s.open = s.open[:0]
	for {
		s.space()
		switch c := s.at(); c {
		case '{', '[':
			s.p++
			s.open = append(s.open, c+2) // the matching bracket in ASCII
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

// close skips the brackets that end here. more means that another value follows.
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

// unquote returns the content of a JSON text.
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

// IDOf finds the id in an item that could not be decoded, for the report.
func IDOf(item []byte) (id string) {
	s := splitter{b: item}
	if s.space(); s.take('{') {
		s.members(func(name string) bool {
			v, ok := s.value()
			if ok && (name == "id" || name == "call_id") {
				id, _ = unquote(v)
				return false
			}
			return ok
		})
	}
	return id
}

// ClosesList reports whether an item contains the end of the list, and more after it.
func ClosesList(item []byte) bool {
	s := splitter{b: append(slices.Clone(item), ']')}
	return new(Page).readItems(&s) && !s.over()
}
