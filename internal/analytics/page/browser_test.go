package page

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/test"
)

var browser = flag.String("browser", "", "Chromium, to open pages in; none: the test is skipped")

type probed struct {
	Wide      int
	Ground    string
	Bad, Seen []string
}

// chromium runs the browser on a file, and returns its output.
func chromium(t *testing.T, file string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir=" + dir}, args...)
	cmd := exec.CommandContext(ctx, *browser, append(args, (&url.URL{Scheme: "file", Path: file}).String())...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run %s: %v", *browser, err)
	}
	return string(out)
}

// lively returns some weeks of a company's calls.
func lively(t *testing.T) analyticstest.Data {
	r := rand.New(rand.NewPCG(9, 9))
	first := instant(t, "2026-10-05T00:00:00Z")
	var d analyticstest.Data
	for i := range 3_000 {
		day := r.IntN(46)
		if i < 200 { // an anomalous day
			day = 43
		}
		at := first.AddDate(0, 0, day).Add(7*time.Hour + time.Duration(r.ExpFloat64()*4*float64(time.Hour)))
		c := row{"call_id": fmt.Sprint("c", i), "agent_id": fmt.Sprintf("%08x-0000-4000-8000-000000000000", r.IntN(40)), "status": "ended", "start_at": at.UnixMilli(),
			"disconnection_reason": []string{"user_hangup", "agent_hangup", "dial_no_answer", "call_transfer", "a_reason_that_is_longer_than_any_other"}[r.IntN(5)],
			"user_sentiment":       []string{"positive", "neutral", "negative", "a feeling nobody knows"}[r.IntN(4)], "duration_ms": int64(r.ExpFloat64() * 80_000), "total_cost": fmt.Sprintf("%d.5000", r.IntN(200)),
			"transcript_state": "present", "user_turns": int64(2), "settlement": []string{"settled", "settled", "ended", "open"}[r.IntN(4)]}
		if day > 15 && r.IntN(5) == 0 { // the last weeks are worse
			c["user_sentiment"] = "negative"
		}
		d.Calls = append(d.Calls, c)
		if r.IntN(4) == 0 {
			result := `{"ok":true}`
			if r.IntN(4) == 0 {
				result = `{"error":"no such customer"}`
			}
			d.Turns = append(d.Turns, row{"call_id": c["call_id"], "turn": int64(4), "role": "tool_call_invocation", "tool_call_id": "t", "tool_name": []string{"find_order", "book"}[r.IntN(2)], "call_start_at": at.UnixMilli()},
				row{"call_id": c["call_id"], "turn": int64(5), "role": "tool_call_result", "tool_call_id": "t", "content": result, "call_start_at": at.UnixMilli()})
		}
		for turn := range 4 {
			begin := at.UnixMilli() + int64(turn)*3_000
			d.Turns = append(d.Turns, row{"call_id": c["call_id"], "turn": int64(turn), "role": []string{"agent", "user"}[turn%2], "content": "so",
				"start_at": begin, "end_at": begin + int64(r.IntN(2_500)), "call_start_at": at.UnixMilli()})
		}
	}
	return d
}

// A browser requests nothing but the page, and shows it as intended: light and dark, on desktop,
// tablet and phone, with few and many calls.
func TestInABrowser(t *testing.T) {
	if *browser == "" {
		t.Skip("no -browser")
	}
	// A page that requests anything else is detected, and the policy prevents the request.
	curious := filepath.Join(t.TempDir(), "curious.html")
	const image = `<img src="http://page.test/x.png"/>`
	save(t, curious, "<!DOCTYPE html><head></head><body>"+image+"</body>")
	if got := requests(t, curious); len(got) != 1 {
		t.Fatalf("a page with an image asks for %s", got)
	}
	save(t, curious, "<!DOCTYPE html><head>"+policy+"</head><body>"+image+"</body>")
	if got := requests(t, curious); len(got) > 0 {
		t.Errorf("in spite of the policy a page asks for %s", got)
	}
	d := lively(t)
	korean, err := NewTexts("ko", "KRW")
	test.OK(t, err)
	for name, o := range map[string]Options{
		"korean": {Texts: korean}, "weeks": {Since: instant(t, "2025-10-05T00:00:00Z")}, "days": {}, "one day": {Since: instant(t, "2026-11-10T00:00:00Z"), Until: instant(t, "2026-11-11T00:00:00Z")},
		"nothing": {Until: instant(t, "2020-01-01T00:00:00Z")},
	} {
		t.Run(name, func(t *testing.T) {
			o.Now = instant(t, "2026-11-20T06:00:00Z")
			_, text := made(t, d, o)
			dir := t.TempDir()
			file := filepath.Join(dir, "page.html")
			save(t, file, text)
			if got := requests(t, file); len(got) > 0 {
				t.Errorf("the page asks for %s", got)
			}
			// Without its policy, so that the probe runs.
			save(t, filepath.Join(dir, "probed.html"), strings.Replace(strings.Replace(text, policy, "", 1), "</body>", string(test.Read(t, "testdata/probe.html")), 1))
			grounds := []string{"rgb(16, 19, 22)", "rgb(244, 245, 247)"} // dark, light
			for i, width := range []int{1280, 800, 390, 320} {
				for _, scheme := range []int{i % 2, 1 - i%2}[:1+i%2] {
					got, ground := look(t, dir, width, scheme), grounds[scheme]
					if got.Wide > 0 || len(got.Bad) > 0 || got.Ground != ground {
						t.Errorf("%d wide, scheme %d: %+v", width, scheme, got)
					}
					if n := len(got.Seen); n != 1 && name != "nothing" { // each in one size
						t.Errorf("%d wide: the drawing is not seen once: %v", width, got.Seen)
					}
				}
			}
		})
	}
}

func save(t *testing.T, path, text string) {
	t.Helper()
	test.OK(t, os.WriteFile(path, []byte(text), 0o600))
}

// requests opens a page, and returns its requests according to the browser's log. The browser's own
// requests have no origin, and do not count.
func requests(t *testing.T, file string) (out []string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "net.json")
	chromium(t, file, "--log-net-log="+log, "--screenshot="+log+".png", "--window-size=1280,4000")
	raw := test.Read(t, log)
	for _, m := range regexp.MustCompile(`"initiator":"([^"]*)".*"url":"([^"]*)"`).FindAllStringSubmatch(string(raw), -1) {
		if m[1] != "not an origin" {
			out = append(out, m[2])
		}
	}
	return out
}

// look opens the page in a frame of some width, because windows cannot be as narrow as phones, and
// returns what the probe reports.
func look(t *testing.T, dir string, width, scheme int) (p probed) {
	t.Helper()
	save(t, filepath.Join(dir, "frame.html"), fmt.Sprintf(`<!DOCTYPE html><body><iframe src="probed.html" style="border:0;width:%dpx;height:900px"></iframe>
<script>onmessage = e => { document.body.textContent = JSON.stringify(e.data) }</script></body>`, width))
	dom := chromium(t, filepath.Join(dir, "frame.html"), "--dump-dom", "--virtual-time-budget=10000", fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme))
	m := regexp.MustCompile(`(?s)<body>(\{.*\})</body>`).FindStringSubmatch(dom)
	if m == nil {
		t.Fatalf("the probe told nothing: %s", dom)
	}
	test.OK(t, json.Unmarshal([]byte(html.UnescapeString(m[1])), &p))
	return p
}
