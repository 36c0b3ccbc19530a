package channel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"callhouse/internal/alert"
	"callhouse/internal/words"
)

// Mailer sends mail through a server.
type Mailer struct {
	o      MailOptions
	client *mail.Client
}

// Encryption of the connection to a mail server.
const (
	StartTLS = "starttls" // required; the default port is 587
	TLS      = "tls"      // from the first byte; the default port is 465
	Plain    = "none"     // only for this machine
)

// patience is how long a server may take to respond.
const patience = 10 * time.Second

// MailOptions are the mail server and the recipients.
type MailOptions struct {
	Server         string // host or host:port
	TLS            string // StartTLS if it is empty
	User, Password string // empty: no login
	From           string
	To             []string
	CA             []byte
}

// Mail returns a channel that sends mail. It connects with the first message.
func Mail(o MailOptions) (*Mailer, error) {
	if len(o.To) == 0 {
		return nil, errors.New("it has no recipients (to)")
	}
	if err := errors.Join(mail.NewMsg().From(o.From), mail.NewMsg().To(o.To...)); err != nil {
		return nil, err
	}
	if (o.User == "") != (o.Password == "") {
		return nil, errors.New("a login needs both a user and a password")
	}
	port, options := 587, []mail.Option{mail.WithTLSPolicy(mail.TLSMandatory)}
	switch o.TLS {
	case "", StartTLS:
	case TLS:
		port, options = 465, []mail.Option{mail.WithSSL()}
	case Plain:
		port, options = 25, []mail.Option{mail.WithTLSPolicy(mail.NoTLS)}
	default:
		return nil, fmt.Errorf("unknown tls %q: use %s, %s or %s", o.TLS, StartTLS, TLS, Plain)
	}
	host, port, err := hostPort(o.Server, port)
	if err != nil {
		return nil, err
	}
	if o.TLS == Plain && (!local(host) || o.User != "") {
		return nil, errors.New("only a server on this machine, without a login, may be used without TLS")
	}
	config, err := trust(o.CA)
	if err != nil {
		return nil, err
	}
	config.ServerName = host
	options = append(options, mail.WithPort(port), mail.WithTLSConfig(config), mail.WithTimeout(patience))
	if o.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(o.User), mail.WithPassword(o.Password))
	}
	client, err := mail.NewClient(host, options...)
	if err != nil {
		return nil, err
	}
	return &Mailer{o, client}, nil
}

// Repeats implements alert.Channel. Many servers discard a message whose id they have seen, but not
// all.
func (*Mailer) Repeats() bool { return false }

// Send implements alert.Channel.
func (c *Mailer) Send(ctx context.Context, m *alert.Message) error {
	return c.Deliver(ctx, Letter{ID: m.ID, Subject: words.Line(m.Title()), Text: Text(m)})
}

// Letter is a mail.
type Letter struct {
	ID            string // the part of its Message-ID before the @
	Subject, Text string
	Name          string // of the attached page
	Page          []byte // nil: none
}

// Deliver sends a letter.
func (c *Mailer) Deliver(ctx context.Context, l Letter) error {
	m := mail.NewMsg()
	if err := errors.Join(m.From(c.o.From), m.To(c.o.To...)); err != nil {
		return &alert.RefusedError{Err: err}
	}
	_, domain, _ := strings.Cut(strings.TrimSuffix(m.GetFromString()[0], ">"), "@")
	m.SetMessageIDWithValue(l.ID + "@" + domain)
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetDate()
	m.Subject(l.Subject)
	m.SetBodyString(mail.TypeTextPlain, l.Text)
	if l.Page != nil {
		if err := m.AttachReader(l.Name, bytes.NewReader(l.Page), mail.WithFileContentType(mail.TypeTextHTML)); err != nil {
			return err
		}
	}
	err := c.client.DialAndSendWithContext(ctx, m)
	if err == nil || m.IsDelivered() { // the message was accepted, and only closing the connection failed
		return nil
	}
	if c.o.Password != "" { // a server's error may repeat the password
		err = errors.New(strings.ReplaceAll(err.Error(), c.o.Password, "[masked]"))
	}
	return err
}
