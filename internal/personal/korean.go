package personal

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The range of Korean syllables.
const (
	hangulFirst = 0xAC00
	hangulCount = 0xD7A3 - hangulFirst + 1
)

// isHangul reports whether a text of at least three bytes begins with a Korean syllable.
func isHangul(s string) bool {
	c := hangulAt(s)
	return c >= 0xAC00 && c <= 0xD7A3
}

// hangulAt returns the three-byte character at the beginning of a text.
func hangulAt(s string) rune {
	return rune(s[0]&0x0f)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
}

// hangul reads a Korean word.
func (r *reader) hangul(at int) int {
	text, end := r.text, at
	for end+2 < len(text) && text[end] >= 0xEA && text[end] <= 0xED {
		c := hangulAt(text[end:])
		if c < hangulFirst || c >= hangulFirst+hangulCount {
			break
		}
		if c == '닷' || c == '골' && strings.HasPrefix(text[end:], "골뱅이") {
			r.mail = true
		}
		end += 3
	}
	r.word++
	word := text[at:end]
	if at > 0 && r.last() != nil && r.last().to == at && r.last().turn == r.t {
		r.suffix(word, at)
		return end
	}
	if e := koWords[word]; e != nil {
		if e.what == unitWord {
			r.amount()
		} else {
			r.connect(e.what, at)
		}
		return end
	}
	if r.digits(word, at) {
		return end
	}
	if len(word) >= 6 {
		if code := koRegion[word[:6]]; code != "" && r.beforeLicence(end) {
			r.stop()
			r.add(group{from: at, to: end, digits: code, style: region})
			return end
		}
		if b := koContext[word[:6]]; b != 0 {
			r.hits = append(r.hits, hit{r.t, at, r.word, b})
		}
	}
	r.stop()
	return end
}

func koTens(word string) bool {
	return strings.HasPrefix(word, "십") || strings.HasPrefix(word, "백") || strings.HasPrefix(word, "천")
}

// beforeLicence reports whether the text after the name of a region may be the rest of a licence
// number.
func (r *reader) beforeLicence(end int) bool {
	rest := strings.TrimLeft(r.text[end:], " -")
	if rest == "" || len(rest) < 3 {
		return false
	}
	_, n := koDigit(rest)
	return isDigit(rest[0]) || n > 0
}

// suffix reads the text after digits in a word.
func (r *reader) suffix(word string, at int) {
	switch w := koSuffix[word]; w {
	case 0:
		for _, dash := range []string{"다시", "에", "국에", "국", "의", "번에", "점"} {
			if rest, ok := strings.CutPrefix(word, dash); ok {
				if d, _ := koDigit(rest); d != 0 {
					r.connect(koSuffix[dash], at)
					if r.digits(rest, at+len(dash)) {
						return
					}
				}
			}
		}
		if d, n := koDigit(word); n > 0 && d != 0 && len(word) >= 9 && r.digits(word, at) {
			return
		}
		last := r.last()
		for _, unit := range []string{"원", "만", "억", "년", "월", "일", "시", "분", "초", "개", "명", "호", "층", "살", "세", "동", "번째", "퍼센트"} {
			last.unit = last.unit || strings.HasPrefix(word, unit)
		}
		r.stop()
	case unitWord:
		r.amount()
	default:
		r.connect(w, at)
	}
}

// afterTwo are the endings before which 이 may be either part of the ending or the digit two.
const afterTwo = " 요 고 고요 구요 에요 예요 거든요 라고 라고요 랑 네요 죠 지요 야 며 인데요 신가요 시죠 었어요 었습니다 "

// mayBeEnding reports whether the last syllable of digits may be part of the ending.
func mayBeEnding(digits, ending string) bool {
	switch digits[len(digits)-3:] {
	case "이":
		return ending == "" || strings.Contains(afterTwo, " "+ending+" ")
	case "구":
		return ending == "요"
	}
	return false
}

// afterConsonant reports whether the ending after a word begins with 이.
func afterConsonant(word string) bool {
	c, _ := utf8.DecodeLastRuneInString(word)
	return (c-0xAC00)%28 != 0 || strings.HasSuffix(word, "하나")
}

// part is a run of digits within a Korean word.
type part struct {
	from, to int
	digits   string
	compound bool
	after    string // a hyphen, a dot or a pause after it
}

// partsOf returns the digits at the beginning of a Korean word, and their end.
func partsOf(word string, parts []part) (_ []part, n int) {
	for n < len(word) {
		if v, size := koNumber(word[n:]); size > 0 {
			parts = append(parts, part{n, n + size, strconv.Itoa(v), true, ""})
			n += size
			continue
		}
		p, more := runOf(word, n)
		if p.digits == "" {
			if len(parts) > 0 && parts[len(parts)-1].after == "" {
				n = withJoin(word, n, &parts[len(parts)-1])
				if parts[len(parts)-1].after != "" {
					continue
				}
			}
			return parts, n
		}
		parts = append(parts, p)
		if n = p.to; more {
			continue
		}
		if n = withJoin(word, n, &parts[len(parts)-1]); parts[len(parts)-1].after == "" {
			return parts, n
		}
	}
	return parts, n
}

// runOf returns the digits at a place in a word. more reports whether a number with 십, 백 or 천 follows.
func runOf(word string, n int) (p part, more bool) {
	from := n
	var b [32]byte
	digits := b[:0]
	for n < len(word) && len(digits) < cap(digits) {
		d, size := koDigit(word[n:])
		if size == 0 {
			break
		}
		if _, size := koNumber(word[n:]); size > 0 && len(digits) > 0 {
			more = true
			break
		}
		digits = append(digits, d)
		n += size
	}
	return part{from: from, to: n, digits: string(digits)}, more
}

// withJoin sets the separator after a part, if more digits follow, and returns its end.
func withJoin(word string, n int, p *part) int {
	for _, j := range []string{"다시", "에", "점", "국에", "하이픈"} {
		if rest, ok := strings.CutPrefix(word[n:], j); ok && rest != "" {
			if _, size := koDigit(rest); size > 0 || koTens(rest) {
				p.after = j
				return n + len(j)
			}
		}
	}
	return n
}

// digits reads a word of digits with an ending. It reports whether the word is one.
func (r *reader) digits(word string, at int) bool {
	var buf [4]part
	parts, n := partsOf(word, buf[:0])
	ending := word[n:]
	w := koSuffix[ending]
	if len(parts) == 0 || ending != "" && w == 0 {
		return false
	}
	total := 0
	for _, p := range parts {
		total += len(p.digits)
	}
	for i, p := range parts {
		g := group{from: at + p.from, to: at + p.to, digits: p.digits, style: korean}
		if len(p.digits) == 1 && !p.compound {
			g.style = korean1
		}
		g.loose = total == 1 && (strings.Contains("이일오", word[:3]) || ending != "")
		if i == len(parts)-1 && !p.compound && len(p.digits) > 1 && mayBeEnding(word[:p.to], ending) {
			g.to, g.digits = g.to-3, g.digits[:len(g.digits)-1]
			r.add(g)
			g = group{from: g.to, to: g.to + 3, digits: p.digits[len(p.digits)-1:], style: korean1, loose: true, tail: true,
				ending: afterConsonant(word[:p.to-3])}
		}
		r.add(g)
		if p.after != "" {
			r.connect(koSuffix[p.after], at+p.to)
		}
	}
	switch {
	case w == unitWord:
		r.amount()
	case w != 0:
		r.connect(w, at+n)
	}
	return true
}
