package recordings

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"callhouse/internal/loopback"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) { loopback.Main(m) }

var origin = time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)

// company returns a host and the calls that have recordings.
func company(t *testing.T) (*Host, []*world.View) {
	t.Helper()
	w, err := world.New(world.Config{Calls: 200, Agents: 3, Origin: origin})
	test.OK(t, err)
	var all []*world.View
	for i := range int64(200) {
		if v, ok := w.View(i, origin); ok && v.Recording {
			all = append(all, v)
		}
	}
	if len(all) < 20 {
		t.Fatalf("%d recordings", len(all))
	}
	return &Host{World: w, Now: func() time.Time { return origin }}, all
}

func get(h http.Handler, link string, header ...string) *http.Response {
	r := httptest.NewRequest("GET", link, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func link(v *world.View) string { return string(AppendLink(nil, "", v)) }

func TestSound(t *testing.T) {
	_, all := company(t)
	for _, v := range all[:10] {
		s := newSound(v)
		b, err := io.ReadAll(s)
		test.OK(t, err)
		if off := int64(len(b))/frameBytes*frameMillis - (v.EndAt - v.StartAt); off < 0 || off >= frameMillis {
			t.Errorf("%d ms longer than the call", off)
		}
		if err := iotest.TestReader(newSound(v), b); err != nil {
			t.Error(err)
		}
		heard := map[byte]bool{}
		for _, voice := range s.voices {
			heard[voice] = true
		}
		if !heard[agent] || !heard[silence] {
			t.Errorf("voices: %v", heard)
		}
	}
}

// TestDecodes decodes a recording with ffmpeg, if it is installed.
func TestDecodes(t *testing.T) {
	if _, err := exec.LookPath("ffprobe"); err != nil {
		t.Skip("needs ffprobe")
	}
	h, all := company(t)
	b, _ := io.ReadAll(get(h, link(all[0])).Body)
	file := filepath.Join(t.TempDir(), "a.mp3")
	test.OK(t, os.WriteFile(file, b, 0o600))
	out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-count_packets", "-show_entries",
		"stream=codec_name,nb_read_packets", "-of", "csv=p=0", file).CombinedOutput()
	if want := "mp3," + strconv.Itoa(len(b)/frameBytes) + "\n"; err != nil || string(out) != want {
		t.Errorf("%v %s, want %s", err, out, want)
	}
}

func TestLinks(t *testing.T) {
	h, all := company(t)
	v := all[0]
	whole := get(h, link(v))
	b, _ := io.ReadAll(whole.Body)
	if whole.StatusCode != 200 || whole.Header.Get("Content-Type") != "audio/mpeg" || int64(len(b)) != newSound(v).size() {
		t.Fatalf("%v, %d bytes", whole.Status, len(b))
	}
	part := get(h, link(v), "Range", "bytes=1000-", "If-Range", whole.Header.Get("ETag"))
	if rest, _ := io.ReadAll(part.Body); part.StatusCode != 206 || !bytes.Equal(rest, b[1000:]) {
		t.Errorf("a part: %v, %d bytes", part.Status, len(rest))
	}
	for name, c := range map[string]struct {
		link   string
		later  time.Duration
		status int
	}{
		"an hour later":      {link(v), time.Hour, 200},
		"two hours later":    {link(v), 2 * time.Hour, 403},
		"another signature":  {link(v) + "0", 0, 403},
		"no signature":       {strings.Split(link(v), "?")[0], 0, 403},
		"another call":       {strings.Replace(link(v), v.ID.String(), all[1].ID.String(), 1), 0, 403},
		"a later expiry":     {strings.Replace(link(v), "expires=", "expires=9", 1), 0, 403},
		"no such call":       {objects + "00000000-0000-4000-8000-000000000000/mixed.mp3", 0, 404},
		"no such object":     {"/", 0, 404},
		"not a recording of": {objects + v.ID.String() + "/left.mp3", 0, 404},
	} {
		h.Now = func() time.Time { return origin.Add(c.later) }
		if r := get(h, c.link); r.StatusCode != c.status {
			t.Errorf("%s: %v", name, r.Status)
		}
	}
}
