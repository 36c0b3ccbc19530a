package postgres

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// maxMessage is the maximum size of a client's message. A statement's text is limited further; the
// rest is for parameters.
const maxMessage = 16 << 20

// line is a connection with its messages.
type line struct {
	conn net.Conn
	in   *bufio.Reader
	be   *pgproto3.Backend
}

// newLine reads messages from a connection. With exactly it reads no byte beyond a message, so that
// another process can continue.
func newLine(conn net.Conn, exactly bool) line {
	in := bufio.NewReaderSize(conn, 8<<10)
	var from io.Reader = in
	if exactly {
		from = single{in}
	}
	be := pgproto3.NewBackend(from, conn)
	be.SetMaxBodyLen(maxMessage)
	return line{conn, in, be}
}

// single reads one byte at a time.
type single struct{ *bufio.Reader }

// Read implements io.Reader.
func (s single) Read(p []byte) (int, error) { return s.Reader.Read(p[:min(1, len(p))]) }

// rest returns the connection for the code that takes it over.
func (l *line) rest() net.Conn { return &resumed{l.conn, l.in} }

// resumed is a connection with bytes already read.
type resumed struct {
	net.Conn
	in *bufio.Reader
}

// Read implements net.Conn.
func (r *resumed) Read(p []byte) (int, error) { return r.in.Read(p) }

func (l *line) send(m pgproto3.BackendMessage) { l.be.Send(m) }

// refuse sends the reason why a client is refused or its connection ends.
func (l *line) refuse(log func(string), g Connection, err error) {
	if err == nil || errors.Is(err, errDone) || errors.Is(err, errGone) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || isNetwork(err) {
		return
	}
	e := asError(err)
	if log != nil {
		log(fmt.Sprintf("connection of %q from %s rejected: %s", g.User, g.From, e.Message))
	}
	_ = l.conn.SetDeadline(time.Now().Add(time.Second))
	l.send(e.response("FATAL"))
	_ = l.be.Flush()
}
