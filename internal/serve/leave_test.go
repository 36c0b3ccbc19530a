package serve_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/longtest"
	"callhouse/internal/loopback"
	"callhouse/internal/postgres"
	"callhouse/internal/serve"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) { loopback.Main(m) }

// Clients that disconnect at any moment leave nothing: no connection, no snapshot, no goroutine.
// make soak has slow and dead clients.
func TestLeaving(t *testing.T) {
	longtest.Only(t)
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
			_, err = c.Frontend.Receive()
			test.OK(t, err)
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
		n := server.Connections()
		if n == 1 && runtime.NumGoroutine() <= before+2 { // of the later client
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections and %d goroutines are left; before there were %d", n, runtime.NumGoroutine(), before)
		}
	}
	h.holds(t, 4)
}

func ask(t *testing.T, c *pgconn.HijackedConn, sql string) {
	t.Helper()
	raw, err := (&pgproto3.Query{String: sql}).Encode(nil)
	if err == nil {
		_, err = c.Conn.Write(raw)
	}
	test.OK(t, err)
}

// A message that is too long is refused by its length, before it is read.
func TestTooLong(t *testing.T) {
	h := start(t, nil)
	for _, kind := range "QPB" {
		c, err := h.connect(t, "").PgConn().Hijack()
		test.OK(t, err)
		_, err = c.Conn.Write(binary.BigEndian.AppendUint32([]byte{byte(kind)}, 1<<30))
		test.OK(t, err)
		m, err := c.Frontend.Receive()
		if e, ok := m.(*pgproto3.ErrorResponse); err != nil || !ok || e.Code != "54000" {
			t.Error(fmt.Sprintf("%c: ", kind), m, err)
		}
		_ = c.Conn.Close()
	}
}

// So is one before the login, and the connection ends without a message.
func TestTooLongBeforeLogin(t *testing.T) {
	h := start(t, func(s *postgres.Server) {
		s.Find = func(string) (scram.StoredCredentials, postgres.Limits, error) {
			return scram.StoredCredentials{KeyFactors: scram.KeyFactors{Salt: "salt", Iters: 4096}}, postgres.Limits{}, nil
		}
	})
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", h.address)
	test.OK(t, err)
	defer c.Close()
	f := pgproto3.NewFrontend(c, c)
	f.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": "ana"}})
	test.OK(t, f.Flush())
	_, err = f.Receive()
	test.OK(t, err)
	_, err = c.Write(binary.BigEndian.AppendUint32([]byte{'p'}, 1<<30))
	test.OK(t, err)
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second)) // before the time limit of a login
	if m, err := f.Receive(); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Error(m, err)
	}
}

// The connections of a removed or changed user end, and nobody else's.
func TestRemovedUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.json")
	for _, name := range []string{"ann", "bob", "eve"} {
		u, err := serve.NewUser(name, "a good password")
		if err == nil {
			_, err = serve.PutUser(path, u)
		}
		test.OK(t, err)
	}
	list, err := serve.OpenUsers(path)
	test.OK(t, err)
	changed := list.Watch()
	if gone, err := changed(); len(gone) > 0 || err != nil {
		t.Errorf("at first: %v, %v", gone, err)
	}
	var server *postgres.Server
	h := start(t, func(s *postgres.Server) { s.Find, server = list.ForPostgres(postgres.Limits{}), s })
	connected := map[string]*pgx.Conn{}
	for _, name := range []string{"ann", "bob", "eve"} {
		c, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s:a%%20good%%20password@%s/callhouse", name, h.address))
		test.OK(t, err)
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		connected[name] = c
	}
	_, err = serve.RemoveUser(path, "ann")
	test.OK(t, err)
	eve, err := serve.NewUser("eve", "another password")
	if err == nil {
		_, err = serve.PutUser(path, eve)
	}
	test.OK(t, err)
	gone, err := changed()
	if slices.Sort(gone); !slices.Equal(gone, []string{"ann", "eve"}) || err != nil {
		t.Errorf("changed are %v, %v", gone, err)
	}
	for _, name := range gone {
		server.End(name)
		if _, err := connected[name].PgConn().ReceiveMessage(t.Context()); code(err) != "57P01" {
			t.Errorf("the connection of %s: %v", name, err)
		}
	}
	if err := connected["bob"].Ping(t.Context()); err != nil {
		t.Errorf("the connection of another user: %v", err)
	}
}

// Text that is not UTF-8 is refused, and never sent back.
func testNotUTF8(t *testing.T, h *testServer) {
	c := h.connect(t, "").PgConn()
	for name, ask := range map[string]func(text string) error{
		"simple": func(text string) error {
			_, err := c.Exec(t.Context(), "SELECT \"x"+text+"\" FROM calls").ReadAll()
			return err
		},
		"extended": func(text string) error {
			_, err := c.Prepare(t.Context(), "", "SELECT '"+text+"' FROM nothing", nil)
			return err
		},
		"a parameter": func(text string) error {
			return c.ExecParams(t.Context(), "SELECT $1", [][]byte{[]byte(text)}, nil, nil, nil).Read().Err
		},
		"a name": func(text string) error { return c.ExecPrepared(t.Context(), text, nil, nil, nil).Read().Err },
	} {
		for _, text := range []string{"a\xffb", "\xe2\x80"} {
			err := ask(text)
			if err := ask("a\u202eb"); err != nil && strings.Contains(err.Error(), "\u202e") {
				t.Errorf("%s turns its text: %q", name, err)
			}
			if err == nil || name != "a name" && code(err) != "22021" || strings.Contains(err.Error(), "\xff") || strings.Contains(err.Error(), text) {
				t.Errorf("%s with %q: %q", name, text, err)
			}
		}
	}
}
