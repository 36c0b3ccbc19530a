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

// mustView returns a call at the time of the host.
func mustView(t *testing.T, h *Host, index int64) *world.View {
	t.Helper()
	v, ok := h.World.View(index, h.Now())
	if !ok {
		t.Fatalf("call %d is not there", index)
	}
	return v
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

func TestFaults(t *testing.T) {
	h, all := company(t)
	third := httptest.NewServer(h)
	defer third.Close()
	h.Third = third.URL
	for _, f := range All {
		h.Faults = Faults{{Kind: f, Rate: 1}}
		h.requested.Clear()
		s := httptest.NewServer(h)
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		v := all[3]
		h.Now = func() time.Time { return time.UnixMilli(v.EndAt + 1000) } // its link is of origin
		r, err := client.Get(s.URL + link(v))
		if err != nil {
			t.Fatal(f, err)
		}
		body := io.Reader(r.Body)
		if f == Slow { // only the beginning
			body = io.LimitReader(body, 3*frameBytes)
		}
		b, err := io.ReadAll(body)
		_ = r.Body.Close()
		size := newSound(v).size()
		got := struct {
			status int
			whole  bool
			cut    bool
		}{r.StatusCode, int64(len(b)) == size, err != nil}
		want := got
		switch f {
		case Cut:
			want.status, want.whole, want.cut = 200, false, true
		case Length:
			want.status, want.whole, want.cut = 200, true, true
		case Truncated, Page, Slow:
			want.status, want.whole, want.cut = 200, false, false
		case Once, Busy:
			want.status, want.cut = 503, false
		case Forbidden:
			want.status = 403
		case Missing:
			want.status = 404
		case Redirect:
			want.status = 302
		case Pipe, Unknown:
			want.status, want.whole, want.cut = 200, false, false
		}
		if is, ok := late[f]; ok {
			want.status, want.whole, want.cut = is.status, false, false
			h.Now = func() time.Time { return time.UnixMilli(v.EndAt + 13*time.Hour.Milliseconds()) }
			if again := get(h, link(mustView(t, h, v.Index))); again.StatusCode != 200 || again.ContentLength != newSound(v).size() {
				t.Errorf("%s, later: %v", f, again.Status)
			}
			h.Now = func() time.Time { return origin }
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", f, got, want)
		}
		s.Close()
	}
	h.Faults = Faults{{Kind: Missing, Rate: .3}, {Kind: Page, Rate: .3}}
	n := map[Fault]int{}
	for _, v := range all {
		n[h.Fault(v)]++
	}
	if len(n) != 3 || n[""] == 0 {
		t.Errorf("of %d calls: %v", len(all), n)
	}
}
