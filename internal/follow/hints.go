package follow

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// MaxHint is the largest body of a hint.
	MaxHint = 4 << 20
	// mostPending bounds the hints that wait, and mostOpen the requests that are read at a time.
	mostPending = 1000
	mostOpen    = 16
	// LeastSecret is the length of the shortest secret.
	LeastSecret = 16
)

// HintPath is where hints are posted to; with a slash and the secret appended if the sender can set
// no header.
const HintPath = "/hints"

// Hints receives hints over HTTP: that a call has changed. It stores ids, and nothing else of what
// is sent.
type Hints struct {
	Secret    string
	Signature string               // the header with an HMAC-SHA256 of the body; empty: none is accepted
	Known     func(id string) bool // whether a call is known
	open      chan struct{}        // holds one for each request that is read
	once      sync.Once

	mu       sync.Mutex
	pending  map[string]bool
	came     int64 // good requests so far
	overflow bool  // ids were dropped: a poll shows what they stood for
}

func (h *Hints) init() {
	h.once.Do(func() {
		h.open = make(chan struct{}, mostOpen)
		h.pending = map[string]bool{}
	})
}

// ServeHTTP implements http.Handler. It answers before anything is fetched.
func (h *Hints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.init()
	path, inPath := strings.CutPrefix(r.URL.Path, HintPath+"/")
	switch {
	case !inPath && r.URL.Path != HintPath:
		http.Error(w, "not found", http.StatusNotFound)
		return
	case inPath && !h.is(path):
		http.Error(w, "not found", http.StatusNotFound)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	trusted := inPath || h.is(r.Header.Get("X-Callhouse-Secret")) || h.is(bearer)
	signed := ""
	if h.Signature != "" {
		signed = r.Header.Get(h.Signature)
	}
	if !trusted && signed == "" { // the body is not read
		http.Error(w, "the secret is missing or wrong", http.StatusUnauthorized)
		return
	}
	select {
	case h.open <- struct{}{}:
		defer func() { <-h.open }()
	default:
		http.Error(w, "too many requests at a time", http.StatusServiceUnavailable)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxHint))
	if err != nil {
		http.Error(w, "the body is too large or incomplete", http.StatusRequestEntityTooLarge)
		return
	}
	if !trusted && !h.signs(signed, body) {
		http.Error(w, "the signature is wrong", http.StatusUnauthorized)
		return
	}
	ids, err := Find(body, h.Known)
	if err != nil {
		http.Error(w, "the body is not JSON", http.StatusBadRequest)
		return
	}
	h.add(ids)
	w.WriteHeader(http.StatusNoContent)
}

// is compares a text with the secret, in a time that does not depend on either.
func (h *Hints) is(text string) bool {
	a, b := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(h.Secret))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// signs reports whether a signature is the HMAC of a body: in hex or base64, perhaps after sha256=.
func (h *Hints) signs(signature string, body []byte) bool {
	signature = strings.TrimPrefix(signature, "sha256=")
	mac := hmac.New(sha256.New, []byte(h.Secret))
	mac.Write(body)
	want := mac.Sum(nil)
	for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.StdEncoding.DecodeString} {
		if got, err := decode(signature); err == nil && hmac.Equal(got, want) {
			return true
		}
	}
	return false
}

func (h *Hints) add(ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.came++
	for _, id := range ids {
		if len(h.pending) >= mostPending {
			h.overflow = true
			return
		}
		h.pending[id] = true
	}
}

// Take returns some ids that hints have named, most at a time. overflow means that others were
// dropped.
func (h *Hints) Take(most int) (ids []string, overflow bool) {
	h.init()
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.pending {
		if len(ids) == most {
			break
		}
		ids = append(ids, id)
		delete(h.pending, id)
	}
	overflow, h.overflow = h.overflow, false
	return ids, overflow
}

// Came reports whether there was any good hint.
func (h *Hints) Came() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.came > 0
}

// Server returns a server for hints that slow senders cannot keep busy.
func (h *Hints) Server(addr string) *http.Server {
	h.init()
	return &http.Server{Addr: addr, Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 15 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
}
