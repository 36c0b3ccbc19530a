package querycmd

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/internal/analytics/rights"
	"callhouse/internal/test"
)

// seconds is the length of the sound.
const seconds = 12

// sound returns a WAV file of a rising tone.
func sound() []byte {
	const rate = 8000
	b := new(bytes.Buffer)
	write := func(v any) { _ = binary.Write(b, binary.LittleEndian, v) }
	b.WriteString("RIFF")
	write(uint32(36 + rate*seconds))
	b.WriteString("WAVEfmt ")
	write(struct {
		Size       uint32
		Kind, Many uint16
		Rate, Sum  uint32
		Wide, Bits uint16
	}{16, 1, 1, rate, rate, 1, 8})
	b.WriteString("data")
	write(uint32(rate * seconds))
	for i := range rate * seconds {
		at := float64(i) / rate
		b.WriteByte(byte(128 + 60*math.Sin(2*math.Pi*(200+20*at)*at)))
	}
	return b.Bytes()
}

// recorded returns a server with recordings, and the addresses of three calls: the fourth call's
// recording is stored, with a turn every two seconds; the fifth's is gone; the sixth's file is
// missing.
func recorded(t *testing.T, login login) (s *served, stored, gone, missing string) {
	t.Helper()
	d := company(9)
	dir := t.TempDir()
	d.Archive = "file://" + dir
	test.OK(t, os.MkdirAll(filepath.Join(dir, "2024/11/01"), 0o700))
	test.OK(t, os.WriteFile(filepath.Join(dir, "2024/11/01/c.wav"), sound(), 0o600))
	id := func(i int) string { return d.Calls[i]["call_id"].(string) }
	add := func(i int, r row) {
		r["call_id"], r["call_start_at"], r["fetched_at"] = id(i), d.Calls[i]["start_at"], d.Calls[i]["start_at"]
		d.Recordings = append(d.Recordings, r)
	}
	add(3, row{"state": "stored", "path": "2024/11/01/c.wav", "format": "wav", "sha256": "abc", "bytes": int64(len(sound()))})
	add(4, row{"state": "gone", "reason": "HTTP 404"})
	add(5, row{"state": "stored", "path": "2024/11/01/none.wav", "format": "wav", "sha256": "def"})
	add(6, row{"state": "stored", "path": "../../etc/passwd", "format": "wav", "sha256": "def"})
	d.Calls[3]["recording_url"] = "https://audio.example/signed"
	at := d.Calls[3]["start_at"].(int64)
	for turn := range int64(30) {
		d.Turns = append(d.Turns, row{"call_id": id(3), "turn": turn + 1, "role": []any{"agent", "user"}[turn%2], "content": fmt.Sprintf("This is turn %d, and it is long enough to fill a line.", turn+1),
			"call_start_at": at, "start_at": at + turn*400, "end_at": at + 350 + turn*400})
	}
	return serverOf(t, d, login), "/calls/" + id(3), "/calls/" + id(4), "/calls/" + id(5)
}

// The page of a call plays its recording. The file is sent whole or in parts, and caches must not
// share it.
func TestRecording(t *testing.T) {
	t.Parallel()
	s, stored, gone, missing := recorded(t, nil)
	body := s.must(stored)
	for _, want := range []string{`<audio controls preload="none" src="` + stored + `/recording" aria-label="recording"></audio>`,
		`id="turn-2"><small>Caller <a href="` + stored + `?t=0.4#turn-2" aria-label="play from 400ms">400ms</a></small>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s in\n%s", want, body)
		}
	}
	if strings.Contains(body, "audio.example") || strings.Contains(body, "file://") {
		t.Error("the page has the service's link, or the archive's folder")
	}
	if body := s.must(stored + "?t=4.5&tz=UTC"); !strings.Contains(body, `src="`+stored+`/recording#t=4.5" autoplay`) || !strings.Contains(body, "?t=0.4&amp;tz=UTC#turn-2") {
		t.Errorf("it does not begin at 4.5:\n%s", body)
	}
	if body := s.must(gone); strings.Contains(body, "<audio") || !strings.Contains(body, "<dt>recording</dt><dd>gone: HTTP 404</dd>") {
		t.Errorf("a recording that is gone:\n%s", body)
	}
	whole := string(sound())
	for _, c := range []struct {
		ranged, body string
		status       int
	}{{"", whole, 200}, {"bytes=0-", whole, 206}, {"bytes=44-1043", whole[44:1044], 206}, {"bytes=-10", whole[len(whole)-10:], 206}, {"bytes=999999-", "", 416}} {
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
		if resp, body := s.get(address); resp.StatusCode/100 != 4 && resp.StatusCode != 500 || strings.Contains(body, "root:") || strings.Contains(body, "file:") {
			t.Errorf("%s: %s %s", address, resp.Status, body)
		}
	}
	if resp, _ := s.get(missing + "/recording"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a missing file: %s", resp.Status)
	}
	for _, t0 := range []string{"x", "-1", "NaN", "1e300"} {
		if resp, _ := s.get(stored + "?t=" + t0); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("t=%s: %s", t0, resp.Status)
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
		if strings.Contains(page, "<audio") != hears || strings.Contains(page, "?t=") != hears {
			t.Errorf("the page of %s: %s", user, page)
		}
		if _, none := get(user, gone+"/recording"); !hears && none != body {
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
