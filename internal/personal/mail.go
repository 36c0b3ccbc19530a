package personal

import (
	"net/netip"
	"regexp"
	"strings"
	"unicode/utf8"

	"callhouse/internal/personal/kinds"
)

// marks searches for values that do not begin with a digit: addresses, and custom patterns.
func (r *reader) marks() {
	text := r.text
	if r.f.wanted&emailBit != 0 && strings.IndexByte(text, '@') >= 0 {
		r.mail = true
		for _, m := range mailRE.FindAllStringIndex(text, -1) {
			r.spans = append(r.spans, Span{Turn: r.t, From: m[0], To: m[1], Kind: kinds.Email})
		}
	}
	if r.f.wanted&emailBit != 0 && r.mail {
		r.spokenAddresses()
	}
	if r.f.wanted&ipBit != 0 {
		r.colons()
	}
	for _, p := range r.f.patterns {
		for from, part := range r.f.unplaced(text) {
			for _, m := range p.Re.FindAllStringIndex(part, -1) {
				if m[0] < m[1] {
					r.spans = append(r.spans, Span{Turn: r.t, From: from + m[0], To: from + m[1], Kind: p.Kind})
				}
			}
		}
	}
}

// mailRE matches e-mail addresses as they are written, also with spaces around the @, or several in one.
var mailRE = regexp.MustCompile(`(?i)[\w%+][\w.%+'-]*(?:@[\w.%+'-]*)*(?:@| @ )[a-z0-9.-]+\.[a-z][a-z0-9-]*[a-z0-9](?:@[\w.%+'-]*\w)*`)

// colonsRE matches what may be an IPv6 address.
var colonsRE = regexp.MustCompile(`[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f.:]*`)

// colons adds the IPv6 addresses in a text.
func (r *reader) colons() {
	text := r.text
	if strings.Count(text, ":") < 2 {
		return
	}
	for _, m := range colonsRE.FindAllStringIndex(text, -1) {
		from, to := m[1]-len(strings.TrimLeft(text[m[0]:m[1]], ".")), m[1]
		for to > from && (text[to-1] == '.' || text[to-1] == ':' && !strings.HasSuffix(text[:to], "::")) {
			to--
		}
		whole := (from == 0 || !isAlnum(text[from-1]) && text[from-1] != '_') && (m[1] == len(text) || !isAlnum(text[m[1]]))
		if _, err := netip.ParseAddr(text[from:to]); whole && err == nil && to-from >= 5 {
			r.spans = append(r.spans, Span{Turn: r.t, From: from, To: to, Kind: kinds.IP})
		}
	}
}

// piece is a part of an address, as written or as read aloud.
type piece struct {
	from, to int
	text     string // normal form
	is       pieceKind
	said     bool // a word, not a character
}

type pieceKind uint8

const (
	wordPiece pieceKind = iota
	digitPiece
	tensPiece
	atPiece
	dotPiece
	joinPiece // - _ +
	pausePiece
	breakPiece
)

// domains are the last labels of addresses that are recognized when read aloud.
var domains = setOf("com net org kr co io ai edu gov info me us uk de jp fr biz dev app xyz shop cloud tv cn eu ca au")

func setOf(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// koPieces are the parts of addresses in Korean, longest first.
var koPieces = []struct {
	word, text string
	is         pieceKind
}{
	{"언더스코어", "_", joinPiece}, {"골뱅이", "@", atPiece}, {"언더바", "_", joinPiece}, {"하이픈", "-", joinPiece}, {"더블유", "w", wordPiece},
	{"에이치", "h", wordPiece}, {"케이알", "kr", wordPiece}, {"오알지", "org", wordPiece}, {"아이오", "io", wordPiece}, {"네이버", "naver", wordPiece},
	{"지메일", "gmail", wordPiece}, {"한메일", "hanmail", wordPiece}, {"핫메일", "hotmail", wordPiece}, {"카카오", "kakao", wordPiece},
	{"네이트", "nate", wordPiece}, {"아웃룩", "outlook", wordPiece}, {"아이클라우드", "icloud", wordPiece}, {"다음", "daum", wordPiece},
	{"야후", "yahoo", wordPiece}, {"구글", "google", wordPiece}, {"밑줄", "_", joinPiece}, {"대시", "-", joinPiece}, {"다시", "-", joinPiece},
	{"도트", ".", dotPiece}, {"플러스", "+", joinPiece},
	{"에이", "a", wordPiece}, {"에프", "f", wordPiece}, {"아이", "i", wordPiece}, {"제이", "j", wordPiece}, {"케이", "k", wordPiece},
	{"에스", "s", wordPiece}, {"브이", "v", wordPiece}, {"엑스", "x", wordPiece}, {"와이", "y", wordPiece}, {"제트", "z", wordPiece},
	{"지", "g", wordPiece},
	{"씨오", "co", wordPiece}, {"시오", "co", wordPiece}, {"컴", "com", wordPiece}, {"넷", "net", wordPiece},
	{"비", "b", wordPiece}, {"씨", "c", wordPiece}, {"디", "d", wordPiece}, {"엘", "l", wordPiece}, {"엠", "m", wordPiece}, {"엔",
		"n", wordPiece},
	{"피", "p", wordPiece}, {"큐", "q", wordPiece}, {"알", "r", wordPiece}, {"티", "t", wordPiece}, {"유", "u", wordPiece},
	{"닷", ".", dotPiece}, {"점", ".", dotPiece}, {"쩜", ".", dotPiece}, {"앳", "@", atPiece}, {"엣", "@", atPiece},
}

var pausesIn = setOf("uh um er 어 음 그 네 yes")

// splitter splits a text into pieces.
type splitter struct {
	text   string
	out    []piece
	double int // where the word "double" is, which repeats the next letter or digit; -1: none
}

// pieces splits a text into the pieces of addresses and spelled numbers.
func pieces(text string) []piece {
	s := splitter{text: text, double: -1}
	for at := 0; at < len(text); {
		switch c := text[at]; {
		case isLetter(c):
			at = s.latin(at)
		case isDigit(c):
			end := at
			for end < len(text) && isDigit(text[end]) {
				end++
			}
			s.add(at, end, text[at:end], digitPiece, false)
			at = end
		case c == ' ':
			at++
		case c >= 0xEA && c <= 0xED && at+2 < len(text) && isHangul(text[at:]):
			end := at
			for end+2 < len(text) && text[end] >= 0xEA && text[end] <= 0xED && isHangul(text[end:]) {
				end += 3
			}
			s.out = koreanPieces(s.out, text[at:end], at)
			at = end
		default:
			_, size := utf8.DecodeRuneInString(text[at:])
			is, normal := s.sign(at, c)
			s.add(at, at+size, normal, is, false)
			at += size
		}
	}
	return s.out
}

func (s *splitter) add(from, to int, normal string, is pieceKind, said bool) {
	if n := len(s.out); is == digitPiece && n > 0 && s.out[n-1].is == tensPiece {
		last := &s.out[n-1]
		last.is = digitPiece
		if said && len(normal) == 1 && normal != "0" { // eighty five
			last.text, last.to = last.text[:1]+normal, to
			return
		}
	}
	s.out = append(s.out, piece{from, to, normal, is, said})
}

// sign returns the meaning of a character that is neither a letter nor a digit.
func (s *splitter) sign(at int, c byte) (is pieceKind, normal string) {
	switch c {
	case '@':
		return atPiece, "@"
	case '-', '_', '+':
		return joinPiece, string(rune(c))
	case ',':
		return pausePiece, ""
	case '.':
		// Between letters, or alone between words, but not at the end of a sentence.
		spaceBefore := at > 0 && s.text[at-1] == ' '
		spaceAfter := at+1 == len(s.text) || s.text[at+1] == ' '
		if spaceBefore || at > 0 && !spaceAfter {
			return dotPiece, "."
		}
	}
	return breakPiece, ""
}

// latin adds a word of ASCII letters, and returns its end.
func (s *splitter) latin(at int) int {
	end := wordEnd(s.text, at)
	w := strings.ToLower(s.text[at:end])
	e := english(w)
	is, normal := wordPiece, w
	switch {
	case at > 0 && s.text[at-1] == '\'': // that's
		is, normal = breakPiece, ""
	case w == "at":
		is, normal = atPiece, "@"
	case w == "underscore":
		is, normal = joinPiece, "_"
	case pausesIn[w]:
		is, normal = pausePiece, ""
	case e == nil || len(w) == 1:
	case e.what == repeatWord:
		s.double = at
		return end
	case e.what == digitWord:
		is, normal = digitPiece, e.digits
	case e.what == tensWord:
		is, normal = tensPiece, e.digits
	case e.what == dotWord:
		is, normal = dotPiece, "."
	case e.what == dashWord:
		is, normal = joinPiece, "-"
	case e.what == plusWord:
		is, normal = joinPiece, "+"
	}
	if s.double >= 0 && len(normal) == 1 && (is == wordPiece || is == digitPiece) { // double l
		at, normal = s.double, normal+normal
	}
	s.double = -1
	s.add(at, end, normal, is, true)
	return end
}

// koreanPieces appends the pieces of a Korean word. An unknown part is a word of its own; an ending
// after known parts is a break.
func koreanPieces(out []piece, word string, at int) []piece {
	if pausesIn[word] {
		return append(out, piece{at, at + len(word), "", pausePiece, true})
	}
	was := len(out)
	unknown := -1 // start of the current unknown part
	flush := func(to int) {
		if unknown >= 0 {
			out = append(out, piece{at + unknown, at + to, word[unknown:to], wordPiece, true})
			unknown = -1
		}
	}
	for n := 0; n < len(word); {
		if n > 0 && unknown < 0 && koSuffix[word[n:]] != 0 && koSuffix[word[n:]] != dotWord && koSuffix[word[n:]] != dashWord {
			return append(out, piece{at + n, at + len(word), "", breakPiece, true})
		}
		text, is, size := koPiece(word[n:])
		// Inside a word, only a sign ends an unknown part: otherwise it is a name that contains
		// these syllables.
		if size == 0 || unknown >= 0 && is != atPiece && is != dotPiece && (is != joinPiece || size < 6) {
			if unknown < 0 {
				unknown = n
			}
			n += 3
			continue
		}
		flush(n)
		out = append(out, piece{at + n, at + n + size, text, is, true})
		n += size
	}
	if unknown >= 0 && len(out) > was && !anySign(out[was:]) {
		// A word that merely begins like letters or digits.
		out = append(out[:was], piece{at, at + len(word), word, wordPiece, true})
		return out
	}
	flush(len(word))
	return out
}

func anySign(ps []piece) bool {
	for _, p := range ps {
		if p.is == atPiece || p.is == dotPiece || p.is == joinPiece {
			return true
		}
	}
	return false
}

func koPiece(s string) (text string, is pieceKind, size int) {
	for i := range koPieces {
		if p := &koPieces[i]; strings.HasPrefix(s, p.word) {
			return p.text, p.is, len(p.word)
		}
	}
	if d, n := koDigit(s); n > 0 {
		return string(rune(d)), digitPiece, n
	}
	return "", 0, 0
}

// notLocal are words before "at" that are not the name of a mailbox.
var notLocal = setOf("us me it them him her you out look looking online site website page available found is are was be visit here " +
	"there back up down in on more info information shop store us webpage homepage only and or not app portal directly yourself " +
	"details anytime everything that this web")

// isVerb reports whether a word is more probably a verb than a name.
func isVerb(w string) bool {
	return verbs[w] || len(w) > 4 && (strings.HasSuffix(w, "ed") || strings.HasSuffix(w, "ing"))
}

var verbs = setOf("find saw see seen read bought buy order shop work works live lives came come go went goes stay start check stop " +
	"sign register arrive meet met hosted log apply")

// providers are domains that are often said without their last label.
var providers = map[string]string{"naver": "naver.com", "gmail": "gmail.com", "hanmail": "hanmail.net", "daum": "daum.net",
	"kakao": "kakao.com",
	"nate":  "nate.com", "hotmail": "hotmail.com", "yahoo": "yahoo.com", "outlook": "outlook.com", "icloud": "icloud.com"}

// spokenAddresses adds the e-mail addresses in a turn that are read aloud, entirely or in part.
func (r *reader) spokenAddresses() {
	ps := pieces(r.text)
	for a := range ps {
		if ps[a].is != atPiece {
			continue
		}
		domain, end, dotted := r.domainAfter(ps, a)
		if domain == "" {
			continue
		}
		at := &ps[a]
		local, from := localBefore(ps, a)
		if local == "" || at.said && at.isAt() && (notLocal[local] || !r.mailed() && (!dotted || isVerb(local))) {
			continue
		}
		r.spans = append(r.spans, Span{Turn: r.t, From: ps[from].from, To: ps[end].to, Kind: kinds.Email})
	}
}

// mailed reports whether a word for e-mail is near.
func (r *reader) mailed() bool {
	for i := len(r.hits) - 1; i >= 0 && i > len(r.hits)-12 && r.hits[i].turn >= r.t-1; i-- {
		if r.hits[i].bits&emailBit != 0 {
			return true
		}
	}
	return false
}

// limits of the pieces of an address
const (
	maxLabelPieces = 16
	maxWords       = 3
	maxPieces      = 40
)

// domainAfter returns the domain after an at sign, and its last piece. said reports that a dot is
// spoken.
func (r *reader) domainAfter(ps []piece, a int) (domain string, end int, said bool) {
	var b strings.Builder
	words, labels, n := 0, 0, 0
	valid := ""
	for k := a + 1; k < len(ps); k++ {
		p := &ps[k]
		r.looked++
		switch p.is {
		case pausePiece:
			continue
		case dotPiece:
			if words == 0 {
				return valid, end, said
			}
			said = said || p.said
			b.WriteByte('.')
			labels++
			words, n = 0, 0
		case wordPiece, digitPiece, tensPiece:
			over := words > 0 && labels > 0 && valid != "" && !single(ps, k)
			if len(p.text) > 2 || !single(ps, k) {
				words++
			}
			if words = max(words, 1); over || words > maxWords || n >= maxLabelPieces {
				return valid, end, said
			}
			b.WriteString(p.text)
			n++
			last := b.String()
			if dot := strings.LastIndexByte(last, '.'); dot >= 0 && domains[last[dot+1:]] {
				valid, end = last, k
			}
			bare := ps[a].said && !ps[a].isAt() && (k+1 == len(ps) || ps[k+1].is != dotPiece) // a label after 골뱅이, and no dot
			if labels == 0 && valid == "" && bare && providers[last] != "" {
				return providers[last], k, true
			}
		case joinPiece:
			if p.text != "-" || words == 0 {
				return valid, end, said
			}
			b.WriteByte('-')
		default:
			return valid, end, said
		}
	}
	return valid, end, said
}

// isAt reports whether an at sign is the sign or the word "at", which, unlike 골뱅이, has other meanings.
func (p *piece) isAt() bool { return p.to-p.from <= 2 }

// single reports whether a piece is a letter or a digit.
func single(ps []piece, k int) bool { return len(ps[k].text) == 1 || ps[k].is == digitPiece }

// inName reports whether a piece is a word or digits.
func inName(p *piece) bool { return p.is == wordPiece || p.is == digitPiece || p.is == tensPiece }

// localBefore returns the name before an at sign, and its first piece.
func localBefore(ps []piece, a int) (local string, from int) {
	k := a - 1
	for k >= 0 && ps[k].is == pausePiece && a-k < 4 {
		k--
	}
	from = -1
	wantMore, words := true, 0
	for n := 0; k >= 0 && n < maxPieces; k, n = k-1, n+1 {
		p := &ps[k]
		switch p.is {
		case wordPiece, digitPiece, tensPiece:
			adjacent := k+1 < len(ps) && p.to == ps[k+1].from && from >= 0
			spelled := single(ps, k) && from >= 0 && (single(ps, from) || words == 0)
			digits := from >= 0 && words == 0 // digits alone are the end of a name
			if from >= 0 && !wantMore && !adjacent && !spelled && !digits {
				return local, from
			}
			if p.is == wordPiece {
				words++
			}
			local, from, wantMore = p.text+local, k, false
		case dotPiece, joinPiece:
			if from < 0 || k == 0 || wantMore {
				return local, max(from, 0)
			}
			if !inName(&ps[k-1]) || !p.said && p.from > ps[k-1].to {
				return local, from
			}
			local, wantMore = p.text+local, true
		case pausePiece:
			if from < 0 || !single(ps, from) || k == 0 || !single(ps, k-1) {
				return local, max(from, 0)
			}
		default:
			return local, max(from, 0)
		}
	}
	return local, max(from, 0)
}

// spelled adds the IBANs and passport numbers that are spelled letter by letter in a text.
func (r *reader) spelled(t, from int, text string) {
	ps := pieces(text)
	r.looked += len(ps)
	for i := range ps {
		if p := &ps[i]; p.is != wordPiece || len(p.text) > 2 || p.text[0] >= 0x80 {
			continue
		}
		var b strings.Builder
		for k := i; k < len(ps) && b.Len() < 34; k++ {
			p := &ps[k]
			if p.is == pausePiece || p.is == joinPiece && p.text == "-" {
				continue
			}
			if p.is != digitPiece && p.is != tensPiece && (p.is != wordPiece || len(p.text) > 4 || p.text[0] >= 0x80) {
				break
			}
			b.WriteString(strings.ToUpper(p.text))
			s := b.String()
			var kind kinds.Kind
			switch {
			case len(s) >= 15 && r.f.wanted&ibanBit != 0 && isIBAN(s):
				kind = kinds.IBAN
			case len(s) == 9 && r.f.wanted&passportBit != 0 && passportRE.MatchString(s) && (k+1 == len(ps) || ps[k+1].is != digitPiece):
				kind = kinds.Passport
			default:
				continue
			}
			r.spans = append(r.spans, Span{Turn: t, From: from + ps[i].from, To: from + p.to, Kind: kind})
			break
		}
	}
}
