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
	"time"
)

// Server lets clients in over the Postgres protocol, and hands them to who answers them.
type Server struct {
	Host  Host
	Users Users // nil: everybody is let in, by any name
	// Try returns when a password that a client offers may be looked at, or why it is not;
	// what came of it is told to done. nil: at once.
	Try func(ctx context.Context, user, address string) (done func(isWrong bool), err error)
	TLS *tls.Config // nil: none
	// NeedTLS refuses connections that are not encrypted.
	NeedTLS bool
	Limits  Limits // of each user, where Users says no others
	// Most is how many connections there may be in all; 0: no limit.
	Most int
	Log  func(string) // of what is nobody's statement: a bug, a connection that was refused

	mu     sync.Mutex
	guests map[uint32]*Guest
	ends   map[uint32]context.CancelFunc // end the connections of the guests
	of     map[string]int                // connections by user
	next   uint32
	wg     sync.WaitGroup
}

// Host answers clients who were let in.
type Host interface {
	// Answer answers a client until it leaves. It tells the log itself of what goes wrong; the
	// error that it returns is told to the client, and no other.
	Answer(ctx context.Context, conn net.Conn, g Guest) error
	// Cancel stops what a client runs.
	Cancel(pid uint32)
}

// Guest is a client who was let in.
type Guest struct {
	User    string
	From    string // the client's address
	PID     uint32 // with Key, what a cancel request names
	Key     []byte
	Limits  Limits
	Startup map[string]string // the parameters of the startup message
}

// Limits bound what a user may take.
type Limits struct {
	Connections int           // 0: no limit
	Statement   time.Duration // 0: no limit
	Idle        time.Duration // between the statements of a transaction; 0: no limit
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

// handle answers one connection to its end.
func (s *Server) handle(ctx context.Context, conn net.Conn) {
	defer s.wg.Done()
	l := &login{srv: s, line: newLine(conn, true)}
	defer func() { _ = l.conn.Close() }()
	safely(s.Log, func() {
		// Who has not said yet who it is has nothing to lose when the server ends.
		stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
		err, log := l.run(ctx), s.Log
		stop()
		if err == nil {
			defer s.leave(&l.Guest)
			var end context.CancelFunc
			ctx, end = context.WithCancel(ctx)
			defer end()
			s.mu.Lock()
			s.ends[l.PID] = end
			s.mu.Unlock()
			err, log = s.Host.Answer(ctx, l.rest(), l.Guest), nil
		}
		if ctx.Err() != nil && err != nil {
			err = errShutdown
		}
		l.refuse(log, l.Guest, err)
	})
}

// safely does what ends one connection and nothing else if it has a bug.
func safely(log func(string), do func()) {
	defer func() {
		if r := recover(); r != nil && log != nil {
			log(fmt.Sprintf("internal error, connection closed: %v\n%s", r, debug.Stack()))
		}
	}()
	do()
}

// enter registers a client who was let in, under a key for cancel requests.
func (s *Server) enter(g *Guest) error {
	g.Key = make([]byte, 4)
	_, _ = rand.Read(g.Key) // it never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guests == nil {
		s.guests, s.of, s.ends = map[uint32]*Guest{}, map[string]int{}, map[uint32]context.CancelFunc{}
	}
	if s.Most > 0 && len(s.guests) >= s.Most || g.Limits.Connections > 0 && s.of[g.User] >= g.Limits.Connections {
		return &Error{Code: codeTooMany, Message: "sorry, too many clients already", Hint: "close connections, or raise --max-connections"}
	}
	for s.next++; s.guests[s.next] != nil || s.next == 0; s.next++ {
	}
	g.PID = s.next
	s.guests[g.PID] = g
	s.of[g.User]++
	return nil
}

func (s *Server) leave(g *Guest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.guests, g.PID)
	delete(s.ends, g.PID)
	if s.of[g.User]--; s.of[g.User] == 0 {
		delete(s.of, g.User)
	}
}

// End ends the connections of a user, as the end of the server would.
func (s *Server) End(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid, end := range s.ends {
		if s.guests[pid].User == user {
			end()
		}
	}
}

// Connections returns how many clients there are.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.guests)
}

// cancel stops what a client runs, if the key is the one that it was given.
func (s *Server) cancel(pid uint32, key []byte) {
	s.mu.Lock()
	g := s.guests[pid]
	s.mu.Unlock()
	if g != nil && subtle.ConstantTimeCompare(key, g.Key) == 1 {
		s.Host.Cancel(pid)
	}
}
