package postgres

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"sync"
	"time"
)

// Server answers clients over the Postgres protocol.
type Server struct {
	Backend Backend
	Users   Users // nil: everybody is let in, by any name
	// Try returns when a password that a client offers may be looked at, or why it is not;
	// what came of it is told to done. nil: at once.
	Try func(ctx context.Context, user, address string) (done func(isWrong bool), err error)
	TLS *tls.Config // nil: none
	// NeedTLS refuses connections that are not encrypted.
	NeedTLS bool
	Limits  Limits // of each user, where Users says no others
	// Most is how many connections there may be in all; 0: no limit.
	Most  int
	Audit func(Entry)
	Log   func(string) // of what is nobody's statement: a bug, a connection that was refused

	mu      sync.Mutex
	clients map[uint32]*client
	of      map[string]int // connections by user
	next    uint32
	wg      sync.WaitGroup
}

// Limits bound what a user may take.
type Limits struct {
	Connections int           // 0: no limit
	Statement   time.Duration // 0: no limit
	Idle        time.Duration // between the statements of a transaction; 0: no limit
}

// Entry is a statement that ended, for the audit.
type Entry struct {
	At          time.Time
	User        string
	From        string // the client's address
	Application string
	Text        string
	Took        time.Duration
	Rows        int64
	Code        string // SQLSTATE; 00000: it succeeded
}

// Serve answers the connections of a listener, until ctx is done and all of them have
// ended. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	defer s.wg.Wait()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if err != nil {
			var temporary net.Error
			if errors.As(err, &temporary) && temporary.Timeout() || isFull(err) {
				time.Sleep(100 * time.Millisecond) // there are too many open files; some will be closed
				continue
			}
			return fmt.Errorf("accept connections: %w", err)
		}
		s.wg.Add(1)
		go s.handle(ctx, conn)
	}
}

func (s *Server) log(text string) {
	if s.Log != nil {
		s.Log(text)
	}
}

// handle answers one connection to its end. A bug in what it runs ends the connection and nothing else.
func (s *Server) handle(ctx context.Context, conn net.Conn) {
	defer s.wg.Done()
	c := newClient(s, conn)
	defer func() {
		if r := recover(); r != nil {
			s.log(fmt.Sprintf("a connection ended by a bug: %v\n%s", r, debug.Stack()))
		}
		c.close()
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.run(ctx)
}

// enter registers a client who was let in, under a key for cancel requests.
func (s *Server) enter(c *client, most int) error {
	c.key = make([]byte, 4)
	_, _ = rand.Read(c.key) // it never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients == nil {
		s.clients, s.of = map[uint32]*client{}, map[string]int{}
	}
	if s.Most > 0 && len(s.clients) >= s.Most || most > 0 && s.of[c.user] >= most {
		return &Error{Code: codeTooMany, Message: "sorry, too many clients already", Hint: "close connections, or raise --max-connections"}
	}
	for s.next++; s.clients[s.next] != nil || s.next == 0; s.next++ {
	}
	c.pid = s.next
	s.clients[c.pid] = c
	s.of[c.user]++
	return nil
}

func (s *Server) leave(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients[c.pid] != c {
		return
	}
	delete(s.clients, c.pid)
	if s.of[c.user]--; s.of[c.user] == 0 {
		delete(s.of, c.user)
	}
}

// Connections returns how many clients there are.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clients)
}

// cancelOf stops what a client runs, if the key is the one that it was given.
func (s *Server) cancelOf(pid uint32, key []byte) {
	s.mu.Lock()
	c := s.clients[pid]
	s.mu.Unlock()
	if c != nil && len(key) == len(c.key) && subtle.ConstantTimeCompare(binary.BigEndian.AppendUint32(key, pid), binary.BigEndian.AppendUint32(c.key, c.pid)) == 1 {
		c.stop(errCancelled)
	}
}
