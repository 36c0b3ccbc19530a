package personal

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"callhouse/internal/personal/form"
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

// dates are compiled for the first text that needs them, not at start-up. They are tried only where
// a date may begin: searching with them takes ten times as long as reading a text.
var dates = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^(\d{4}|\d{2}|` + koDigits + `) ?년생?` + pause + `(\d{1,2}|[일이삼사오육유칠팔구십시]{1,2}) ?월` + pause +
			`(\d{1,2}|[일이삼사오육칠팔구십]{1,3}) ?일`),
		regexp.MustCompile(`(?i)^(?:the )?(` + enDay + `)` + pause + `(?:of )?(` + enMonth + `)\.?` + pause +
			`(?:of )?(?:in )?(` + enYear + `)`),
		regexp.MustCompile(`(?i)^(` + enMonth + `)\.?` + pause + `(?:the )?(` + enDay + `)` + pause + `(?:of )?(?:in )?(` + enYear + `)`),
	}
})

// begins holds the first three letters of dates in words, indexed like dates.
var begins = [...]string{
	1: "the fir sec thi fou fif fiv six sev eig nin ten ele twe one two thr for",
	2: "jan feb mar apr may jun jul aug sep oct nov dec",
}

// mayBegin reports whether a date of the given expression may begin at a place in a text. after is
// the end of the previous one.
func mayBegin(date int, text string, after, at int) bool {
	c := text[at]
	if date == 0 {
		if !isDigit(c) && (c < 0xEA || !strings.ContainsAny(text[at:min(len(text), at+3)], "영공일이삼사오육칠팔구십백천")) {
			return false
		}
		last, size := utf8.DecodeLastRuneInString(text[after:at])
		return at == 0 || size > 0 && (last < '0' || last > '9') && (last < hangulFirst || last >= hangulFirst+hangulCount)
	}
	if !isAlnum(c) || at > 0 && (isAlnum(text[at-1]) || text[at-1] == '_') {
		return false
	}
	if isDigit(c) || at+3 > len(text) {
		return isDigit(c) && date == 1
	}
	return strings.Contains(begins[date], string([]byte{c | 0x20, text[at+1] | 0x20, text[at+2] | 0x20}))
}

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

// hasMonth reports whether a text has 월 after a possible number of a month, unlike 생년월일.
func hasMonth(text string) bool {
	for at := 0; ; at += len("월") {
		i := strings.Index(text[at:], "월")
		if i < 0 {
			return false
		}
		if at += i; endsInNumber(text[:at]) {
			return true
		}
	}
}

// endsInNumber reports whether a text ends in a possible number of a month.
func endsInNumber(text string) bool {
	c, size := utf8.DecodeLastRuneInString(strings.TrimSuffix(text, " "))
	return c >= '0' && c <= '9' || size == 3 && strings.ContainsRune("일이삼사오육유칠팔구십시", c)
}

// births adds the dates of birth in a window.
func (r *reader) births(t, from int, text string) {
	_, english := slices.BinarySearch(r.months, t)
	for i, re := range dates() {
		if i == 0 && !hasMonth(text) || i > 0 && !english {
			continue
		}
		for at, after := 0, 0; at < len(text); at++ {
			if !mayBegin(i, text, after, at) {
				continue
			}
			rest := text[at:]
			m := re.FindStringSubmatchIndex(rest)
			if m == nil {
				continue
			}
			y, mon, d := rest[m[2]:m[3]], rest[m[4]:m[5]], rest[m[6]:m[7]]
			switch i {
			case 1:
				y, d = d, y
			case 2:
				y, mon, d = d, y, mon
			}
			after = at + m[1]
			if wordDate(y, mon, d) {
				r.spans = append(r.spans, Span{Turn: t, From: from + at, To: from + after, Kind: kinds.DOB})
			}
			at = after - 1
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
	return form.IsBorn(year, month, day, year < 100)
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
