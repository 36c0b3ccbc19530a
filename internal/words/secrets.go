package words

import (
	"cmp"
	"encoding/json"
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

// minSecret is the shortest text that is masked: shorter ones would be found in harmless words.
const minSecret = 4

// Secrets are texts that messages must not repeat. The zero value contains none and masks only the
// part of addresses before an @. Its methods may be called concurrently, and all except those that
// add may be called on nil.
type Secrets struct {
	mu    sync.RWMutex
	known []string // the texts in each form, the longest first
	mask  *strings.Replacer
}

// NewSecrets returns Secrets with these texts.
func NewSecrets(texts ...string) *Secrets {
	s := new(Secrets)
	s.Add(texts...)
	return s
}

// Add adds texts. They are found verbatim and as escaped in URLs, JSON and Go, also inside longer
// text.
func (s *Secrets) Add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		if len(text) < minSecret {
			continue
		}
		quoted := strconv.Quote(text)
		s.known = append(s.known, text, url.QueryEscape(text), url.PathEscape(text), quoted[1:len(quoted)-1])
		if quoted, err := json.Marshal(text); err == nil { // unlike Go, it escapes < and >
			s.known = append(s.known, string(quoted[1:len(quoted)-1]))
		}
	}
	slices.SortFunc(s.known, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	s.known = slices.Compact(s.known)
	pairs := make([]string, 0, 2*len(s.known))
	for _, form := range s.known {
		pairs = append(pairs, form, Masked)
	}
	s.mask = strings.NewReplacer(pairs...)
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
	defer s.mu.RUnlock()
	if s.mask == nil {
		return text
	}
	return s.mask.Replace(text)
}

// Line masks the secrets in a text, and makes it one visible line.
func (s *Secrets) Line(text string) string { return Line(s.Redact(text)) }

// Clip masks the secrets in a text and then cuts it to n bytes, so that no part of a secret
// remains. In a very long text it searches only the beginning.
func (s *Secrets) Clip(text string, n int) string {
	long := len(text) > maxLooked
	if long {
		text = text[:maxLooked]
	}
	text = s.Redact(text)
	if long { // the end may be the beginning of a secret
		text = text[:max(0, len(text)-maxLooked/2)]
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

// maxLooked is the number of bytes that Clip searches: half of it holds any form of a key.
const maxLooked = 16 << 10

// Error returns the text of an error as one visible line, without the secrets.
func (s *Secrets) Error(err error) string { return s.Redact(Error(err)) }
