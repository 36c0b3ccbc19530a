// Package personal finds personal data in texts: numbers with a checksum or a fixed structure, and
// e-mail addresses, written or read aloud, in Korean and English. It works on texts and does not
// depend on calls or files.
//
// Names and postal addresses have no structure, and are not found.
//
// A text is read once, into groups of digits and the relevant words. Groups with only separators
// between them form a chain, which may extend over several turns of one speaker. Recognizers
// examine chains, at most 20 digits from each group, so that the time is linear in the text.
package personal

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"callhouse/internal/personal/form"
	"callhouse/internal/personal/kinds"
)

// Version is incremented whenever the recognizers' results change: stored texts are then read
// again.
const Version = 2

// Turn is an uninterrupted utterance by one side of a conversation.
type Turn struct {
	Speaker string
	Text    string
}

// Span is a part of a text that is personal data. From and To are byte offsets in the text of its
// turn.
type Span struct {
	Turn     int
	From, To int
	Kind     kinds.Kind
	// Normal is the normal form of the whole value, however it is spelled.
	Normal string
	// More is set if the value begins in an earlier span, or if the span repeats a part of the
	// value.
	More bool
}

// Pattern is a custom kind.
type Pattern struct {
	Kind kinds.Kind
	Re   *regexp.Regexp
}

// Options select the data to find.
type Options struct {
	Kinds []kinds.Kind
	// Countries are the regions whose national telephone numbers are recognized, such as KR.
	Countries []string
	Patterns  []Pattern
	// Others are further kinds whose replacements texts may have, such as those of a service.
	Others []kinds.Kind
}

// Finder finds personal data. It is safe for concurrent use.
type Finder struct {
	wanted    bits
	countries []string
	patterns  []Pattern
	places    map[string]bool // the kinds that replacements may name

	seed  maphash.Seed
	names [mostNames]atomic.Pointer[named] // by part of the hash

	mu      sync.Mutex
	readers []*reader // unused; unlike those of a sync.Pool they keep their caches
}

// named is the name of a value. The words in it give numbers a meaning, as if they were spoken in a
// turn before the first one.
type named struct {
	name string
	hits []hit
	says bits
}

// Limits of cached names.
const (
	mostNames   = 1 << 10
	longestName = 100
)

// New returns a finder.
func New(o Options) (*Finder, error) {
	f := &Finder{countries: o.Countries, patterns: o.Patterns, seed: maphash.MakeSeed(), places: map[string]bool{}}
	for _, k := range slices.Concat(kinds.All, o.Others) {
		f.places[string(k)] = true
	}
	for _, k := range o.Kinds {
		i := slices.Index(kinds.All, k)
		if i < 0 {
			return nil, fmt.Errorf("%q is not a kind of personal data", string(k))
		}
		f.wanted |= 1 << i
	}
	for _, p := range o.Patterns {
		if !kindName.MatchString(string(p.Kind)) || slices.Contains(kinds.All, p.Kind) || json.Valid([]byte(p.Kind)) {
			return nil, fmt.Errorf("%q cannot name a pattern: use a new name of lower-case letters and underscores",
				string(p.Kind))
		}
		f.places[string(p.Kind)] = true
	}
	return f, nil
}

var kindName = regexp.MustCompile(`^[a-z][a-z_]{0,30}$`)

// Find returns the personal data in a text, in order and without overlaps. name is the name of the
// text, such as the key of a JSON value: it may be the context that a number needs. Nothing is found
// in a text whose spans were replaced.
func (f *Finder) Find(name, text string) []Span {
	spans := f.find(name, text)
	if len(spans) == 0 {
		return nil // without the turns
	}
	return settled([]Turn{{Text: text}}, spans, func(left []Turn) []Span { return f.find(name, left[0].Text) })
}

func (f *Finder) find(name, text string) []Span {
	var s signs
	if s.read(text); len(f.patterns) == 0 && !s.mayHold(^bits(0)) {
		return nil
	}
	means := f.meaning(name)
	if len(f.patterns) == 0 && !s.mayHold(means.says) {
		return nil
	}
	r := f.reader()
	defer f.free(r)
	r.one[0].Text = text
	r.reset(r.one[:])
	r.hits = append(r.hits, means.hits...)
	r.read(0, text)
	spans := r.finish()
	r.one[0].Text = ""
	return spans
}

// Limits of kept readers and their buffers.
const (
	mostReaders = 8
	mostGroups  = 4096
)

func (f *Finder) reader() *reader {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.readers) - 1
	if n < 0 {
		return &reader{f: f}
	}
	r := f.readers[n]
	f.readers = f.readers[:n]
	return r
}

func (f *Finder) free(r *reader) {
	if r.reset(nil); r.echo != nil {
		r.echo.reset(nil)
	}
	if max(cap(r.groups), cap(r.hits), cap(r.months)) > mostGroups {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.readers) < mostReaders {
		f.readers = append(f.readers, r)
	}
}

// meaning returns the meaning of a name, without its personal data: that is replaced as well.
func (f *Finder) meaning(name string) *named {
	at := &f.names[maphash.String(f.seed, name)%mostNames]
	if n := at.Load(); n != nil && n.name == name {
		return n
	}
	clean := name
	if name != "" {
		clean = replaced(name, f.Find("", name))
	}
	r := &reader{f: f}
	r.reset([]Turn{{Text: string(spaced(nil, clean))}})
	r.turn(0)
	n := &named{name: strings.Clone(name), says: said(r.hits)}
	for _, h := range r.hits {
		n.hits = append(n.hits, hit{turn: -1, word: h.word - r.word, bits: h.bits})
	}
	if len(name) <= longestName {
		at.Store(n)
	}
	return n
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

// said returns the combined meanings of words.
func said(hits []hit) (says bits) {
	for i := range hits {
		says |= hits[i].bits
	}
	return says
}

// mostBefore is the maximum number of turns between a number and its context.
const mostBefore = 3

// Conversation returns the personal data in the turns of a conversation, in order and without
// overlaps. A number may continue in a later turn of the same speaker if the other side only
// acknowledges, or repeats, what came before. Nothing is found in turns whose spans were replaced.
func (f *Finder) Conversation(turns []Turn) []Span {
	return settled(turns, f.conversation(turns), f.conversation)
}

func (f *Finder) conversation(turns []Turn) []Span {
	var s signs
	for t := range turns {
		s.read(turns[t].Text)
	}
	if len(f.patterns) == 0 && !s.mayHold(0) {
		return nil
	}
	r := f.reader()
	defer f.free(r)
	r.reset(turns)
	for t := range turns {
		r.turn(t)
	}
	return r.finish()
}

// signs are the features of texts with personal data; texts that lack them, which is most, are not
// read. Digits are counted generously, including those in words that are not digits.
type signs struct {
	any               bool // a number recognized without a word, or an address
	digits            int
	run, dots, most   int // digits and dots since something that ends every number, and the maximum number of digits
	colons            int
	at, dotted, month bool // the texts contain such words
	says              bits // meanings that words give numbers
}

// Meanings for which shorter numbers are personal data, and for which spelled ones are.
const (
	shortBits = dobBit | accountBit
	codeBits  = ibanBit | passportBit
)

// Minimum numbers of digits: of an account number, of an IP address, and of any other number that
// is recognized without a word. A plus counts as a digit.
const (
	leastAccount = 8
	leastAddress = 4
	leastUntold  = 9
)

// mayHold reports whether the texts may contain personal data, given the meanings of a name.
func (s *signs) mayHold(says bits) bool {
	says |= s.says
	return s.any || says&dobBit != 0 && (s.most >= leastDigits || s.month && s.digits > 0) ||
		says&accountBit != 0 && s.most >= leastAccount || says&codeBits != 0 && s.digits >= leastDigits ||
		s.colons >= 6 || s.at && s.dotted
}

// read adds the signs of a text, and stops at one that suffices alone.
func (s *signs) read(text string) {
	for i := 0; i < len(text) && !s.any; {
		switch bytesOf[text[i]] {
		case digitByte:
			s.count(1)
		case letterByte:
			end := wordEnd(text, i)
			s.english(text[i:end])
			s.any = s.any || end < len(text) && form.IsCode(text, i, end)
			i = end
			continue
		case wideByte:
			i = s.wide(text, i)
			continue
		case dotByte:
			if i > 0 && i+1 < len(text) && isDigit(text[i-1]) && isDigit(text[i+1]) {
				s.dots++
			}
		case endByte:
			s.end()
			switch text[i] {
			case '@':
				s.any = true
			case '+':
				s.run = 1
			case ':':
				s.colons++
				s.any = i > 0 && text[i-1] == ':'
			}
		}
		i++
	}
}

// Classes of bytes; 0 may be between the digits of a number.
const (
	digitByte = iota + 1
	letterByte
	wideByte
	dotByte
	endByte // ends a number
)

var bytesOf = func() (out [256]uint8) {
	for i := range out {
		switch c := byte(i); {
		case c >= utf8.RuneSelf:
			out[i] = wideByte
		case isLetter(c):
			out[i] = letterByte
		case isDigit(c):
			out[i] = digitByte
		case c == '.':
			out[i] = dotByte
		case strings.IndexByte(" \n\t\r-/,()~?!", c) < 0:
			out[i] = endByte
		}
	}
	return out
}()

func (s *signs) count(digits int) {
	s.digits += digits
	s.run += digits
	s.most = max(s.most, s.run)
	s.any = s.any || s.run >= leastUntold || s.dots >= 3 && s.run >= leastAddress
}

// end resets the counts of the current number.
func (s *signs) end() { s.run, s.dots = 0, 0 }

func (s *signs) english(word string) {
	e := english(word)
	if e == nil {
		s.at = s.at || len(word) == 2 && word[0]|0x20 == 'a' && word[1]|0x20 == 't'
		s.end()
		return
	}
	switch e.what {
	case digitWord, tensWord:
		s.count(len(e.digits))
	case hundredWord, repeatWord:
		s.count(2)
	case thousandWord:
		s.count(3)
	case dotWord:
		s.dots++
		s.dotted = true
	case plusWord:
		s.end()
		s.run = 1
	case monthWord, contextWord, unitWord:
		s.month = s.month || e.what == monthWord
		s.says |= e.bits
		s.end()
	}
}

// wide reads a multi-byte character or a Korean word, and returns its end.
func (s *signs) wide(text string, at int) int {
	if at+2 >= len(text) || text[at] < 0xEA || text[at] > 0xED || !isHangul(text[at:]) {
		if strings.HasPrefix(text[at:], "\xef\xbc") { // ０ to ９ and ＋, among others
			s.count(1)
		}
		return at + 1
	}
	first, digits, foreign := at, 0, false
	may := koStart[hangulAt(text[at:])-hangulFirst]
	for ; at+2 < len(text); at += 3 {
		c := hangulAt(text[at:]) - hangulFirst
		if text[at] < 0xEA || text[at] > 0xED || uint32(c) >= hangulCount { //nolint:gosec // negative: too large
			break
		}
		switch w := koWeight[c]; w {
		case foreignSign:
			foreign = true
		case endingSign:
		case mailSign:
			s.any = true
		case dotSign:
			s.dots++
			s.dotted = true
		case monthSign:
			s.month = s.month || endsInNumber(text[:at])
		default:
			digits += int(w)
		}
	}
	if may&startsContext != 0 && at-first >= 6 {
		s.says |= koContext[text[first:first+6]]
	}
	afterDigit := first > 0 && isDigit(text[first-1])
	switch {
	case foreign || afterDigit && koSuffix[text[first:at]] == unitWord:
		s.digits += digits
		s.end()
	case may != 0 || afterDigit:
		s.count(digits)
	}
	return at
}
