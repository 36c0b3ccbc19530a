package recording_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/internal/loopback"
	"callhouse/internal/recording"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) { loopback.Main(m) }

// body sends a body with its length.
func body(kind string, b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		_, _ = w.Write(b)
	}
}

// What was received whole is stored, in whatever format, and however short it is.
func TestFormats(t *testing.T) {
	rest := strings.Repeat("\x00\x91", 3000)
	silence := strings.Repeat("\xff", 5000) // of a telephone, without a header
	for _, c := range []struct {
		name, kind, body, format, remark string
	}{
		{"mp3 with a tag", "audio/mpeg", "ID3" + rest, "mp3", ""},
		{"mp3 of 8 kHz", "audio/mpeg", "\xff\xe3\x18\xc4" + rest, "mp3", ""},
		{"wav", "text/html", "RIFF\x00\x00\x00\x00WAVEfmt " + rest, "wav", ""},
		{"ogg", "binary/octet-stream", "OggS" + rest, "ogg", ""},
		{"mp4", "video/mp4", "\x00\x00\x00\x18ftypmp42" + rest, "m4a", ""},
		{"webm", "video/webm", "\x1aE\xdf\xa3" + rest, "webm", ""},
		{"m4a", "audio/x-m4a", "\x00\x00\x00\x18ftypM4A " + rest, "m4a", ""},
		{"no header, sent as JSON", "application/json", rest, "bin", "unknown format, sent as application/json"},
		{"aac", "audio/aac", "\xff\xf1\x50\x80" + rest, "aac", ""},
		{"aiff", "audio/x-aiff", "FORM\x00\x00\x00\x00AIFF" + rest, "aiff", ""},
		{"au", "audio/basic", ".snd" + rest, "au", ""},
		{"gzip", "application/gzip", "\x1f\x8b\x08" + rest, "gz", ""},
		{"no header", "audio/x-mulaw", silence, "bin", "unknown format, sent as audio/x-mulaw"},
		{"no header, no type", "", silence, "bin", "unknown format, sent as text/plain"}, // the guess of net/http
		{"one byte", "audio/mpeg", "\x00", "mp3", ""},
	} {
		link, _ := serve(t, body(c.kind, []byte(c.body)))
		a, dir := archive(t, nil)
		got, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Start: start, Link: link})
		if err != nil || string(got.Format) != c.format || got.Remark != c.remark || got.Path != "2026/11/23/c1."+c.format {
			t.Errorf("%s: %+v, %v", c.name, got, err)
			continue
		}
		if b, err := os.ReadFile(filepath.Join(dir, got.Path)); err != nil || string(b) != c.body {
			t.Errorf("%s: %d bytes, %v", c.name, len(b), err)
		}
		if done, left, err := a.Delete(t.Context(), []string{"2026/11/23/c1"}); done.Files != 1 || len(left) > 0 || err != nil {
			t.Errorf("%s is not deleted: %+v, %v, %v", c.name, done, left, err)
		}
	}
}

// Pages, errors and other documents are never stored, whatever they claim to be.
func TestNotAudio(t *testing.T) {
	utf16 := "\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00"
	for _, c := range []struct{ kind, body string }{
		{"text/html; charset=utf-8", "<!DOCTYPE html><title>Sign in</title>"},
		{"audio/mpeg", "  <html><body>Sign in</body></html>"},
		{"binary/octet-stream", `<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>`},
		{"application/xml", "<Error>\x01</Error>"},
		{"audio/mpeg", `{"status":"processing"}`},
		{"application/json", "[]"},
		{"application/problem+json", "{}"},
		{"audio/wav", "Not Found"},
		{"audio/wav", "녹음이 아직 없습니다. " + strings.Repeat("아", 3000)},
		{"text/html", utf16},
		{"audio/mpeg", "\x89PNG\r\n\x1a\n\x00\x00\x00"},
		{"audio/mpeg", "%PDF-1.4\x00\x00"},
	} {
		link, _ := serve(t, body(c.kind, []byte(c.body)))
		a, dir := archive(t, nil)
		_, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Start: start, Link: link})
		if entries, _ := os.ReadDir(dir); problem(err) != recording.NotAudio || len(entries) > 0 {
			t.Errorf("%s %.30q: %v, %d files", c.kind, c.body, err, len(entries))
		}
	}
}

// raw sends an answer as it is, and closes the connection.
func raw(t *testing.T, answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = c.Write([]byte(answer))
		_ = c.Close()
	}
}

// How the answer ends decides whether a recording is complete.
func TestEndOfAnswer(t *testing.T) {
	chunk := fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(sound), sound)
	n := len(sound)
	sum, md := sha256.Sum256(sound), md5.Sum(sound)
	b64 := base64.StdEncoding.EncodeToString
	with := func(name, value string, h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(name, value)
			h(w, r)
		}
	}
	const doubtful = "the host did not send the length: the end may be missing"
	for _, c := range []struct {
		name     string
		handlers []http.HandlerFunc
		problem  recording.Problem
		remark   string
	}{
		{"chunked", []http.HandlerFunc{raw(t, chunk+"0\r\n\r\n")}, -1, ""},
		{"chunked, cut off", []http.HandlerFunc{raw(t, chunk)}, recording.Failed, ""},
		{"HTTP/1.0", []http.HandlerFunc{raw(t, "HTTP/1.0 200 OK\r\n\r\n"+string(sound))}, -1, doubtful},
		{"closed", []http.HandlerFunc{raw(t, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+string(sound))}, -1, doubtful},
		{"closed, with a checksum", []http.HandlerFunc{raw(t, "HTTP/1.0 200 OK\r\nContent-MD5: "+b64(md[:])+"\r\n\r\n"+string(sound))}, -1, ""},
		{"HTTP/1.0, cut off", []http.HandlerFunc{raw(t, fmt.Sprintf("HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n", n)+string(sound[:99]))},
			recording.Failed, ""},
		{"the right checksum", []http.HandlerFunc{with("Content-Digest", "md5=:x:, sha-256=:"+b64(sum[:])+":", whole)}, -1, ""},
		{"a wrong checksum", []http.HandlerFunc{with("Repr-Digest", "sha-256=:"+b64(make([]byte, 32))+":", whole)}, recording.Failed, ""},
		{"wrong, then right", []http.HandlerFunc{with("Repr-Digest", "sha-256=:"+b64(sum[:])+":", body("audio/mpeg", newer)),
			with("Repr-Digest", "sha-256=:"+b64(sum[:])+":", whole)}, -1, ""},
		{"over two answers", []http.HandlerFunc{with("Content-Digest", "sha-256=:"+b64(sum[:])+":", cut(100)), whole}, -1, ""},
		{"of what is stored compressed", []http.HandlerFunc{with("X-Goog-Stored-Content-Encoding", "gzip", with("X-Goog-Hash", "md5="+b64(make([]byte, 16)),
			whole))}, -1, ""},
	} {
		link, _ := serve(t, c.handlers...)
		a, dir := archive(t, nil)
		got, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Start: start, Link: link})
		if problem(err) != c.problem || c.problem == -1 && (err != nil || got.Remark != c.remark) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, "2026/11/23/c1.mp3"))
		if (err == nil) != (c.problem == -1) || err == nil && !bytes.Equal(b, sound) {
			t.Errorf("%s: stored %d bytes of %d, %v", c.name, len(b), len(sound), err)
		}
	}
}

// A file that a killed run left, or that was damaged, is replaced by the whole recording, for this
// user alone; the download folder is created and removed.
func TestFetchAgain(t *testing.T) {
	hash := sha256.Sum256(sound)
	sum := hex.EncodeToString(hash[:])
	for name, has := range map[string][]byte{"nothing": nil, "the same": sound, "another": newer} {
		link, _ := serve(t, whole)
		scratch := filepath.Join(t.TempDir(), "w", "parts")
		a, dir := archive(t, func(c *recording.Config) { c.Scratch = scratch })
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
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		a.Close()
		if _, err := os.Stat(scratch); !os.IsNotExist(err) {
			t.Errorf("%s: the folder of downloads is still there: %v", name, err)
		}
	}
}

// The deletion of a recording also deletes what a killed process had written next to its place.
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
