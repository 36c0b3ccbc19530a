package postgres

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/xdg-go/scram"
)

// Server authenticates clients and passes them to a Host.
type Server struct {
	Host Host
	// Find returns the password verifier and limits of a user; for an unknown name credentials that no
	// password matches. nil: everyone may log in with any name.
	Find func(name string) (scram.StoredCredentials, Limits, error)
	// Try waits until an offered password may be checked, or returns why not; done receives the
	// result. nil: without waiting.
	Try func(ctx context.Context, user, address string) (done func(isWrong bool), err error)
	TLS *tls.Config // nil: none
	// NeedTLS refuses unencrypted connections.
	NeedTLS bool
	Limits  Limits // defaults for users
	// MaxConnections is the maximum number of connections; 0: no limit.
	MaxConnections int
	Admitted       func(net.Conn) // called after a login; nil: nothing is called
	Log            func(string)   // for events outside a statement: a bug, a refused connection

	mu          sync.Mutex
	connections map[uint32]*Connection
	ends        map[uint32]context.CancelFunc // end the connections
	of          map[string]int                // connections by user
	next        uint32
	wg          sync.WaitGroup
}

// Host answers authenticated clients.
type Host interface {
	// Answer answers a client until it disconnects. It logs its own failures; a returned error is
	// only sent to the client.
	Answer(ctx context.Context, conn net.Conn, g Connection) error
	// Cancel stops a client's statement.
	Cancel(pid uint32)
}

// Connection is an authenticated client.
type Connection struct {
	User    string
	From    string // the client's address
	PID     uint32 // with Key, identifies the client in cancel requests
	Key     []byte
	Limits  Limits
	Startup map[string]string // the parameters of the startup message
}

// Limits are the limits of a user.
type Limits struct {
	Connections int           // 0: no limit
	Statement   time.Duration // 0: no limit
	Idle        time.Duration // idle time in a transaction; 0: no limit
}

// Serve accepts connections until ctx is done, and returns once all have ended. It closes the
// listener.
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
			if errors.As(err, &temporary) && temporary.Timeout() || errors.Is(err, syscall.EMFILE) ||
				errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) { // the process has no room for another connection
				time.Sleep(100 * time.Millisecond) // too many open files; wait until some are closed
				continue
			}
			return fmt.Errorf("accept connections: %w", err)
		}
		s.wg.Add(1)
		go s.handle(ctx, conn)
	}
}

// handle serves one connection.
func (s *Server) handle(ctx context.Context, conn net.Conn) {
	defer s.wg.Done()
	l := &login{srv: s, line: newLine(conn, true)}
	defer func() { _ = l.conn.Close() }()
	safely(s.Log, func() {
		// During shutdown, a client that is not authenticated is disconnected at once.
		stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
		err, log := l.run(ctx), s.Log
		stop()
		if err == nil {
			defer s.leave(&l.Connection)
			if s.Admitted != nil {
				s.Admitted(conn)
			}
			var end context.CancelFunc
			ctx, end = context.WithCancel(ctx)
			defer end()
			s.mu.Lock()
			s.ends[l.PID] = end
			s.mu.Unlock()
			err, log = s.Host.Answer(ctx, l.rest(), l.Connection), nil
		}
		if ctx.Err() != nil && err != nil {
			err, log = errShutdown, nil
		}
		l.refuse(log, l.Connection, err)
	})
}

// safely recovers from a panic, which ends only this connection.
func safely(log func(string), do func()) {
	defer func() {
		if r := recover(); r != nil && log != nil {
			log(fmt.Sprintf("internal error, connection closed: %v\n%s", r, debug.Stack()))
		}
	}()
	do()
}

// enter registers an authenticated client with a key for cancel requests.
func (s *Server) enter(g *Connection) error {
	g.Key = make([]byte, 4)
	_, _ = rand.Read(g.Key) // never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connections == nil {
		s.connections, s.of, s.ends = map[uint32]*Connection{}, map[string]int{}, map[uint32]context.CancelFunc{}
	}
	if s.MaxConnections > 0 && len(s.connections) >= s.MaxConnections || g.Limits.Connections > 0 && s.of[g.User] >= g.Limits.Connections {
		return &Error{Code: codeTooMany, Message: "sorry, too many clients already", Hint: "close connections, or raise --max-connections"}
	}
	for s.next++; s.connections[s.next] != nil || s.next == 0; s.next++ {
	}
	g.PID = s.next
	s.connections[g.PID] = g
	s.of[g.User]++
	return nil
}

func (s *Server) leave(g *Connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, g.PID)
	delete(s.ends, g.PID)
	if s.of[g.User]--; s.of[g.User] == 0 {
		delete(s.of, g.User)
	}
}

// End ends the connections of a user, as at shutdown.
func (s *Server) End(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid, end := range s.ends {
		if s.connections[pid].User == user {
			end()
		}
	}
}

// Connections returns the number of clients.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.connections)
}

// cancel stops a client's statement if the key matches.
func (s *Server) cancel(pid uint32, key []byte) {
	s.mu.Lock()
	g := s.connections[pid]
	s.mu.Unlock()
	if g != nil && subtle.ConstantTimeCompare(key, g.Key) == 1 {
		s.Host.Cancel(pid)
	}
}
