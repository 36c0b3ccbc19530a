package personal

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/test"
)

// recorder is a service that finds every occurrence of the word Minji, with offsets in characters.
type recorder struct {
	mu       sync.Mutex
	requests []string // texts
	headers  []http.Header
	answer   func(w http.ResponseWriter) bool // overrides the answer if it returns true
}

func (s *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Text, Language string
		Entities       []string
	}
	if r.Method != http.MethodPost || r.URL.Path != "/analyze" || json.NewDecoder(r.Body).Decode(&q) != nil || q.Language != "en" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests, s.headers = append(s.requests, q.Text), append(s.headers, r.Header)
	answer := s.answer
	s.mu.Unlock()
	if answer != nil && answer(w) {
		return
	}
	found := []map[string]any{}
	for at := 0; ; {
		i := strings.Index(q.Text[at:], "Minji")
		if i < 0 {
			break
		}
		start := utf8.RuneCountInString(q.Text[:at+i])
		found = append(found, map[string]any{"entity_type": "PERSON", "start": start, "end": start + 5, "score": .85},
			map[string]any{"entity_type": "LOCATION", "start": start, "end": start + 5, "score": .3},
			map[string]any{"entity_type": "DATE_TIME", "start": 0, "end": 3, "score": .85})
		at += i + 5
	}
	_ = json.NewEncoder(w).Encode(found)
}

func start(t *testing.T) (*recorder, *Analyzer) {
	t.Helper()
	s := &recorder{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := NewAnalyzer(server.URL+"/", false)
	test.OK(t, err)
	return s, c
}

// Offsets in characters become offsets in bytes, and replaced text is excluded.
func TestAnalyzerFinds(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	found, err := c.Find([]string{"네, 안녕하세요 😀 Minji입니다", "none", "[card] Minji", "\xff Minji"})
	want := [][]Span{{{From: 26, To: 31, Kind: "person"}}, nil, {{From: 7, To: 12, Kind: "person"}},
		{{From: 2, To: 7, Kind: "person"}}}
	if err != nil || !cmp.Equal(found, want) {
		t.Errorf("%v, %v", found, err)
	}
	for _, h := range s.headers {
		if h.Get("Authorization") != "" || h.Get("Cookie") != "" {
			t.Errorf("sent: %v", h)
		}
	}
}

// Spans that cross texts or replacements are trimmed.
func TestSpansIn(t *testing.T) {
	t.Parallel()
	got := spansIn("[email] Kim ", 10, []place{{0, 100, "person"}})
	test.Same(t, []Span{{From: 8, To: 11, Kind: "person"}}, got, "spans")
}

// An error or a malformed answer counts as unchecked; after several failures no more requests are sent.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter) bool{
		"status": func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusInternalServerError); return true },
		"object": func(w http.ResponseWriter) bool { _, _ = w.Write([]byte(`{"error":"x"}`)); return true },
		"null":   func(w http.ResponseWriter) bool { _, _ = w.Write([]byte(`null`)); return true },
		"place": func(w http.ResponseWriter) bool {
			_, _ = w.Write([]byte(`[{"entity_type":"PERSON","start":0,"end":99,"score":1}]`))
			return true
		},
		"redirect": func(w http.ResponseWriter) bool {
			w.Header().Set("Location", "/else")
			w.WriteHeader(http.StatusFound)
			return true
		},
		"cut": func(w http.ResponseWriter) bool {
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte(`[`))
			return true
		},
	} {
		s, c := start(t)
		s.answer = answer
		for i := range 5 {
			if _, err := c.Find([]string{"a text " + strings.Repeat("x", i)}); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		test.Same(t, maxFailures, len(s.requests), "%s: requests", name)
	}
}

// A text longer than a request is sent alone; others are combined.
func TestRequests(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	long := strings.Repeat("Minji ", maxText/4)
	found, err := c.Find([]string{"a Minji", long, "b", "c Minji"})
	if err != nil || len(s.requests) != 3 || len(found[1]) != maxText/4 || len(found[3]) != 1 {
		t.Errorf("%d requests, %v", len(s.requests), err)
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"localhost:3000", "ftp://a", "http://", "http://user:pw@a", "://"} {
		if _, err := NewAnalyzer(bad, false); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

var presidio = flag.String("presidio", "", "Python with presidio-analyzer and flask, for TestPresidio")

// A real Presidio finds names: `interop/presidio.sh`.
func TestPresidio(t *testing.T) {
	if *presidio == "" {
		t.Skip("needs -presidio")
	}
	cmd := exec.CommandContext(t.Context(), *presidio, "testdata/presidio.py")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	test.OK(t, err)
	test.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line := make([]byte, 200)
	n, err := out.Read(line) // it prints its address once it listens
	test.OK(t, err)
	c, err := NewAnalyzer(strings.TrimSpace(string(line[:n])), false)
	test.OK(t, err)
	texts := []string{"네, 😀 my name is John Smith, my card is [card].", "I moved from Chicago to New York.", "Nothing is here."}
	found, err := c.Find(texts)
	test.OK(t, err)
	for i, spans := range found {
		text := texts[i]
		for _, s := range slices.Backward(spans) {
			text = text[:s.From] + "[" + string(s.Kind) + "]" + text[s.To:]
		}
		t.Log(text)
		for _, name := range []string{"John", "Smith", "Chicago", "York"} {
			if strings.Contains(text, name) {
				t.Errorf("%s is left in %q", name, text)
			}
		}
	}
	if len(found[2]) > 0 {
		t.Errorf("found %v in %q", found[2], texts[2])
	}
}
