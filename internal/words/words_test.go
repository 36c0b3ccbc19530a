package words_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"callhouse/internal/test"
	"callhouse/internal/words"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "",
		"plain, 안녕하세요, naïve, \u3000, 😀": "plain, 안녕하세요, naïve, \u3000, 😀",
		"a\nb\tc\rd":                         `a\nb\tc\rd`,
		"\x1b[31mred\x07\x00\x7f":            `\x1b[31mred\x07\x00\u007f`,
		"\u0085\u009b31m":                    `\u0085\u009b31m`,
		"\x9b31m \xe2\x80 \xff":              `\x9b31m \xe2\x80 \xff`,
		"\u202e\u2066\u200e\u061c":           `\u202e\u2066\u200e\u061c`,
		"\u2028\u2029":                       `\u2028\u2029`,
		"ad\u200bmin ad\u200dmin":            `ad\u200bmin ad\u200dmin`,
		"\u3164\u00ad\ufeff":                 `\u3164\u00ad\ufeff`,
		"👩\u200d👩\u200d👧 \u06cc\u200c\u0627": "👩\u200d👩\u200d👧 \u06cc\u200c\u0627",
		"\u200dx 한\u200d":                    `\u200dx 한\u200d`,
		"\U000e0041":                         `\U000e0041`,
		"\ufffd":                             "\ufffd", // it was in the input
	} {
		test.Same(t, want, words.Line(in), "Line(%+q)", in)
	}
	test.Same(t, "a\n\tb\\r\\x1b", words.Lines("a\n\tb\r\x1b"), "Lines")
}

// An argument cannot begin a line or a column, whatever the verb.
func TestFprintf(t *testing.T) {
	const foul = "a\n\tb\x1b"
	var out bytes.Buffer
	_, _ = words.Fprintf(&out, "%s|%v|%q|%-9s|%*s|%d %.1f %t\n", foul, errors.Join(errors.New(foul), errors.New("c")), foul, "x", 3, "y", 7, 1.5, true)
	_, _ = words.Fprintf(&out, "\t%v %+v %s %v\n", []string{foul}, struct{ A string }{foul}, json.RawMessage(foul), fmt.Errorf("x: %w", errors.New(foul)))
	_, _ = words.Fprintln(&out, foul, 1, nil)
	want := `a\n\tb\x1b|a\n\tb\x1b; c|"a\n\tb\x1b"|x        |  y|7 1.5 true` + "\n" +
		"\t" + `[a\n\tb\x1b] {A:a\n\tb\x1b} a\n\tb\x1b x: a\n\tb\x1b` + "\n" + `a\n\tb\x1b 1 <nil>` + "\n"
	test.Same(t, want, out.String(), "it wrote")
}

// forms returns a key in the encodings in which a service may repeat it.
func forms(key string) map[string]string {
	asJSON, _ := json.Marshal(key)
	return map[string]string{"itself": key, "query": url.QueryEscape(key), "path": url.PathEscape(key),
		"JSON": strings.Trim(string(asJSON), `"`), "Go": strings.Trim(strconv.Quote(key), `"`)}
}

func TestRedact(t *testing.T) {
	for _, key := range []string{"sk_live_0123456789abcdef", `k/9"Q+<>&'\=?~`, "pässwörd-한국어", strings.Repeat("long-", 200)} {
		s := words.NewSecrets("other-key", key)
		for name, form := range forms(key) {
			got := s.Redact("before " + form + " behind")
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " behind") || !strings.Contains(got, words.Masked) || strings.Contains(got, form) {
				t.Errorf("%s: %s is left in %q", name, form, got)
			}
		}
	}
	var none *words.Secrets
	for in, want := range map[string]string{
		`parse "http://user:pass%zz@host": bad`: `parse "http://[masked]@host": bad`,
		"https://host/a@b":                      "https://host/a@b",
		"someone@example.org":                   "someone@example.org",
	} {
		for _, s := range []*words.Secrets{none, new(words.Secrets), words.NewSecrets("", "abc")} {
			test.Same(t, want, s.Redact(in), "Redact(%q)", in)
		}
	}
	test.Same(t, "12345 [ma…", words.NewSecrets("the-secret").Clip("12345 the-secret", 9), "Clip")
	s := words.NewSecrets("the-secret")
	if got := s.Clip(strings.Repeat("the-secret", 1<<20), 300); strings.Contains(got, "the-") || len(got) > 303 {
		t.Errorf("Clip: %s", got)
	}
	test.Same(t, "한…", none.Clip("한국어", 4), "Clip")
}

// Joined errors are one line, also inside of others, and each is named once.
func TestError(t *testing.T) {
	a, b := errors.New("a\nline"), errors.New("b")
	for want, err := range map[string]error{
		`a\nline`:                       a,
		`a\nline; b`:                    errors.Join(a, b),
		`commit: a\nline; b; before it`: fmt.Errorf("commit: %w; before it", errors.Join(a, b)),
		`c: d: b; e: a\nline`:           fmt.Errorf("c: %w", errors.Join(fmt.Errorf("d: %w", errors.Join(b, b)), fmt.Errorf("e: %w", a))),
	} {
		test.Same(t, want, words.Error(err), "the text")
	}
}

// For any text, the result contains no control characters and no key, keeps every visible
// character, and does not change when converted again.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "a\n\x1b[2J\x9b\u009b\u202e\u2028\u200d한\u200d국", "the-key-0123", "http://u:p@h", "\xf0\x9f\x98", "\u061c\u3164\U000e0001"} {
		f.Add(s)
	}
	const key = "the-key-0123"
	secrets := words.NewSecrets(key)
	f.Fuzz(func(t *testing.T, in string) {
		line := words.Line(in)
		if !utf8.ValidString(line) || words.Line(line) != line {
			t.Fatalf("Line(%q) = %q is not visible, or not the same again", in, line)
		}
		for _, r := range line {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.In(r, unicode.Zl, unicode.Zp) {
				t.Fatalf("Line(%q) has %U", in, r)
			}
		}
		left := line
		for _, r := range in {
			if unicode.IsLetter(r) && r > 0x7f && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
				_, after, ok := strings.Cut(left, string(r))
				if !ok {
					t.Fatalf("Line(%q) = %q lacks %q", in, line, r)
				}
				left = after
			}
		}
		var out bytes.Buffer
		w := words.NewWriter(&out, secrets)
		if n, err := w.Write([]byte(in)); n != len(in) || err != nil {
			t.Fatal(n, err)
		}
		if _, err := words.Fprintf(w, "%s\n", in); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, key) || strings.Count(text, "\n") != strings.Count(in, "\n")+1 {
			t.Fatalf("%q was written for %q", text, in)
		}
		for _, n := range []int{0, 3, 17} {
			if cut := secrets.Clip(in, n); strings.Contains(cut, key) || len(cut) > max(n, 0)+len("…") {
				t.Fatalf("Clip(%q, %d) = %q", in, n, cut)
			}
		}
	})
}

func TestNearest(t *testing.T) {
	known := []string{"analysis_items", "call", "calls", "costs", "runs", "transcript_turns", "tool_calls", "agent_id", "agent_version", "user_sentiment", "start_at", "duration_ms"}
	for name, want := range map[string]string{
		"call_s": "calls", "cals": "calls", "CALLS": "calls", "calll": "call", "transcripts": "transcript_turns", "turns": "transcript_turns",
		"agnt_id": "agent_id", "agentid": "agent_id", "sentiment": "user_sentiment", "sentimen": "user_sentiment", "startat": "start_at",
		"durration": "duration_ms", "duration": "duration_ms", "zebra": "", "x": "", "": "",
	} {
		test.Same(t, want, words.Nearest(name, known), "nearest to %q", name)
	}
}

func TestShell(t *testing.T) {
	for in, want := range map[string]string{"0a7e": "0a7e", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "가": "'가'", "$x": "'$x'", "50%": "'50%'"} {
		test.Same(t, want, words.Shell(in), "Shell(%q)", in)
	}
}
