// Package personal finds personal data in texts: numbers with a checksum or a fixed structure, and
// e-mail addresses, as they are written and as they are read aloud, in Korean and English. It knows
// texts, and neither calls nor files.
//
// Names and postal addresses have no structure, and are not found.
//
// A text is read once, into groups of digits and the words that matter. Groups with only separators
// between them form a chain, which may run through several turns of one speaker. Recognizers look at
// chains, at most 20 digits from each group, so that the time is linear in the text.
package personal

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"callhouse/internal/personal/kinds"
)

// Turn is what one side of a conversation says at once.
type Turn struct {
	Speaker string
	Text    string
}

// Span is a part of a text that is personal data; From and To are bytes of the text of its turn.
type Span struct {
	Turn     int
	From, To int
	Kind     kinds.Kind
	// Normal is the normal form of the whole value, however it is spelled.
	Normal string
	// More is set if the value begins in an earlier span, or if the span only repeats a part of it.
	More bool
}

// Pattern is a custom kind.
type Pattern struct {
	Kind kinds.Kind
	Re   *regexp.Regexp
}

// Options say what to look for.
type Options struct {
	Kinds []kinds.Kind
	// Countries are the regions in which national telephone numbers are read, such as KR.
	Countries []string
	Patterns  []Pattern
}

// Finder finds personal data. It is safe for concurrent use.
type Finder struct {
	wanted    bits
	countries []string
	patterns  []Pattern
	readers   sync.Pool // of *reader
}

// New returns a finder.
func New(o Options) (*Finder, error) {
	f := &Finder{countries: o.Countries, patterns: o.Patterns}
	for _, k := range o.Kinds {
		i := slices.Index(kinds.All, k)
		if i < 0 {
			return nil, fmt.Errorf("%q is no kind of personal data", string(k))
		}
		f.wanted |= 1 << i
	}
	for _, p := range o.Patterns {
		if !kindName.MatchString(string(p.Kind)) || slices.Contains(kinds.All, p.Kind) {
			return nil, fmt.Errorf("%q cannot be the name of a pattern: it takes a new name of lower-case letters and underscores",
				string(p.Kind))
		}
	}
	f.readers.New = func() any { return &reader{f: f} }
	return f, nil
}

var kindName = regexp.MustCompile(`^[a-z][a-z_]{0,30}$`)

// Find returns the personal data in a text, in order and without overlaps. name is what the text is
// called, such as the key of a value in JSON: it may be the context that a number needs.
func (f *Finder) Find(name, text string) []Span {
	if len(f.patterns) == 0 && !MayHold(text) {
		return nil
	}
	r, _ := f.readers.Get().(*reader)
	defer f.readers.Put(r)
	r.name = spaced(r.name[:0], name)
	r.two = [2]Turn{{Text: unsafe.String(unsafe.SliceData(r.name), len(r.name))}, {Text: text}}
	r.reset(r.two[:])
	if name != "" {
		r.turn(0)
	}
	r.turn(1)
	spans := r.finish()
	r.two = [2]Turn{}
	out := spans[:0]
	for _, s := range spans {
		if s.Turn == 1 {
			s.Turn = 0
			out = append(out, s)
		}
	}
	return out
}

// spaced appends the words of a key, such as birthDate or birth_date, and a colon.
func spaced(dst []byte, name string) []byte {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if i > 0 && c >= 'A' && c <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z' {
			dst = append(dst, ' ')
		}
		if c == '_' || c == '-' || c == '.' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return append(dst, ':')
}

// mostBefore is how many turns before a number its context may be.
const mostBefore = 3

// Conversation returns the personal data in the turns of a conversation, in order and without
// overlaps. A number may continue in a later turn of the same speaker if the other side only
// acknowledges, or repeats, what came before.
func (f *Finder) Conversation(turns []Turn) []Span {
	var r *reader
	for t := range turns {
		if r == nil {
			if !MayHold(turns[t].Text) && len(f.patterns) == 0 {
				continue
			}
			r, _ = f.readers.Get().(*reader)
			r.reset(turns)
			for before := max(0, t-mostBefore); before < t; before++ {
				r.turn(before) // it may be the context
			}
		}
		r.turn(t)
	}
	if r == nil {
		return nil
	}
	defer f.readers.Put(r)
	return r.finish()
}

// leastWritten is the number of digits in the shortest value that is written in numerals, an address
// such as 1.1.1.1.
const leastWritten = 4

// MayHold reports whether a text may contain personal data: all of it has several digits, an @, a
// colon, or a word for a digit, a sign or a month.
func MayHold(text string) bool {
	digits, colons := 0, 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case isDigit(c):
			if digits++; digits >= leastWritten {
				return true
			}
		case c == '@':
			return true
		case c == ':':
			if colons++; colons >= 2 {
				return true
			}
		case isLetter(c):
			end := wordEnd(text, i)
			if e := english(text[i:end]); e != nil && (e.what == digitWord || e.what == tensWord || e.what == dotWord || e.what == monthWord) {
				return true
			}
			i = end
			continue
		case c < 0x80:
		case i+2 < len(text) && c >= 0xEA && c <= 0xED && isHangul(text[i:]):
			if mayMatter(text[i:]) {
				return true
			}
			for i += 3; i+2 < len(text) && text[i] >= 0xEA && text[i] <= 0xED && isHangul(text[i:]); i += 3 {
				if text[i:i+3] == "골" || text[i:i+3] == "닷" {
					return true
				}
			}
			continue
		default:
			return true // other digits and signs
		}
		i++
	}
	return false
}

// Rewrite returns the text of a turn with spans, which are those of this turn, replaced.
func Rewrite(text string, spans []Span, by func(Span) string) string {
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.From])
		b.WriteString(by(s))
		at = s.To
	}
	b.WriteString(text[at:])
	return b.String()
}

// Plain returns the replacement without a key: [card].
func Plain(s Span) string { return "[" + string(s.Kind) + "]" }
