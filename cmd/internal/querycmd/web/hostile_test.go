package web_test

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// Bidirectional controls are shown as code points, wherever they occur.
func TestTextThatTurns(t *testing.T) {
	const turn = "\u202e"
	s := serverOf(t, analyticstest.Data{
		Calls: []analyticstest.Row{{"call_id": "c0", "agent_id": "a" + turn + "b", "start_at": int64(1_732_900_000_000), "status": "ended" + turn, "duration_ms": int64(500)}},
		Turns: []analyticstest.Row{{"call_id": "c0", "turn": int64(0), "role": "agent", "content": "hello " + turn + " olleh"}},
	}, nil)
	tried := longtest.Each(2)
	for i, address := range []string{"/?since=2024-11-01", "/calls?since=2024-11-01", "/calls/c0", "/reports/search?word=hello", "/reports/search?word=%E2%80%AE", "/reports/no%E2%80%AEne", "/calls?%E2%80%AE=1"} {
		if !tried(i) {
			continue
		}
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
	for _, address := range []string{"/reports/search?word=%00", "/reports/search.csv?word=a%ffb", "/calls?agent=%00", "/calls?where=metadata.k=%00", "/calls/%00", "/calls/%ff", "/reports/success?field=%00"} {
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
		"POST /mcp HTTP/1.1\r\nContent-Length: 1000000\r\n":                                      "401",
		"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n":                                   "401",
		"GET /healthz HTTP/1.1\r\n":                                                              "200",
		"GET /healthz HTTP/1.1\r\nContent-Length: 10\r\n":                                        "200",
		"GET /style.css HTTP/1.1\r\nContent-Length: 10\r\nAuthorization: Basic eDpyaWdodA==\r\n": "200", // x:right
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		test.OK(t, err)
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.WriteString(c, head+"Host: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(c) // until the server closes it
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+status) {
			t.Errorf("%q: %v, %.100q", head, err, answer)
		}
		_ = c.Close()
	}
}
