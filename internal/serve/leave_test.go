package serve_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/postgres"
	"callhouse/internal/test"
)

// Clients that disconnect at any moment leave nothing: no connection, no snapshot, no goroutine.
// make serve-load does it with hundreds, and with dead clients.
func TestLeaving(t *testing.T) {
	var server *postgres.Server
	h := start(t, func(s *postgres.Server) { server = s })
	h.connect(t, "").Close(context.Background())
	before := runtime.NumGoroutine()
	for i, sql := range []string{
		"SELECT count(*) FROM calls",
		"SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range + b.range < 0",
		"SELECT repeat('x', 1000) FROM range(1000000000)",
	} {
		for _, linger := range []int{0, -1} { // a reset, and a normal close
			c, err := h.connect(t, "").PgConn().Hijack()
			test.OK(t, err)
			ask(t, c, "BEGIN; SELECT count(*) FROM calls")
			if _, err := c.Frontend.Receive(); err != nil {
				t.Fatal(err)
			}
			ask(t, c, sql)
			_ = c.Conn.(*net.TCPConn).SetLinger(linger)
			_ = c.Conn.Close()
		}
		analyticstest.Write(t, h.root, int64(i+2), analyticstest.Data{Calls: calls(i + 3)})
	}
	if got := texts(t, h.connect(t, ""), "SELECT count(*) FROM calls"); !slices.Equal(got, []string{"5"}) {
		t.Errorf("afterwards: %v calls", got)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		n, open := server.Connections(), h.houses.Snapshots()
		if n == 1 && slices.Equal(open, []int64{4}) && runtime.NumGoroutine() <= before+2 { // of the later client
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections, the snapshots %v and %d goroutines are left; before there were %d", n, open, runtime.NumGoroutine(), before)
		}
	}
}

func ask(t *testing.T, c *pgconn.HijackedConn, sql string) {
	t.Helper()
	raw, err := (&pgproto3.Query{String: sql}).Encode(nil)
	if err == nil {
		_, err = c.Conn.Write(raw)
	}
	if err != nil {
		t.Error(err)
	}
}

// A message that is too long is refused by its length, before it is read.
func TestTooLong(t *testing.T) {
	h := start(t, nil)
	for _, kind := range "QPB" {
		c, err := h.connect(t, "").PgConn().Hijack()
		test.OK(t, err)
		if _, err := c.Conn.Write(binary.BigEndian.AppendUint32([]byte{byte(kind)}, 1<<30)); err != nil {
			t.Fatal(err)
		}
		m, err := c.Frontend.Receive()
		if e, ok := m.(*pgproto3.ErrorResponse); err != nil || !ok || e.Code != "54000" {
			t.Error(fmt.Sprintf("%c: ", kind), m, err)
		}
		_ = c.Conn.Close()
	}
}

// nobody has no users.
type nobody struct{}

func (nobody) Find(string) (scram.StoredCredentials, postgres.Limits, error) {
	return scram.StoredCredentials{KeyFactors: scram.KeyFactors{Salt: "salt", Iters: 4096}}, postgres.Limits{}, nil
}

// So is one before the login, and the connection ends without a message.
func TestTooLongBeforeLogin(t *testing.T) {
	h := start(t, func(s *postgres.Server) { s.Users = nobody{} })
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", h.address)
	test.OK(t, err)
	defer c.Close()
	f := pgproto3.NewFrontend(c, c)
	f.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": "ana"}})
	test.OK(t, f.Flush())
	if _, err := f.Receive(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(binary.BigEndian.AppendUint32([]byte{'p'}, 1<<30)); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second)) // before the time limit of a login
	if m, err := f.Receive(); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Error(m, err)
	}
}
