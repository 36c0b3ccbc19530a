package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"
)

// Users knows who may log in.
type Users interface {
	// Find returns what a user's password is checked by, and the limits. A name that is
	// nobody's gets credentials that no password meets.
	Find(name string) (scram.StoredCredentials, Limits, error)
}

// loginTime is how long a client may take to be let in.
const loginTime = 30 * time.Second

// errWrong marks the error of a password that is not the user's.
var errWrong = errors.New("")

// errDone says that a connection has done all that it came for.
var errDone = errors.New("done")

// login speaks to a new client until it is let in.
func (c *client) login(ctx context.Context) error {
	_ = c.conn.SetDeadline(time.Now().Add(loginTime))
	start, err := c.startup(ctx)
	if err != nil {
		return err
	}
	_, isTLS := c.conn.(*tls.Conn)
	if c.srv.NeedTLS && !isTLS {
		return &Error{Code: codeIncompatibleTLS, Message: "this server takes encrypted connections only", Hint: "connect with sslmode=require"}
	}
	c.user = start.Parameters["user"]
	if c.user == "" || len(c.user) > 63 {
		return fail(codeBadLogin, "no user name of 1 to 63 characters in the startup packet")
	}
	limits := c.srv.Limits
	if c.srv.Users != nil {
		done := func(bool) {}
		if c.srv.Try != nil {
			if done, err = c.srv.Try(ctx, c.user, c.conn.RemoteAddr().String()); err != nil {
				return fail(codeBadLogin, err.Error())
			}
		}
		limits, err = c.password()
		done(errors.Is(err, errWrong))
		if err != nil {
			return err
		}
	}
	c.limits = limits
	if err := c.srv.enter(c, limits.Connections); err != nil {
		return err
	}
	if c.session, err = c.srv.Backend.Open(ctx, c.user, c); err != nil {
		return err
	}
	c.send(&pgproto3.AuthenticationOk{})
	if err := c.applyStartup(ctx, start.Parameters); err != nil {
		return err
	}
	for _, s := range reported {
		value, _ := c.Setting(s)
		c.send(&pgproto3.ParameterStatus{Name: s, Value: value})
	}
	c.send(&pgproto3.BackendKeyData{ProcessID: c.pid, SecretKey: c.key})
	c.ready()
	if err := c.flush(); err != nil {
		return err
	}
	return c.conn.SetDeadline(time.Time{})
}

// startup answers requests for encryption, and returns the startup message.
func (c *client) startup(ctx context.Context) (*pgproto3.StartupMessage, error) {
	for range 4 { // TLS, GSS, and what is meant
		m, err := c.be.ReceiveStartupMessage()
		if err != nil {
			return nil, errGone // or it never spoke this protocol
		}
		switch m := m.(type) {
		case *pgproto3.SSLRequest:
			if err := c.encrypt(ctx); err != nil {
				return nil, err
			}
		case *pgproto3.GSSEncRequest:
			if _, err := c.conn.Write([]byte{'N'}); err != nil {
				return nil, err
			}
		case *pgproto3.CancelRequest:
			c.srv.cancelOf(m.ProcessID, m.SecretKey)
			return nil, errDone
		case *pgproto3.StartupMessage:
			return m, c.negotiate(m)
		}
	}
	return nil, fail(codeProtocol, "too many requests before the startup packet")
}

// negotiate tells a client which of its options are not known here.
func (c *client) negotiate(m *pgproto3.StartupMessage) error {
	var unknown []string
	for name := range m.Parameters {
		if strings.HasPrefix(name, "_pq_.") {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		c.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: m.ProtocolVersion & 0xffff, UnrecognizedOptions: unknown})
	}
	return nil
}

// encrypt answers a request for TLS.
func (c *client) encrypt(ctx context.Context) error {
	_, isTLS := c.conn.(*tls.Conn)
	if c.srv.TLS == nil || isTLS {
		_, err := c.conn.Write([]byte{'N'})
		return err
	}
	if c.in.Buffered() > 0 { // somebody put it in between
		return fail(codeProtocol, "received unencrypted data after SSL request")
	}
	if _, err := c.conn.Write([]byte{'S'}); err != nil {
		return err
	}
	secure := tls.Server(c.conn, c.srv.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		return errGone
	}
	c.speakOver(secure)
	return nil
}

const mechanism = "SCRAM-SHA-256"

// password checks the user's password by SCRAM, and returns the user's limits.
func (c *client) password() (Limits, error) {
	var limits Limits
	server, err := scram.SHA256.NewServer(func(string) (credentials scram.StoredCredentials, err error) {
		credentials, limits, err = c.srv.Users.Find(c.user) // the name of the startup packet, as Postgres has it
		return credentials, err
	})
	if err != nil {
		return limits, err
	}
	conversation := server.NewConversation()
	c.send(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{mechanism}})
	if err := c.ask(pgproto3.AuthTypeSASL); err != nil {
		return limits, err
	}
	wrong := fmt.Errorf("%w%w", errWrong, &Error{Code: codeBadPassword, Message: fmt.Sprintf("password authentication failed for user %q", c.user)})
	for step := range 2 {
		m, err := c.be.Receive()
		if err != nil {
			return limits, errGone
		}
		var said []byte
		switch m := m.(type) {
		case *pgproto3.SASLInitialResponse:
			if m.AuthMechanism != mechanism {
				return limits, fail(codeProtocol, "client selected an invalid SASL authentication mechanism")
			}
			said = m.Data
		case *pgproto3.SASLResponse:
			said = m.Data
		default:
			return limits, fail(codeProtocol, "expected a SASL response")
		}
		reply, err := conversation.Step(string(said))
		if err != nil {
			return limits, wrong
		}
		if step == 0 {
			c.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(reply)})
			if err := c.ask(pgproto3.AuthTypeSASLContinue); err != nil {
				return limits, err
			}
			continue
		}
		if !conversation.Valid() {
			return limits, wrong
		}
		c.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(reply)})
	}
	return limits, nil
}

func (c *client) ask(kind uint32) error {
	if err := c.flush(); err != nil {
		return err
	}
	return c.be.SetAuthType(kind)
}

// refuse tells why a client is not let in, or why its connection ends.
func (c *client) refuse(err error) {
	if errors.Is(err, errDone) || errors.Is(err, errGone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || isNetwork(err) {
		return
	}
	e := asError(err)
	c.srv.log(fmt.Sprintf("connection of %q from %s refused: %s", c.user, c.conn.RemoteAddr(), e.Message))
	_ = c.conn.SetDeadline(time.Now().Add(time.Second))
	c.send(e.response("FATAL"))
	_ = c.be.Flush()
}
