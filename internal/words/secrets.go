package words

import (
	"encoding/base64"
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Masked replaces a secret.
const Masked = "[masked]"

// Shorter texts are not masked: they would be found in harmless words.
const (
	leastSecret = 4
	leastToken  = 12 // in paths and queries, which also contain words
	leastBase64 = 8
)

// Secrets are texts that messages must not repeat. The zero value contains none and masks only the
// part of addresses before an @. Its methods may be called concurrently, and all except those that
// add may be called on nil.
type Secrets struct {
	mu    sync.RWMutex
	known []string // the texts
	cores []string // their base64 forms
}

// NewSecrets returns Secrets with these texts.
func NewSecrets(texts ...string) *Secrets {
	s := new(Secrets)
	s.Add(texts...)
	return s
}

// Add adds texts. They are found verbatim, as encoded in URLs, JSON, Go and base64, and inside
// longer text.
func (s *Secrets) Add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		if len(text) >= leastSecret && !slices.Contains(s.known, text) {
			s.known = append(s.known, text)
			s.cores = append(s.cores, base64Cores(text)...)
		}
	}
}

// AddURL adds the secret parts of an address: a user and password, and long parts of its path and
// query. The address may be invalid.
func (s *Secrets) AddURL(address string) {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, password, _ := strings.Cut(rest[:at], ":")
		if password == "" {
			password = user
		}
		s.addBoth(password)
		rest = rest[at+1:]
	}
	_, query, _ := strings.Cut(rest, "?")
	for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == '#' }) {
		_, value, _ := strings.Cut(part, "=")
		s.addBoth(value)
	}
	host := true
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return strings.ContainsRune("/?&#=", r) }) {
		if !host && len(part) >= leastToken {
			s.addBoth(part)
		}
		host = false
	}
}

// addBoth adds a part of an address, both escaped and unescaped.
func (s *Secrets) addBoth(text string) {
	s.Add(text)
	if meant, err := url.PathUnescape(text); err == nil {
		s.Add(meant)
	}
}

// userinfo is the part of an address before an @.
var userinfo = regexp.MustCompile(`://[^/?#\s"'<>]*@`)

// Redact masks the secrets in a text.
func (s *Secrets) Redact(text string) string {
	if strings.Contains(text, "@") {
		text = userinfo.ReplaceAllLiteralString(text, "://"+Masked+"@")
	}
	if s == nil {
		return text
	}
	s.mu.RLock()
	found := s.find(text)
	s.mu.RUnlock()
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, f := range found {
		if f.from >= at {
			out.WriteString(text[at:f.from] + Masked)
		}
		at = max(at, f.to)
	}
	out.WriteString(text[at:])
	return out.String()
}

// span is a part of a text.
type span struct{ from, to int }

// find returns the places of secrets in a text, in any form.
func (s *Secrets) find(text string) (found []span) {
	if len(s.known) == 0 {
		return nil
	}
	plain, at := text, []int(nil) // at: the place in text of each byte of plain; nil: unchanged
	origin := func(i int) int {
		if at == nil {
			return i
		}
		return at[i]
	}
	for range deepest {
		for _, secret := range s.known {
			for i := range indexes(plain, secret) {
				found = append(found, span{origin(i), origin(i + len(secret))})
			}
		}
		for _, core := range s.cores {
			for in := range inText(plain, core) {
				found = append(found, span{origin(in.from), origin(in.to)})
			}
		}
		next, from := decode(plain)
		if next == plain {
			return found
		}
		for i := range from {
			from[i] = origin(from[i])
		}
		plain, at = next, from
	}
	return found
}

// inText yields the spans of Base64 that contain a part.
func inText(text, part string) iter.Seq[span] {
	return func(yield func(span) bool) {
		to := 0
		for from := range indexes(text, part) {
			if from < to {
				continue // included in the previous one
			}
			to = from + len(part)
			for from > 0 && inBase64(text[from-1]) {
				from--
			}
			for to < len(text) && (inBase64(text[to]) || text[to] == '=') {
				to++
			}
			if !yield(span{from, to}) {
				return
			}
		}
	}
}

// deepest is the maximum number of nested encodings that are decoded, including the text itself.
const deepest = 4

// indexes yields the places of a part in a text.
func indexes(text, part string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; ; {
			i := strings.Index(text[at:], part)
			if i < 0 || !yield(at+i) {
				return
			}
			at += i + len(part)
		}
	}
}

func inBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/-_", c) >= 0
}

// decode removes one level of URL, JSON and Go escapes, and returns where each byte was; from has
// one more entry for the end.
func decode(text string) (plain string, from []int) {
	if !strings.ContainsAny(text, `%\`) {
		return text, nil
	}
	out := make([]byte, 0, len(text))
	from = make([]int, 0, len(text)+1)
	for i := 0; i < len(text); {
		r, n := unescape(text[i:])
		out = append(out, r...)
		for range r {
			from = append(from, i)
		}
		i += n
	}
	return string(out), append(from, len(text))
}

// unescape decodes the beginning of a text, and returns the number of bytes that it takes.
func unescape(s string) ([]byte, int) {
	hex := func(from, digits int) (rune, bool) {
		if len(s) < from+digits {
			return 0, false
		}
		n, err := strconv.ParseUint(s[from:from+digits], 16, 32)
		return rune(n), err == nil
	}
	switch {
	case len(s) < 2:
	case s[0] == '%':
		if r, ok := hex(1, 2); ok {
			return []byte{byte(r)}, 3
		}
	case s[0] == '\\' && s[1] == 'x':
		if r, ok := hex(2, 2); ok {
			return []byte{byte(r)}, 4
		}
	case s[0] == '\\' && s[1] == 'u':
		if r, ok := hex(2, 4); ok && utf8.ValidRune(r) {
			return []byte(string(r)), 6
		}
	case s[0] == '\\' && strings.IndexByte(`"\/'`, s[1]) >= 0:
		return []byte{s[1]}, 2
	}
	return []byte{s[0]}, 1
}

// Line masks the secrets in a text, and makes it one visible line.
func (s *Secrets) Line(text string) string { return Line(s.Redact(text)) }

// Clip masks the secrets in a text and then cuts it to n bytes, so that no part of a secret
// remains. In a very long text it searches only the beginning.
func (s *Secrets) Clip(text string, n int) string {
	long := len(text) > mostLooked
	if long {
		text = text[:mostLooked]
	}
	text = s.Redact(text)
	if long { // the end may be the beginning of a secret
		text = text[:max(0, len(text)-mostLooked/2)]
		n = min(n, len(text))
	}
	if len(text) <= n && !long {
		return text
	}
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// mostLooked is the number of bytes that Clip searches: half of it holds any form of a key.
const mostLooked = 16 << 10

// base64Cores returns the texts contained in the base64 of any text that contains this one,
// whatever precedes and follows it.
func base64Cores(text string) (out []string) {
	for before := range 3 {
		raw := append(make([]byte, before), text...)
		from, to := (before*8+5)/6, len(raw)*8/6
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if core := e.EncodeToString(raw)[from:to]; len(core) >= leastBase64 && !slices.Contains(out, core) {
				out = append(out, core)
			}
		}
	}
	return out
}

// Error returns the text of an error as one visible line, without the secrets.
func (s *Secrets) Error(err error) string { return s.Redact(Error(err)) }
