package resource

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

	"callhouse/internal/test"
)

// lines returns the lines of a corpus file without comments.
func lines(t testing.TB, name string) (out []string) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	test.OK(t, err)
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

func withhold(t testing.TB, text string) string {
	t.Helper()
	clean, err := (&walker{text: []byte(text)}).clean()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if !json.Valid(clean) {
		t.Fatalf("%s became %s", text, clean)
	}
	return string(clean)
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
			test.OK(t, err)
			return !strings.Contains(withhold(t, string(text)), value)
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
			mark := withheld
			if strings.HasSuffix(before, `":`) && !strings.HasPrefix(after, `"`) {
				mark = `"` + withheld + `"`
			}
			want = before + mark + after
		}
		switch got := withhold(t, text); {
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

// The corpus has names and forms of secrets and harmless values, with the expected results. The rules miss
// random texts under ambiguous names and secrets in sentences. docs/reference/organisation.md has the numbers.
func TestCorpus(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		file string
		read func(*score, *testing.T, string)
		want score
	}{
		{"names.txt", (*score).names, score{secrets: 406, missed: 24, harmless: 338, wrong: 0}},
		{"shapes.txt", (*score).shapes, score{secrets: 123, missed: 5, harmless: 94, wrong: 0}},
		// Names that the rules were not written for. Seven of those missed name no secret (facebook, github-pat).
		{"heldout.txt", (*score).names, score{secrets: 208, missed: 11, harmless: 155, wrong: 2}},
	} {
		var s score
		of.read(&s, t, of.file)
		if s != of.want {
			t.Errorf("%s: %v; documented are %v", of.file, s, of.want)
		}
	}
}

// Texts made of pieces of secrets, marks and punctuation remain JSON.
func TestRemainsJSON(t *testing.T) {
	t.Parallel()
	pieces := []string{"token", "password", "api_key", "key", "Bearer ", "Basic dTpw", " is ", ": ", "=", "&", "?", "https://", "u:p@", "@",
		"/", "#", ";", ",", " ", "\n", withheld, word, drawn, "sk-" + drawn + drawn, "{", "}", `"`, `\`, "'", "<", "</", ">",
		"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "4711", "sip:",
		"hooks.slack.com/services/", "{{x}}", "é", "비밀번호", "eyJ", "."}
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		for _, name := range []string{"prompt", "url", "token", "key", "query", "body"} {
			text, err := json.Marshal(map[string]any{name: b.String(), "name": pieces[r.IntN(4)], "value": b.String()})
			test.OK(t, err)
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
	if want, got := strings.Replace(text, `"x\u0041"`, `"[withheld]"`, 1), withhold(t, text); got != want {
		t.Errorf("%s became %s", text, got)
	}
	same := []byte(`{"a":"b"}`)
	if got, err := (&walker{text: same}).clean(); err != nil || &got[0] != &same[0] {
		t.Errorf("%s was copied, %v", got, err)
	}
	if _, err := (&walker{text: []byte(`["token"]`)}).clean(); err == nil {
		t.Error("an array is no object")
	}
}

// A resource hides whole members, and keeps its key.
func TestRules(t *testing.T) {
	t.Parallel()
	w := walker{hide: []string{"hidden"}, keep: []string{"token"},
		text: []byte(`{"token":"a","b":{"Hidden":{"type":["x"]},"token":"y","body":"{\"hidden\":\"z\"}"}}`)}
	clean, err := w.clean()
	want := `{"token":"a","b":{"Hidden":{"type":["[withheld]"]},"token":"[withheld]","body":"{\"hidden\":\"[withheld]\"}"}}`
	if err != nil || string(clean) != want {
		t.Errorf("%s, %v", clean, err)
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
