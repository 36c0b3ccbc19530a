package personal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// words are the parts of random texts.
var words = strings.Split("공일공|일이삼사|오육칠팔이요|구이공삼일오|다시|4111|1111|-|,| |. |네|어|카드번호|생년월일|여권|계좌|골뱅이|네이버|닷컴|at|dot|com|minji|@|example.com|"+
	"four|double|five|twenty|one|oh|uh|born|March|15|1992|년|월|일|M12345678|DE89370400440532013000|10.0.0.1|::1|[card]|[|]|(02)|+82|10|천이백|만원|서울|"+
	"\u200b|é|\xff|０１０|–|\n|iban|d e|account|이|번호로|구년|유월|시월|일일|hundred|triple|십|may|점|앳|1:2:3:4:5:6:7:8|M one two three A four five six seven", "|")

func check(t interface{ Fatalf(string, ...any) }, f *Finder, turns []Turn) {
	spans := f.Conversation(turns)
	at, turn := 0, 0
	byTurn := map[int][]Span{}
	for _, s := range spans {
		if s.Turn != turn {
			at, turn = 0, s.Turn
		}
		text := turns[s.Turn].Text
		if s.From < at || s.To <= s.From || s.To > len(text) || s.Kind == "" {
			t.Fatalf("%q: %v", turns, spans)
		}
		if utf8.ValidString(text) && (!utf8.ValidString(text[:s.From]) || !utf8.ValidString(text[s.From:s.To])) {
			t.Fatalf("%q: %v cuts a character", text, s)
		}
		at = s.To
		byTurn[s.Turn] = append(byTurn[s.Turn], s)
	}
	for i := range turns {
		clean := rewrite(turns[i].Text, byTurn[i], func(Span) string { return "\x00" })
		rest := turns[i].Text
		for part := range strings.SplitSeq(clean, "\x00") {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				t.Fatalf("%q became %q", turns[i].Text, clean)
			}
			rest = after
		}
	}
}

// For any text, spans are in order, do not overlap, split no character, and leave the rest of the
// text unchanged.
func TestProperties(t *testing.T) {
	t.Parallel()
	f := all(t)
	rapid.Check(t, func(t *rapid.T) {
		var turns []Turn
		for range rapid.IntRange(1, 5).Draw(t, "turns") {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 30).Draw(t, "words"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
			turns = append(turns, Turn{rapid.SampledFrom([]string{"a", "u"}).Draw(t, "speaker"), text})
		}
		check(t, f, turns)
	})
}

func FuzzFind(f *testing.F) {
	finder := all(f)
	for _, line := range found {
		text, _ := parseMarked(line)
		f.Add(text, "네")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		text := strings.ReplaceAll(a, "\x00", "")
		check(t, finder, []Turn{{"u", text}, {"a", strings.ReplaceAll(b, "\x00", "")}, {"u", text}})
	})
}

// A reader examines a bounded number of groups, words and characters per character.
func TestLinear(t *testing.T) {
	t.Parallel()
	f := all(t)
	hostile := []string{"4111 ", "일 ", "one ", "오육칠팔이요 ", "[a", "minji at ", "a@", "a.a@", "생일 일 ", "born may ", "iban d e 8 9 ", "주민 1-", "::1:", "서울 1"}
	for _, unit := range append(hostile, words...) {
		n := func(times int) int {
			r := &reader{f: f, turns: []Turn{{Text: strings.Repeat(unit, times)}}}
			r.turn(0)
			r.finish()
			return r.looked
		}
		few, many := n(300), n(3000)
		if many > 11*few+1000 {
			t.Errorf("%q: looked at %d, and for ten times the text %d", unit, few, many)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	f := all(b)
	var text strings.Builder
	for _, line := range found {
		s, _ := parseMarked(line)
		text.WriteString(s + "\n")
	}
	for name, text := range map[string]string{
		"dense":   text.String(),
		"korean":  strings.Repeat("고객님, 문의하신 상품은 이번 주 안으로 발송될 예정이며 배송이 시작되면 문자로 안내해 드리겠습니다. ", 20),
		"english": strings.Repeat("Thank you for waiting, the parcel left our warehouse this morning and the driver will call you before he arrives. ", 20),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				f.Find("", text)
			}
		})
	}
}
