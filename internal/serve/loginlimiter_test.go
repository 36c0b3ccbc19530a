package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"callhouse/internal/postgres"
	"callhouse/internal/test"
)

// tries tries n passwords in sequence, and returns how many were checked.
func tries(t *testing.T, b *LoginLimiter, n int, isWrong bool, user, address string) (looked int) {
	t.Helper()
	for range n {
		done, err := b.Try(t.Context(), user, address)
		if err == nil {
			looked++
			done(isWrong)
		} else if !errors.Is(err, ErrTooMany) {
			t.Fatal(err)
		}
	}
	return looked
}

// Wrong passwords become slow for one address and one user; right ones from elsewhere do not, and
// after a minute all is as before.
func TestLoginLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := new(LoginLimiter), time.Now()
		took := func() time.Duration { d := time.Since(began); began = time.Now(); return d }
		if n := tries(t, b, 10, true, "ana", "192.0.2.1:1000"); n != 10 || took() != 0 {
			t.Errorf("of the first ten %d are looked at", n)
		}
		const more = 1000
		n := tries(t, b, more, true, "ana", "192.0.2.1:2000")
		if rate := float64(n) / took().Minutes(); rate > 11 || n == 0 {
			t.Errorf("from one address %.1f wrong passwords a minute are looked at", rate)
		}
		if n := tries(t, b, 1, false, "ana", "192.0.2.2:1000"); n != 1 || took() > userDelay {
			t.Error("the right password from another address is kept out, or takes longer than a second")
		}
		if n := tries(t, b, 1, false, "bob", "192.0.2.2:1000"); n != 1 || took() != 0 {
			t.Error("another user from another address waits")
		}
		if n := tries(t, b, 1, false, "bob", "192.0.2.1:1000"); n == 1 && took() == 0 {
			t.Error("another user from the same address does not wait")
		}
		time.Sleep(2 * time.Minute)
		took()
		if n := tries(t, b, 50, false, "ana", "192.0.2.1:1000"); n != 50 || took() != 0 {
			t.Error("after two minutes right passwords still wait")
		}
		// Concurrent right passwords: a pool opens its connections.
		var open []func(bool)
		for range 10 {
			done, err := b.Try(t.Context(), "ana", "[2001:db8::1]:1")
			test.OK(t, err)
			open = append(open, done)
		}
		go func() {
			time.Sleep(50 * time.Millisecond)
			for _, done := range open {
				done(false)
			}
		}()
		if done, err := b.Try(t.Context(), "ana", "[2001:db8::2]:1"); err != nil || took() != 100*time.Millisecond {
			t.Error("the eleventh at once is kept out, or is of another network")
		} else {
			done(false)
		}
		// Many concurrent ones are accepted even if each takes long.
		late := make(chan error, 200)
		for range cap(late) {
			go func() {
				done, err := b.Try(context.Background(), "ana", "192.0.2.8:1")
				if err == nil {
					time.Sleep(100 * time.Millisecond)
					done(false)
				}
				late <- err
			}()
		}
		for range cap(late) {
			if err := <-late; err != nil {
				t.Fatal("of 200 right ones at once, each of which takes a tenth of a second:", err)
			}
		}
		// Concurrency is no way around the limit.
		results := make(chan bool, 500)
		for range cap(results) {
			go func() {
				done, err := b.Try(context.Background(), "ana", "192.0.2.9:1")
				if err == nil {
					time.Sleep(time.Millisecond)
					done(true)
				}
				results <- err == nil
			}()
		}
		n = 0
		for range cap(results) {
			if <-results {
				n++
			}
		}
		if n > 11 {
			t.Errorf("%d of 500 at once are looked at", n)
		}
		for i := range 3 * maxBucket {
			done, err := b.Try(t.Context(), fmt.Sprint("user", i), fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255))
			test.OK(t, err)
			done(true)
		}
		if len(b.addresses) > maxBucket || len(b.byUser) > maxBucket {
			t.Errorf("%d addresses and %d users are remembered", len(b.addresses), len(b.byUser))
		}
	})
}

// hostOf answers clients by naming them.
type hostOf chan string

func (h hostOf) Answer(_ context.Context, _ net.Conn, g postgres.Connection) error {
	h <- g.User
	return nil
}

func (hostOf) Cancel(uint32) {}

// A login that its client leaves unfinished takes no attempt, and one with a proof takes one.
func TestUnfinishedLogins(t *testing.T) {
	path, b, host := filepath.Join(t.TempDir(), "users.json"), new(LoginLimiter), make(hostOf, 1)
	u, err := NewUser("ana", "a-good-password")
	test.OK(t, err)
	_, err = PutUser(path, u)
	test.OK(t, err)
	list, err := OpenUsers(path)
	test.OK(t, err)
	server := &postgres.Server{Host: host, Find: list.ForPostgres(postgres.Limits{}), Try: b.Try}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it listens at once
	test.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	for range maxWrong {
		c, err := net.Dial("tcp", l.Addr().String()) //nolint:noctx // of this test's own server
		test.OK(t, err)
		defer c.Close()
		f := pgproto3.NewFrontend(c, c)
		f.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "ana"}})
		f.Send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("n,,n=,r=abcdefghijklmnopqrstuvwx")})
		test.OK(t, f.Flush())
		for range 2 { // the mechanisms, and the salt
			_, err := f.Receive()
			test.OK(t, err)
		}
	}
	left := func() float64 {
		b.mu.Lock()
		defer b.mu.Unlock()
		return of(&b.addresses, "127.0.0.1").left
	}
	if left() != maxWrong {
		t.Errorf("after %d unfinished logins %v attempts are left", maxWrong, left())
	}
	try := func(password string) error {
		_, err := pgconn.Connect(t.Context(), "postgres://ana:"+password+"@"+l.Addr().String()+"/callhouse?sslmode=disable")
		return err
	}
	if err := try("a-wrong-password"); err == nil || left() > maxWrong-.9 {
		t.Errorf("after a wrong password (%v) %v attempts are left", err, left())
	}
	if err := try("a-good-password"); len(host) != 1 {
		t.Errorf("the right password: %v", err)
	}
	cancel()
	test.OK(t, <-served)
}
