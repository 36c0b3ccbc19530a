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
	"regexp"
	"slices"

	"callhouse/internal/personal/kinds"
)

// Version is incremented whenever the recognizers' results change: stored texts are then read
// again.
const Version = 3

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
}

// New returns a finder.
func New(o Options) (*Finder, error) {
	f := &Finder{countries: o.Countries, patterns: o.Patterns, places: map[string]bool{}}
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
// text, such as the key of a JSON value: it may be the context that a number needs. Once the spans are
// replaced, the digits and words next to them may be recognized: look again until nothing is found.
func (f *Finder) Find(name, text string) []Span {
	r := &reader{f: f, turns: []Turn{{Text: text}}, hits: f.meaning(name)}
	r.read(0, text)
	return r.finish()
}

// longestName is the length of the longest name that may give numbers a meaning.
const longestName = 1000

// meaning returns the words in a name that give numbers a meaning, as if they were spoken in a turn
// before the first one. Its personal data is not read: that is replaced as well.
func (f *Finder) meaning(name string) []hit {
	if name == "" || len(name) > longestName {
		return nil
	}
	r := &reader{f: f}
	r.read(-1, string(spaced(nil, replaced(name, f.Find("", name)))))
	for i := range r.hits {
		r.hits[i].word -= r.word
	}
	return r.hits
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

// maxBefore is the maximum number of turns between a number and its context.
const maxBefore = 3

// Conversation returns the personal data in the turns of a conversation, in order and without
// overlaps. A number may continue in a later turn of the same speaker if the other side only
// acknowledges, or repeats, what came before. As with Find, look again once the spans are replaced.
func (f *Finder) Conversation(turns []Turn) []Span {
	r := &reader{f: f, turns: turns}
	for t := range turns {
		r.turn(t)
	}
	return r.finish()
}
