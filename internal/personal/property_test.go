package personal

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"callhouse/internal/longtest"
	"callhouse/internal/personal/kinds"
	"callhouse/internal/test"
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

// For any text, spans are in order, do not overlap, split no character, and leave the rest of the text unchanged.
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
	for _, unit := range longtest.Some(2, append(hostile, words...)) {
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

// withPatterns returns a finder of all kinds and of custom ones, which match parts of replacements,
// whole texts, and all that follows a word.
func withPatterns(t testing.TB) *Finder {
	f, err := New(Options{Kinds: kinds.All, Countries: []string{"KR", "US"}, Patterns: []Pattern{
		{Kind: "member", Re: regexp.MustCompile(`\bMB-\d{5}\b`)}, {Kind: "number", Re: regexp.MustCompile(`^\d{4}$`)},
		{Kind: "rest", Re: regexp.MustCompile(`(?i)\bname is .*`)}, {Kind: "word", Re: regexp.MustCompile(`card|rest|member|word|\[x\]`)},
	}})
	test.OK(t, err)
	return f
}

// stays fails if turns are still found in after their spans were replaced a few times.
func stays(t interface{ Errorf(string, ...any) }, f *Finder, turns []Turn) {
	left := slices.Clone(turns)
	for range 32 {
		spans := f.Conversation(left)
		if len(left) == 1 && !slices.Equal(spans, f.Find("", left[0].Text)) {
			t.Errorf("%q: a conversation of it holds %v", left, spans)
		}
		if len(spans) == 0 {
			return
		}
		for i := range left {
			mine := slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return s.Turn != i })
			left[i].Text = replaced(left[i].Text, mine)
		}
	}
	t.Errorf("%q\nbecame %q, and there is still more", turns, left)
}

// values returns the values in the texts of found, in all spellings.
func values() (out []string) {
	for _, line := range found {
		for _, m := range regexp.MustCompile(`\{[a-z]+\|([^}]*)\}`).FindAllStringSubmatch(line, -1) {
			out = append(out, m[1])
		}
	}
	return append(out, "MB-12345")
}

// Values that overlap, touch, or are kept apart by less than the recognizers need leave nothing for
// a second time.
func TestRedactedStays(t *testing.T) {
	t.Parallel()
	f := withPatterns(t)
	for _, text := range []string{
		"4111 1111 1111 1111-DE89 3704 0044 0532 0130 00 is mine-02-555-1234",
		"GB82 WEST 1234 5698 7654 32 4111 1111 1111 1111",
		"4111 1111 1111 1111 010-1234-5678 920315-1234562",
		"minji at example dot com010-1234-5678", "me@example.com010-1234-5678", "생년월일 920315DE89370400440532013000",
		"I was born on March 15th, 1992.1:2:3:4:5:6:7:8", "M12345678 mail minji dot kim at naver dot com.-여권",
		"구이공삼일오다시일이삼사오육이10.0.0.1", "M one two three A four five six seven생년월일",
		"card [card] my name is Kim [card] 4111 1111 1111 1111", "[word] rest [x] [[card]] [card:abcdefghijklmnop] card]", "1234[card]1234",
	} {
		stays(t, f, []Turn{{"u", text}})
		stays(t, f, []Turn{{"a", "계좌번호 알려 주세요"}, {"u", text}, {"a", "네"}, {"u", text + " " + text}})
	}
	parts := values()
	for i, a := range parts {
		b := parts[(i*7+3)%len(parts)]
		for _, between := range []string{"", " ", "-"} {
			stays(t, f, []Turn{{"u", strings.Repeat(a+between+b+between, 20)}})
			stays(t, f, []Turn{{"u", a + between + a[len(a)/2:]}, {"u", a[:len(a)/2] + b}})
		}
	}
}

// What is redacted of the corpora, and of random parts of values, words and replacements, stays.
func TestRedactedStaysAtRandom(t *testing.T) {
	t.Parallel()
	f := withPatterns(t)
	conversations, _ := readCorpora(t, append([]string{secondCorpus}, sandboxCorpora...)...)
	for _, turns := range conversations {
		stays(t, f, turns)
	}
	const seed = 20261118
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	parts := append(values(), words...)
	for _, line := range found {
		text, _ := parseMarked(line)
		parts = append(parts, text)
	}
	for range map[bool]int{true: 5_000, false: 1_500}[longtest.On()] {
		var turns []Turn
		for range 1 + r.IntN(3) {
			var b strings.Builder
			for range 1 + r.IntN(5) {
				part := parts[r.IntN(len(parts))]
				if r.IntN(4) == 0 { // half of it
					part = part[r.IntN(len(part)):]
				}
				b.WriteString(part + []string{"", "", " ", " ", "-", ", "}[r.IntN(6)])
			}
			turns = append(turns, Turn{[]string{"a", "u"}[r.IntN(2)], strings.ToValidUTF8(b.String(), "")})
		}
		stays(t, f, turns)
	}
}

// Only a known kind in brackets, is a replacement; other words in brackets do not hide what follows them.
func TestReplacements(t *testing.T) {
	t.Parallel()
	f := withPatterns(t)
	for text, want := range map[string]string{
		"[note: 010-1234-5678]":  "[note: [phone]]",
		"[phone: 010-1234-5678]": "[phone: [phone]]",
		"[order] my name is Kim": "[order] my [rest]",
		"[card] MB-12345.":       "[card] [member].",
		"name is Kim [card] Lee": "[rest][card] Lee",
	} {
		test.Same(t, want, rewrite(text, f.Find("", text), plain), "%s", text)
	}
	for _, name := range []string{"null", "true", "card", "Member", "a-b"} {
		if _, err := New(Options{Patterns: []Pattern{{Kind: kinds.Kind(name), Re: regexp.MustCompile(`x`)}}}); err == nil {
			t.Errorf("a pattern may have the name %s", name)
		}
	}
}

// A name keeps its meaning when its own personal data is replaced.
func TestNamesOfRedacted(t *testing.T) {
	t.Parallel()
	f := withPatterns(t)
	for _, name := range []string{"4111-1111-1111-1111생년월일", "a@b.combirth date", "birth date of me@example.com"} {
		clean := rewrite(name, f.Find("", name), plain)
		if a, b := f.Find(name, "1992-03-15"), f.Find(clean, "1992-03-15"); !slices.Equal(a, b) {
			t.Errorf("%s: %v, but %s: %v", name, a, clean, b)
		}
	}
}
