package personal

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/personal/kinds"
	"callhouse/internal/sandbox/plant"
	"callhouse/internal/test"
)

// withPatterns returns a finder of all kinds and of custom ones, which match parts of replacements,
// whole texts, and all that follows a word.
func withPatterns(t testing.TB) *Finder {
	f, err := New(Options{Kinds: kinds.All, Countries: []string{"KR", "US"}, Patterns: []Pattern{
		{Kind: "member", Re: regexp.MustCompile(`\bMB-\d{5}\b`)},
		{Kind: "number", Re: regexp.MustCompile(`^\d{4}$`)},
		{Kind: "rest", Re: regexp.MustCompile(`(?i)\bname is .*`)},
		{Kind: "word", Re: regexp.MustCompile(`card|rest|member|word|\[x\]`)},
	}})
	test.OK(t, err)
	return f
}

// redacted returns turns as they are stored.
func redacted(f *Finder, turns []Turn) []Turn {
	out := slices.Clone(turns)
	for t, spans := range byTurn(f.Conversation(turns)) {
		out[t].Text = rewrite(turns[t].Text, spans, plain)
	}
	return out
}

// stays fails if redacted turns, redacted again, change.
func stays(t interface{ Errorf(string, ...any) }, f *Finder, turns []Turn) {
	once := redacted(f, turns)
	if twice := redacted(f, once); !slices.Equal(once, twice) {
		t.Errorf("%q\nbecame %q\nand then %q", turns, once, twice)
	}
	for i, turn := range once {
		if spans := f.Find("", turn.Text); len(once) == 1 && len(spans) > 0 {
			t.Errorf("%q: %v", once[i], spans)
		}
	}
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
	corpus := test.Read(t, "testdata/second.txt")
	for paragraph := range strings.SplitSeq(regexp.MustCompile(`\{\{[a-z]+\*?\||\}\}`).ReplaceAllString(string(corpus), ""), "\n\n") {
		var turns []Turn
		for line := range strings.SplitSeq(paragraph, "\n") {
			speaker, text, _ := strings.Cut(line, "\t")
			turns = append(turns, Turn{speaker, text})
		}
		stays(t, f, turns)
	}
	for seed := range uint64(500) {
		var turns []Turn
		for _, l := range plant.Draw(seed, seed%2 == 0).Lines {
			turns = append(turns, Turn{map[bool]string{true: "a", false: "u"}[l.Agent], l.Text})
		}
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
	for range 5000 {
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

// Only a known kind in brackets, is a replacement; other words in brackets
// do not hide what follows them.
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
		if got := rewrite(text, f.Find("", text), plain); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
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
