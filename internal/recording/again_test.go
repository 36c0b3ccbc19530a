package recording_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"callhouse/internal/recording"
)

// An archived recording is not downloaded again if it is complete and has the announced length. Any
// other file in its place is neither used nor replaced.
func TestFetchAgain(t *testing.T) {
	hash := sha256.Sum256(sound)
	sum := hex.EncodeToString(hash[:])
	for _, c := range []struct {
		name string
		has  []byte
		want recording.Problem
		sent bool
	}{
		{"nothing", nil, -1, true},
		{"the same", sound, -1, false},
		{"another of another length", newer, recording.Refused, true},
		{"as many bytes that are no audio", bytes.Repeat([]byte("a"), len(sound)), recording.Refused, true},
	} {
		link, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "audio/mpeg")
			if !c.sent { // a client that needs the body fails
				w.Header().Set("Content-Length", strconv.Itoa(len(sound)))
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			whole(w, r)
		})
		a, dir := archive(t, nil)
		path := filepath.Join(dir, "2026/11/23/c1.mp3")
		if c.has != nil {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.has, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Start: start, Link: link})
		if problem(err) != c.want || c.want == -1 && (err != nil || got.SHA256 != sum || got.Bytes != int64(len(sound))) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
		if c.has != nil {
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, c.has) {
				t.Errorf("%s: the file changed: %v", c.name, err)
			}
		}
		if info, err := os.Stat(path); c.has == nil && (err != nil || info.Mode() != 0o600) {
			t.Errorf("%s: %v, %v", c.name, info.Mode(), err)
		}
	}
}

// Stored files have the configured mode, and the download folder is created and removed.
func TestModes(t *testing.T) {
	link, _ := serve(t, whole)
	scratch := filepath.Join(t.TempDir(), "w", "parts")
	a, dir := archive(t, func(c *recording.Config) { c.Mode, c.Scratch = 0o640, scratch })
	if _, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Start: start, Link: link}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "2026/11/23/c1.mp3")); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	a.Close()
	if _, err := os.Stat(scratch); !os.IsNotExist(err) {
		t.Errorf("the folder of downloads is still there: %v", err)
	}
}

// A host that sends only a few bytes at a time is abandoned without a retry, but one that starts
// late is not.
func TestSlowHost(t *testing.T) {
	link, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; ; i++ {
			if _, err := w.Write(sound[i : i+1]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	a, _ := archive(t, func(c *recording.Config) { c.Stall = 50 * time.Millisecond; c.Slowest = 1 << 20 })
	_, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Start: start, Link: link})
	if problem(err) != recording.Failed || requests.Load() != 1 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}

func TestExpiry(t *testing.T) {
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for link, want := range map[string]time.Time{
		"https://a.example/o?X-Amz-Date=20261123T090000Z&X-Amz-Expires=3600&X-Amz-Signature=s": at,
		"https://a.example/o?X-Goog-Date=20261123T090000Z&X-Goog-Expires=3600":                 at,
		"https://a.example/o?response-content-type=audio%2Fmpeg&expires=1795428000":            at,
		"https://a.example/o?Expires=1795428000&Signature=s":                                   at,
		"https://a.example/o?se=2026-11-23T10%3A00%3A00Z&sig=s":                                at,
		"https://a.example/o?expires=1795428000000":                                            at,
		"https://a.example/o?expires=3600":                                                     {},
		"https://a.example/o?X-Amz-Date=yesterday&X-Amz-Expires=3600":                          {},
		"https://a.example/o?token=abc":                                                        {},
		"::":                                                                                   {},
	} {
		if got, ok := recording.Expiry(link); !got.Equal(want) || ok == want.IsZero() {
			t.Errorf("%s: %v, %v", link, got, ok)
		}
	}
}
