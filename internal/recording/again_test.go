package recording_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"callhouse/internal/recording"
	"callhouse/internal/test"
)

// A file that a killed run left, or that was damaged, is replaced by the whole recording.
func TestFetchAgain(t *testing.T) {
	hash := sha256.Sum256(sound)
	sum := hex.EncodeToString(hash[:])
	for name, has := range map[string][]byte{"nothing": nil, "the same": sound, "another": newer} {
		link, _ := serve(t, whole)
		a, dir := archive(t, nil)
		path := filepath.Join(dir, "2026/11/23/c1.mp3")
		if has != nil {
			test.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
			test.OK(t, os.WriteFile(path, has, 0o600))
		}
		got, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Start: start, Link: link})
		if err != nil || got.SHA256 != sum || got.Bytes != int64(len(sound)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, sound) {
			t.Errorf("%s: there are %d bytes: %v", name, len(now), err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// The deletion of a recording also deletes what a killed process had written beside its place.
func TestDeleteIncomplete(t *testing.T) {
	a, dir := archive(t, nil)
	day := filepath.Join(dir, "2026/11/23")
	test.OK(t, os.MkdirAll(day, 0o700))
	for _, name := range []string{".tmp-123", "c1.mp3", "c2.mp3"} {
		test.OK(t, os.WriteFile(filepath.Join(day, name), sound[:100], 0o600))
	}
	if done, left, err := a.Delete(t.Context(), []string{"2026/11/23/c1"}); done.Files != 1 || len(left) > 0 || err != nil {
		t.Errorf("%+v, %v, %v", done, left, err)
	}
	if left, err := os.ReadDir(day); err != nil || len(left) != 1 || left[0].Name() != "c2.mp3" {
		t.Errorf("%v, %v", left, err)
	}
}

// The group may read stored files, unless the umask says otherwise; the download folder is created
// and removed.
func TestModes(t *testing.T) {
	link, _ := serve(t, whole)
	scratch := filepath.Join(t.TempDir(), "w", "parts")
	a, dir := archive(t, func(c *recording.Config) { c.Scratch = scratch })
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
