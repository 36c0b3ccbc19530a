package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
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
	"callhouse/internal/test"
)

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

// For a service with an untrusted certificate the message names the fault after one try, and the
// key is not sent.
func TestCertificateErrors(t *testing.T) {
	now := time.Now()
	day := 24 * time.Hour
	const here = "127.0.0.1"
	for _, c := range []struct {
		name       string
		cert       *tls.Certificate // nil: the service has none
		says, hint string
	}{
		{"expired", new(certificate(t, here, now.Add(-90*day), now.Add(-day))), "expired on " + now.Add(-day).UTC().Format(time.DateOnly), "renew"},
		{"not valid yet", new(certificate(t, here, now.Add(day), now.Add(9*day))), "is valid only from " + now.Add(day).UTC().Format(time.DateOnly), "clock"},
		{"another host's", new(certificate(t, "calls.example.com", now.Add(-day), now.Add(day))), "is for calls.example.com, not for 127.0.0.1", "--base-url"},
		{"an unknown authority's", new(certificate(t, here, now.Add(-day), now.Add(day))), `is signed by "Authority of a test", which this machine does not trust`, "SSL_CERT_FILE"},
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
				if r.code != cli.ExitFailed || !strings.Contains(said, address+" "+c.says) || !strings.Contains(hint, c.hint) {
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
