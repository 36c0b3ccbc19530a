package recording_test

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/internal/recording"
)

// wav returns a WAV file of n bytes of sound, 8,000 a second, whose header has some length.
func wav(n int, length uint32) []byte {
	le := binary.LittleEndian
	b := append([]byte("RIFF"), le.AppendUint32(nil, 36+length)...)
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, 7), 1)
	b = le.AppendUint32(le.AppendUint32(b, 8000), 8000)
	b = le.AppendUint16(le.AppendUint16(b, 1), 8)
	b = le.AppendUint32(append(b, "data"...), length)
	return append(b, bytes.Repeat([]byte{0xd5}, n)...)
}

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
		{"mp3", "audio/mpeg", "\xff\xfb\x90\x64" + rest, "mp3", ""},
		{"mp3 of 8 kHz", "", "\xff\xe3\x18\xc4" + rest, "mp3", ""},
		{"wav", "audio/x-wav", string(wav(16000, 16000)), "wav", ""},
		{"ogg", "binary/octet-stream", "OggS" + rest, "ogg", ""},
		{"mp4", "video/mp4", "\x00\x00\x00\x18ftypmp42" + rest, "m4a", ""},
		{"webm", "video/webm", "\x1aE\xdf\xa3" + rest, "webm", ""},
		{"flac", "text/plain", "fLaC" + rest, "flac", ""},
		{"aac", "audio/aac", "\xff\xf1\x50\x80" + rest, "aac", ""},
		{"amr", "text/plain", "#!AMR\n" + rest, "amr", ""},
		{"aiff", "audio/x-aiff", "FORM\x00\x00\x00\x00AIFF" + rest, "aiff", ""},
		{"au", "audio/basic", ".snd" + rest, "au", ""},
		{"gzip", "application/gzip", "\x1f\x8b\x08" + rest, "gz", ""},
		{"no header", "audio/x-mulaw", silence, "bin", "unknown format, sent as audio/x-mulaw"},
		{"no header, no type", "", silence, "bin", "unknown format, sent as text/plain"}, // the guess of net/http
		{"one byte", "audio/mpeg", "\x00", "bin", "unknown format, sent as audio/mpeg"},
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

// A header written before the length was known does not count, as that of sox writing to a pipe.
func TestLengthOfWAV(t *testing.T) {
	for _, length := range []uint32{480_000, 0x7ffff000, 0xffffffff} {
		link, _ := serve(t, body("audio/x-wav", wav(480_000, length)))
		a, _ := archive(t, nil)
		got, err := a.Fetch(t.Context(), recording.Call{ID: "c1", Start: start, Link: link})
		if err != nil || got.Duration != time.Minute || got.Channels != 1 || got.Remark != "" {
			t.Errorf("%x: %+v, %v", length, got, err)
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
		{"audio/mpeg", ""},
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
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(sound)
	_ = z.Close()
	gz := func(b []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			body("audio/mpeg", b)(w, r)
		}
	}
	chunk := fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(sound), sound)
	part := func(span string, b []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Range", span)
			w.WriteHeader(206)
			_, _ = w.Write(b)
		}
	}
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
		{"compressed", []http.HandlerFunc{gz(zipped.Bytes())}, -1, ""},
		{"compressed, cut off", []http.HandlerFunc{gz(zipped.Bytes()[:zipped.Len()-9])}, recording.Failed, ""},
		{"only said to be compressed", []http.HandlerFunc{gz(sound)}, -1, ""},
		{"all of it as a part", []http.HandlerFunc{part(fmt.Sprintf("bytes 0-%d/%d", n-1, n), sound)}, -1, ""},
		{"a first part, then the rest", []http.HandlerFunc{part(fmt.Sprintf("bytes 0-99/%d", n), sound[:100]),
			part(fmt.Sprintf("Bytes 100-%d/%d", n-1, n), sound[100:])}, -1, ""},
		{"only the first part", []http.HandlerFunc{part(fmt.Sprintf("bytes 0-99/%d", n), sound[:100])}, recording.Failed, ""},
		{"a shorter rest than asked for", []http.HandlerFunc{cut(100), part(fmt.Sprintf("bytes 100-199/%d", n), sound[100:200])}, recording.Failed, ""},
		{"a rest of another file", []http.HandlerFunc{cut(100), part("bytes 100-199/200", sound[100:200]), whole}, -1, ""},
		{"a rest of unknown place", []http.HandlerFunc{cut(100), part("", sound[100:]), whole}, -1, ""},
		{"the right checksum", []http.HandlerFunc{with("Digest", "MD5=x, SHA-256="+b64(sum[:]), whole)}, -1, ""},
		{"a wrong checksum", []http.HandlerFunc{with("Repr-Digest", "sha-256=:"+b64(make([]byte, 32))+":", whole)}, recording.Failed, ""},
		{"wrong, then right", []http.HandlerFunc{with("X-Amz-Checksum-Sha256", b64(sum[:]), body("audio/mpeg", newer)),
			with("X-Amz-Checksum-Sha256", b64(sum[:]), whole)}, -1, ""},
		{"over two answers", []http.HandlerFunc{with("Content-Digest", "sha-256=:"+b64(sum[:])+":", cut(100)), whole}, -1, ""},
		{"of the parts", []http.HandlerFunc{with("X-Amz-Checksum-Crc32c", "AAAAAA==-3", whole)}, -1, ""},
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
