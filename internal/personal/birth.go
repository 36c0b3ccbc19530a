package personal

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"callhouse/internal/personal/kinds"
)

// pause matches words that may be spoken inside a date.
const pause = `(?:[\s,.]|\b(?:uh|um|er)\b|(?:어|음|그)[\s,.])*`

const (
	koDigits = `(?:[영공일이삼사오육륙칠팔구십백천]+(?:` + pause + `[영공일이삼사오육륙칠팔구십백천]+){0,3})`
	enUnits  = `(?:one|two|three|four|five|six|seven|eight|nine)`
	enTeens  = `(?:ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen)`
	enTens   = `(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[ -]` + enUnits + `)?)`
	enYear   = `(?:(?:19|20)\d{2}|'?\d{2}\b|` +
		`nineteen[ -](?:oh?[ -]` + enUnits + `|` + enTeens + `|` + enTens + `)|two thousand(?:(?: and)? (?:` +
		enUnits + `|` + enTeens + `|` + enTens + `))?|twenty[ -](?:oh?[ -]` + enUnits + `|` + enTeens + `|` + enTens + `)|` + enTens + `)`
	enMonth = `(?:january|february|march|april|may|june|july|august|september|october|november|december|` +
		`jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)`
	enDay = `(?:\d{1,2}(?:st|nd|rd|th)?|(?:twenty|thirty)[ -](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|` +
		`first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|` +
		`seventeenth|eighteenth|nineteenth|twentieth|thirtieth|` + enTens + `|` + enTeens + `|` + enUnits + `)`
)

// dates are compiled for the first text that needs them, not at start-up. The first group is the
// whole date.
var dates = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?:^|[^0-9가-힣])((\d{4}|\d{2}|` + koDigits + `) ?년생?` + pause + `(\d{1,2}|[일이삼사오육유칠팔구십시]{1,2}) ?월` + pause +
			`(\d{1,2}|[일이삼사오육칠팔구십]{1,3}) ?일)`),
		regexp.MustCompile(`(?i)\b((?:the )?(` + enDay + `)` + pause + `(?:of )?(` + enMonth + `)\.?` + pause +
			`(?:of )?(?:in )?(` + enYear + `))`),
		regexp.MustCompile(`(?i)\b((` + enMonth + `)\.?` + pause + `(?:the )?(` + enDay + `)` + pause + `(?:of )?(?:in )?(` + enYear + `))`),
	}
})

// longestWindow is the maximum distance, in bytes, between a context word and the texts that it
// explains.
const longestWindow = 240

// windows searches for values that are only recognized after a word that announces them: dates of
// birth in words, and spelled IBANs and passport numbers.
func (r *reader) windows() {
	const announced = dobBit | ibanBit | passportBit
	var done map[[2]int]bits // by turn and part of the text
	for i := range r.hits {
		h := &r.hits[i]
		if h.bits&announced&r.f.wanted == 0 {
			continue
		}
		for t := max(h.turn, 0); t < len(r.turns) && t <= h.turn+2; t++ {
			text := r.turns[t].Text
			from, to := 0, min(len(text), longestWindow)
			if t == h.turn {
				from, to = max(0, h.at-longestWindow/4), min(len(text), h.at+longestWindow)
			}
			at := [2]int{t, from / (longestWindow / 4)}
			if done == nil {
				done = map[[2]int]bits{}
			}
			todo := h.bits & announced &^ done[at]
			done[at] |= todo
			for from > 0 && !utf8.RuneStart(text[from]) {
				from--
			}
			for to < len(text) && !utf8.RuneStart(text[to]) {
				to++
			}
			if todo&dobBit != 0 {
				r.looked += to - from
				r.births(t, from, text[from:to])
			}
			if todo&(ibanBit|passportBit) != 0 {
				r.spelled(t, from, text[from:to])
			}
		}
	}
}

// births adds the dates of birth in a window.
func (r *reader) births(t, from int, text string) {
	for i, re := range dates() {
		for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
			y, mon, d := text[m[4]:m[5]], text[m[6]:m[7]], text[m[8]:m[9]]
			switch i {
			case 1:
				y, d = d, y
			case 2:
				y, mon, d = d, y, mon
			}
			if wordDate(y, mon, d) {
				r.spans = append(r.spans, Span{Turn: t, From: from + m[2], To: from + m[3], Kind: kinds.DOB})
			}
		}
	}
}

// wordDate reports whether words are a possible date of birth.
func wordDate(y, m, d string) bool {
	year, month, day := wordNumber(y), wordNumber(m), wordNumber(d)
	if len(m) >= 3 && isLetter(m[0]) {
		month = strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(m[:3]))/3 + 1
	}
	switch m {
	case "유":
		month = 6
	case "시":
		month = 10
	}
	return isBorn(year, month, day, year < 100)
}

var ordinals = strings.Fields("zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth " +
	"fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth")

// wordNumber returns the value of a number of up to four digits, in numerals or words; 0 if it is
// not a number.
func wordNumber(s string) int {
	s = strings.ToLower(strings.TrimLeft(s, "'"))
	if s == "" {
		return 0
	}
	if s[0] >= 0x80 {
		return koValue(s)
	}
	if isDigit(s[0]) {
		n, _ := strconv.Atoi(strings.TrimRight(s, "stndrh"))
		return n
	}
	total, part := 0, 0
	for _, w := range strings.FieldsFunc(s, func(c rune) bool { return !isLetter(byte(c)) }) {
		switch e := english(w); {
		case e != nil && e.what == thousandWord:
			total, part = total+part*1000, 0
		case e != nil && (e.what == digitWord || e.what == tensWord):
			n, _ := strconv.Atoi(e.digits)
			if part >= 10 && total == 0 && (n >= 10 || part < 20) { // nineteen ninety two
				total, part = part*100, 0
			}
			part += n
		case w == "thirtieth":
			part += 30
		default:
			for i, o := range ordinals {
				if o == w {
					part += i
				}
			}
		}
	}
	return total + part
}

// koValue returns the value of a number in Korean words, digit by digit or with 십, 백 and 천.
func koValue(s string) int {
	s = strings.Map(func(c rune) rune {
		if c < 0x80 || strings.ContainsRune("어음그", c) {
			return -1
		}
		return c
	}, s)
	if v, n := koNumber(s); n == len(s) && n > 0 {
		return v
	}
	total := 0
	for s != "" {
		if v, n := koNumber(s); n > 0 {
			total, s = total*100+v, s[n:]
			continue
		}
		d, n := koDigit(s)
		if n == 0 {
			return 0
		}
		total, s = total*10+int(d-'0'), s[n:]
	}
	return total
}
