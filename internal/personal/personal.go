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
	"hash/maphash"
	mathbits "math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"callhouse/internal/personal/kinds"
)

// Version is raised whenever the recognizers find something else: stored texts are then read again.
const Version = 1

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
	empty     *seen
}

// seen remembers texts in which nothing was found, by their hashes: the texts of agents and the
// variables of calls repeat. A newer text takes the place of an older one.
type seen struct {
	seed   maphash.Seed
	hashes [1 << 14]atomic.Uint64
}

// leastSeen is the length of the shortest text that is remembered: shorter ones are read as fast.
const leastSeen = 24

// place returns the hash of a text and what it is called, and its place.
func (s *seen) place(name, text string) (hash uint64, at *atomic.Uint64) {
	hash = maphash.String(s.seed, text) ^ mathbits.RotateLeft64(maphash.String(s.seed, name), 32)
	return hash, &s.hashes[hash%uint64(len(s.hashes))]
}

// New returns a finder.
func New(o Options) (*Finder, error) {
	f := &Finder{countries: o.Countries, patterns: o.Patterns, empty: &seen{seed: maphash.MakeSeed()}}
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
	var hash uint64
	var at *atomic.Uint64
	if len(text) >= leastSeen {
		if hash, at = f.empty.place(name, text); at.Load() == hash {
			return nil
		}
	}
	if len(f.patterns) == 0 && !mayHold(text) {
		return nil
	}
	r, _ := f.readers.Get().(*reader)
	defer f.readers.Put(r)
	r.one[0].Text = text
	r.reset(r.one[:])
	r.hits = append(r.hits, r.meaning(name)...)
	r.read(0, text)
	spans := r.finish()
	r.one[0].Text = ""
	if len(spans) == 0 && at != nil {
		at.Store(hash)
	}
	return spans
}

// Bounds of the names whose meaning a reader remembers.
const (
	mostNames   = 4096
	longestName = 100
)

// meaning returns the words in a name that give a meaning to numbers, as if they were in a turn
// before the first one.
func (r *reader) meaning(name string) []hit {
	hits, known := r.names[name]
	if !known && name != "" {
		o := &reader{f: r.f}
		o.reset([]Turn{{Text: string(spaced(nil, name))}})
		o.turn(0)
		for _, h := range o.hits {
			hits = append(hits, hit{turn: -1, word: h.word - o.word, bits: h.bits})
		}
		if len(r.names) >= mostNames || r.names == nil {
			r.names = map[string][]hit{}
		}
		if len(name) <= longestName {
			r.names[strings.Clone(name)] = hits
		}
	}
	return hits
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
	r, _ := f.readers.Get().(*reader)
	defer f.readers.Put(r)
	r.reset(turns)
	for t := range turns {
		r.turn(t)
	}
	return r.finish()
}

// signs are what a text has of which personal data is made.
type signs struct {
	digits, dots, colons   int
	at, month, korean, any bool
}

// mayHold reports whether a text may contain personal data, so that most texts are not read. It counts
// digits generously, also those in words that are none.
func mayHold(text string) bool {
	var s signs
	for i := 0; i < len(text) && !s.any && s.digits < leastDigits; {
		switch c := text[i]; {
		case isDigit(c):
			s.digits++
		case c == '@':
			return true
		case c == ':':
			s.colons++
			s.any = i > 0 && text[i-1] == ':'
		case c == '.':
			if i > 0 && i+1 < len(text) && isDigit(text[i-1]) && isDigit(text[i+1]) {
				s.dots++
			}
		case isLetter(c):
			end := wordEnd(text, i)
			s.english(text[i:end])
			i = end
			continue
		case c >= utf8.RuneSelf && i+2 < len(text):
			switch {
			case c >= 0xEA && c <= 0xED && isHangul(text[i:]):
				i = s.hangul(text, i)
				continue
			case text[i:i+2] == "\xef\xbc": // ０ to ９, among others
				s.digits++
			}
		}
		i++
	}
	return s.any || s.digits >= leastDigits || s.digits >= leastAddress && s.dots >= 3 || s.digits > 0 && s.month ||
		s.colons >= 6 || s.at && (s.dots > 0 || s.korean)
}

// leastAddress is the number of digits in the shortest IP address.
const leastAddress = 4

func (s *signs) english(word string) {
	e := english(word)
	if e == nil {
		s.at = s.at || len(word) == 2 && word[0]|0x20 == 'a' && word[1]|0x20 == 't'
		return
	}
	switch e.what {
	case digitWord, tensWord:
		s.digits += len(e.digits)
	case hundredWord, repeatWord:
		s.digits += 2
	case thousandWord:
		s.digits += 3
	case dotWord:
		s.dots++
	case monthWord:
		s.month = true
	}
}

// hangul looks at a word of Korean, and returns where it ends.
func (s *signs) hangul(text string, at int) int {
	first := at
	for s.korean = true; at+2 < len(text); at += 3 {
		c := hangulAt(text[at:]) - hangulFirst
		if text[at] < 0xEA || text[at] > 0xED || uint32(c) >= hangulCount { //nolint:gosec // negative: too large
			break
		}
		switch w := koWeight[c]; {
		case w == 0:
		case w == mailSign:
			s.any = true
		case w == dotSign:
			s.dots++
		case w == monthSign:
			s.month = true
		case koStart[hangulAt(text[first:])-hangulFirst] != 0 || first > 0 && isDigit(text[first-1]):
			s.digits += int(w)
		}
	}
	return at
}

// Plain returns the replacement without a key: [card].
func Plain(s Span) string { return "[" + string(s.Kind) + "]" }
