package querycmd

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/internal/analytics/rights"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// sound is the content of a recording.
var sound = bytes.Repeat([]byte("a sound of a caller and an agent"), 3_000)

// recorded returns a server with recordings, and the addresses of three calls: the fourth call's
// recording is stored; the fifth's is gone; the sixth's file is missing.
func recorded(t *testing.T, login login) (s *served, stored, gone, missing string) {
	t.Helper()
	d := company(9)
	dir := t.TempDir()
	d.Archive = "file://" + dir
	test.OK(t, os.MkdirAll(filepath.Join(dir, "2024/11/01"), 0o700))
	test.OK(t, os.WriteFile(filepath.Join(dir, "2024/11/01/c.wav"), sound, 0o600))
	id := func(i int) string { return d.Calls[i]["call_id"].(string) }
	add := func(i int, r row) {
		r["call_id"], r["call_start_at"], r["fetched_at"] = id(i), d.Calls[i]["start_at"], d.Calls[i]["start_at"]
		d.Recordings = append(d.Recordings, r)
	}
	add(3, row{"state": "stored", "path": "2024/11/01/c.wav", "format": "wav", "sha256": "abc", "bytes": int64(len(sound))})
	add(4, row{"state": "gone", "reason": "HTTP 404"})
	add(5, row{"state": "stored", "path": "2024/11/01/none.wav", "format": "wav", "sha256": "def"})
	add(6, row{"state": "stored", "path": "../../etc/passwd", "format": "wav", "sha256": "def"})
	d.Calls[3]["recording_url"] = "https://audio.example/signed"
	return serverOf(t, d, login), "/calls/" + id(3), "/calls/" + id(4), "/calls/" + id(5)
}

// The page of a call plays its recording. The file is sent whole or in parts, and caches must not share it.
func TestRecording(t *testing.T) {
	t.Parallel()
	s, stored, gone, missing := recorded(t, nil)
	body := s.must(stored)
	for _, want := range []string{`<audio controls preload="none" src="` + stored + `/recording" aria-label="recording"></audio>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s in\n%s", want, body)
		}
	}
	if strings.Contains(body, "audio.example") || strings.Contains(body, "file://") {
		t.Error("the page has the service's link, or the archive's folder")
	}
	if body := s.must(gone); strings.Contains(body, "<audio") || !strings.Contains(body, "<dt>recording</dt><dd>gone: HTTP 404</dd>") {
		t.Errorf("a recording that is gone:\n%s", body)
	}
	whole := string(sound)
	for _, c := range longtest.Some(2, []struct {
		ranged, body string
		status       int
	}{{"", whole, 200}, {"bytes=0-", whole, 206}, {"bytes=44-1043", whole[44:1044], 206}, {"bytes=-10", whole[len(whole)-10:], 206}, {"bytes=999999-", "", 416}}) {
		resp, body := s.get(stored+"/recording", "Range", c.ranged, "Accept-Encoding", "gzip")
		h := resp.Header
		if resp.StatusCode != c.status || c.body != "" && body != c.body {
			t.Errorf("range %q: %s, %d bytes", c.ranged, resp.Status, len(body))
		}
		if c.body == "" {
			continue
		}
		if h.Get("Cache-Control") != "private, no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Type") != "audio/wav" || h.Get("Etag") != `"abc"` ||
			!strings.Contains(h.Get("Content-Security-Policy"), "media-src 'self'") {
			t.Errorf("range %q: headers %v", c.ranged, h)
		}
	}
	for _, address := range []string{gone + "/recording", missing + "/recording", "/calls/00000006/recording", "/calls/none/recording"} {
		if resp, body := s.get(address); resp.StatusCode/100 != 4 && resp.StatusCode != 500 || strings.Contains(body, "root:") || strings.Contains(body, "file:") ||
			address == missing+"/recording" && resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s %s", address, resp.Status, body)
		}
	}
}

// A reader who may not see the recordings, the transcripts or the call finds no recording.
func TestWhoMayListen(t *testing.T) {
	t.Parallel()
	of := map[string]rights.Rights{"all": {}, "others": {Agents: []string{"0a7e1f60-0000-4000-8000-00000000000b"}}, "content": {Masked: []string{"content"}}}
	s, stored, gone, _ := recorded(t, func(_ context.Context, user, _, _ string) (rights.Rights, bool, error) {
		r, ok := of[user]
		return r, ok, nil
	})
	get := func(user, address string) (int, string) {
		resp, body := s.get(address, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":x")))
		return resp.StatusCode, body
	}
	for user := range of {
		hears := user == "all"
		status, body := get(user, stored+"/recording")
		if want := map[bool]int{true: 200, false: 404}[hears]; status != want {
			t.Errorf("%s: %d", user, status)
		}
		_, page := get(user, stored)
		if strings.Contains(page, "<audio") != hears {
			t.Errorf("the page of %s: %s", user, page)
		}
		if hears {
			continue
		}
		if _, none := get(user, gone+"/recording"); none != body {
			t.Errorf("%s: %q is not the answer for a call without a recording, %q", user, body, none)
		}
		if _, page := get(user, gone); user == "content" && strings.Contains(page, "gone: ") {
			t.Errorf("%s learns what became of a recording", user)
		}
	}
	if status, _ := get("nobody", stored+"/recording"); status != http.StatusUnauthorized {
		t.Errorf("without a login: %d", status)
	}
}
