package personal

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/loopback"
	"callhouse/internal/personal/kinds"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) { loopback.Main(m) }

func all(t testing.TB) *Finder {
	f, err := New(Options{Kinds: kinds.All, Countries: []string{"KR", "US"}})
	test.OK(t, err)
	return f
}

// found are texts with the expected matches as {kind|spelling}.
var found = []string{
	"카드 번호는 {card|4111-1111-1111-1111}입니다.",
	"my card is {card|4111 1111 1111 1111}, expiry 12/27",
	"Amex {card|3782 822463 10005}.",
	"it's {card|four one one one, one one one one, uh, one one one one one one one one} thanks",
	"{card|double five double five double five double five double five double five four four four four}",
	"{card|사일일일 일일일일 일일일일 일일일일}이에요",
	"order 4111111111111112 is on its way",
	"주민번호 {rrn|920315-1234562}요",
	"제 주민등록번호는 {rrn|구이공삼일오 다시 일이삼사오육이}예요",
	"{rrn|구이공삼일오다시일이삼사오육이}입니다",
	"tracking 9203151234561",
	"연락처는 {phone|공일공에 일이삼사, 어, 오육칠팔}입니다",
	"{phone|010-1234-5678}로 전화 주세요",
	"{phone|010 1234 5678}이요",
	"{phone|공일공 일이삼사 오육칠팔}이요",
	"제 번호는 {phone|공 일 공 일 이 삼 사 오 육 칠 팔} 이 번호로 주세요",
	"{phone|+82 10-1234-5678}",
	"사무실은 {phone|02-555-1234}, 내선 12번",
	"you can reach me at {phone|(415) 555-2671}",
	"my number is {phone|four one five, five five five, two six seven one}",
	"cell {phone|four one five five five five two six seven one} okay",
	"{phone|zero one zero two three four five six seven eight nine}",
	"{phone|공일공 천이백삼십사에 천이백삼십사}번",
	"write to {email|Minji.Kim@example.com}, please, or {email|a@b.com@c.com} or {email|a.com@b@c.com} or {email|kim@@example.com} or {email|a@b.com@c}",
	"it is {email|minji at example dot com}",
	"my email is {email|minji dot kim eight five at naver dot co dot kr}.",
	"메일은 {email|minji 골뱅이 네이버 닷컴}이요",
	"이메일은 {email|민지골뱅이지메일점컴}입니다",
	"{email|엠 케이 골뱅이 지메일 닷컴}",
	"look at example dot com for us",
	"visit us at example dot com",
	"사업자번호 {business|120-81-47521}",
	"ssn {ssn|219-09-9999}",
	"my social is {ssn|two one nine, oh nine, nine nine nine nine}",
	"{iban|DE89 3704 0044 0532 0130 00} is mine",
	"{iban|GB82WEST12345698765432}",
	"my IBAN is {iban|D E eight nine three seven oh four double oh four four oh five three two oh one three double oh oh}.",
	"여권번호는 {passport|M12345678}입니다",
	"order M12345678",
	"{passport|M123A4567}",
	"여권 번호는 {passport|엠 일이삼사오육칠팔}이에요",
	"면허번호 {licence|11-98-123456-01}",
	"{licence|서울-98-123456-01}",
	"면허번호는 {licence|서울 구팔 다시 일이삼사오육 다시 공일}입니다",
	"from {ip|192.168.0.1} at 10:30:45",
	"version 1.2.3.4 and 10.0.19041.1",
	"{ip|one nine two dot one six eight dot zero dot one}",
	"{ip|2001:db8::1} std::string 10:30:45",
	"생년월일은 {dob|1992년 3월 15일}입니다",
	"생년월일은 {dob|구십이년 삼월 십오일}이고요",
	"생일이 {dob|천구백구십이년 시월 오일}이에요",
	"I was born on {dob|March 15th, 1992}.",
	"date of birth {dob|the fifteenth of March nineteen ninety two}",
	"dob: {dob|03/15/1992}",
	"생년월일 {dob|920315}",
	"계좌번호는 {account|110-123-45678901}입니다",
	"계좌는 국민은행 {account|일이삼사오육 칠팔 구공일이삼사}예요",
	"my account number is {account|000123456789}",
	"주민번호 앞자리는 {rrn|구이공삼일오고 뒷자리는 일이삼사오육이}입니다",
	"that's {email|j o h n underscore s at outlook dot com}",
	"my credit card is {card|fifty-five fifty-five, fifty-five fifty-five, fifty-five fifty-five, forty-four forty-four}",
	"{phone|010-팔이삼사-5678}이에요, 쿠폰번호 1234-5678-9012-3456",
	"done (birth_date: {dob|1992-03-15}), passport_number {passport|M12345678}",
	"it costs 12,345,678 won, order number 20240315001, room 1204, in 2024",
	"만이천삼백사십오원이고 이천이십사년 삼월 십오일 오후 세시에 삼백이호로 오세요",
	"이 일은 오늘 사람이 구해지면 이번 주 일요일에 공사합니다",
	"one of the two or three things you said at four thirty",
	"uuid 550e8400-e29b-41d4-a716-446655440000",
	"at 1701122345678 ms",
}

func parseMarked(line string) (text string, want []string) {
	for {
		before, rest, ok := strings.Cut(line, "{")
		text += before
		if !ok {
			return text, want
		}
		in, after, _ := strings.Cut(rest, "}")
		what, spelling, _ := strings.Cut(in, "|")
		want = append(want, fmt.Sprintf("%s %q at %d", what, spelling, len(text)))
		text += spelling
		line = after
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	f := all(t)
	for _, line := range found {
		text, want := parseMarked(line)
		var got []string
		spans := f.Find("", text)
		for _, s := range spans {
			got = append(got, fmt.Sprintf("%s %q at %d", s.Kind, text[s.From:s.To], s.From))
		}
		test.Same(t, fmt.Sprint(want), fmt.Sprint(got), "%s", text)
		stays(t, f, []Turn{{Text: text}})
	}
}

func plain(s Span) string { return "[" + string(s.Kind) + "]" }

// rewrite returns a text with its spans replaced.
func rewrite(text string, spans []Span, by func(Span) string) string {
	for _, s := range slices.Backward(spans) {
		text = text[:s.From] + by(s) + text[s.To:]
	}
	return text
}

// A number may be spread over turns, with an acknowledgement or a repetition by the other side between them.
func TestConversation(t *testing.T) {
	t.Parallel()
	f := all(t)
	for _, c := range []struct{ turns, want string }{
		{"a 전화번호 부탁드립니다|u 공일공이요|a 네|u 일이삼사|a 네, 일이삼사|u 오육칠팔입니다",
			"a 전화번호 부탁드립니다|u [phone]이요|a 네|u [phone]|a 네, [phone]|u [phone]입니다"},
		{"a Your card number, please|u 4111 1111|a okay|u 1111|a yes, go on|u and 1111", "a Your card number, please|u [card]|a okay|u [card]|a yes, go on|u and [card]"},
		{"a 생년월일이 어떻게 되세요?|u 구이공삼일오요", "a 생년월일이 어떻게 되세요?|u [dob]요"},
		{"u 4111 1111|a Is that your order number?|u 1111 1111", "u 4111 1111|a Is that your order number?|u 1111 1111"},
		{"a What is your date of birth?|u March 15 1992", "a What is your date of birth?|u [dob]"},
	} {
		var turns []Turn
		for s := range strings.SplitSeq(c.turns, "|") {
			turns = append(turns, Turn{s[:1], s[2:]})
		}
		spans := f.Conversation(turns)
		var got []string
		for i, turn := range turns {
			var of []Span
			for _, s := range spans {
				if s.Turn == i {
					of = append(of, s)
				}
			}
			got = append(got, turn.Speaker+" "+rewrite(turn.Text, of, plain))
		}
		if g := strings.Join(got, "|"); g != c.want {
			t.Errorf("got  %s\nwant %s\n%v", g, c.want, spans)
		}
	}
}

// A word that modifies the digits after it, such as double, has no effect across turns.
func TestWordsBeforeTurns(t *testing.T) {
	t.Parallel()
	f := all(t)
	for _, last := range []string{"of course, plus", "플러스", "it begins with double", "+"} {
		for _, next := range []string{"010-1234-5678", "82 10 1234 5678", "five five one two three"} {
			check(t, f, []Turn{{"u", last}, {"u", next}, {"u", last + " " + last}})
		}
	}
}

// Every word that can begin a date is recognized as one, since dates are only tried there.
func TestDates(t *testing.T) {
	t.Parallel()
	f := all(t)
	var dates []string
	for _, day := range strings.Fields("1 15th first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth " +
		"fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth one two three four five six seven eight nine ten eleven " +
		"twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty the-ninth Twenty-first") {
		dates = append(dates, strings.ReplaceAll(day, "the-", "the ")+" of March nineteen ninety")
	}
	for _, month := range strings.Fields("january february march april may june july august september october november december " +
		"jan feb mar apr jun jul aug sept sep oct nov DEC.") {
		dates = append(dates, month+" 5, '92")
	}
	dates = append(dates, "92년 3월 5일", "1992년생 유월 이십일", "구십이년 시월 오일", "천구백구십이년 3월 5일")
	for _, date := range dates {
		for _, text := range []string{"born " + date, "생일은 (" + date + ")", "born on May 1st 1980, " + date} {
			if spans := f.Find("", text); len(spans) == 0 || text[spans[len(spans)-1].From:spans[len(spans)-1].To] != date {
				t.Errorf("%s: %v", text, spans)
			}
		}
	}
}
