package postgres

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"
)

// loginTime is the time limit of a login.
const loginTime = 30 * time.Second

// errDone ends a connection that needs no session, such as a cancel request.
var errDone = errors.New("done")

// login is a connection whose client is not yet authenticated.
type login struct {
	Connection
	line
	srv *Server
}

// run handles a new client until it is authenticated.
func (l *login) run(ctx context.Context) error {
	_ = l.conn.SetDeadline(time.Now().Add(loginTime))
	start, err := l.startup(ctx)
	if err != nil {
		return err
	}
	l.Startup, l.User, l.From, l.Limits = start.Parameters, start.Parameters["user"], l.conn.RemoteAddr().String(), l.srv.Limits
	_, isTLS := l.conn.(*tls.Conn)
	if l.srv.NeedTLS && !isTLS {
		return &Error{Code: codeIncompatibleTLS, Message: "this server requires encrypted connections", Hint: "connect with sslmode=require"}
	}
	if l.User == "" || len(l.User) > 63 {
		return fail(codeBadLogin, "no user name of 1 to 63 characters in the startup packet")
	}
	if l.srv.Find != nil {
		if l.Limits, err = l.password(ctx); err != nil {
			return err
		}
	}
	if err := l.be.Flush(); err != nil {
		return err
	}
	if err := l.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	return l.srv.enter(&l.Connection)
}

// startup answers requests for encryption, and returns the startup message.
func (l *login) startup(ctx context.Context) (*pgproto3.StartupMessage, error) {
	for range 4 { // TLS, GSS, and the startup message
		m, err := l.be.ReceiveStartupMessage()
		if err != nil {
			return nil, errGone // or it does not speak this protocol
		}
		switch m := m.(type) {
		case *pgproto3.SSLRequest:
			if err := l.encrypt(ctx); err != nil {
				return nil, err
			}
		case *pgproto3.GSSEncRequest:
			if _, err := l.conn.Write([]byte{'N'}); err != nil {
				return nil, err
			}
		case *pgproto3.CancelRequest:
			l.srv.cancel(m.ProcessID, m.SecretKey)
			return nil, errDone
		case *pgproto3.StartupMessage:
			return m, l.negotiate(m)
		}
	}
	return nil, fail(codeProtocol, "too many requests before the startup packet")
}

// negotiate tells a client which of its options are unsupported.
func (l *login) negotiate(m *pgproto3.StartupMessage) error {
	var unknown []string
	for name := range m.Parameters {
		if strings.HasPrefix(name, "_pq_.") {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		l.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: m.ProtocolVersion & 0xffff, UnrecognizedOptions: unknown})
	}
	return nil
}

// encrypt answers a request for TLS.
func (l *login) encrypt(ctx context.Context) error {
	_, isTLS := l.conn.(*tls.Conn)
	if l.srv.TLS == nil || isTLS {
		_, err := l.conn.Write([]byte{'N'})
		return err
	}
	if l.in.Buffered() > 0 { // injected before the encryption
		return fail(codeProtocol, "received unencrypted data after SSL request")
	}
	if _, err := l.conn.Write([]byte{'S'}); err != nil {
		return err
	}
	secure := tls.Server(l.conn, l.srv.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		return errGone
	}
	l.line = newLine(secure, true)
	return nil
}

// The supported mechanisms. The second one is bound to the certificate.
const mechanism, mechanismPlus = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"

// binding returns the channel binding of a login; empty without encryption or for a certificate
// without one.
func (l *login) binding() scram.ChannelBinding {
	if _, isTLS := l.conn.(*tls.Conn); !isTLS || len(l.srv.TLS.Certificates) == 0 {
		return scram.ChannelBinding{}
	}
	leaf, err := x509.ParseCertificate(l.srv.TLS.Certificates[0].Certificate[0])
	if err != nil {
		return scram.ChannelBinding{}
	}
	// The library expects the certificate where a client has it.
	b, _ := scram.NewTLSServerEndpointBinding(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}})
	return b
}

// password checks the user's password with SCRAM and returns the user's limits.
func (l *login) password(ctx context.Context) (Limits, error) {
	var limits Limits
	server, err := scram.SHA256.NewServer(func(string) (credentials scram.StoredCredentials, err error) {
		credentials, limits, err = l.srv.Find(l.User) // by the name in the startup packet, as in Postgres
		return credentials, err
	})
	if err != nil {
		return limits, err
	}
	conversation, mechanisms := server.NewConversation(), []string{mechanism}
	if b := l.binding(); b.IsSupported() {
		conversation, mechanisms = server.NewConversationWithChannelBinding(b), []string{mechanismPlus, mechanism}
	}
	l.send(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms})
	if err := l.ask(pgproto3.AuthTypeSASL); err != nil {
		return limits, err
	}
	wrong := fail(codeBadPassword, fmt.Sprintf("password authentication failed for user %q", l.User))
	for step := range 2 {
		m, err := l.be.Receive()
		if err != nil {
			return limits, errGone
		}
		var said []byte
		switch m := m.(type) {
		case *pgproto3.SASLInitialResponse:
			if !slices.Contains(mechanisms, m.AuthMechanism) || (m.AuthMechanism == mechanismPlus) != bytes.HasPrefix(m.Data, []byte("p=")) {
				return limits, fail(codeProtocol, "client selected an invalid SASL authentication mechanism")
			}
			said = m.Data
		case *pgproto3.SASLResponse:
			said = m.Data
		default:
			return limits, fail(codeProtocol, "expected a SASL response")
		}
		done := func(bool) {}
		if step == 1 && l.srv.Try != nil { // not before the client's proof: it may never come
			if done, err = l.srv.Try(ctx, l.User, l.From); err != nil {
				return limits, fail(codeBadLogin, err.Error())
			}
		}
		reply, err := conversation.Step(string(said))
		done(err != nil || !conversation.Valid())
		if err != nil {
			return limits, wrong
		}
		if step == 0 {
			l.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(reply)})
			if err := l.ask(pgproto3.AuthTypeSASLContinue); err != nil {
				return limits, err
			}
			continue
		}
		if !conversation.Valid() {
			return limits, wrong
		}
		l.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(reply)})
	}
	return limits, nil
}

func (l *login) ask(kind uint32) error {
	if err := l.be.Flush(); err != nil {
		return err
	}
	return l.be.SetAuthType(kind)
}
