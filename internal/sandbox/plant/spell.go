package plant

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// drawn is a value, and its spellings in parts.
type drawn struct {
	value          string
	written        func() []string // nil: the value itself
	said           func() []string // nil: never read aloud
	sep, spokenSep string          // between the parts
}

func (v *drawn) parts(spoken bool) []string {
	switch {
	case spoken:
		return v.said()
	case v.written != nil:
		return v.written()
	}
	return []string{v.value}
}

func (v *drawn) join(parts []string, spoken bool) string {
	if spoken {
		return strings.Join(parts, v.spokenSep)
	}
	return strings.Join(parts, v.sep)
}

func luhnDigit(d string) byte {
	sum := 0
	for i := range len(d) {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 0 {
			n = n*2/10 + n*2%10
		}
		sum += n
	}
	return '0' + byte((10-sum%10)%10)
}

func (d *drawer) card() string {
	p := d.of("4", "51", "55", "2221", "6011", "3530", "9410")
	c := p + d.digits(15-len(p))
	return c + string(luhnDigit(c))
}

func weighted(d, weights string) (sum int) {
	for i := range len(weights) {
		sum += int(d[i]-'0') * int(weights[i]-'0')
	}
	return sum
}

func (d *drawer) birthday() (y, m, day int) {
	return int(d.Between(1942, 2005)), int(d.Between(1, 12)), int(d.Between(1, 28))
}

func (d *drawer) rrn() string {
	y, m, day := d.birthday()
	sex := d.Below(2) + 1
	if y >= 2000 {
		sex += 2
	}
	foreign := d.Chance(.2)
	if foreign {
		sex += 4
	}
	s := fmt.Sprintf("%02d%02d%02d%d%s", y%100, m, day, sex, d.digits(5))
	check := (11 - weighted(s, "234567892345")%11) % 10
	if foreign {
		check = (check + 2) % 10
	}
	return s + strconv.Itoa(check)
}

func (d *drawer) business() string {
	s := strconv.Itoa(int(d.Between(101, 999))) + d.digits(6)
	sum := weighted(s, "13713713") + int(s[8]-'0')*5 + int(s[8]-'0')*5/10
	return s + strconv.Itoa((10-sum%10)%10)
}

func (d *drawer) iban() string {
	country, n := "DE", 18
	if d.Chance(.4) {
		country = d.of("FR", "ES", "CH")
		n = map[string]int{"FR": 23, "ES": 20, "CH": 17}[country]
	}
	bban := d.digits(n)
	rest := 0
	for _, c := range bban + country + "00" {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return country + fmt.Sprintf("%02d", 98-rest) + bban
}

var mailboxes = strings.Fields("minji jisoo haneul daniel sophia mark olivia taehyun kyle grace")
var families = strings.Fields("kim park lee smith jones choi brown")
var hosts = strings.Fields("example.com naver.com gmail.com example.org hanmail.net example.co.kr")

// split splits digits into groups.
func split(s string, lengths ...int) (out []string) {
	for _, n := range lengths {
		out = append(out, s[:n])
		s = s[n:]
	}
	return append(out, s)[:len(lengths)+min(1, len(s))]
}

func grouped(s, sep string, lengths ...int) string { return strings.Join(split(s, lengths...), sep) }

func (d *drawer) drawn(kind string) drawn {
	v := drawn{}
	seps := []string{"-", " ", ""}
	var lengths []int
	hyphen := false // the separator is spoken
	switch kind {
	case "card":
		v.value, lengths = d.card(), []int{4, 4, 4, 4}
		if d.Chance(.1) {
			v.value, lengths = "37"+d.digits(12), []int{4, 6, 5}
			v.value += string(luhnDigit(v.value))
		}
	case "rrn":
		v.value, lengths, hyphen = d.rrn(), []int{6, 7}, true
		seps = []string{"-", "-", " ", ""}
	case "licence":
		v.value, lengths, hyphen, seps = strconv.Itoa(int(d.Between(11, 26)))+d.digits(10), []int{2, 2, 6, 2}, true, []string{"-"}
	case "business":
		v.value, lengths, hyphen, seps = d.business(), []int{3, 2, 5}, true, []string{"-", "-", ""}
	case "ssn":
		v.value = strconv.Itoa(int(d.Between(101, 665))) + strconv.Itoa(int(d.Between(10, 99))) + strconv.Itoa(int(d.Between(1000, 9999)))
		lengths, hyphen, seps = []int{3, 2, 4}, true, []string{"-", "-", " "}
	case "phone":
		v.value, lengths = "010"+strconv.Itoa(int(d.Between(2000, 9999)))+d.digits(4), []int{3, 4, 4}
		seps = []string{"-", "-", " ", ".", ""}
		if !d.korean && d.Chance(.8) {
			v.value, lengths = d.of("212", "415", "206", "312", "617")+"555"+d.digits(4), []int{3, 3, 4}
			seps = []string{"-", " ", "."}
		} else if d.Chance(.2) {
			v.value, lengths = "02"+strconv.Itoa(int(d.Between(300, 799)))+d.digits(4), []int{2, 3, 4}
		}
	case "account":
		v.value, lengths, seps = d.digits(12), []int{3, 3, 6}, []string{"-", ""}
	case "dob":
		return d.dob()
	case "email":
		return d.email()
	case "ip":
		v.value = fmt.Sprintf("%d.%d.%d.%d", d.Between(1, 223), d.Below(256), d.Below(256), d.Between(1, 254))
		return v
	case "iban":
		value := d.iban()
		v.value, v.sep = value, d.of("", " ")
		v.written = func() (out []string) {
			for group := range slices.Chunk([]byte(value), 4) {
				out = append(out, string(group))
			}
			return out
		}
		return v
	case "passport":
		v.value = d.of("M", "S", "R") + d.digits(8)
		if d.Chance(.5) {
			v.value = "M" + d.digits(3) + d.of("A", "B", "C", "K") + d.digits(4)
		}
		return v
	}
	v.sep = d.of(seps...)
	groups := split(v.value, lengths...)
	v.written = func() []string { return groups }
	v.said = func() (out []string) {
		for _, g := range groups {
			out = append(out, d.aloud(g))
		}
		return out
	}
	v.spokenSep = d.pick([]string{" ", ", ", "에 ", " 어 ", ", 음, "}, []string{" ", ", ", " uh ", ", um, ", "... "})
	if hyphen && d.Chance(.7) || kind == "licence" || kind == "ssn" {
		v.spokenSep = d.pick([]string{" 다시 ", " 대시 "}, []string{" dash ", " hyphen "})
	}
	return v
}

// aloud reads digits in the conversation's language.
func (d *drawer) aloud(digits string) string {
	if d.korean {
		return d.koDigits(digits)
	}
	return d.enDigits(digits)
}

var (
	koNames = strings.Split("공 일 이 삼 사 오 육 칠 팔 구", " ")
	koOther = strings.Split("영 하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉", " ")
	enNames = strings.Split("zero one two three four five six seven eight nine", " ")
	teens   = strings.Split("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", " ")
	tens    = strings.Split("- - twenty thirty forty fifty sixty seventy eighty ninety", " ")
)

// koDigits reads digits aloud in Korean: together, separately, or as native numbers.
func (d *drawer) koDigits(s string) string {
	var out []string
	style := d.Below(5)
	if style == 4 && len(s) <= 4 { // some speech is transcribed as numerals
		return s
	}
	for i := range len(s) {
		n := s[i] - '0'
		w := koNames[n]
		if style == 3 {
			w = koOther[n]
		}
		out = append(out, w)
	}
	if style == 2 || style == 3 {
		return strings.Join(out, " ")
	}
	return strings.Join(out, "")
}

// enDigits reads digits aloud in English, with "oh" and "double".
func (d *drawer) enDigits(s string) string {
	var out []string
	oh, double := d.Chance(.4), d.Chance(.4)
	for i := 0; i < len(s); i++ {
		w := enNames[s[i]-'0']
		if s[i] == '0' && oh {
			w = "oh"
		}
		switch {
		case double && i+2 < len(s) && s[i] == s[i+1] && s[i] == s[i+2]:
			w, i = "triple "+w, i+2
		case double && i+1 < len(s) && s[i] == s[i+1]:
			w, i = "double "+w, i+1
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// enNumber spells a number below 100 in English.
func (d *drawer) enNumber(n int) string {
	switch {
	case n < 10:
		return enNames[n]
	case n < 20:
		return teens[n-10]
	case n%10 == 0:
		return tens[n/10]
	}
	return tens[n/10] + d.of("-", " ") + enNames[n%10]
}

// koNumber spells a number below 10,000 in Korean.
func koNumber(n int) string {
	var b strings.Builder
	for _, u := range []struct {
		n    int
		name string
	}{{1000, "천"}, {100, "백"}, {10, "십"}} {
		if c := n / u.n; c > 0 {
			if c > 1 {
				b.WriteString(koNames[c])
			}
			b.WriteString(u.name)
		}
		n %= u.n
	}
	if n > 0 {
		b.WriteString(koNames[n])
	}
	return b.String()
}

func (d *drawer) koMoney(n int) string {
	if n < 10000 {
		return koNumber(n)
	}
	return koNumber(n/10000) + "만" + koNumber(n%10000)
}

func thousands(n int) string { return humanize.Comma(int64(n)) }

var months = strings.Fields("January February March April May June July August September October November December")
var days = strings.Fields("first second third fourth fifth sixth " +
	"seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth " +
	"sixteenth seventeenth eighteenth nineteenth twentieth twenty-first " +
	"twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth " +
	"twenty-seventh twenty-eighth")

func (d *drawer) dob() drawn {
	y, m, day := d.birthday()
	v := drawn{value: fmt.Sprintf("%04d-%02d-%02d", y, m, day)}
	v.written = func() []string {
		return []string{d.pick([]string{v.value, fmt.Sprintf("%d년 %d월 %d일", y, m, day), fmt.Sprintf("%02d%02d%02d", y%100, m,
			day), fmt.Sprintf("%d.%d.%d", y, m, day)},
			[]string{v.value, fmt.Sprintf("%s %d, %d", months[m-1], day, y), fmt.Sprintf("%02d/%02d/%d", m, day, y),
				fmt.Sprintf("%d %s %d", day, months[m-1], y)})}
	}
	v.said = func() []string {
		month := koNumber(m)
		switch m {
		case 6:
			month = "유"
		case 10:
			month = "시"
		}
		year := "nineteen " + d.enNumber(y%100)
		if y >= 2000 {
			year = "two thousand"
			if y > 2000 {
				year += " " + d.enNumber(y%100)
			}
		} else if y%100 < 10 {
			year = "nineteen oh " + enNames[y%10]
		}
		return []string{d.pick([]string{koNumber(y) + "년 " + month + "월 " + koNumber(day) + "일",
			d.koDigits(fmt.Sprintf("%02d%02d%02d", y%100, m, day))},
			[]string{months[m-1] + " " + days[day-1] + ", " + year, "the " + days[day-1] + " of " + months[m-1] + " " + year})}
	}
	return v
}

func (d *drawer) email() drawn {
	box, family, host, n := d.of(mailboxes...), d.of(families...), d.of(hosts...), ""
	local := box
	if d.Chance(.5) {
		local += d.of(".", "_", "") + family
	}
	if d.Chance(.4) {
		n = d.digits(2)
	}
	v := drawn{value: local + n + "@" + host}
	v.said = func() []string {
		said := strings.NewReplacer(".", " dot ", "_", " underscore ").Replace(local)
		if n != "" {
			said += " " + d.enDigits(n)
		}
		if !d.korean {
			return []string{said + " at " + strings.ReplaceAll(host, ".", " dot ")}
		}
		said = strings.NewReplacer(".", " 점 ", "_", " 언더바 ").Replace(local)
		if n != "" {
			said += " " + n
		}
		h := strings.NewReplacer("naver", "네이버", "gmail", "지메일", ".com", " "+d.of("닷컴", "점 컴", "닷 컴"), ".net", " 닷넷", ".co",
			" 점 co", ".org", " 점 org", ".kr", " 점 kr").Replace(host)
		return []string{said + " 골뱅이 " + h}
	}
	return v
}
