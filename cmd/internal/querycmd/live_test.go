package querycmd

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/serve"
	"callhouse/internal/test"
)

type row = analyticstest.Row

const bold = "<b>bold</b>"

// company returns calls of every kind, with texts that must not become markup.
func company(n int) (d analyticstest.Data) {
	d.Compacted = func(string) bool { return true } // few files
	begin := time.Date(2024, 11, 1, 6, 0, 0, 0, time.UTC)
	agents := []string{"0a7e1f60-0000-4000-8000-00000000000a", "0a7e1f60-0000-4000-8000-00000000000b", bold}
	for i := range n {
		c := row{"call_id": fmt.Sprintf("%08d-6a1e-4ac3-8f7e-3c1f6e7f2a10", i), "start_at": begin.Add(time.Duration(i) * 5 * time.Hour).UnixMilli(),
			"agent_id": agents[i%3], "status": "ended", "disconnection_reason": []any{"user_hangup", "agent_hangup", nil, "sun & spots"}[i%4],
			"user_sentiment": []any{"negative", "positive", bold}[i%3], "settlement": "settled", "transcript_state": "present", "user_turns": int64(1),
			"duration_ms": int64(1000 * i), "call_type": []any{"inbound", "outbound"}[i%2], "summary": bold}
		d.Calls = append(d.Calls, c)
		d.Turns = append(d.Turns, row{"call_id": c["call_id"], "turn": int64(0), "role": "user", "content": bold + " said", "call_start_at": c["start_at"], "start_at": c["start_at"]})
	}
	agent := analyticstest.One()[resource.Agents.Table][0]
	agent["agent_id"], agent["name"] = agents[0], "Clara "+bold
	d.Others = analyticstest.One()
	d.Others[resource.Agents.Table] = []row{agent}
	return d
}

// served is a server over its own warehouse.
type served struct {
	t    *testing.T
	root string
	url  string
	log  *strings.Builder

	handler http.Handler
}

func snapshotsAt(root string) *serve.Snapshots {
	return &serve.Snapshots{Root: root, Open: func(ctx context.Context, zone *time.Location, r rights.Rights) (*analytics.Warehouse, error) {
		return analytics.Open(ctx, root, analytics.Options{Options: database.Options{Location: zone, Rights: r}})
	}}
}

type login = func(ctx context.Context, user, password, address string) (rights.Rights, bool, error)

func newServer(t *testing.T, calls int, login login) *served {
	t.Helper()
	return serverOf(t, company(calls), login)
}

func serverOf(t *testing.T, d analyticstest.Data, login login) *served {
	t.Helper()
	s := &served{t: t, root: t.TempDir(), log: new(strings.Builder)}
	analyticstest.Write(t, s.root, 1, d)
	snapshots := snapshotsAt(s.root)
	t.Cleanup(func() { test.OK(t, snapshots.Close()) })
	s.handler = newLive(&liveServer{Snapshots: snapshots, Settings: answer.Command{Config: config.Config{Values: config.Values{Warehouse: s.root, TZ: "Asia/Seoul", Lang: "en"}}},
		Login: login, Now: func() time.Time { return time.Date(2024, 12, 1, 9, 30, 0, 0, time.UTC) }, Log: slog.New(slog.NewTextHandler(s.log, nil)), Metrics: prometheus.NewRegistry()})
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// get requests an address and returns the response with its body.
func (s *served) get(address string, header ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+address, nil)
	test.OK(s.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	test.OK(s.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s: %v", address, err)
	}
	return resp, string(body)
}

// must is like get, for an address that must exist.
func (s *served) must(address string) string {
	s.t.Helper()
	resp, body := s.get(address)
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s\n%s%s", address, resp.Status, body, s.log)
	}
	return body
}

// rows counts the calls listed by an address of /calls, from its file.
func (s *served) rows(calls string) int {
	s.t.Helper()
	_, query, _ := strings.Cut(calls, "?")
	all, err := csv.NewReader(strings.NewReader(s.must("/reports/calls.csv?" + query))).ReadAll()
	test.OK(s.t, err)
	return len(all) - 1
}

var (
	hrefRE = regexp.MustCompile(`href="(/[^"]*)"`)
	lineRE = regexp.MustCompile(`<tr data-key="[^"]*"><th scope="row" align="left"[^>]*><a href="([^"]*)">.*?</tr>`)
	dataRE = regexp.MustCompile(`<data value="([^"]*)"`)
)

func part(t *testing.T, body, id string) string {
	t.Helper()
	_, after, ok := strings.Cut(body, `<section id="`+id+`"`)
	if !ok {
		t.Fatalf("there is no section %s in\n%s", id, body)
	}
	out, _, _ := strings.Cut(after, "</section>")
	return out
}

// A number on the page links to exactly the calls that it counts, for words of every kind and in the page's zone.
func TestNumbersLeadToTheirCalls(t *testing.T) {
	longtest.Only(t)
	s := newServer(t, 60, nil)
	for _, address := range []string{"/?since=2024-11-01&until=2024-11-14", "/?since=2024-11-01&until=2024-11-14&tz=Europe%2FBerlin&where=call_type%3Dinbound&agent=Clara"} {
		body := s.must(address)
		parts := []string{"reasons", "ends", "agents"}
		if strings.Contains(address, "agent=") { // the page of an agent lists no others
			parts = parts[:2]
		}
		for _, id := range parts {
			lines := lineRE.FindAllStringSubmatch(part(t, body, id), -1)
			if len(lines) == 0 {
				t.Errorf("%s: no row of %s leads on", address, id)
			}
			for i, l := range lines {
				if i > 1 {
					break
				}
				number := dataRE.FindAllStringSubmatch(l[0], -1)
				want := 0 // a day without calls has no number
				if len(number) > 0 {
					want, _ = strconv.Atoi(number[map[string]int{"reasons": 1, "ends": 2}[id]][1])
				}
				if got := s.rows(html.UnescapeString(l[1])); got != want || !strings.Contains(l[1], "since=2024-11-01") {
					t.Errorf("%s: %s counts %d calls, and %s lists %d", address, id, want, l[1], got)
				}
			}
		}
	}
	body := s.must("/reports/sentiment?by=weekday&since=2024-11-04")
	line := regexp.MustCompile(`<td class=""><a href="([^"]*)">Friday</a></td><td class="num"><a href="[^"]*">(\d+)</a></td>`).FindStringSubmatch(body)
	if line == nil {
		t.Fatalf("no row of a report leads on:\n%s", body)
	}
	if got := strconv.Itoa(s.rows(html.UnescapeString(line[1]))); got != line[2] {
		t.Errorf("the row counts %s calls, and leads to %s", line[2], got)
	}
}

// Every link of a page works, and words from the data or the address are only text.
func TestEveryLinkIsThere(t *testing.T) {
	longtest.Only(t)
	s := newServer(t, 24, nil)
	todo := []string{"/?where=user_sentiment%3D" + url.QueryEscape(bold)}
	seen := map[string]bool{}
	for ; len(todo) > 0; todo = todo[1:] {
		body := s.must(todo[0])
		if strings.Contains(body, bold) && strings.Contains(body, "<html") {
			t.Fatalf("%s has words of the data as HTML", todo[0])
		}
		for _, m := range hrefRE.FindAllStringSubmatch(body, -1) {
			link := html.UnescapeString(m[1])
			u, err := url.Parse(link)
			if err != nil {
				t.Fatalf("%s leads to %q: %v", todo[0], link, err)
			}
			path := u.Path // one of each kind is followed, and the files of few reports
			if strings.HasPrefix(path, "/calls/") {
				path = "/calls/"
			}
			if name, ending, isFile := strings.Cut(path, "."); !seen[path] && path != "/" && (!isFile || name == "/reports/agents" || name == "/reports/calls" || ending == "css") {
				seen[path] = true
				todo = append(todo, link)
			}
		}
	}
	for _, path := range []string{"/calls", "/calls/", "/reports", "/reports/agents", "/reports/calls.csv", "/reports/agents.xlsx", "/style.css"} {
		if !seen[path] {
			t.Errorf("nothing leads to %s", path)
		}
	}
	call := s.must("/calls/00000003-6a1e-4ac3-8f7e-3c1f6e7f2a10")
	if !strings.Contains(call, "&lt;b&gt;bold&lt;/b&gt; said") || !strings.Contains(call, "sun &amp; spots") {
		t.Errorf("a call does not show what was said:\n%s", call)
	}
}

// A comparison has a row for each group or figure, as on a terminal: before, now, change and verdict.
func TestComparison(t *testing.T) {
	longtest.Only(t)
	s := newServer(t, 60, nil)
	for address, want := range map[string]string{"/reports/sentiment?by=agent&since=2024-11-08&until=2024-11-14&compare=previous": `">agent</th>`,
		"/reports/costs?since=2024-11-08&until=2024-11-14&compare=previous": `">figure</th>`} {
		body := s.must(address)
		if !regexp.MustCompile(want + `<th scope="col" class="num">before</th><th scope="col" class="num">now</th><th scope="col" class="num">change</th><th scope="col" class="">verdict</th>`).MatchString(body) {
			t.Errorf("%s:\n%s", address, body)
		}
		if want == `">agent</th>` && strings.Count(body, `<td class=""><a href="/calls?since=2024-11-08&amp;until=2024-11-14&amp;where=agent%3D`) != 3 {
			t.Errorf("its agents do not lead to their calls:\n%s", body)
		}
	}
}

// An invalid address gets the reason and a hint.
func TestAddressesThatAreWrong(t *testing.T) {
	s := newServer(t, 3, nil)
	for _, c := range []struct {
		address string
		status  int
		says    string
	}{
		{"/nothing", 404, ""},
		{"/reports/funel", 404, "not found\nunknown report"},
		{"/reports/funnel.doc", 400, "unknown format"},
		{"/reports/agents.csv?decimal=,", 400, "--decimal is for csv-excel"},
		{"/reports/agents?decimal=,", 400, "does not take the parameter"},
		{"/reports/search", 400, "word"},
		{"/calls/no-such-call", 404, "no-such-call"},
		{"/calls?wher=x", 400, "did you mean: where"},
		{"/calls?by=agent", 400, "does not take the parameter"},
		{"/reports/concurrency.csv?every=second", 400, "unknown step"},
		{"/?since=soon", 400, "--since"},
		{"/?since=2024-11-02&until=2024-11-01", 400, "not before"},
		{"/?since=1d&since=2d", 400, "2 times"},
		{"/?tz=Asia/Seoull", 400, "did you mean: Asia/Seoul"},
		{"/?lang=tlh", 400, "languages"},
		{"/?agent=nobody", 400, "nobody"},
		{"/reports/funnel?where=call_type", 400, "has no value"},
		{"/reports/funnel?by=" + url.QueryEscape("agent'); DROP TABLE calls; --"), 400, "unknown dimension"},
		{"/calls?top=-1", 400, "use a number"},
		{"/?x=%zz", 400, "malformed address"},
	} {
		resp, body := s.get(c.address)
		if resp.StatusCode != c.status || !strings.Contains(body, c.says) || resp.Header.Get("ETag") != "" {
			t.Errorf("%s: %s with ETag %q, want %d and %q in\n%s", c.address, resp.Status, resp.Header.Get("ETag"), c.status, c.says, body)
		}
	}
	if s.log.Len() > 0 {
		t.Errorf("wrong addresses are in the log: %s", s.log)
	}
}

// A browser learns no folder of the machine.
func TestErrorsNameNoFolder(t *testing.T) {
	s := newServer(t, 2, nil)
	test.OK(t, os.RemoveAll(s.root))
	if resp, body := s.get("/calls"); resp.StatusCode != http.StatusInternalServerError || strings.Contains(body, s.root) || strings.Contains(body, "/tmp") {
		t.Errorf("%s: %s", resp.Status, body)
	}
	if !strings.Contains(s.log.String(), s.root) {
		t.Errorf("the log does not name it: %s", s.log)
	}
}

// Without users the server answers only under the machine's own names; with users it requires a password.
func TestWhoMayRead(t *testing.T) {
	s := newServer(t, 2, nil)
	for _, host := range []string{"calls.example:8080", "calls.localhost:8080"} {
		if resp, _ := s.get("/calls", "Host", host); resp.StatusCode != http.StatusForbidden {
			t.Errorf("asked as %s: %s", host, resp.Status)
		}
	}
	if resp, _ := s.get("/calls", "Host", "localhost:8080", "Sec-Fetch-Site", "cross-site"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("asked by another site's page: %s", resp.Status)
	}
	resp, _ := s.get("/reports", "Host", "localhost:8080", "Sec-Fetch-Site", "same-origin")
	if resp.StatusCode != http.StatusOK {
		t.Errorf("asked as localhost: %s", resp.Status)
	}
	for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Cache-Control": "private", "Cross-Origin-Resource-Policy": "same-origin"} {
		if !strings.Contains(resp.Header.Get(name), want) {
			t.Errorf("%s is %q", name, resp.Header.Get(name))
		}
	}
	s = newServer(t, 2, func(_ context.Context, user, password, _ string) (rights.Rights, bool, error) {
		if user == "mallory" {
			return rights.Rights{}, false, errors.New("wait a minute")
		}
		return rights.Rights{}, user == "ana" && password == "secret", nil
	})
	for _, c := range []struct {
		url, path string
		status    int
	}{{"", "/calls", 401}, {"ana:wrong@", "/calls", 401}, {"bob:secret@", "/metrics", 401}, {"ana:secret@", "/calls", 200}, {"mallory:secret@", "/calls", 429}, {"", "/healthz", 200}} {
		s.url = strings.Replace(s.url, "http://"+s.url[strings.Index(s.url, "127"):], "http://"+c.url+s.url[strings.Index(s.url, "127"):], 1)
		resp, body := s.get(c.path)
		if resp.StatusCode != c.status || c.status == 401 && (resp.Header.Get("WWW-Authenticate") == "" || strings.Contains(body, "00000000-")) {
			t.Errorf("%q at %s: %s, want %d", c.url, c.path, resp.Status, c.status)
		}
		s.url = "http://" + s.url[strings.Index(s.url, "127"):]
	}
}

// No answer is sent again to clients that have it. It changes with the snapshot.
func TestAnswersFollowTheSnapshot(t *testing.T) {
	s := newServer(t, 5, nil)
	for _, address := range longtest.Some(2, []string{"/reports/calls.csv?since=30d", "/", "/reports/outcomes"}) {
		first, body := s.get(address)
		again, same := s.get(address)
		tag := first.Header.Get("ETag")
		if body != same || again.Header.Get("ETag") != tag || tag == "" {
			t.Errorf("%s is another: %q, then %q", address, tag, again.Header.Get("ETag"))
		}
		if unchanged, empty := s.get(address, "If-None-Match", tag); unchanged.StatusCode != http.StatusNotModified || empty != "" {
			t.Errorf("%s with its ETag: %s", address, unchanged.Status)
		}
		if _, other := s.get(address + "&lang=ko"); strings.Contains(address, "?") && other != body {
			t.Errorf("%s in Korean is another file", address)
		}
	}
	tag := func() string { r, _ := s.get("/reports/calls.csv"); return r.Header.Get("ETag") }
	before := tag()
	analyticstest.Write(t, s.root, 2, company(9))
	analyticstest.Swap(t, s.root, 2)
	if n := s.rows("/calls"); n != 9 || tag() == before {
		t.Errorf("after a commit of 9 calls %d are listed, ETag %s after %s", n, tag(), before)
	}
}

var (
	warehouseRoot = flag.String("web-root", "", "the warehouse that TestClickThrough asks")
	browser       = flag.String("browser", "", "Chromium, for TestClickThrough; none: the test is skipped")
	pictures      = flag.String("pictures", "", "where TestClickThrough leaves its pictures")
)

// In a browser without scripts, a click on a day's bar leads to its calls, one of these to its conversation, and
// this to its agent; nothing is wider than a phone, and axe finds nothing to improve. interop/browser.sh runs it.
func TestClickThrough(t *testing.T) {
	if *browser == "" {
		t.Skip("-browser names no Chromium")
	}
	s := newServer(t, 200, nil)
	address := s.url + "/?since=2024-11-05&until=2024-12-01"
	if *warehouseRoot != "" {
		other := httptest.NewServer(newLive(&liveServer{Snapshots: snapshotsAt(*warehouseRoot), Settings: answer.Command{Config: config.Config{Values: config.Values{Warehouse: *warehouseRoot, TZ: "Asia/Seoul", Lang: "en"}}},
			Now: time.Now, Log: slog.Default(), Metrics: prometheus.NewRegistry()}))
		defer other.Close()
		address = other.URL + "/"
	}
	if *pictures == "" {
		*pictures = t.TempDir()
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/click.mjs", address, *browser, *pictures)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := map[string]string{"page": "^/$", "calls": "^/calls$", "call": "^/calls/.+", "agent": "^/$"}
	grounds, n := map[string]bool{}, 0
	for lines := json.NewDecoder(bytes.NewReader(out)); ; n++ {
		var seen struct {
			Size, Theme, Step, Path, Ground string
			Wide, Rows                      int
			Counted                         *int
			Wrong, Violations               []string
		}
		if err := lines.Decode(&seen); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		grounds[seen.Theme+seen.Ground] = true
		if !regexp.MustCompile(want[seen.Step]).MatchString(seen.Path) || seen.Wide > 0 || seen.Rows == 0 || len(seen.Wrong) > 0 || len(seen.Violations) > 0 || seen.Counted != nil && min(*seen.Counted, 100) != seen.Rows {
			t.Errorf("%+v", seen)
		}
	}
	if n != 16 || len(grounds) != 2 {
		t.Errorf("%d pages in %v", n, grounds)
	}
}
