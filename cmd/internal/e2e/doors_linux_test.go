package e2e

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"golang.org/x/sys/unix"

	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// strangers are the first bytes of clients that never log in. They connect again whenever they are left.
func strangers(t *testing.T) map[string]string {
	t.Helper()
	raw := func(m pgproto3.FrontendMessage) string {
		b, err := m.Encode(nil)
		test.OK(t, err)
		return string(b)
	}
	startup := raw(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "ana"}})
	half := raw(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("n,,n=,r=abcdefghijklmnopqrstuvwx")})
	return map[string]string{"nothing": "", "a body that does not come": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
		"a header without an end": "GET / HTTP/1.1\r\nHost: localhost\r\n", "a startup message": startup, "half a login": startup + half,
		"requests for encryption": strings.Repeat(raw(&pgproto3.SSLRequest{}), 3), "requests to cancel": raw(&pgproto3.CancelRequest{SecretKey: []byte("abcd")}),
		"half a TLS record": "\x16\x03\x01"}
}

// Whatever 700 strangers send to a server with 512 descriptors, users log in over both protocols meanwhile.
func TestStrangersAtTheDoors(t *testing.T) {
	longtest.Only(t)
	s := &served{busy: newBusy(t)}
	s.serving = serve(t, func(string) {}, servedUsers, "--warehouse", s.root)
	test.OK(t, unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 512, Max: 512}, nil))
	for name, begin := range strangers(t) {
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 700 {
			all.Go(func() {
				for address := []string{s.postgres, strings.TrimPrefix(s.http, "http://")}[i%2]; ctx.Err() == nil; {
					c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
					if err != nil {
						continue
					}
					done := context.AfterFunc(ctx, func() { _ = c.Close() })
					_, _ = io.WriteString(c, begin)
					_, _ = io.Copy(io.Discard, c)
					done()
					_ = c.Close()
					time.Sleep(time.Second)
				}
			})
		}
		time.Sleep(time.Second)
		for range 3 {
			began := time.Now()
			within, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, _, err := s.get(within, "/reports/funnel.json")
			if err != nil {
				t.Errorf("%s: over HTTP: %v", name, err)
			}
			c, err := pgx.Connect(within, s.as("bo"))
			if err == nil {
				_, err = c.Exec(within, "SELECT count(*) FROM calls")
				_ = c.Close(within)
			}
			if err != nil {
				t.Errorf("%s: over the Postgres protocol: %v", name, err)
			}
			cancel()
			t.Logf("%s: %s; %s", name, time.Since(began).Round(time.Millisecond), s.gauges())
		}
		leave()
		all.Wait()
	}
}
