package phone_test

import (
	"slices"
	"strings"
	"testing"

	"callhouse/internal/phone"
)

func TestNormal(t *testing.T) {
	for _, c := range []struct{ text, country, want string }{
		{"+1 (201) 555-0100", "", "+12015550100"},
		{"0012015550100", "", "+12015550100"},
		{"tel:+1-201-555-0100;ext=7", "", "+12015550100"},
		{"sip:+12015550100@example.com", "", "+12015550100"},
		{"＋１ ２０１ ５５５ ０１００", "", "+12015550100"},
		{"+1\u2011201\u2013555\u00a00100", "", "+12015550100"},
		{"010-1234-5678", "KR", "+821012345678"},
		{"01012345678", "KR", "+821012345678"},
		{"821012345678", "KR", "+821012345678"},
		{"0212345678", "KR", "+82212345678"},
		{"+821012345678", "US", "+821012345678"},
		{"00821012345678", "DE", "+821012345678"},
		{"010-1234-5678", "", ""},
		{"12015550100", "KR", ""}, // digits of another country, without a plus
		{"anonymous", "KR", ""},
		{"1-800-FLOWERS", "US", ""},
		{"+1 ", "", ""},
		{"", "KR", ""},
	} {
		if got, ok := phone.Normal(c.text, c.country); got != c.want || ok != (c.want != "") {
			t.Errorf("Normal(%q, %q) = %q, %v, want %q", c.text, c.country, got, ok, c.want)
		}
	}
}

func TestIs(t *testing.T) {
	korean := []string{"+821012345678", "+82 10-1234-5678", "821012345678", "01012345678", "010-1234-5678", "010 1234 5678", "010.1234.5678",
		"(010) 1234-5678", "0082 10 1234 5678", "tel:+82-10-1234-5678", "sip:+821012345678@pbx.example", "０１０－１２３４－５６７８", "+82 (0)10 1234 5678"}
	for _, country := range []string{"", "KR"} {
		for _, a := range korean {
			for _, b := range korean {
				if !phone.Parse(a, country).Is(b) {
					t.Errorf("in %q, %q is not %q", country, a, b)
				}
			}
		}
	}
	american := []string{"+1 (201) 555-0100", "2015550100", "12015550100", "(201) 555-0100", "201.555.0100", "0012015550100", "01112015550100"}
	for _, b := range american {
		if !phone.Parse("+12015550100", "").Is(b) || !phone.Parse("+12015550100", "US").Is(b) {
			t.Errorf("it is not %q", b)
		}
	}
	for _, c := range []struct{ number, country, other string }{
		{"+821012345678", "", "+811012345678"}, // of another country
		{"+821012345678", "", "1012345679"},
		{"+12015550100", "", "+442015550100"},
		{"+12015550100", "", "915550100"},
		{"01012345678", "KR", "+811012345678"},
		{"+12015550100", "", "12015550100 12015550100"},
		{"12", "", "+82212"},
		{"12", "", "112"},
		{"anonymous", "", "Anonymous"},
		{"", "", "x"},
	} {
		if phone.Parse(c.number, c.country).Is(c.other) {
			t.Errorf("%q is said to be %q", c.number, c.other)
		}
	}
	for _, text := range []string{"12", "anonymous", "sip:alice@example.com"} {
		if n := phone.Parse(text, ""); !n.Is(text) || n.Searchable() {
			t.Errorf("%q", text)
		}
	}
	for _, s := range phone.Parse("+821012345678", "").Spellings() {
		if !phone.Parse("010-1234-5678", "").Is(s) {
			t.Errorf("the spelling %q", s)
		}
	}
}

func TestFind(t *testing.T) {
	american, korean, national := phone.Parse("+1 (201) 555-0100", ""), phone.Parse("+82 10 1234 5678", ""), phone.Parse("010-8765-4321", "")
	f := phone.NewFinder([]*phone.Number{american, korean, national, phone.Parse("12", "")})
	// Text in angle brackets is the expected match.
	for _, text := range []string{
		"call <+1 (201) 555-0100> now", "<2015550100>", "<201.555.0100>.", "(<201) 555 0100>", "<1-201-555-0100>", "<0012015550100>", "<+12015550100>,<2015550100>",
		`{"n":"<+1201\u2010555\u20100100>"}`, `<\uff12\uff10\uff11\uff15\uff15\uff15\uff10\uff11\uff10\uff10>`, "<２０１５５５０１００>", "%2B<12015550100>",
		"my number is <010-1234-5678>, room 12", "room 12 <010-1234-5678>", "<+82 10 1234 5678>", "<+82 (0)10-1234-5678>", "<82-10-1234-5678>", "<00700 82 10 1234 5678>",
		"tel:<+82-10-1234-5678>;ext=5", "sip:<821012345678>@pbx", "<+82 10 8765 4321>", "<8765-4321>", "<010 8765 4321>",
	} {
		plain := strings.NewReplacer("<", "", ">", "").Replace(text)
		if strings.Contains(text, "<8765") {
			text = plain // not a number without its area code
		}
		var got strings.Builder
		last := 0
		for _, s := range f.Find([]byte(plain)) {
			got.WriteString(plain[last:s.From] + "<" + plain[s.From:s.To] + ">")
			last = s.To
		}
		if got.WriteString(plain[last:]); got.String() != text {
			t.Errorf("found %s, want %s", got.String(), text)
		}
	}
	for _, text := range []string{
		"", "12", "92015550100", "20155501001", "+442015550100", "+44 201 555 0100", "+44 2015550100", "201555 x 0100", "2015550 11 100",
		"0x2015550101", "1.5", strings.Repeat("9", 100) + "2015550100", strings.Repeat("1 ", 100), "+2015550100", "\\u12", "\\",
	} {
		if s := f.Find([]byte(text)); len(s) > 0 {
			t.Errorf("found %v in %q", s, text)
		}
	}
	if many := strings.Repeat("1 ", 100) + "12 2015550100"; len(f.Find([]byte(many))) != 1 {
		t.Error("a long chain hides a number")
	}
}

func FuzzFind(f *testing.F) {
	number := phone.Parse("+821012345678", "")
	finder := phone.NewFinder([]*phone.Number{number})
	f.Add([]byte("a 010-1234-5678 b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		spans := finder.Find(text)
		if !slices.IsSortedFunc(spans, func(a, b phone.Span) int { return a.From - b.From }) {
			t.Error(spans)
		}
		last := 0
		for _, s := range spans {
			if s.From < last || s.To <= s.From || s.To > len(text) {
				t.Errorf("%v of %d", spans, len(text))
			}
			last = s.To
		}
	})
}
