package secret

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// lines returns the lines of a corpus file without comments.
func lines(t testing.TB, name string) (out []string) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if line := s.Text(); line != "" && !strings.HasPrefix(line, "# ") {
			out = append(out, line)
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return out
}

func withhold(t testing.TB, text string) (string, []Place) {
	t.Helper()
	clean, places, err := Rules{}.Withhold([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if !json.Valid(clean) {
		t.Fatalf("%s became %s", text, clean)
	}
	again, found, err := Rules{}.Withhold(clean)
	if err != nil || string(again) != string(clean) || AnyClear(found) {
		t.Errorf("%s became %s, and that %s, %v: %v", text, clean, again, err, found)
	}
	if got := string(clean) != text; got != AnyClear(places) {
		t.Errorf("%s became %s; the places are %v", text, clean, places)
	}
	return string(clean), places
}

const (
	word  = "swordfish"
	drawn = "aB3dE5fG7hI9jK1lM3nO5"
)

// score counts missed secrets, and harmless values withheld.
type score struct{ secrets, missed, harmless, wrong int }

func (s score) String() string {
	return fmt.Sprintf("%d of %d secrets missed, %d of %d harmless ones withheld", s.missed, s.secrets, s.wrong, s.harmless)
}

// names tests a text under each name of a file.
func (s *score) names(t *testing.T, file string) {
	t.Helper()
	for _, line := range lines(t, file) {
		as, name, ok := strings.Cut(line, " ")
		if !ok || len(as) != 1 {
			t.Fatalf("%s: %q", file, line)
		}
		under := func(value string) bool {
			text, err := json.Marshal(map[string]string{name: value})
			if err != nil {
				t.Fatal(err)
			}
			clean, _ := withhold(t, string(text))
			return !strings.Contains(clean, value)
		}
		ofWord, ofDrawn := under(word), under(drawn)
		wantWord, wantDrawn := as == "+", as != "-"
		if s.secrets++; as == "-" {
			s.secrets--
			s.harmless++
		}
		switch {
		case ofWord == wantWord && ofDrawn == wantDrawn:
		case wantWord && !ofWord || wantDrawn && !ofDrawn:
			s.missed++
			t.Logf("missed: %s", line)
		default:
			s.wrong++
			t.Logf("wrongly withheld: %s", line)
		}
	}
}

// shapes tests each object of a file.
func (s *score) shapes(t *testing.T, file string) {
	t.Helper()
	for _, line := range lines(t, file) {
		want, text := line, strings.NewReplacer("«", "", "»", "").Replace(line)
		if text == line {
			s.harmless++
		} else {
			s.secrets++
		}
		for strings.Contains(want, "«") { // a number becomes a text
			before, rest, _ := strings.Cut(want, "«")
			_, after, _ := strings.Cut(rest, "»")
			mark := Mark
			if strings.HasSuffix(before, `":`) && !strings.HasPrefix(after, `"`) {
				mark = `"` + Mark + `"`
			}
			want = before + mark + after
		}
		switch got, _ := withhold(t, text); {
		case got == want:
		case text == line:
			s.wrong++
			t.Logf("wrongly withheld: %s became %s", text, got)
		default:
			s.missed++
			t.Logf("missed: %s became %s", line, got)
		}
	}
}

// The corpus has names and forms of secrets and harmless values, with the expected results.
func TestCorpus(t *testing.T) {
	t.Parallel()
	var s score
	s.names(t, "names.txt")
	s.shapes(t, "shapes.txt")
	t.Log(s)
	if s.missed > 0 || s.wrong > 0 || s.secrets < 400 || s.harmless < 300 {
		t.Error(s)
	}
}

// The rules are tested on names that they were not written for. Seven of the nine that they miss
// name no secret (facebook, github-pat). Those withheld wrongly are so if their text looks random,
// such as a twilioAccountSid; of 1,674 names of that API there are 16 such.
// docs/reference/organisation.md has the numbers.
func TestHeldOut(t *testing.T) {
	t.Parallel()
	var s score
	s.names(t, "heldout.txt")
	if want := (score{secrets: 208, missed: 9, harmless: 155, wrong: 17}); s != want {
		t.Errorf("%v; documented are %v", s, want)
	}
}

// Withheld text is stable in any context: texts made of pieces of secrets, marks and punctuation
// are withheld once and for all, and remain JSON.
func TestWithheldOnce(t *testing.T) {
	t.Parallel()
	pieces := []string{"token", "password", "api_key", "key", "Bearer ", "Basic dTpw", " is ", ": ", "=", "&", "?", "https://", "u:p@", "@",
		"/", "#", ";", ",", " ", "\n", Mark, word, drawn, "sk-" + drawn + drawn, "{", "}", `"`, `\`, "'", "<", "</", ">",
		"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "4711", "sip:",
		"hooks.slack.com/services/", "{{x}}", "é", "비밀번호", "eyJ", "."}
	r := rand.New(rand.NewPCG(1, 2))
	for range 8_000 {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		for _, name := range []string{"prompt", "url", "token", "key", "query", "body"} {
			text, err := json.Marshal(map[string]any{name: b.String(), "name": pieces[r.IntN(4)], "value": b.String()})
			if err != nil {
				t.Fatal(err)
			}
			withhold(t, string(text))
		}
		if t.Failed() {
			return
		}
	}
}

// A body is unchanged except for the secret, and is not copied if it has none.
func TestSpelling(t *testing.T) {
	t.Parallel()
	text := "{ \"a\" : [ 1.50 , -0E+2, \"\\u00e9\\/\" ],\n \"token\":\t\"x\\u0041\" , \"b\":{} , \"a\":null}"
	clean, places := withhold(t, text)
	if want := strings.Replace(text, `"x\u0041"`, `"[withheld]"`, 1); clean != want {
		t.Errorf("%s became %s", text, clean)
	}
	if len(places) != 1 || places[0] != (Place{"token", "name with token", true}) {
		t.Errorf("%v", places)
	}
	same := []byte(`{"a":"b"}`)
	if got, _, err := (Rules{}).Withhold(same); err != nil || &got[0] != &same[0] {
		t.Errorf("%s was copied, %v", got, err)
	}
	if _, _, err := (Rules{}).Withhold([]byte(`["token"]`)); err == nil {
		t.Error("an array is no object")
	}
}

// A place names the location of a secret and why it is one, even after it was withheld, and never
// contains the secret.
func TestPlaces(t *testing.T) {
	t.Parallel()
	text := `{"data":{"tools":[{"url":"https://u:swordfish@x.example/a?t=swordfish","headers":{"X-A":"swordfish"}}],` +
		`"body":"{\"pin\":\"4711\"}"},` +
		`"prompt":"ask https://x.example/?api_key=swordfish&a=1","hidden":{"a":["swordfish"]},"id":"sk-` + drawn + drawn + `"}`
	rules := Rules{Hide: []string{"hidden"}, Keep: []string{"id"}}
	clean, places, err := rules.Withhold([]byte(text))
	if has := func(s string) bool { return strings.Contains(string(clean), s) }; err != nil || has(word) || has("4711") || !has(drawn) {
		t.Fatalf("%s, %v", clean, err)
	}
	_, again, err := rules.Withhold(clean)
	if err != nil || len(again) != len(places) {
		t.Fatalf("%v and then %v, %v", places, again, err)
	}
	want := []string{"data.tools[0].url: user or password in an address", "data.tools[0].url: query of an address",
		"data.tools[0].headers.X-A: headers",
		"data.body/pin: name with pin", "prompt: parameter api_key of a query", "hidden.a[0]: withheld for every hidden"}
	for i, p := range places {
		if got := p.Path + ": " + p.Why; got != want[i] || !p.Clear || again[i] != (Place{p.Path, p.Why, false}) {
			t.Errorf("%v, then %v; want %s", p, again[i], want[i])
		}
	}
}

func FuzzWithhold(f *testing.F) {
	for _, line := range lines(f, "shapes.txt") {
		f.Add(strings.NewReplacer("«", "", "»", "").Replace(line))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if json.Valid([]byte(text)) && strings.HasPrefix(text, "{") && utf8.ValidString(text) {
			withhold(t, text)
		}
	})
}

func BenchmarkWithhold(b *testing.B) {
	prompt := strings.Repeat("You answer calls of the clinic. Ask for the name, then for the date: never guess. If x = 1, stop.\n", 200)
	text, err := json.Marshal(map[string]any{"data": map[string]any{"prompt": map[string]any{"prompt": prompt}, "toolIds": []string{"a"}}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, _, err := (Rules{}).Withhold(text); err != nil {
			b.Fatal(err)
		}
	}
}
