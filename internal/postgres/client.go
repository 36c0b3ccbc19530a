package postgres

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// client is the connection and session of an authenticated client.
type client struct {
	Connection
	line
	host *Sessions

	session Session
	zone    *time.Location

	values                       // of the settings
	committed  map[string]string // those at the beginning of the transaction
	savepoints []savepoint       // of the transaction
	restore    map[string]string // those at the start
	told       map[string]string // as last sent to the client

	statements map[string]*statement
	portals    map[string]*portal
	state      byte // I: no transaction, T: in one, E: in a failed one
	seeing     bool // between the session's Begin and End
	failed     bool // messages are skipped until Sync
	several    bool // the running statement is one of several in a message

	mu      sync.Mutex
	running context.CancelCauseFunc
	out     batch
}

func newClient(s *Sessions, conn net.Conn, g Connection) *client {
	return &client{Connection: g, line: newLine(conn, false), host: s, state: 'I', statements: map[string]*statement{},
		portals: map[string]*portal{}, told: map[string]string{}, zone: time.UTC}
}

func (c *client) ready() {
	c.tell()
	c.send(&pgproto3.ReadyForQuery{TxStatus: c.state})
}

// WriteTimeout is the time limit for a client to accept one write, which is 64 KiB of rows: a slower
// reader would hold the snapshot and the statement's resources needlessly.
const WriteTimeout = 2 * time.Minute

func (c *client) flush() error {
	_ = c.conn.SetWriteDeadline(time.Now().Add(WriteTimeout))
	return c.be.Flush()
}

// close frees all resources of the client.
func (c *client) close() {
	c.closePortals()
	for _, s := range c.statements {
		s.close()
	}
	c.see(false)
	_ = c.conn.Close()
}

// run answers the client until it disconnects.
func (c *client) run(ctx context.Context) {
	// During shutdown, running statements may finish, but idle clients are disconnected.
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetReadDeadline(time.Now()) })
	defer stop()
	err := c.open(ctx)
	for err == nil {
		var m pgproto3.FrontendMessage
		if m, err = c.receive(ctx); err != nil {
			break
		}
		err = c.answer(ctx, m)
	}
	var tooLong *pgproto3.ExceededMaxBodyLenErr
	switch {
	case ctx.Err() != nil:
		err = errShutdown
	case errors.As(err, &tooLong):
		err = &Error{Code: codeTooLong, Message: "a message exceeds the limit of 16 MiB"}
	}
	c.refuse(c.host.Log, c.Connection, err)
}

// open begins the session.
func (c *client) open(ctx context.Context) (err error) {
	_ = c.conn.SetDeadline(time.Now().Add(loginTime))
	if c.session, err = c.host.Backend.Open(ctx, c.User, c); err != nil {
		return err
	}
	c.send(&pgproto3.AuthenticationOk{})
	if err := c.applyStartup(ctx); err != nil {
		return err
	}
	c.tell()
	c.send(&pgproto3.BackendKeyData{ProcessID: c.PID, SecretKey: c.Key})
	c.ready()
	if err := c.flush(); err != nil {
		return err
	}
	return c.conn.SetDeadline(time.Time{})
}

// receive waits for the next message. In a transaction the wait is limited, because an idle client
// holds its snapshot; outside, if the client wants it.
func (c *client) receive(ctx context.Context) (pgproto3.FrontendMessage, error) {
	limit, late := c.atMost(0, "idle_session_timeout"), errIdleSession
	if c.seeing {
		limit, late = c.atMost(c.Limits.Idle, "idle_in_transaction_session_timeout"), errIdle
	}
	if limit > 0 {
		_ = c.conn.SetReadDeadline(time.Now().Add(limit))
		defer func() { _ = c.conn.SetReadDeadline(time.Time{}) }()
	}
	if ctx.Err() != nil { // the shutdown may have set a deadline that was replaced
		return nil, errShutdown
	}
	m, err := c.be.Receive()
	if err != nil && limit > 0 && isTimeout(err) && ctx.Err() == nil {
		return nil, late
	}
	return m, err
}

// answer answers one message. An error ends the connection.
func (c *client) answer(ctx context.Context, m pgproto3.FrontendMessage) error {
	switch m := m.(type) {
	case *pgproto3.Terminate:
		return errDone
	case *pgproto3.Sync:
		c.failed = false
		c.end()
		c.ready()
		return c.flush()
	case *pgproto3.Flush:
		return c.flush()
	case *pgproto3.Query:
		c.failed = false
		c.simple(ctx, m.String)
		c.end()
		c.ready()
		return c.flush()
	case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
		return nil // the rest of a failed COPY
	}
	if c.failed {
		return nil
	}
	var err error
	switch m := m.(type) {
	case *pgproto3.Parse:
		err = c.parse(ctx, m)
	case *pgproto3.Bind:
		err = c.bind(ctx, m)
	case *pgproto3.Describe:
		err = c.describe(m)
	case *pgproto3.Execute:
		err = c.execute(ctx, m)
	case *pgproto3.Close:
		c.forget(m)
	default:
		err = fail(codeUnsupported, "this message of the protocol is not supported")
	}
	if err != nil {
		return c.fail(err)
	}
	return nil
}

// fail sends a statement's error. A returned error ends the connection.
func (c *client) fail(err error) error {
	if errors.Is(err, errGone) || errors.Is(err, net.ErrClosed) || errors.Is(err, errShutdown) {
		return err
	}
	if isNetwork(err) {
		return errGone
	}
	c.failed = true
	c.undo()
	if c.state == 'T' {
		c.state = 'E'
	}
	c.send(asError(err).response("ERROR"))
	return nil
}

func isNetwork(err error) bool {
	var network *net.OpError
	return errors.As(err, &network)
}

// see begins or ends the view of a transaction, or of a statement outside one.
func (c *client) see(on bool) {
	if c.seeing && !on {
		c.session.End()
	}
	c.seeing = on && c.seeing
}

func (c *client) begin(ctx context.Context) error {
	if c.seeing {
		return nil
	}
	if err := c.session.Begin(ctx); err != nil {
		return err
	}
	c.seeing = true
	return nil
}

// end ends an implicit transaction.
func (c *client) end() {
	if c.state == 'I' {
		c.over(true)
	}
}

// stop cancels the running statement.
func (c *client) stop(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		c.running(why)
	}
}

// sendTime is how long a client may leave rows unread after it requested a cancel.
const sendTime = 10 * time.Second

// limited returns a context that ends with the statement's time-out, a cancel request, or the
// client. done must be called.
func (c *client) limited(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	c.running = cancel
	c.mu.Unlock()
	free := func() {}
	if limit := c.atMost(c.Limits.Statement, "statement_timeout"); limit > 0 {
		timer := time.AfterFunc(limit, func() { cancel(errTimeout) })
		free = func() { timer.Stop() }
	}
	watched, over := make(chan struct{}), make(chan struct{})
	// A stopped statement whose rows are not read makes no progress.
	unread := context.AfterFunc(ctx, func() {
		_ = c.conn.SetWriteDeadline(time.Now().Add(sendTime))
		if c.host.Stuck == nil {
			return
		}
		select {
		case <-over:
		case <-time.After(c.host.Late):
			c.host.Stuck()
		}
	})
	if c.in.Buffered() == 0 {
		go func() {
			defer close(watched)
			if _, err := c.in.Peek(1); err != nil {
				select {
				case <-over: // it was cancelled
				default: // on the system's own time-out, too
					cancel(errGone)
				}
			}
		}()
	} else {
		close(watched)
	}
	return ctx, func() {
		c.mu.Lock()
		c.running = nil
		c.mu.Unlock()
		free()
		if !unread() { // it was cancelled and has finished
			_ = c.conn.SetWriteDeadline(time.Time{})
		}
		close(over)
		_ = c.conn.SetReadDeadline(time.Now())
		<-watched
		_ = c.conn.SetReadDeadline(time.Time{})
		cancel(nil)
	}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
