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
	// MaxHint is the maximum size of a hint's body.
	MaxHint = 4 << 20
	// mostPending is the maximum number of pending hints, and mostOpen that of requests read
	// concurrently.
	mostPending = 1000
	mostOpen    = 16
	// LeastSecret is the minimum length of the secret.
	LeastSecret = 16
)

// HintPath is the path for hints. If the sender cannot set a header, a slash and the secret are
// appended.
const HintPath = "/hints"

// Hints receives hints over HTTP that a call has changed. It stores only ids.
type Hints struct {
	Secret    string
	Signature string               // name of the header with an HMAC-SHA256 of the body; empty: signatures are not accepted
	Known     func(id string) bool // reports whether a call is known
	open      chan struct{}        // has an element per request being read
	once      sync.Once

	mu       sync.Mutex
	pending  map[string]bool
	came     int64 // number of valid requests
	overflow bool  // ids were dropped; a poll finds their changes
}

func (h *Hints) init() {
	h.once.Do(func() {
		h.open = make(chan struct{}, mostOpen)
		h.pending = map[string]bool{}
	})
}

// ServeHTTP implements http.Handler. It responds before anything is fetched.
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
	if !trusted && signed == "" { // without reading the body
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

// is compares a text with the secret in constant time.
func (h *Hints) is(text string) bool {
	a, b := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(h.Secret))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// signs reports whether signature is the HMAC of body: in hex or base64, optionally after sha256=.
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

// Take returns at most most of the hinted ids. overflow reports that others were dropped.
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

// Came reports whether there ever was a valid hint.
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
