package postgres

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Sessions is a [Host] that answers clients in this process.
type Sessions struct {
	Backend Backend
	Began   func(Entry)  // called when a statement begins or gets further details; nil: not reported
	Ended   func(Entry)  // called when that statement ends; nil: not reported
	Log     func(string) // like Server.Log
	// Stuck is called if a statement does not stop in time after it was cancelled; nil: wait.
	Stuck func()
	Late  time.Duration

	begun   atomic.Uint64
	mu      sync.Mutex
	clients map[uint32]*client
}

// Entry is a statement, for the audit.
type Entry struct {
	Run         uint64 // a number, unique in a Sessions
	At          time.Time
	User        string
	From        string // the client's address
	Application string
	Text        string
	// After the end:
	Took time.Duration
	Rows int64
	Code string // SQLSTATE; 00000: success; empty: only planned, not for the audit
}

// Answer implements Host.
func (s *Sessions) Answer(ctx context.Context, conn net.Conn, g Connection) error {
	c := newClient(s, conn, g)
	s.mu.Lock()
	if s.clients == nil {
		s.clients = map[uint32]*client{}
	}
	s.clients[g.PID] = c
	s.mu.Unlock()
	defer func() {
		c.close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.clients, g.PID)
	}()
	over := ctx
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(over)) // so that statements get the cause
	defer cancel(nil)
	defer context.AfterFunc(over, func() { cancel(errShutdown) })()
	safely(s.Log, func() { c.run(ctx) })
	return nil
}

// Cancel implements Host.
func (s *Sessions) Cancel(pid uint32) {
	s.mu.Lock()
	c := s.clients[pid]
	s.mu.Unlock()
	if c != nil {
		c.stop(errCancelled)
	}
}
