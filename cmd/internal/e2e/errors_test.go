package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// User errors and faults are reported in one line with a hint, and with the documented exit code.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Setenv("CALLHOUSE_API_KEY", "")
	t.Setenv("CALLHOUSE_BASE_URL", "")
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 10, Days: 3}})
	dir := t.TempDir()
	file := func(name, content string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		test.OK(t, errors.Join(os.WriteFile(path, []byte(content), mode), os.Chmod(path, mode))) // whatever the umask is
		return path
	}
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	plain := file("plain", "", 0o600)
	base, key := "--base-url="+c.service.URL, "--api-key-file="+c.keyFile
	wh := "--warehouse=" + filepath.Join(dir, "w")
	for _, e := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"no such key file", []string{wh, base, "--api-key-file=" + dir + "/none"}, cli.ExitUsage, []string{"does not exist"}},
		{"empty key file", []string{wh, base, "--api-key-file=" + plain}, cli.ExitUsage, []string{"is empty"}},
		{"open key file", []string{wh, base, "--api-key-file=" + file("open", "k", 0o644)}, cli.ExitUsage, []string{"can be read by others", "chmod 600"}},
		{"unreachable", []string{wh, "--base-url=http://127.0.0.1:1", key}, cli.ExitFailed, []string{"no response from http://127.0.0.1:1", "refused", "--base-url"}},
		{"no address", []string{wh, key}, cli.ExitUsage, []string{"no service address", "CALLHOUSE_BASE_URL"}},
		{"not an address", []string{wh, "--base-url=example.org", key}, cli.ExitUsage, []string{"must start with https://"}},
		{"a port and no scheme", []string{wh, "--base-url=127.0.0.1:8080", key}, cli.ExitUsage, []string{`base URL "127.0.0.1:8080": it must start with https://`, "CALLHOUSE_BASE_URL"}},
		{"not the service", []string{wh, "--base-url=" + elsewhere.URL, key}, cli.ExitFailed, []string{"is the base URL right"}},
		{"an error of the service", []string{wh, base + "/other", key}, cli.ExitFailed, []string{"the service refuses /v3/calls: 404 not found, NOT_FOUND: "}},
		{"unwritable warehouse", []string{"--warehouse=" + plain + "/w", base, key}, cli.ExitFailed, []string{plain, "--warehouse"}},
		{"no path", []string{"--warehouse=", base, key}, cli.ExitUsage, []string{"the path of the warehouse is empty", "--warehouse"}},
		{"unknown flag", []string{"--nope"}, cli.ExitUsage, []string{"--nope", "--help"}},
		{"unknown command", []string{"runn"}, cli.ExitUsage, []string{`"runn"`, "did you mean: extract run?", "--help"}},
		{"misspelt flag", []string{"run", "--max-duratoin", "6h"}, cli.ExitUsage, []string{"--max-duratoin", "did you mean: --max-duration?"}},
	} {
		t.Run(e.name, func(t *testing.T) {
			r := extract(t.Context(), append(withRun(e.args), "--quiet")...)
			r.exits(t, e.code)
			for _, s := range e.says {
				if !strings.Contains(r.stderr, s) {
					t.Errorf("the message lacks %q", s)
				}
			}
			said := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
			if len(said) > 2 || !strings.HasPrefix(said[0], "extract: ") || strings.Contains(r.stderr, "goroutine") {
				t.Errorf("want a line, and perhaps one with what to do")
			}
			if t.Failed() {
				t.Logf("it said:\n%s", r.stderr)
			}
		})
	}
	t.Run("no warehouse yet", func(t *testing.T) {
		c.warehouse = filepath.Join(dir, "none")
		r := c.query("sentiment")
		if r.code != cli.ExitFailed || !strings.Contains(r.stderr, "no warehouse") || r.stdout != "" {
			t.Errorf("exit code %d, stdout %q, stderr:\n%s", r.code, r.stdout, r.stderr)
		}
	})
}

// Exit code 2 means that no request was sent and nothing was written, even if a warehouse exists.
func TestWrongUseWritesNothing(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 10, Days: 3}})
	c.mustExtract("--mask", "from_number")
	state := func() string {
		t.Helper()
		s := current(t, c.warehouse)
		left, err := os.ReadDir(filepath.Join(c.warehouse, "journal"))
		if err != nil || len(left) > 0 {
			t.Errorf("the journal holds %v, %v", left, err)
		}
		return s.Dir
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		test.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	before, requested := state(), c.service.Server.Stats().Requests
	for _, args := range []string{
		"--requests-per-second 2000000", "--api-key-file " + file("spaces", "a key"), "--api-key-file " + file("key\u00e9", "k\u00e9y"),
		"--mask-key-file " + filepath.Join(dir, "none"), "--mask-key-file " + file("short", "abc"), "--mask-key-file " + file("other", strings.Repeat("ab", 32)),
		"--mask nothing.such", "--keep 1d", "--since yesteryear", "--share 2", "--resources none,such",
		"--base-url ftp://x", "--max-duration -1d", "--base-url http://user:pw@example.com",
	} {
		r := c.extract(t.Context(), append([]string{"run"}, strings.Fields(args)...)...)
		if r.code != cli.ExitUsage || strings.Contains(r.stderr, "run 20") {
			t.Errorf("%s: exit code %d:\n%s", args, r.code, r.stderr)
		}
	}
	if after := state(); after != before || c.service.Server.Stats().Requests != requested {
		t.Errorf("%s is now %s, after %d requests", before, after, c.service.Server.Stats().Requests-requested)
	}
	// The next run adds no rows for them either.
	c.mustExtract()
	if n := len(c.sql("SELECT * FROM runs")); n != 2 {
		t.Errorf("%d runs are on record, want 2", n)
	}
}

// certificate returns a self-signed certificate for a host and a period.
func certificate(t *testing.T, host string, from, to time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	test.OK(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Authority of a test"}, NotBefore: from, NotAfter: to}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{host}
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	test.OK(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// For a service with an untrusted certificate the message names the fault after one try, and the key is not sent.
func TestCertificateErrors(t *testing.T) {
	now := time.Now()
	day := 24 * time.Hour
	const here = "127.0.0.1"
	for _, c := range []struct {
		name       string
		cert       *tls.Certificate // nil: the service has none
		says, hint string
	}{
		{"expired", new(certificate(t, here, now.Add(-90*day), now.Add(-day))), " is not trusted: tls: failed to verify certificate: x509: certificate has expired", "clock"},
		{"not valid yet", new(certificate(t, here, now.Add(day), now.Add(9*day))), "is before " + now.Add(day).UTC().Format(time.DateOnly), "clock"},
		{"another host's", new(certificate(t, "calls.example.com", now.Add(-day), now.Add(day))), "cannot validate certificate for 127.0.0.1", "--base-url"},
		{"an unknown authority's", new(certificate(t, here, now.Add(-day), now.Add(day))), "signed by unknown authority", "SSL_CERT_FILE"},
		{"no TLS", nil, "serves http, not https", "http://"},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests, tries := 0, 0
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					tries++
				}
			}
			if c.cert == nil {
				s.Start()
			} else {
				s.TLS = &tls.Config{Certificates: []tls.Certificate{*c.cert}, MinVersion: tls.VersionTLS12}
				s.StartTLS()
			}
			dir := t.TempDir()
			key := filepath.Join(dir, "key")
			test.OK(t, os.WriteFile(key, []byte(testKey), 0o600))
			address := "https://" + s.Listener.Addr().String()
			for _, args := range []string{"run", "plan"} {
				r := extract(t.Context(), args, "--quiet", "--base-url", address, "--api-key-file", key, "--warehouse", filepath.Join(dir, "w"))
				said, hint, _ := strings.Cut(r.stderr, "\n")
				if r.code != cli.ExitFailed || !strings.Contains(said, address+" ") || !strings.Contains(said, c.says) || !strings.Contains(hint, c.hint) {
					t.Errorf("%s: exit code %d:\n%s", args, r.code, r.stderr)
				}
			}
			s.Close()
			if requests > 0 || tries != 2 {
				t.Errorf("%d requests in %d connections, want 0 in 2", requests, tries)
			}
		})
	}
}
