package recording_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"callhouse/internal/recording"
	"callhouse/internal/test"
)

// sound and newer are two recordings.
var sound, newer = mp3(4883, 1), mp3(3465, 2)

// mp3 returns a file of n bytes that begins like an MP3 file.
func mp3(n int, seed byte) []byte {
	b := append([]byte("ID3"), make([]byte, n-3)...)
	for i := 3; i < n; i++ {
		b[i] = byte(i)*7 + seed
	}
	return b
}

var start = time.Date(2026, 11, 23, 23, 30, 0, 0, time.UTC)

func archive(t *testing.T, change func(*recording.Config)) (*recording.Archive, string) {
	t.Helper()
	cfg := recording.Config{To: t.TempDir(), Scratch: filepath.Join(t.TempDir(), "w", "parts"), Private: true, Pause: time.Millisecond}
	if change != nil {
		change(&cfg)
	}
	a, err := recording.Open(cfg)
	test.OK(t, err)
	t.Cleanup(func() {
		a.Close()
		if _, err := os.Stat(cfg.Scratch); !os.IsNotExist(err) {
			t.Errorf("the folder of downloads is still there: %v", err)
		}
	})
	return a, cfg.To
}

// serve serves a recording: each request with the next handler, the remaining ones with the last.
func serve(t *testing.T, handlers ...http.HandlerFunc) (link string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(requests.Add(1))
		handlers[min(n, len(handlers))-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/calls/c1/mixed.mp3?signature=s3cret", requests
}

func whole(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"1"`)
	http.ServeContent(w, r, "a.mp3", time.Time{}, bytes.NewReader(sound))
}

// cut announces the whole length and sends only a part.
func cut(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(sound)))
		_, _ = w.Write(sound[:n])
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// Recordings are for the owner only, also on another file system than the warehouse, and whatever the umask.
func TestModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	link, _ := serve(t, whole)
	other, err := os.MkdirTemp("/dev/shm", "")
	if err != nil {
		other = t.TempDir()
	}
	defer os.RemoveAll(other)
	for _, to := range []string{t.TempDir(), other} {
		a, dir := archive(t, func(c *recording.Config) { c.To = filepath.Join(to, "archive") })
		for range 2 { // the second replaces the first
			_, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Start: start, Link: link})
			test.OK(t, err)
		}
		for path := filepath.Join(dir, "2026/11/23/c1.mp3"); path != to; path = filepath.Dir(path) {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
	}
}

func TestFetch(t *testing.T) {
	link, requests := serve(t, whole)
	a, dir := archive(t, nil)
	call := recording.Call{ID: "c1", Start: start, Link: link}
	got, err := a.Fetch(t.Context(), call)
	sum := sha256.Sum256(sound)
	want := recording.Stored{Path: "2026/11/23/c1.mp3", Bytes: int64(len(sound)), SHA256: hex.EncodeToString(sum[:]), Format: "mp3"}
	if err != nil || got != want {
		t.Fatalf("%+v %v, want %+v", got, err, want)
	}
	if b, err := os.ReadFile(filepath.Join(dir, got.Path)); err != nil || !bytes.Equal(b, sound) {
		t.Error("other content", err)
	}
	if again, err := a.Fetch(t.Context(), call); err != nil || again != want {
		t.Errorf("the same once more: %v %v", again, err)
	}
	test.Same(t, 2, requests.Load(), "requests")
	_, _, err = a.Delete(t.Context(), []string{recording.StemOf(got.Path), "2026/11/23/none"})
	test.OK(t, err)
	if _, _, err := a.Sum(t.Context(), got.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after its removal: %v", err)
	}
}

func problem(err error) recording.Problem {
	if e := (*recording.Error)(nil); errors.As(err, &e) {
		return e.Problem
	}
	return -1
}

func TestFaults(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) {
		cut(100)(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	busy := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3500")
		w.WriteHeader(503)
	}
	for name, c := range map[string]struct {
		handlers []http.HandlerFunc
		problem  recording.Problem // -1: stored
		requests int64
		reason   string
	}{
		"cut, and gone on":          {[]http.HandlerFunc{cut(2000), whole}, -1, 2, ""},
		"cut three times":           {[]http.HandlerFunc{cut(10), cut(20), cut(30), whole}, -1, 4, ""},
		"cut always":                {[]http.HandlerFunc{cut(2000)}, recording.Failed, 4, "EOF"},
		"server errors":             {[]http.HandlerFunc{status(500), status(502), whole}, -1, 3, ""},
		"server errors always":      {[]http.HandlerFunc{status(500)}, recording.Failed, 4, "HTTP 500"},
		"asked to wait for an hour": {[]http.HandlerFunc{busy}, recording.Failed, 1, "HTTP 503"},
		"expired":                   {[]http.HandlerFunc{status(403)}, recording.Expired, 1, "HTTP 403"},
		"gone":                      {[]http.HandlerFunc{status(404)}, recording.Gone, 1, "HTTP 404"},
		"not a recording's status":  {[]http.HandlerFunc{status(418)}, recording.NotAudio, 1, "HTTP 418"},
		"hangs":                     {[]http.HandlerFunc{hang, whole}, -1, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			link, requests := serve(t, c.handlers...)
			a, dir := archive(t, func(c *recording.Config) { c.Stall = 50 * time.Millisecond })
			got, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Start: start, Link: link})
			if problem(err) != c.problem || (err == nil) != (c.problem == -1) || requests.Load() != c.requests {
				t.Fatalf("%v after %d requests", err, requests.Load())
			}
			if err != nil {
				if !strings.Contains(err.Error(), c.reason) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("it says %q", err)
				}
				if entries, _ := os.ReadDir(dir); len(entries) > 0 {
					t.Errorf("stored: %v", entries)
				}
				return
			}
			if b, err := os.ReadFile(filepath.Join(dir, got.Path)); err != nil || !bytes.Equal(b, sound) {
				t.Errorf("other content: %d bytes, %v", len(b), err)
			}
		})
	}
}

// TestHostLearnsNothing checks everything that a hostile host and its redirect target receive.
func TestHostLearnsNothing(t *testing.T) {
	t.Setenv("CALLHOUSE_API_KEY", "the-key")
	var seen []http.Header
	third := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Clone())
		whole(w, r)
	}))
	defer third.Close()
	link, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Clone())
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		http.Redirect(w, r, strings.Replace(third.URL, "127.0.0.1", "localhost", 1)+"/there", http.StatusFound)
	})
	a, _ := archive(t, nil)
	_, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Link: link})
	test.OK(t, err)
	for _, h := range seen {
		for name := range h {
			switch name {
			case "User-Agent", "Accept":
			default:
				t.Errorf("%s: %s", name, h.Get(name))
			}
		}
	}
	test.Same(t, 2, len(seen), "requests")
}

// TestPrivateAddresses tries links into this machine's network: each is refused before a byte is sent.
func TestPrivateAddresses(t *testing.T) {
	var requested atomic.Int64
	inner := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested.Add(1)
		whole(w, r)
	}))
	defer inner.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(inner.URL, "https://"), ":")
	a, _ := archive(t, func(c *recording.Config) { c.Private, c.Attempts = false, 1 })
	if _, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Link: "http://192.0.2.1/"}); err == nil ||
		!strings.Contains(err.Error(), "TLS") {
		t.Errorf("without TLS: %v", err)
	}
	for want, links := range map[recording.Problem][]string{
		recording.Barred: {
			inner.URL, "https://localhost:" + port, "https://[::1]:" + port, "https://[::ffff:127.0.0.1]:" + port, "https://0.0.0.0:" + port,
			"https://169.254.169.254/latest/meta-data", "https://10.0.0.1/", "https://192.168.1.1/", "https://[fd00::1]/", "https://[fe80::1]/",
			"https://[64:ff9b::7f00:1]/", "http://example.com/a.mp3",
		},
		recording.Refused: {
			"https://2130706433:" + port, "https://0x7f.1:" + port, "https://127.1:" + port, "https://0177.0.0.1.:" + port,
			"file:///etc/passwd", "ftp://example.com/a", "//example.com/a", "", "https://user:pass@example.com/", "\x00",
		},
	} {
		for _, link := range links {
			if _, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Link: link}); problem(err) != want {
				t.Errorf("%s: %v", link, err)
			}
		}
	}
	if requested.Load() > 0 {
		t.Errorf("%d requests arrived", requested.Load())
	}
}

// TestRedirectRules follows redirects to invalid addresses.
func TestRedirectRules(t *testing.T) {
	for to, want := range map[string]string{
		"file:///etc/passwd":           "not a web address",
		"ftp://127.0.0.1/a":            "not a web address",
		"http://user:pass@127.0.0.1:1": "user name",
		"":                             "", // without a Location header
	} {
		link, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if to != "" {
				w.Header().Set("Location", to)
			}
			w.WriteHeader(302)
		})
		a, _ := archive(t, func(c *recording.Config) { c.Attempts = 1 })
		_, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Link: link})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", to, err)
		}
	}
	var link string
	link, requests := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) })
	a, _ := archive(t, nil)
	if _, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Link: link}); problem(err) != recording.NotAudio || requests.Load() > 6 {
		t.Errorf("in a circle: %v after %d", err, requests.Load())
	}
}

// A recording of any length is never held in memory.
func TestLongRecordingIsStreamed(t *testing.T) {
	const size = 40 << 20
	link, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		for part := mp3(1<<20, 1); ; {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	})
	a, _ := archive(t, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Start: start, Link: link})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err != nil || got.Bytes != size || n > size/4 {
		t.Errorf("%d bytes were stored, %d allocated: %v", got.Bytes, n, err)
	}
}

func TestLimits(t *testing.T) {
	link, _ := serve(t, whole)
	a, _ := archive(t, func(c *recording.Config) { c.MaxBytes = 1000 })
	if _, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Link: link}); problem(err) != recording.Refused {
		t.Error(err)
	}
	endless, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { // without Content-Length
		for r.Context().Err() == nil {
			if _, err := w.Write(sound); err != nil {
				return
			}
		}
	})
	if _, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Link: endless}); problem(err) != recording.Refused {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Fetch(ctx, recording.Call{ID: "c1", Link: link}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 300)
	for id, want := range map[string]string{
		"0f0b": "2026/11/23/0f0b.mp3", "a b\n": "2026/11/23/a%20b%0A.mp3",
	} {
		test.Same(t, want, recording.Path(recording.Call{ID: id, Start: start}, "mp3"), "%q", id)
	}
	seen := map[string]bool{}
	for _, id := range []string{".", "..", "", ".hidden", long, long + "y", "../x"} {
		path := recording.Path(recording.Call{ID: id}, "mp3")
		name := strings.TrimSuffix(strings.TrimPrefix(path, "undated/"), ".mp3")
		if seen[path] || len(name) != 64 || strings.ContainsAny(name, "./") {
			t.Errorf("%q: %s", id, path)
		}
		seen[path] = true
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.part", "b.part", "mine.txt"} {
		test.OK(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	test.OK(t, recording.Sweep(dir))
	if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "mine.txt" {
		t.Errorf("left: %v", left)
	}
}
