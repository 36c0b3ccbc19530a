package e2e

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/serve/users"
	"callhouse/internal/test"
	"callhouse/internal/words"
)

// serving is a running query serve.
type serving struct {
	cmd            *exec.Cmd
	postgres, http string        // addresses
	ended          chan struct{} // closed when it has ended
}

const servePassword = "a-good-password"

// smallUser is the name of users limited to 64 MiB.
const smallUser = "small"

// serve starts query serve for users, and waits until it listens. heard is called with each later
// line of output.
func serve(t *testing.T, heard func(line string), names []string, args ...string) *serving {
	t.Helper()
	list := filepath.Join(t.TempDir(), "users.json")
	for _, name := range names {
		u, err := users.NewUser(name, servePassword)
		if name == smallUser {
			u.Memory = 64 << 20
		}
		if err == nil {
			_, err = users.Put(list, u)
		}
		test.OK(t, err)
	}
	args = append([]string{"serve", "--postgres", "127.0.0.1:0", "--http", "127.0.0.1:0", "--users", list}, args...)
	s := &serving{cmd: exec.CommandContext(context.WithoutCancel(t.Context()), linkProgram(t, t.TempDir(), "query"), args...), ended: make(chan struct{})}
	stderr, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	test.OK(t, err)
	lines := bufio.NewScanner(stderr)
	for s.postgres == "" || s.http == "" {
		if !lines.Scan() {
			t.Fatalf("query serve ended: %v", s.cmd.Wait())
		}
		address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(lines.Text())
		if strings.Contains(lines.Text(), "serving HTTP") {
			s.http = "http://" + address
		} else {
			s.postgres = address
		}
	}
	said := words.Head{Most: 16 << 10}
	go func() {
		defer close(s.ended)
		for lines.Scan() {
			words.Fprintf(&said, "%s\n", lines.Text())
			heard(lines.Text())
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		<-s.ended
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("query serve ended with %v:\n%s", err, said.String())
		}
	})
	return s
}

// as returns the connection string of a user.
func (s *serving) as(user string) string {
	return "postgres://" + user + ":" + servePassword + "@" + s.postgres + "/callhouse?sslmode=disable"
}

// With a certificate, query serve refuses unencrypted connections, also on the loopback. Without
// one, it does not listen on other addresses.
func TestServeEncrypts(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Agencies())
	pair := certificate(t, "127.0.0.1", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	test.OK(t, err)
	for name, b := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key}} {
		test.OK(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600))
	}
	s := serve(t, func(string) {}, []string{"ana"}, "--warehouse", root, "--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem"))
	for _, mode := range []string{"disable", "require"} {
		c, err := pgconn.Connect(t.Context(), strings.Replace(s.as("ana"), "sslmode=disable", "sslmode="+mode, 1))
		var p *pgconn.PgError
		refused := errors.As(err, &p) && p.Code == "28000"
		if err == nil {
			err = c.Close(t.Context())
		}
		if refused != (mode == "disable") || !refused && err != nil {
			t.Errorf("sslmode=%s: %v", mode, err)
		}
	}
	r := (&company{t: t, warehouse: root}).query("serve", "--postgres", "0.0.0.0:0")
	r.reports(t, cli.ExitUsage, "0.0.0.0:0 is not a loopback address, so it requires logins and TLS")
}
