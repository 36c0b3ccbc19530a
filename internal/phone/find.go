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
	var groups []group // with only separators between them
	inGroup, gap, plus := false, 0, -1
	end := func(at int) {
		if s, ok := f.match(groups, at); inGroup && ok {
			spans, groups = append(spans, s), nil
		}
		inGroup = false
	}
	for at := 0; at < len(text); {
		if b := text[at]; groups == nil && plus < 0 && b < utf8.RuneSelf && b != '+' && b != '\\' && (b < '0' || b > '9') {
			at++
			continue
		}
		r, size := runeAt(text[at:])
		switch digit := r >= '0' && r <= '9'; {
		case digit && inGroup:
			if last := &groups[len(groups)-1]; len(last.digits) <= maxDigits {
				last.digits += string(r)
			}
		case digit:
			g := group{at: at, digits: string(r), plus: plus >= 0}
			if g.plus {
				g.at = plus
			}
			groups = append(groups[max(0, len(groups)-maxDigits):], g)
			inGroup, gap, plus = true, 0, -1
		default:
			end(at)
			switch {
			case r == '+':
				groups, gap, plus = nil, 0, at
			case strings.ContainsRune(" -.()/", r) && gap < maxGap:
				gap++
			default:
				groups, plus = nil, -1
			}
		}
		at += size
	}
	end(len(text))
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

// group is a row of digits, and where it begins.
type group struct {
	at     int
	digits string
	plus   bool
}

// match returns the longest number at the end of some groups, which is at a place in the text.
func (f *Finder) match(groups []group, end int) (s Span, ok bool) {
	digits := ""
	for i, g := range slices.Backward(groups) {
		if digits = g.digits + digits; len(digits) > maxDigits {
			break
		}
		if i > 0 && groups[i-1].plus && len(groups[i-1].digits) <= maxDigits && !g.plus {
			continue // the digits after a country code are a number of that country
		}
		if slices.ContainsFunc(f.numbers, func(n *Number) bool { return n.spelled(digits, g.plus) }) {
			s, ok = Span{g.at, end}, true
		}
	}
	return s, ok
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
