package querycmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callhouse/internal/alert"
	"callhouse/internal/test"
)

// posted is a request received by a server.
type posted struct {
	header http.Header
	body   []byte
}

// server records requests. It answers with the given statuses in turn, then with 200.
func server(t *testing.T, statuses ...int) (*httptest.Server, *[]posted) {
	var got []posted
	_ = known()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, posted{r.Header.Clone(), body})
		if n := len(got); n <= len(statuses) {
			if statuses[n-1]/100 == 3 {
				w.Header().Set("Location", "/elsewhere")
			}
			w.Header().Set("Retry-After", map[int]string{429: "3"}[statuses[n-1]])
			w.WriteHeader(statuses[n-1])
			_, _ = io.WriteString(w, map[int]string{201: "invalid_payload", 202: `{"ok": false, "error": "no_text"}`, 203: "<!DOCTYPE html>",
				206: "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429"}[statuses[n-1]])
		}
	}))
	t.Cleanup(s.Close)
	return s, &got
}

// known returns the certificates of httptest, for 127.0.0.1, and makes this process trust them.
var known = sync.OnceValue(func() []tls.Certificate {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	dir, err := os.MkdirTemp("", "authority")
	if err == nil {
		defer os.RemoveAll(dir)
		name := filepath.Join(dir, "ca.pem")
		err = os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600)
		os.Setenv("SSL_CERT_FILE", name)
		defer os.Unsetenv("SSL_CERT_FILE")
		_, _ = x509.SystemCertPool() // reads the file once for the process
	}
	if err != nil {
		panic(err)
	}
	return s.TLS.Certificates
})

// message returns a message about two groups, whose names contain markup.
func message() *alert.Message {
	from := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	n := 212.0
	item := alert.Item{Group: "agent <!channel> *Triage* `x` [a](http://b)\n\x1b[31m", Since: from, From: from, To: from.AddDate(0, 0, 1),
		Value: alert.Figure{Text: "41.2%", Number: 41.2}, Low: &alert.Figure{Text: "35.0%", Number: 35}, High: &alert.Figure{Text: "47.6%", Number: 47.6},
		Bounds: alert.BoundsOfValue, Before: &alert.Figure{Text: "62.3%", Number: 62.3}, Calls: &n, Of: "answered calls",
		Command: "query calls --since 2026-11-20 --until 2026-11-21 --tz UTC --agent a1", Link: "https://calls.example.com/calls?agent=a1&since=2026-11-20"}
	other := item
	other.Group, other.Link, other.Since = "agent Sales & Co", "", from.AddDate(0, 0, -1)
	return &alert.Message{ID: "5f3a", Channel: "ops", Event: alert.Started, Source: "acme", Rule: "completed low", Condition: "completed_percent below 65.0%",
		At: from.Add(27 * time.Hour), Items: []alert.Item{item, other}}
}

// The requests that each channel sends.
func TestForms(t *testing.T) {
	for name := range forms {
		t.Run(name, func(t *testing.T) {
			s, got := server(t)
			c, err := newPoster(s.URL+"/hook", name)
			test.OK(t, err)
			test.OK(t, c.Send(t.Context(), message()))
			r := (*got)[0]
			var v any
			test.OK(t, json.Unmarshal(r.body, &v))
			var text strings.Builder
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			test.OK(t, e.Encode(v))
			test.Golden(t, "testdata/alerts/"+name+".golden", text.String())
			if r.header.Get(headerID) != "5f3a" {
				t.Errorf("headers: %v", r.header)
			}
		})
	}
	test.Golden(t, "testdata/alerts/text.golden", messageText(message()))
}

// A message about many groups stays small.
func TestManyGroups(t *testing.T) {
	m := message()
	for range 500 {
		m.Items = append(m.Items, m.Items[0])
	}
	for _, form := range []any{slack(m), teams(m), map[string]string{"text": messageText(m)}} {
		raw, err := json.Marshal(form)
		if err != nil || len(raw) > 20<<10 || !strings.Contains(string(raw), "and 492 more") {
			t.Errorf("%d bytes, %v: %.300s", len(raw), err, raw)
		}
	}
}

// Failures of a channel. Its errors do not reveal its address.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		status  int
		refused bool
	}{{201, false}, {202, false}, {203, false}, {206, false}, {500, false}, {503, false}, {429, true}, {404, true}, {403, true}, {302, true}} {
		s, got := server(t, c.status)
		ch, err := newPoster(s.URL+"/services/T0/B0/verysecret", "slack")
		test.OK(t, err)
		err = ch.Send(t.Context(), message())
		var refused *alert.RefusedError
		if err == nil || errors.As(err, &refused) != c.refused || c.status == 429 && refused.After != 3*time.Second || strings.Contains(err.Error(), "secret") || len(*got) != 1 {
			t.Errorf("status %d: %v after %d requests", c.status, err, len(*got))
		}
		if err := ch.Send(t.Context(), message()); err != nil {
			t.Errorf("after status %d: %v", c.status, err)
		}
	}
	s, got := server(t)
	ch, err := newPoster(strings.Replace(s.URL, "127.0.0.1", "localhost", 1)+"/verysecret", "webhook")
	if err == nil {
		err = ch.Send(t.Context(), message())
	}
	if !errors.As(err, new(*tls.CertificateVerificationError)) || strings.Contains(err.Error(), "secret") || len(*got) != 0 {
		t.Errorf("a certificate of another host: %v", err)
	}
	s.Close()
	ch, _ = newPoster(s.URL+"/verysecret", "teams")
	if err := ch.Send(t.Context(), message()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody listens: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ch.Send(ctx, message()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, address := range []string{"", "x", "ftp://127.0.0.1", "http://example.com/hook", "https://"} {
		if _, err := newPoster(address, "webhook"); err == nil {
			t.Errorf("the address %q is accepted", address)
		}
	}
}
