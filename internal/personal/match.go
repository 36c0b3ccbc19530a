package personal

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"callhouse/internal/personal/kinds"
)

// minDigits is the length of the shortest number: a date of birth.
const minDigits = 6

// maxDigits is the length of the longest number without letters.
const maxDigits = 20

// late is a candidate that depends on the words near it.
type late struct {
	span   Span
	word   int
	strong bool // accepted unless the words near it announce another number
}

// finish returns the spans found in all turns.
func (r *reader) finish() []Span {
	for i := range r.chains {
		r.match(&r.chains[i])
	}
	for _, l := range r.late {
		c := r.contextOf(l.span.Turn, l.word)
		if c.is&bitOf(l.span.Kind) != 0 || l.strong && !c.other {
			r.spans = append(r.spans, l.span)
		}
	}
	r.windows()
	return merged(r.spans)
}

func bitOf(k kinds.Kind) bits { return 1 << slices.Index(kinds.All, k) }

// merged sorts spans and joins overlapping ones, with the kind of the one found first.
func merged(spans []Span) []Span {
	if len(spans) < 2 {
		return spans
	}
	type ranked struct {
		Span
		rank int
	}
	all := make([]ranked, len(spans))
	for i, s := range spans {
		all[i] = ranked{s, i}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.From, b.From), cmp.Compare(a.rank, b.rank))
	})
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && out[n-1].Turn == s.Turn && s.From < out[n-1].To {
			was := out[n-1]
			if s.rank < was.rank {
				out[n-1] = s
			}
			out[n-1].From, out[n-1].To = was.From, max(was.To, s.To)
			continue
		}
		out = append(out, s)
	}
	result := make([]Span, len(out))
	for i, s := range out {
		result[i] = s.Span
	}
	return result
}

// nearby is the meaning that nearby words give to a number.
type nearby struct {
	is    bits
	other bool // of another number: an order, a room and so on
}

// Maximum distances of words.
const (
	wordsBefore = 24
	wordsAfter  = 6
	otherBefore = 8
)

func (r *reader) contextOf(turn, word int) (c nearby) {
	n := sort.Search(len(r.hits), func(i int) bool { return r.hits[i].word > word })
	number := false
	for i := n - 1; i >= 0 && i > n-12; i-- {
		h := &r.hits[i]
		r.looked++
		away := word - h.word
		if away > wordsBefore || turn-h.turn > maxBefore {
			break
		}
		if h.bits&(otherBit|versionBit) != 0 {
			if c.is == 0 && away <= otherBefore {
				c.other, c.is = true, h.bits
			}
			break
		}
		number = number || h.bits == numberBit
		c.is |= h.bits &^ numberBit
	}
	for i := n; i < len(r.hits) && i < n+4; i++ {
		h := &r.hits[i]
		if h.turn != turn || h.word-word > wordsAfter {
			break
		}
		if !c.other && h.bits&(otherBit|versionBit|numberBit) == 0 && c.is == 0 {
			c.is |= h.bits
		}
	}
	if number && c.is == 0 && !c.other {
		c.is = phoneBit
	}
	return c
}

// candidate is a sequence of groups in a chain.
type candidate struct {
	digits  string
	shape   []int // numbers of digits between the separators
	dots    int   // number of separators that are dots
	hyphens int   // number of hyphens, including spoken ones
	spoken  bool
	plus    bool
	region  bool

	turn, word int
}

// context returns the meaning of the words near the candidate.
func (r *reader) context(c *candidate) nearby { return r.contextOf(c.turn, c.word) }

func (c *candidate) shaped(lengths ...int) bool { return slices.Equal(c.shape, lengths) }

// sameRun reports whether two groups are words with only space between them.
func sameRun(a, b *group) bool {
	if b.join != joinSpace || a.turn != b.turn {
		return false
	}
	word := func(g *group) bool { return g.style == english1 || g.style == tens }
	return word(a) && word(b) || a.style == korean1 && b.style == korean1
}

func hard(j join) bool { return j == joinHyphen || j == joinDot || j == joinSlash }

// maxLoose is the maximum number of words at the edge of a run that may not be digits.
const maxLoose = 1

// mayStart reports whether a number may start with a group.
func mayStart(gs []group, i int) bool {
	g := &gs[i]
	switch {
	case g.noStart || g.unit:
		return false
	case i == 0 || gs[i-1].style == region:
		return true
	case hard(g.join) || g.join == joinAdjacent && !g.loose:
		return false
	}
	for k := i; k > 0 && (sameRun(&gs[k-1], &gs[k]) || gs[k].join == joinAdjacent); k-- {
		if !gs[k-1].loose || i-k >= maxLoose {
			return false
		}
	}
	return true
}

// mayEnd reports whether a number may end with a group.
func mayEnd(gs []group, j int) bool {
	if gs[j].noEnd || gs[j].unit {
		return false
	}
	if j+1 == len(gs) {
		return true
	}
	if hard(gs[j+1].join) {
		return false
	}
	for k := j; k+1 < len(gs) && (sameRun(&gs[k], &gs[k+1]) || gs[k+1].join == joinAdjacent); k++ {
		if !gs[k+1].loose || k-j >= maxLoose {
			return false
		}
	}
	return true
}

// match searches for numbers in a chain, those with the strongest structure first.
func (r *reader) match(c *chain) {
	gs := r.groups[c.first:c.last]
	total, dots := 0, 0
	for i := range gs {
		if total += len(gs[i].digits); gs[i].join == joinDot {
			dots++
		}
	}
	if total < minDigits && dots < 3 {
		return
	}
	used := make([]bool, len(gs))
	for tier, recognize := range []recognizer{(*reader).certain, (*reader).formed, (*reader).fromContext} {
		for i := 0; i < len(gs); i++ {
			if used[i] || !mayStart(gs, i) {
				continue
			}
			tails := withTails
			if tier == 2 { // neither a checksum nor a form decides
				tails = withoutEndings
			}
			j, kind := r.longest(gs, used, i, recognize, tails)
			if j < 0 && hasTail(gs[i:min(len(gs), i+maxDigits)]) {
				tails = withoutTails
				j, kind = r.longest(gs, used, i, recognize, tails)
			}
			if j >= 0 {
				r.emit(c, i, j, kind, tails)
				for k := i; k <= j; k++ {
					used[k] = true
				}
				i = j
			}
		}
	}
}

// tails selects which possible endings are read as digits.
type tails uint8

const (
	withTails tails = iota
	withoutEndings
	withoutTails
)

func (t tails) skips(g *group) bool {
	return t == withoutTails && g.tail || t == withoutEndings && g.ending
}

// hasTail reports whether one of the groups may be an ending.
func hasTail(gs []group) bool {
	return slices.ContainsFunc(gs, func(g group) bool { return g.tail })
}

// recognizer returns the kind of a candidate; empty if it is not recognized.
type recognizer func(*reader, *candidate) kinds.Kind

// longest returns the last group of the longest number that begins with group i; -1 if there is
// none.
func (r *reader) longest(gs []group, used []bool, i int, recognize recognizer, which tails) (last int, kind kinds.Kind) {
	cand := &candidate{plus: gs[i].plus, region: gs[i].style == region, turn: gs[i].turn, word: gs[i].word}
	last = -1
	for j := i; j < len(gs) && !used[j]; j++ {
		g := &gs[j]
		r.looked++
		if which.skips(g) {
			continue
		}
		if len(cand.digits)+len(g.digits) > maxDigits || j > i && (g.plus || g.style == region || g.unit) {
			break
		}
		cand.digits += g.digits
		if j > i && (sameRun(&gs[j-1], g) || g.join == joinAdjacent) {
			cand.shape[len(cand.shape)-1] += len(g.digits)
		} else {
			cand.shape = append(cand.shape, len(g.digits))
		}
		if j > i {
			switch g.join {
			case joinDot:
				cand.dots++
			case joinHyphen, joinSpoken:
				cand.hyphens++
			}
		}
		cand.spoken = cand.spoken || g.spoken()
		if len(cand.digits) < 4 || !mayEnd(gs, j) {
			continue
		}
		if k := recognize(r, cand); k != "" {
			last, kind = j, k
		}
	}
	return last, kind
}

// certain recognizes numbers by their checksum.
func (r *reader) certain(c *candidate) kinds.Kind {
	d, wanted := c.digits, r.f.wanted
	switch {
	case len(d) == 13 && wanted&rrnBit != 0:
		formed := c.shaped(6, 7)
		if !c.spoken && !formed && !c.shaped(13) {
			return ""
		}
		if isRRN(d, formed && c.hyphens > 0) || isRRN(d, true) && r.context(c).is&rrnBit != 0 {
			return kinds.RRN
		}
	case len(d) >= 14 && wanted&cardBit != 0 && isCard(d):
		if c.spoken || len(c.shape) == 1 || c.shaped(4, 6, 5) || c.shaped(4, 6, 4) || fours(c.shape) {
			return kinds.Card
		}
	}
	return ""
}

func fours(shape []int) bool {
	for i, n := range shape {
		if n != 4 && (i != len(shape)-1 || n > 4) {
			return false
		}
	}
	return true
}

// formed recognizes numbers by their form.
func (r *reader) formed(c *candidate) kinds.Kind {
	d, wanted := c.digits, r.f.wanted
	switch {
	case len(d) == 12 && wanted&licenceBit != 0 && isLicence(d) &&
		(c.shaped(2, 2, 6, 2) && (c.region || c.hyphens >= 3) || r.context(c).is&licenceBit != 0):
		return kinds.Licence
	case c.region:
		return ""
	case len(d) == 10 && wanted&businessBit != 0 && isBusiness(d) && (c.shaped(3, 2, 5) || r.context(c).is&businessBit != 0):
		return kinds.Business
	case len(d) == 9 && wanted&ssnBit != 0 && isSSN(d) &&
		(c.shaped(3, 2, 4) && (c.hyphens == 2 || !r.context(c).other) || r.context(c).is&ssnBit != 0):
		return kinds.SSN
	case c.dots == 3 && len(c.shape) == 4 && wanted&ipBit != 0:
		if dotted(c) && r.context(c).is&versionBit == 0 {
			return kinds.IP
		}
	case c.dots > 0 && len(d) < 9:
	case wanted&phoneBit != 0 && r.phone(c):
		return kinds.Phone
	}
	return ""
}

// dotted reports whether four numbers form an IP address.
func dotted(c *candidate) bool {
	d := c.digits
	for _, n := range c.shape {
		p := d[:n]
		d = d[n:]
		if n > 3 || n > 1 && p[0] == '0' || n == 3 && p > "255" {
			return false
		}
	}
	return true
}

// phone recognizes a telephone number.
func (r *reader) phone(c *candidate) bool {
	d, n := c.digits, len(c.digits)
	if n < 8 || n > 15 {
		return false
	}
	korea, america := slices.Contains(r.f.countries, "KR"), slices.Contains(r.f.countries, "US")
	switch {
	case c.plus && strings.HasPrefix(d, "82"):
		return national("0"+strings.TrimPrefix(d[2:], "0"), "KR")
	case c.plus && d[0] == '1':
		return national(d, "US")
	case c.plus:
		return isNumber("+"+d, "")
	case strings.HasPrefix(d, "00"):
		if is := r.context(c); is.is&phoneBit == 0 && (is.other || c.spoken || len(c.shape) < 3 || c.shape[0] > 5) {
			return false
		}
		return r.f.isPhone(d)
	case d[0] == '0':
		return r.domestic(c, korea)
	case korea && (n == 11 || n == 12) && strings.HasPrefix(d, "82"):
		is := r.context(c)
		if c.shape[0] != 2 && (is.other || is.is&phoneBit == 0 && (len(c.shape) > 1 || !strings.HasPrefix(d, "8210"))) {
			return false
		}
		return r.f.isPhone(d)
	case n != 10 && (n != 11 || d[0] != '1'):
		if n > 9 && r.context(c).is&phoneBit != 0 {
			return r.f.isPhone(d)
		}
		return false
	case america:
		formed := (c.shaped(3, 3, 4) || c.shaped(1, 3, 3, 4)) && !r.context(c).other
		if !formed && r.context(c).is&phoneBit == 0 {
			return false
		}
		return national(d, "US")
	}
	return false
}

// domestic recognizes a number that begins with 0.
func (r *reader) domestic(c *candidate, korea bool) bool {
	d, n := c.digits, len(c.digits)
	if n < 9 || korea && (n > 11 && !strings.HasPrefix(d, "05") || !c.spoken && !koreanShape(c.shape, d)) {
		return false
	}
	mobile := korea && n >= 10 && n <= 11 && strings.HasPrefix(d, "01")
	is := r.context(c)
	if !mobile && (is.other && (len(c.shape) == 1 || c.hyphens == 0) || is.is&accountBit != 0 && is.is&phoneBit == 0) {
		return false
	}
	return r.f.isPhone(d)
}

// koreanShape reports whether digits written in groups are grouped like Korean telephone numbers.
func koreanShape(shape []int, d string) bool {
	switch len(shape) {
	case 1:
		return true
	case 2:
		return shape[0] <= 4 && (shape[1] == 7 || shape[1] == 8) || shape[1] == 4 && shape[0] >= 5 && shape[0] <= 7
	case 3:
		area := shape[0] == 2 && d[1] == '2' || shape[0] == 3 && d[1] != '2' || shape[0] == 4 && strings.HasPrefix(d, "05")
		return area && (shape[1] == 3 || shape[1] == 4) && shape[2] == 4
	}
	return false
}

// fromContext recognizes numbers by the words near them.
func (r *reader) fromContext(c *candidate) kinds.Kind {
	d, n, wanted := c.digits, len(c.digits), r.f.wanted
	if c.plus || c.region || wanted&(dobBit|accountBit) == 0 || n < 6 || n > 17 {
		return ""
	}
	is := r.context(c)
	if is.other {
		return ""
	}
	if wanted&dobBit != 0 && is.is&dobBit != 0 && n <= 8 {
		if isBirthday(d, c.shape) {
			return kinds.DOB
		}
	}
	if wanted&accountBit != 0 && is.is&accountBit != 0 && n >= 8 && c.dots == 0 {
		return kinds.Account
	}
	return ""
}

// emit adds the spans of a number: one in each turn that contains a part of it, and its
// repetitions.
func (r *reader) emit(c *chain, i, j int, kind kinds.Kind, which tails) {
	gs := r.groups[c.first:c.last]
	more := false
	for k := i; k <= j; {
		s := Span{Turn: gs[k].turn, From: gs[k].from, To: gs[k].to, Kind: kind, More: more}
		for ; k <= j && gs[k].turn == s.Turn; k++ {
			if !which.skips(&gs[k]) {
				s.To = gs[k].to
			}
		}
		text := r.turns[s.Turn].Text
		if s.From > 0 && text[s.From-1] == '(' && strings.Contains(text[s.From:s.To], ")") {
			s.From--
		}
		r.spans = append(r.spans, s)
		more = true
	}
	for _, e := range c.echoes {
		if e.first <= c.first+j && e.last >= c.first+i {
			r.spans = append(r.spans, Span{Turn: e.turn, From: e.from, To: e.to, Kind: kind, More: true})
		}
	}
}

// coded reads a word of letters and digits that is an IBAN or a passport number. It returns its
// end; 0 if it is neither.
func (r *reader) coded(at, end int) int {
	text := r.text
	if at > 0 && (isAlnum(text[at-1]) || text[at-1] == '_' || text[at-1] == '-') || end == len(text) {
		return 0
	}
	if end-at == 2 && r.f.wanted&ibanBit != 0 {
		if n := r.iban(at); n > 0 {
			return n
		}
	}
	if end-at != 1 || r.f.wanted&passportBit == 0 {
		return 0
	}
	to := passportAt(text, at)
	if to == 0 {
		return 0
	}
	r.stop()
	r.late = append(r.late, late{Span{Turn: r.t, From: at, To: to, Kind: kinds.Passport}, r.word, isLetter(text[at+4])})
	return to
}

// iban reads an IBAN and returns its end; 0 if there is none.
func (r *reader) iban(at int) int {
	end := ibanAt(r.text, at)
	if end > 0 {
		r.stop()
		r.spans = append(r.spans, Span{Turn: r.t, From: at, To: end, Kind: kinds.IBAN})
	}
	return end
}
