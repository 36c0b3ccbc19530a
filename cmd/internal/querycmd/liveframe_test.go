package querycmd

import (
	"context"
	"encoding/base64"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

// The frame has the language of the page, without any of its English words.
func TestFrameInKorean(t *testing.T) {
	longtest.Only(t) // TestLanguagesHaveTheSameTexts has the texts
	s := newServer(t, 8, nil)
	english := regexp.MustCompile(`>(Overview|Calls|Agents|Reports|Search|Show|From|Before|Agent|Filter[^<]*|Time zone|default|all|\d+ days?|1 year|Download:?|Transcript|Caller|older|newer|no transcript|start|duration|outcome|summary)\b`)
	for _, address := range []string{"/calls?top=2&lang=ko", "/?since=2024-11-01&lang=ko", "/calls/00000003-6a1e-4ac3-8f7e-3c1f6e7f2a10?lang=ko",
		"/reports?lang=ko"} {
		body := s.must(address)
		if m := english.FindString(body); m != "" {
			t.Errorf("%s has %q", address, m)
		}
		if !strings.Contains(body, `<html lang="ko">`) || !strings.Contains(body, ">에이전트</a>") {
			t.Errorf("%s is not in Korean:\n%.600s", address, body)
		}
		if with := strings.Replace(address, "lang=ko", "lang=en", 1); !english.MatchString(s.must(with)) {
			t.Errorf("%s has none of the words", with)
		}
	}
}

// An agent has its own page: its edits, versions, tools and worst calls, under its name.
func TestPageOfAnAgent(t *testing.T) {
	longtest.Only(t)
	s := newServer(t, 60, nil)
	const period = "since=2024-11-01&until=2024-11-14"
	link := regexp.MustCompile(`<a href="(/\?agent=[^"]*)">Clara`).FindStringSubmatch(part(t, s.must("/?"+period), "agents"))
	if link == nil {
		t.Fatal("no agent leads to its page")
	}
	body := s.must(html.UnescapeString(link[1]))
	if !strings.Contains(body, "<h1>Clara &lt;b&gt;bold&lt;/b&gt;</h1>") || !strings.Contains(body, "agent: Clara &lt;b&gt;bold&lt;/b&gt; ×") || strings.Contains(body, `<section id="agents"`) {
		t.Errorf("the page of an agent begins with %.3000s", body)
	}
	for _, id := range []string{"worst", "reasons", "tools"} {
		part(t, body, id)
	}
}

// A call is shown as a conversation with its tools, and the agent has its name.
func TestConversation(t *testing.T) {
	d := company(9)
	id, at := d.Calls[3]["call_id"], d.Calls[3]["start_at"].(int64)
	add := func(turn int64, role, text string, from, to int64, more row) {
		r := row{"call_id": id, "turn": turn, "role": role, "content": text, "call_start_at": at}
		if to > 0 {
			r["start_at"], r["end_at"] = at+from, at+to
		}
		for k, v := range more {
			r[k] = v
		}
		d.Turns = append(d.Turns, r)
	}
	d.Turns = nil
	add(0, "agent", "Hello", 1_000, 4_000, nil)
	add(1, "user", "Wait", 3_000, 5_000, nil)
	add(2, "tool_call_invocation", "", 0, 0, row{"tool_call_id": "t", "tool_name": "book", "arguments": `{"day":1}`})
	add(3, "tool_call_result", "error: refused", 0, 0, row{"tool_call_id": "t"})
	add(4, "agent", "Sorry", 8_500, 9_000, nil)
	s := serverOf(t, d, nil)
	body := s.must("/calls/" + id.(string))
	for _, want := range []string{`<li class="said-user"><small>Caller 3.0s</small><br/>Wait</li>`,
		`<li class="said-tool"><small>book </small><br/>→ {&#34;day&#34;:1}</li>`, `<li class="said-tool"><small>book </small><br/>✗ error: refused</li>`,
		">Clara &lt;b&gt;bold&lt;/b&gt;</a>"} {
		if !strings.Contains(body, want) {
			t.Errorf("the call lacks %s in\n%s", want, body)
		}
	}
	link := regexp.MustCompile(`<dd><a href="(/\?agent=[^"]*)">`).FindStringSubmatch(body)
	if link == nil || longtest.On() && !strings.Contains(s.must(link[1]+"&since=2024-11-01&until=2024-11-10"), "<h1>Clara") {
		t.Errorf("the agent leads nowhere: %q", link)
	}
}

// Bidirectional controls are shown as code points, wherever they occur.
func TestTextThatTurns(t *testing.T) {
	longtest.Only(t)
	const turn = "\u202e"
	s := serverOf(t, analyticstest.Data{
		Calls: []analyticstest.Row{{"call_id": "c0", "agent_id": "a" + turn + "b", "start_at": int64(1_732_900_000_000), "status": "ended" + turn, "duration_ms": int64(500)}},
		Turns: []analyticstest.Row{{"call_id": "c0", "turn": int64(0), "role": "agent", "content": "hello " + turn + " olleh"}},
	}, nil)
	for _, address := range []string{"/calls?since=2024-11-01", "/?since=2024-11-01", "/calls/c0", "/reports/search?word=hello", "/reports/search?word=%E2%80%AE", "/reports/no%E2%80%AEne", "/calls?%E2%80%AE=1"} {
		if resp, body := s.get(address); strings.Contains(body, turn) {
			t.Errorf("%s (%s) has it raw", address, resp.Status)
		} else if address == "/calls/c0" && !strings.Contains(body, `\u202e`) {
			t.Errorf("%s has it not at all", address)
		}
	}
	if strings.Contains(s.log.String(), turn) {
		t.Errorf("the log has it raw: %s", s.log)
	}
}

// Invalid text is the reader's mistake, not a failure of the server.
func TestNoText(t *testing.T) {
	s := newServer(t, 2, nil)
	for _, address := range []string{"/reports/search?word=%00", "/reports/search.csv?word=a%ffb", "/calls?agent=%00", "/calls?where=metadata.k=%00", "/calls/%00", "/calls/%ff", "/reports/success?field=%00", "/reports/durations?steps=yes"} {
		if resp, body := s.get(address); resp.StatusCode != http.StatusBadRequest || strings.Contains(body, "\x00") || strings.Contains(body, "\xff") {
			t.Errorf("%s: %s", address, resp.Status)
		}
	}
	if s.log.Len() > 0 {
		t.Errorf("the log has %s", s.log)
	}
}

// Metrics cover all users, so only users without limits may read them.
func TestMetricsOfOthers(t *testing.T) {
	of := map[string]rights.Rights{"boss": {}, "agency": {Agents: []string{"own"}}, "masked": {Masked: []string{"content"}}}
	s := newServer(t, 2, func(_ context.Context, user, _, _ string) (rights.Rights, bool, error) {
		r, ok := of[user]
		return r, ok, nil
	})
	for user, want := range map[string]int{"boss": 200, "agency": 403, "masked": 403, "nobody": 401} {
		if resp, _ := s.get("/metrics", "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":x"))); resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", user, resp.Status, want)
		}
	}
}

// Before a login nobody keeps a connection, and the body of a request is not waited for.
func TestBodiesThatDoNotCome(t *testing.T) {
	s := newServer(t, 1, func(_ context.Context, _, password, _ string) (rights.Rights, bool, error) {
		return rights.Rights{}, password == "right", nil
	})
	for head, status := range map[string]string{
		"GET / HTTP/1.1\r\n":                                                                     "401",
		"GET / HTTP/1.1\r\nContent-Length: 10\r\n":                                               "401",
		"POST /any HTTP/1.1\r\nContent-Length: 1000000\r\n":                                      "401",
		"POST /any HTTP/1.1\r\nTransfer-Encoding: chunked\r\n":                                   "401",
		"GET /healthz HTTP/1.1\r\n":                                                              "200",
		"GET /healthz HTTP/1.1\r\nContent-Length: 10\r\n":                                        "200",
		"GET /style.css HTTP/1.1\r\nContent-Length: 10\r\nAuthorization: Basic eDpyaWdodA==\r\n": "200", // x:right
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		test.OK(t, err)
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, err = io.WriteString(c, head+"Host: localhost\r\n\r\n")
		test.OK(t, err)
		answer, err := io.ReadAll(c) // until the server closes it
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+status) {
			t.Errorf("%q: %v, %.100q", head, err, answer)
		}
		_ = c.Close()
	}
}

// without returns a page without the words of its own address, which the page repeats.
func without(body, address string) string {
	u, _ := url.Parse(address)
	for _, all := range u.Query() {
		for _, v := range all {
			body = strings.ReplaceAll(body, v, "")
			_, v, _ = strings.Cut(v, "=")
			if strings.Contains(v, analyticstest.Secret) {
				body = strings.ReplaceAll(body, v, "")
			}
		}
	}
	return strings.ReplaceAll(body, strings.TrimPrefix(u.Path, "/calls/"), "")
}

// No address reveals another user's row to a reader with limits, even right after it was answered
// for someone else.
func TestOthersRows(t *testing.T) {
	of := map[string]rights.Rights{"boss": {}, "agency": {Agents: []string{"own"}}, "costs": {Tables: []string{"costs"}},
		"masked": {Masked: []string{"from_number", "to_number", "content", "summary", "metadata", "value", "arguments", "tool_name", "user_sentiment", "agent_id"}}}
	s := serverOf(t, analyticstest.Agencies(), func(_ context.Context, user, _, _ string) (rights.Rights, bool, error) {
		r, ok := of[user]
		return r, ok, nil
	})
	get := func(user, address string, header ...string) (*http.Response, string) {
		t.Helper()
		return s.get(address, append(header, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":x")))...)
	}
	// A reader who sees everything except masked columns still sees the ids of calls, and the names
	// of fields, of reasons, and of things other than calls.
	const span = "since=2025-10-01&until=2025-10-20"
	own := []string{"/calls?" + span, "/?" + span, "/?agent=own&" + span, "/", "/calls/mine-0", "/calls?agent=own", "/reports/calls.csv?where=metadata.k=mine+0", "/reports/search.csv?word=mine", "/reports/call.json?call=mine-0"}
	others := []string{"/calls/SECRET-1", "/calls/SEC", "/?agent=SECRET-agent&" + span, "/calls?agent=SEC", "/reports/call.csv?call=SECRET-1", "/reports/search.csv?word=SEC", "/reports/search.json?word=1",
		"/reports/calls.ndjson?where=metadata.k=SECRET+1", "/reports/calls.csv?where=agent=SECRET-agent", "/reports/funnel.csv?by=agent", "/reports/funnel.csv?by=campaign", "/reports/funnel.csv?by=number", "/reports/funnel.csv?by=agent_type",
		"/reports/funnel?by=metadata.k", "/reports/success.csv?field=SECRET+1=SECRET", "/reports/success.csv?field=x=y", "/calls?top=1&skip=1", "/reports/funnel.csv?by=user_sentiment&compare=previous&" + span}
	for _, f := range sqlfiles.Reports() {
		if f.Arguments == "" {
			others = append(others, "/reports/"+f.Name, "/reports/"+f.Name+".csv", "/reports/"+f.Name+".json?by=agent&"+span)
		}
	}
	reported, opened, tried := 0, 0, longtest.Each(60)
	for i, address := range slices.Concat(own, others) {
		if !tried(i) {
			continue
		}
		opened++
		first, whole := get("boss", address)
		if strings.Contains(whole, analyticstest.Secret) {
			reported++
		}
		resp, body := get("agency", address, "If-None-Match", first.Header.Get("ETag"))
		if strings.Contains(without(body, address), analyticstest.Secret) {
			t.Errorf("%s tells an agency (%s): %.300s", address, resp.Status, body)
		}
		if resp.StatusCode == http.StatusNotModified || first.Header.Get("ETag") != "" && first.Header.Get("ETag") == resp.Header.Get("ETag") {
			t.Errorf("%s is the same answer for both", address)
		}
		if got := resp.Header.Get("Cache-Control"); got != "private, no-cache" {
			t.Errorf("%s may be cached: %q", address, got)
		}
		if slices.Contains(own, address) && resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s for an agency: %s", address, resp.Status, body)
		}
		if resp, body := get("costs", address); resp.StatusCode == http.StatusOK && address != "/reports" {
			t.Errorf("%s is answered for who may see costs alone: %.200s", address, body)
		}
	}
	if reported < opened/4 {
		t.Errorf("of %d addresses %d tell of others where they may", opened, reported)
	}
	for address, want := range map[string]int{"/calls/SECRET-1": 404, "/reports/changes": 403, "/reports/funnel.csv?by=number": 403, "/reports/funnel.csv?by=campaign": 200, "/calls?agent=SECRET-agent": 400} {
		if resp, body := get("agency", address); resp.StatusCode != want {
			t.Errorf("%s: %s, want %d: %s", address, resp.Status, want, body)
		}
	}
	if _, body := get("agency", "/reports"); strings.Contains(body, "reports/changes") || !strings.Contains(body, "funnel") {
		t.Errorf("the list of the reports of an agency: %s", body)
	}
	// Masked values are in no file, and no word or condition finds them.
	for _, address := range longtest.Some(2, []string{"/reports/search.csv?word=SECRET", "/reports/funnel.csv?by=metadata.k", "/reports/sentiment.csv", "/reports/tools.csv", "/reports/callers.csv"}) {
		if resp, body := get("masked", address); strings.Contains(strings.ReplaceAll(body, "SECRET-", ""), analyticstest.Secret) || resp.StatusCode != http.StatusOK {
			t.Errorf("%s tells what is masked (%s): %s", address, resp.Status, body)
		}
	}
	if _, body := get("masked", "/calls/SECRET-1"); strings.Contains(body, "SECRET 1") {
		t.Errorf("the page of a call tells what is masked: %s", body)
	}
}
