package phone

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Span is a part of a text, in bytes; To is exclusive.
type Span struct{ From, To int }

// Finder finds numbers inside texts.
type Finder struct{ numbers []*Number }

// NewFinder returns a finder for the searchable numbers among the given ones.
func NewFinder(numbers []*Number) *Finder {
	f := new(Finder)
	for _, n := range numbers {
		if n.Searchable() {
			f.numbers = append(f.numbers, n)
		}
	}
	return f
}

// Limits for a number inside a text.
const (
	maxDigits = 24 // a longer row of digits is not a number
	maxGap    = 4  // separators between two groups of digits
	maxPrefix = 5  // digits that dial another country: 00, 011, 00700
)

// Find returns the places where a text spells one of the numbers: in international or national
// form, with spaces, hyphens, dots, slashes or parentheses between groups of digits, or in JSON
// escapes. Digits that are part of a longer number are skipped.
func (f *Finder) Find(text []byte) (spans []Span) {
	if len(f.numbers) == 0 {
		return nil
	}
	var c chain
	for at := 0; at < len(text); {
		if b := text[at]; !c.open && b < utf8.RuneSelf && b != '+' && b != '\\' && (b < '0' || b > '9') {
			at++
			continue
		}
		r, size := runeAt(text[at:])
		if r >= '0' && r <= '9' {
			c.digit(byte(r), at)
		} else {
			if c.inGroup {
				if s, ok := f.match(&c, at); ok {
					spans = append(spans, s)
					c = chain{}
				}
			}
			c.other(r, at)
		}
		at += size
	}
	if c.inGroup {
		if s, ok := f.match(&c, len(text)); ok {
			spans = append(spans, s)
		}
	}
	return spans
}

// runeAt returns the first character of a text, normalised by plain, and its size in bytes.
func runeAt(text []byte) (r rune, size int) {
	if text[0] == '\\' && len(text) >= 6 && text[1] == 'u' {
		if n, err := strconv.ParseUint(string(text[2:6]), 16, 16); err == nil {
			return plain(rune(n)), 6
		}
	}
	r, size = utf8.DecodeRune(text)
	return plain(r), size
}

// chain is a sequence of groups of digits with only separators between them.
type chain struct {
	open    bool // it may continue
	inGroup bool
	plus    int // place of the plus before the next group, from 1; 0: none
	gap     int
	digits  []byte
	groups  []group
}

type group struct {
	digit, at int // where it begins, as an index of digits and of the text
	plus      bool
}

func (c *chain) digit(d byte, at int) {
	if !c.inGroup {
		g := group{digit: len(c.digits), at: at, plus: c.plus > 0}
		if g.plus {
			g.at = c.plus - 1
		}
		c.groups = append(c.groups, g)
		c.open, c.inGroup, c.plus = true, true, 0
	}
	c.digits = append(c.digits, d)
	c.gap = 0
	c.shorten()
}

// shorten drops the first groups of a long chain.
func (c *chain) shorten() {
	for len(c.digits) > 2*maxDigits && len(c.groups) > 1 {
		n := c.groups[1].digit
		c.digits, c.groups = slices.Delete(c.digits, 0, n), slices.Delete(c.groups, 0, 1)
		for i := range c.groups {
			c.groups[i].digit -= n
		}
	}
	if len(c.digits) > 2*maxDigits { // one long group: its digits are irrelevant
		c.digits = c.digits[:2*maxDigits]
	}
}

func (c *chain) other(r rune, at int) {
	c.inGroup = false
	switch {
	case r == '+':
		*c = chain{open: true, plus: at + 1}
	case strings.ContainsRune(" -.()/", r) && c.gap < maxGap:
		c.gap++
	default:
		*c = chain{}
	}
}

// match returns the number at the end of the chain. end is the end of the last group in the text.
func (f *Finder) match(c *chain, end int) (Span, bool) {
	for i, g := range c.groups {
		d := string(c.digits[g.digit:])
		if len(d) < minDigits {
			break
		}
		if len(d) > maxDigits || i > 0 && c.groups[i-1].plus && !g.plus {
			continue // the digits after a country code are a number of that country
		}
		for _, n := range f.numbers {
			if n.spelled(d, g.plus) {
				return Span{g.at, end}, true
			}
		}
	}
	return Span{}, false
}

// spelled reports whether digits spell the number. plus is whether a plus precedes them.
func (n *Number) spelled(d string, plus bool) bool {
	before, ok := strings.CutSuffix(d, n.national)
	if !ok {
		return false
	}
	if !plus && (before == "" || before == "0" || before == n.trunk) {
		return true
	}
	if n.code == "" { // of any country
		return len(before) <= 4 || len(before) <= maxPrefix+2 && strings.HasPrefix(before, "00")
	}
	for _, trunk := range []string{"", "0", n.trunk} { // +44 (0)20
		dialled, ok := strings.CutSuffix(before, n.code+trunk)
		if ok && (dialled == "" || !plus && len(dialled) <= maxPrefix && dialled[0] == '0') {
			return true
		}
	}
	return false
}
