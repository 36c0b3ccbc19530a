// Package plant writes labelled personal data into conversations, in Korean and English, both as
// written and as read aloud, and near misses, which only resemble it. Everything is drawn from a
// seed and has valid checksums, but belongs to nobody.
package plant

import (
	"strings"

	"callhouse/internal/sandbox/dice"
)

// Line is one utterance.
type Line struct {
	Agent bool
	Text  string
}

// Label is the place of a value. A value spread over several lines has several labels, all but the
// first with More.
type Label struct {
	Line, From, To int
	Kind           string
	Value          string // without separators: 4111111111111111
	Spoken, More   bool
}

// Exchange is a few lines with one personal value, or none.
type Exchange struct {
	Lines  []Line
	Labels []Label
}

// Kinds are the planted kinds of personal data.
var Kinds = []string{"card", "rrn", "passport", "licence", "business", "ssn", "iban", "phone", "email", "ip", "dob", "account"}

// drawer draws one exchange.
type drawer struct {
	dice.Dice
	korean bool
	x      Exchange
}

func (d *drawer) of(choices ...string) string { return choices[d.Below(len(choices))] }

func (d *drawer) digits(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0' + byte(d.Below(10))
	}
	return string(b)
}

// line adds a line; «» mark a value in it.
func (d *drawer) line(agent bool, text, kind, value string, spoken bool) {
	before, rest, ok := strings.Cut(text, "«")
	if ok {
		spelled, after, _ := strings.Cut(rest, "»")
		d.x.Labels = append(d.x.Labels, Label{Line: len(d.x.Lines), From: len(before), To: len(before) + len(spelled),
			Kind: kind, Value: value,
			Spoken: spoken, More: len(d.x.Labels) > 0})
		text = before + spelled + after
	}
	d.x.Lines = append(d.x.Lines, Line{agent, text})
}

// Draw returns the exchange of a seed. Half of all exchanges have a value.
func Draw(seed uint64, korean bool) Exchange {
	d := &drawer{Dice: dice.New(dice.Hash(seed, 71)), korean: korean}
	if d.Chance(.5) {
		d.near()
	} else {
		d.value(Kinds[d.Below(len(Kinds))], d.Chance(.5))
	}
	return d.x
}

// value adds lines with a value of a kind.
func (d *drawer) value(kind string, spoken bool) {
	v := d.drawn(kind)
	spoken = spoken && v.said != nil
	parts := v.parts(spoken)
	if d.Chance(.6) {
		d.line(true, d.ask(kind), "", "", false)
	}
	// The question or the answer has the context that some kinds need.
	answer := d.answer(kind, len(d.x.Lines) > 0)
	if spoken && len(parts) > 1 && d.Chance(.25) { // spread over turns
		for i, p := range parts {
			text := "«" + p + "»"
			if i == 0 {
				text = strings.Replace(answer, "%", text, 1)
				text = text[:strings.Index(text, "»")+len("»")]
			}
			d.line(false, text, kind, v.value, true)
			if i < len(parts)-1 {
				d.line(true, d.pick([]string{"네.", "네, 말씀하세요.", "예", "네네"}, []string{"Yes.", "okay", "Got it, go on.", "uh-huh"}), "", "", false)
			}
		}
		return
	}
	whole := v.join(parts, spoken)
	d.line(false, strings.Replace(answer, "%", "«"+whole+"»", 1), kind, v.value, spoken)
}

func (d *drawer) pick(ko, en []string) string {
	if d.korean {
		return d.of(ko...)
	}
	return d.of(en...)
}

// names are the names of kinds, in Korean and English.
var names = map[string][2]string{
	"card": {"카드번호", "card number"}, "rrn": {"주민등록번호", "resident registration number"}, "passport": {"여권번호", "passport number"},
	"licence": {"운전면허 번호", "driver's license number"}, "business": {"사업자 등록번호", "business registration number"},
	"ssn": {"사회보장번호", "social security number"}, "iban": {"IBAN", "IBAN"}, "phone": {"전화번호", "phone number"},
	"email": {"이메일 주소", "email address"},
	"ip":    {"아이피 주소", "IP address"}, "dob": {"생년월일", "date of birth"}, "account": {"계좌번호", "bank account number"},
}

func (d *drawer) name(kind string) string {
	if d.korean {
		return names[kind][0]
	}
	return names[kind][1]
}

func (d *drawer) ask(kind string) string {
	n := d.name(kind)
	return d.pick([]string{n + " 말씀해 주시겠어요?", "확인을 위해 " + n + " 부탁드립니다.", n + "가 어떻게 되세요?", "본인 확인이 필요합니다. " + n + "를 알려 주세요."},
		[]string{"Could I have your " + n + ", please?", "What is your " + n + "?", "To verify you, I need your " + n + ".",
			"And the " + n + "?"})
}

// answer returns a customer's sentence, with % for the value.
func (d *drawer) answer(kind string, prompted bool) string {
	n := d.name(kind)
	if prompted && d.Chance(.5) {
		return d.pick([]string{"%입니다.", "네, %이에요.", "잠시만요, 어, %요.", "%"}, []string{"It's %.", "Sure, %.", "uh, let me see, %",
			"%.", "Yes it's % thank you"})
	}
	return d.pick([]string{"제 " + n + "는 %입니다.", n + "는요, %이고요.", n + " % 맞아요.", "네, " + n + " %예요, 확인해 주세요."},
		[]string{"My " + n + " is %.", "the " + n + " would be %, I think", "Okay, " + n + " %, did you get that?",
			"So my " + n + " that's %."})
}

// near adds lines that resemble personal data but contain none.
func (d *drawer) near() {
	spoken := d.Chance(.5)
	say := func(s string) string {
		if !spoken {
			return s
		}
		return d.aloud(s)
	}
	var text string
	switch n := d.digits(3); d.Below(12) {
	case 0:
		order := "2026" + d.digits(d.Below(5)+4)
		text = d.pick([]string{"주문번호는 " + say(order) + "입니다.", "주문 번호 " + say(order) + "로 조회해 주세요"},
			[]string{"My order number is " + say(order) + ".", "it's order " + say(order) + ", from last week"})
	case 1:
		won := 1000 * (1 + d.Below(900))
		text = d.pick([]string{"총 " + thousands(won) + "원이 결제되었습니다.", "금액은 " + d.koMoney(won) + "원이에요.",
			"환불 금액이 " + thousands(won) + "원 맞나요?"},
			[]string{"The total is $" + thousands(won) + ".50.", "you charged me " + d.enNumber(1+d.Below(99)) + " dollars and " +
				"" + d.enNumber(1+d.Below(99)) + " cents",
				"a refund of " + thousands(won) + " won"})
	case 2:
		text = d.pick([]string{"오후 세시 삼십분에 갈게요.", "내일 오전 10:30이나 14:45 가능해요?", "십이월 이십사일 저녁 일곱시요"},
			[]string{"Let's say four thirty tomorrow.", "between 10:30 and 14:45:00", "on December twenty fourth at seven oh five"})
	case 3:
		text = d.pick([]string{"이천이십사년부터 고객이었어요.", "2019년 3월에 샀습니다.", "구십구년에 지은 건물이에요"},
			[]string{"I've been a customer since nineteen ninety nine.", "bought it in March 2019",
				"the 2024 model, from two thousand twenty four"})
	case 4:
		text = d.pick([]string{"객실은 " + say("1"+n) + "호입니다.", "삼백이호로 올려 주세요", n + "동 " + d.digits(4) + "호요"},
			[]string{"I'm in room " + say("1"+n) + ".", "room three oh two, third floor", "apartment " + n + ", building 12"})
	case 5:
		tracking := "6" + d.digits(11)
		text = d.pick([]string{"운송장 번호 " + say(tracking) + " 조회 부탁드려요.", "송장번호는 " + grouped(tracking, "-", 4, 4, 4) + "입니다"},
			[]string{"The tracking number is " + say(tracking) + ".", "tracking " + grouped(tracking, " ", 4, 4, 4) + " shows nothing"})
	case 6:
		v := d.of("2.14.3", "10.0.19045.2", "1.22.0", "3.11")
		text = d.pick([]string{"앱 버전 " + v + " 쓰고 있어요.", "펌웨어는 버전 4.2.1.7입니다"}, []string{"I'm on version " + v + " of the app.",
			"firmware version 4.2.1.7 crashes"})
	case 7: // resembles a card, but has a wrong checksum
		c := []byte(d.card())
		c[15] = '0' + (c[15]-'0'+1+byte(d.Below(8)))%10
		text = d.pick([]string{"예약번호 " + grouped(string(c), "-", 4, 4, 4, 4) + "입니다.", "바코드는 " + say(string(c)) + "이에요"},
			[]string{"The reservation is " + grouped(string(c), " ", 4, 4, 4, 4) + ".", "barcode " + say(string(c))})
	case 8: // resembles a registration number, but has an invalid month or checksum
		r := d.digits(2) + d.of("13", "45", "99") + d.digits(2) + "-1" + d.digits(6)
		text = d.pick([]string{"제품 코드 " + r + "입니다.", "관리번호 " + r}, []string{"The product code is " + r + ".", "part " + r + ", please"})
	case 9:
		text = d.pick([]string{"example 닷컴에서 봤어요.", "홈페이지는 example.com입니다", "두 시에 하나 둘 셋 하고 시작했어요"},
			[]string{"I looked at example dot com.", "visit us at example dot com", "one of the two or three things at the shop"})
	case 10:
		text = d.pick([]string{"고객번호는 " + say(d.digits(8)) + "이에요.", "회원 번호 " + say(d.digits(10)) + "로 가입했어요",
			"인증번호 " + say(d.digits(6)) + "입니다"},
			[]string{"My customer number is " + say(d.digits(8)) + ".", "the confirmation code " + say(d.digits(6)),
				"member number " + say(d.digits(10))})
	case 11:
		text = d.pick([]string{"데이터를 " + say(d.digits(2)) + "퍼센트 썼고 " + d.digits(3) + "점이에요.",
			"계량기 검침값은 " + say(d.digits(5)) + "입니다", "UUID는 550e8400-e29b-41d4-a716-446655440000이에요"},
			[]string{"we used " + d.digits(2) + "% of 1,234,567 items", "the meter reads " + say(d.digits(5)),
				"request id 550e8400-e29b-41d4-a716-446655440000"})
	}
	if d.Chance(.3) {
		d.line(true, d.pick([]string{"네, 말씀하세요.", "어떻게 도와드릴까요?"}, []string{"How can I help?", "Yes, go ahead."}), "", "", false)
	}
	d.line(d.Chance(.2), text, "", "", false)
}

// keys are the names of kinds in other systems.
var keys = map[string]string{
	"card": "card_number", "rrn": "resident_number", "passport": "passport_number", "licence": "driver_license",
	"business": "business_number",
	"ssn":      "ssn", "iban": "iban", "phone": "callback_phone", "email": "email", "ip": "client_ip", "dob": "birth_date",
	"account": "bank_account",
}

// Profile returns the name and the written value of a customer's attribute in another system.
func Profile(seed uint64, korean bool) (name, value string) {
	d := &drawer{Dice: dice.New(dice.Hash(seed, 72)), korean: korean}
	kind := Kinds[d.Below(len(Kinds))]
	v := d.drawn(kind)
	return keys[kind], v.join(v.parts(false), false)
}
