package personal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// join is the separator between two groups of digits.
type join uint8

const (
	joinAdjacent join = iota // nothing
	joinSpace                // space only
	joinSoft                 // a comma, a pause, the end of a turn
	joinSpoken               // a hyphen that is spoken or has space around it
	joinHyphen
	joinDot
	joinSlash
)

// style is how a group is spelled.
type style uint8

const (
	numerals style = iota
	english1       // a word: five, double five, nineteen
	tens           // twenty, thirty …: a digit may follow
	korean1        // one syllable
	korean         // several syllables
	region         // of a driving licence
)

// group is a sequence of digits spelled without a separator.
type group struct {
	turn, from, to int
	digits         string
	word           int // number of words before it
	join           join
	style          style
	loose          bool // a word that often does not mean a digit
	tail           bool // a syllable that may be an ending
	ending         bool // and, judging by the text before it, probably is one
	plus           bool
	noStart, noEnd bool // adjacent to the rest of a longer word
	unit           bool // an amount, a time, an ordinal
}

func (g *group) spoken() bool { return g.style != numerals && g.style != region }

// echo is a part of a chain repeated by the other side.
type echo struct {
	turn, from, to int
	first, last    int // groups of the chain whose digits contain it
}

// chain is groups with only separators between them.
type chain struct {
	first, last int // last is exclusive
	echoes      []echo
}

// hit is a word that gives numbers near it a meaning.
type hit struct {
	turn, at, word int
	bits           bits
}

// limits of the text between two groups of a chain.
const (
	maxSeparators = 8
	maxFillers    = 6
)

// between describes the text since the last group.
type between struct {
	separators, fillers int
	join                join
	plus                int // place of a plus, from 1
	repeat              int // how often the next digit is repeated
	repeatAt            int
}

// reader reads the turns of a conversation.
type reader struct {
	f      *Finder
	turns  []Turn
	groups []group
	chains []chain
	hits   []hit
	spans  []Span
	late   []late
	word   int

	open    bool // the last chain may continue
	speaker string
	gap     between
	mail    bool // the turn may hold an e-mail address that is read aloud
	t       int
	text    string
	looked  int // amount of work of the recognizers, for a test
}

// turn reads the next turn.
func (r *reader) turn(t int) {
	turn := &r.turns[t]
	r.gap.plus, r.gap.repeat = 0, 0 // they refer to places in the previous turn
	if r.open && turn.Speaker != r.speaker {
		if r.acknowledges(t) {
			return
		}
		r.open = false
	}
	if r.open {
		r.gap.separators, r.gap.fillers = 0, 0
		r.gap.join = max(r.gap.join, joinSoft)
	}
	r.speaker = turn.Speaker
	r.read(t, turn.Text)
}

// longestAck is the maximum length of a turn that only acknowledges, in bytes.
const longestAck = 120

// maxEchoed is the maximum number of groups back at which a repetition may begin.
const maxEchoed = 24

// acknowledges reports whether a turn of the other side only acknowledges, or repeats digits.
func (r *reader) acknowledges(t int) bool {
	text := r.turns[t].Text
	if len(text) > longestAck {
		return false
	}
	e := &reader{f: r.f, open: true} // so that a break is noticed
	e.read(t, text)
	if !e.open || len(e.chains) > 1 || len(e.hits) > 0 || e.mail {
		return false
	}
	if len(e.chains) == 0 {
		return true
	}
	said := joined(e.groups)
	c := &r.chains[len(r.chains)-1]
	from := max(c.first, c.last-maxEchoed)
	digits := joined(r.groups[from:c.last])
	at := strings.LastIndex(digits, said)
	if at < 0 || len(said) < 2 && len(said) != len(digits) {
		return false
	}
	first, last, n := -1, -1, 0
	for i := from; i < c.last; i++ {
		if n += len(r.groups[i].digits); first < 0 && n > at {
			first = i
		}
		if last < 0 && n >= at+len(said) {
			last = i
		}
	}
	c.echoes = append(c.echoes, echo{t, e.groups[0].from, e.groups[len(e.groups)-1].to, first, last})
	return true
}

func joined(groups []group) string {
	var b strings.Builder
	for i := range groups {
		b.WriteString(groups[i].digits)
	}
	return b.String()
}

// stop ends the chain at something that is not part of a number.
func (r *reader) stop() {
	r.open = false
	r.gap = between{}
}

// last returns the last group of the chain if it may continue, or nil.
func (r *reader) last() *group {
	if r.open && len(r.chains) > 0 && len(r.groups) > 0 {
		return &r.groups[len(r.groups)-1]
	}
	return nil
}

func (r *reader) add(g group) {
	g.turn, g.word = r.t, r.word
	gap := r.gap
	if gap.plus > 0 {
		g.plus, g.from = true, gap.plus-1
	}
	if gap.repeat > 0 {
		g.from = gap.repeatAt
		if len(g.digits) == 1 {
			g.digits = strings.Repeat(g.digits, gap.repeat)
		}
		g.loose = false
	}
	g.join = gap.join
	r.gap = between{}
	if last := r.last(); last != nil && gap.separators <= maxSeparators && gap.fillers <= maxFillers && !g.plus {
		if last.style == tens && g.style == english1 && len(g.digits) == 1 && g.digits != "0" &&
			(g.join == joinSpace || g.join == joinHyphen) && gap.repeat == 0 && last.turn == g.turn {
			last.digits, last.to, last.style = last.digits[:1]+g.digits, g.to, english1
			return
		}
		if g.join == joinHyphen && g.spoken() && last.spoken() {
			g.join = joinSpace // five-five-five
		}
		r.groups = append(r.groups, g)
		r.chains[len(r.chains)-1].last = len(r.groups)
		return
	}
	r.open = true
	r.groups = append(r.groups, g)
	r.chains = append(r.chains, chain{first: len(r.groups) - 1, last: len(r.groups)})
}

// joinBy records a separator.
func (r *reader) joinBy(j join) {
	r.gap.separators++
	r.gap.join = max(r.gap.join, j)
}

func (r *reader) read(t int, text string) {
	r.t, r.text, r.mail = t, text, false
	for at := 0; at < len(text); {
		switch c := text[at]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			r.gap.join = max(r.gap.join, joinSpace)
			at++
		case isDigit(c):
			at = r.numeral(at)
		case isLetter(c):
			at = r.latin(at)
		case c < utf8.RuneSelf:
			at = r.mark(at, rune(c), 1)
		default:
			if c >= 0xEA && c <= 0xED && at+2 < len(text) && isHangul(text[at:]) {
				at = r.hangul(at)
				continue
			}
			ch, size := utf8.DecodeRuneInString(text[at:])
			switch {
			case unicode.IsSpace(ch):
				r.gap.join = max(r.gap.join, joinSpace)
				at += size
			case unicode.Is(unicode.Pd, ch), ch == '−':
				at = r.mark(at, '-', size)
			case ch == '…', ch == '·', ch == '，', ch == '、', ch == '。':
				at = r.mark(at, ',', size)
			default:
				r.stop()
				at += size
			}
		}
	}
	r.marks()
}

// mark reads a punctuation character.
func (r *reader) mark(at int, c rune, size int) int {
	text := r.text
	next := at + size
	adjacent := at > 0 && next < len(text) && isAlnum(text[next])
	switch c {
	case '-':
		if adjacent && (isAlnum(text[at-1]) || text[at-1] == ')' || text[at-1] >= 0x80) {
			r.joinBy(joinHyphen)
		} else {
			r.joinBy(joinSpoken)
		}
	case '.':
		if adjacent && isDigit(text[at-1]) && isDigit(text[next]) {
			r.joinBy(joinDot)
		} else {
			r.joinBy(joinSoft)
		}
	case '/':
		r.joinBy(joinSlash)
	case ',', '(', ')', '~', '?', '!':
		r.joinBy(joinSoft)
		if c == '(' && r.last() == nil {
			r.stop()
		}
	case '+':
		if r.last() != nil {
			r.stop()
		}
		r.gap.plus = at + 1
	case '[':
		r.stop()
		if n := r.f.replacement(text[at:]); n > 0 {
			return at + n
		}
	default:
		r.stop()
	}
	return next
}

// numeral reads a run of digits.
func (r *reader) numeral(at int) int {
	text, end := r.text, at
	for end < len(text) && isDigit(text[end]) {
		end++
	}
	r.word++
	g := group{from: at, to: end, digits: text[at:end]}
	if at > 0 {
		g.noStart, g.unit = before(text[:at])
	}
	if end < len(text) {
		g.noEnd = after(text[end:])
		g.unit = g.unit || text[end] == '%'
	}
	r.add(g)
	return end
}

// before reports whether the text before a run of digits makes it part of a longer word, or an
// amount.
func before(text string) (part, amount bool) {
	c := text[len(text)-1]
	switch {
	case isLetter(c) || c == '_' || c == '#' || c == '@':
		return true, false
	case (c == '-' || c == '/' || c == '.' || c == ':') && len(text) > 1:
		p := text[len(text)-2]
		return isLetter(p) || p == '_' || c == ':' && isDigit(p), false
	}
	text = strings.TrimRight(text, " ")
	sign, _ := utf8.DecodeLastRuneInString(text)
	return false, sign == '$' || sign == '₩' || sign == '€' || sign == '£'
}

// after reports whether the text after a run of digits continues the word.
func after(text string) bool {
	c := text[0]
	if isLetter(c) || c == '_' || c == '@' {
		return true
	}
	if (c == '-' || c == ':' || c == '.' || c == '/') && len(text) > 1 {
		n := text[1]
		return isLetter(n) && c != '.' || n == '_' || c == ':' && isDigit(n)
	}
	return false
}

// latin reads a word of ASCII letters, or one of letters and digits.
func (r *reader) latin(at int) int {
	text := r.text
	end := wordEnd(text, at)
	r.word++
	whole := (at == 0 || !isAlnum(text[at-1])) && (end == len(text) || !isDigit(text[end]) && text[end] != '_')
	if !whole {
		snake := (at == 0 || text[at-1] == '_' || !isAlnum(text[at-1])) && (end == len(text) || !isDigit(text[end]))
		if e := english(text[at:end]); snake && e != nil && e.what == contextWord { // birth_date
			r.means(e.bits, at)
			return end
		}
		if next := r.coded(at, end); next > 0 {
			return next
		}
		r.stop()
		return end
	}
	if end-at == 2 && r.f.wanted&ibanBit != 0 {
		if next := r.iban(at); next > 0 {
			return next
		}
	}
	e := english(text[at:end])
	if e == nil {
		if end < len(text) && text[end] == '\'' { // I'm, it's
			r.stop()
			return wordEnd(text, end+1)
		}
		r.stop()
		return end
	}
	r.english(e, at, end)
	return end
}

func (r *reader) english(e *entry, at, end int) {
	switch e.what {
	case digitWord:
		r.add(group{from: at, to: end, digits: e.digits, style: english1, loose: e.loose})
	case tensWord:
		r.add(group{from: at, to: end, digits: e.digits, style: tens})
	case hundredWord, thousandWord:
		zeros := "00"
		if e.what == thousandWord {
			zeros = "000"
		}
		last := r.last()
		if last == nil || !last.spoken() || len(last.digits) > 2 || r.gap.join > joinSpace {
			r.stop()
			return
		}
		last.digits, last.to, last.style, last.loose = last.digits+zeros, end, english1, false
		r.gap = between{}
	case repeatWord:
		r.gap.repeat, r.gap.repeatAt = int(e.digits[0]-'0'), at
	case unitWord:
		r.amount()
	case contextWord:
		r.means(e.bits, at)
	default:
		r.connect(e.what, at)
	}
}

// amount marks the last group as an amount.
func (r *reader) amount() {
	if last := r.last(); last != nil && r.gap.join <= joinSpace {
		last.unit = true
	}
	r.stop()
}

func (r *reader) means(b bits, at int) {
	r.hits = append(r.hits, hit{r.t, at, r.word, b})
	r.stop()
}

// connect records a word that may be spoken between groups.
func (r *reader) connect(w what, at int) {
	switch w {
	case fillerWord, ackWord:
		r.gap.fillers++
		r.gap.join = max(r.gap.join, joinSoft)
	case dashWord:
		r.joinBy(joinSpoken)
	case dotWord:
		r.mail = true
		r.joinBy(joinDot)
	case slashWord:
		r.joinBy(joinSlash)
	case plusWord:
		if r.last() != nil {
			r.stop()
		}
		r.gap.plus = at + 1
	}
}
