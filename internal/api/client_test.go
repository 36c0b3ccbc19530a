package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"callhouse/internal/test"
)

// net/http repeats a GET by itself when a kept connection breaks. That request would not be
// counted.
func TestBrokenConnectionIsNotSentTwiceUnseen(t *testing.T) {
	var got atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	test.OK(t, err)
	defer l.Close()
	go answerOnceThenHangUp(l, &got)
	tr := newTransport(1)
	defer tr.CloseIdleConnections()
	c := tester(t, tr, func(cfg *Config) { cfg.BaseURL = "http://" + l.Addr().String() })
	if _, f := c.send(t.Context(), &Request{}, func() {}); f != nil {
		t.Fatalf("%v", f)
	}
	_, f := c.send(t.Context(), &Request{}, func() {}) // the server reads it and closes
	if f == nil || f.rule != noConnection && f.rule != cutShort {
		t.Errorf("failure %v", f)
	}
	if n := got.Load(); n != 2 {
		t.Errorf("the server got %d requests, the budget knows of 2", n)
	}
}

// answerOnceThenHangUp answers the first request of each connection, reads the second, and closes.
// It counts requests and fails on bodies.
func answerOnceThenHangUp(l net.Listener, got *atomic.Int64) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			r := bufio.NewReader(conn)
			for i := range 2 {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				if req.ContentLength != 0 || len(req.TransferEncoding) > 0 || req.Header.Get("Content-Length") != "" {
					got.Add(1000)
				}
				got.Add(1)
				if i == 0 {
					fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
				}
			}
		}()
	}
}

func TestRequestsAreWellFormed(t *testing.T) {
	var seen *http.Request
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	defer s.Close()
	for _, base := range []string{s.URL, s.URL + "/", s.URL + "/v3", s.URL + "/v3/", s.URL + "/voice/eu/"} {
		c := tester(t, http.DefaultTransport, func(cfg *Config) { cfg.BaseURL, cfg.Version = base, "1.2" })
		defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		prefix := ""
		if strings.Contains(base, "voice") {
			prefix = "/voice/eu"
		}
		for id, want := range map[string]string{
			"0b5e-1":      "/v3/calls/0b5e-1",
			"a/b":         "/v3/calls/a%2Fb",
			"..":          "/v3/calls/%2E%2E",
			".":           "/v3/calls/%2E",
			"../agents":   "/v3/calls/..%2Fagents",
			"a?limit=1#x": "/v3/calls/a%3Flimit=1%23x",
			"통화 1":        "/v3/calls/%ED%86%B5%ED%99%94%201",
			"a%2Fb":       "/v3/calls/a%252Fb",
			"a;b\r\nHost": "/v3/calls/a%3Bb%0D%0AHost",
		} {
			if _, f := c.send(t.Context(), &Request{Path: "/v3/calls/" + Segment(id)}, func() {}); f != nil {
				t.Fatal(id, f)
			}
			test.Same(t, prefix+want, seen.RequestURI, "id %q was asked for as", id)
		}
		test.Same(t, "Bearer k-0123456789", seen.Header.Get("Authorization"), "Authorization")
		test.Same(t, "callhouse/1.2", seen.Header.Get("User-Agent"), "User-Agent")
	}
}

func TestBodies(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), (MaxBody>>4)+1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write([]byte(`{"a":1}`))
			_ = z.Close()
		case "/full":
			_, _ = w.Write(big[:MaxBody])
		case "/over":
			_, _ = w.Write(big)
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			_, _ = z.Write(big)
			_ = z.Close()
		case "/short":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"items":`))
		}
	}))
	defer s.Close()
	tr := newTransport(1)
	defer tr.CloseIdleConnections()
	c := tester(t, tr, func(cfg *Config) { cfg.BaseURL = s.URL })
	for path, want := range map[string]struct {
		size int
		rule *rule
	}{
		"/gzip":  {size: 7},
		"/full":  {size: MaxBody},
		"/over":  {rule: tooLarge},
		"/bomb":  {rule: tooLarge},
		"/short": {rule: cutShort},
	} {
		a, f := c.send(t.Context(), &Request{Path: path}, func() {})
		a.done()
		switch {
		case want.size > 0 && (f != nil || len(a.Body) != want.size):
			t.Errorf("%s: %d bytes, %v", path, len(a.Body), f)
		case want.size == 0 && (f == nil || f.rule != want.rule):
			t.Errorf("%s: %v", path, f)
		}
	}
}

func TestBaseURLs(t *testing.T) {
	for _, bad := range []string{"", "calls.example", "ftp://calls.example", "https://", "https://u:p@calls.example", "https://calls.example/?a=1", "https://calls.example/#x", "http://[::1"} {
		if got, err := parseBase(bad); err == nil {
			t.Errorf("%q was taken for %q", bad, got)
		} else if strings.Contains(err.Error(), "u:p") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	for _, bare := range []string{"localhost:8080", "127.0.0.1:8080", "calls.example/v3", "[::1]:80", "//calls.example", "https:/calls.example"} {
		if _, err := parseBase(bare); err == nil || !strings.HasSuffix(err.Error(), "it must start with https:// or http://") {
			t.Errorf("%q: %v", bare, err)
		}
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	key := Secret("k-very-secret")
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", key, "cfg", Config{Key: key})
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", key, "cfg", Config{Key: key})
	asJSON, err := json.Marshal(map[string]any{"key": key, "cfg": struct{ Key Secret }{key}})
	test.OK(t, err)
	text := log.String() + string(asJSON)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10s"} {
		text += fmt.Sprintf(verb+" "+verb+" "+verb, key, Config{Key: key}, &Config{Key: key}) //nolint:govet // verbs on purpose
	}
	for _, s := range []string{"very-secret", fmt.Sprintf("%x", "very-secret"), fmt.Sprintf("%X", "very-secret")} {
		if strings.Contains(text, s) {
			t.Errorf("the key shows: %s", text)
		}
	}
}

// A body never begins with a byte order mark, however it arrives.
func TestByteOrderMark(t *testing.T) {
	const mark = "\ufeff"
	var body string
	var status int
	var chunked bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		for i := range len(body) {
			_, _ = w.Write([]byte{body[i]})
			if chunked {
				w.(http.Flusher).Flush()
			}
		}
	}))
	defer s.Close()
	c := tester(t, http.DefaultTransport, func(cfg *Config) { cfg.BaseURL = s.URL })
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for text, want := range map[string]string{
		mark + `{"a":1}`:       `{"a":1}`,
		`{"a":"` + mark + `"}`: `{"a":"` + mark + `"}`,
		mark:                   "",
		"\xef\xbb":             "\xef\xbb",
		"":                     "",
	} {
		for _, chunked = range []bool{false, true} {
			body, status = text, http.StatusOK
			a, f := c.send(t.Context(), &Request{}, func() {})
			if f != nil || string(a.Body) != want {
				t.Errorf("%q, chunked %v: %q; %v", text, chunked, a.Body, f)
			}
			a.done()
		}
	}
	body, status = mark+`{"error":{"code":"C","message":"m"}}`, http.StatusConflict
	if _, f := c.send(t.Context(), &Request{}, func() {}); f == nil || !f.contract || f.code != "C" {
		t.Errorf("an error: %v", f)
	}
}
