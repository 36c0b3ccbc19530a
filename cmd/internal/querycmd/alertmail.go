package querycmd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/alert"
	"callhouse/internal/analytics/page"
	"callhouse/internal/words"
)

// mailer sends messages and the morning page through a mail server.
type mailer struct {
	channel
	client  *mail.Client
	title   string // of the page
	secrets *words.Secrets
}

// mailerOf returns a mail channel from the file of the setting alerts.
func mailerOf(c *answer.Command, name string) (*mailer, error) {
	f, err := fileOf(c)
	if err != nil {
		return nil, err
	}
	made, secrets, err := f.channel(name, c.Env, stdoutChannel{io.Discard})
	if err != nil {
		return nil, err
	}
	m, ok := made.(*mailer)
	if !ok {
		var known []string
		for name, c := range f.Channels {
			if c.Type == "mail" {
				known = append(known, name)
			}
		}
		slices.Sort(known)
		hint := "channels of type mail: " + strings.Join(known, ", ")
		if len(known) == 0 {
			hint = "add a channel of type mail to " + f.path
		}
		return nil, cli.Usage(cli.Suggest(name, known, hint),
			"the channel %q is not of type mail", name)
	}
	m.title, m.secrets = cmp.Or(f.Title, c.Profile), words.NewSecrets(secrets...)
	return m, nil
}

// page sends the page written by write. made is its summary, valid after write returns.
func (c *mailer) page(ctx context.Context, write func(io.Writer) error, made *page.Summary) error {
	var whole bytes.Buffer
	if err := write(&whole); err != nil {
		return err
	}
	subject := made.Title
	if c.title != "" {
		subject = c.title + ": " + subject
	}
	if made.Sentence != "" {
		subject += ": " + made.Sentence
	}
	sum := sha256.Sum256(whole.Bytes())
	err := c.deliver(ctx, hex.EncodeToString(sum[:12]), words.Line(subject), words.Lines(pageFigures(made)), whole.Bytes())
	if err != nil {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("mail the page: %w", errors.New(c.secrets.Error(err))), "nothing is kept: run it again")
	}
	return nil
}

// pageFigures returns the key numbers of a page as text, those of the last day and of the period, with
// the page's warnings.
func pageFigures(made *page.Summary) string {
	lines := append([]string{made.Sentence}, made.Warnings...)
	lines = append(lines, "", made.DayBefore+" → "+made.Day+" · "+made.WholeBefore+" → "+made.Whole)
	for _, t := range made.Figures {
		lines = append(lines, t.Name+": "+t.Day.String()+" · "+t.Period.String())
	}
	return strings.Join(lines, "\n") + "\n"
}

// Encryption of the connection to a mail server.
const (
	startTLS = "starttls" // required; the default port is 587
	useTLS   = "tls"      // from the first byte; the default port is 465
	noTLS    = "none"     // only for this machine
)

// mailTimeout is how long a server may take to respond.
const mailTimeout = 10 * time.Second

// newMailer returns a channel that sends mail. It connects with the first message.
func newMailer(o channel) (*mailer, error) {
	if len(o.To) == 0 {
		return nil, errors.New("it has no recipients (to)")
	}
	if err := errors.Join(mail.NewMsg().From(o.From), mail.NewMsg().To(o.To...)); err != nil {
		return nil, err
	}
	if (o.User == "") != (o.password == "") {
		return nil, errors.New("a login needs both a user and a password")
	}
	port, options := 587, []mail.Option{mail.WithTLSPolicy(mail.TLSMandatory)}
	switch o.TLS {
	case "", startTLS:
	case useTLS:
		port, options = 465, []mail.Option{mail.WithSSL()}
	case noTLS:
		port, options = 25, []mail.Option{mail.WithTLSPolicy(mail.NoTLS)}
	default:
		return nil, fmt.Errorf("unknown tls %q: use %s, %s or %s", o.TLS, startTLS, useTLS, noTLS)
	}
	host, port, err := hostPort(o.Server, port)
	if err != nil {
		return nil, err
	}
	if o.TLS == noTLS && (!config.OnThisMachine(host) || o.User != "") {
		return nil, errors.New("only a server on this machine, without a login, may be used without TLS")
	}
	options = append(options, mail.WithPort(port), mail.WithTimeout(mailTimeout))
	if o.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(o.User), mail.WithPassword(o.password))
	}
	client, err := mail.NewClient(host, options...)
	if err != nil {
		return nil, err
	}
	return &mailer{channel: o, client: client}, nil
}

// Send implements alert.Channel.
func (c *mailer) Send(ctx context.Context, m *alert.Message) error {
	return c.deliver(ctx, m.ID, words.Line(m.Title()), messageText(m), nil)
}

// deliver sends a mail. id is the part of its Message-ID before the @; page is attached unless it is nil.
func (c *mailer) deliver(ctx context.Context, id, subject, text string, page []byte) error {
	m := mail.NewMsg()
	if err := errors.Join(m.From(c.From), m.To(c.To...)); err != nil {
		return err
	}
	_, domain, _ := strings.Cut(strings.TrimSuffix(m.GetFromString()[0], ">"), "@")
	m.SetMessageIDWithValue(id + "@" + domain)
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetDate()
	m.Subject(subject)
	m.SetBodyString(mail.TypeTextPlain, text)
	if page != nil {
		if err := m.AttachReader("report.html", bytes.NewReader(page), mail.WithFileContentType(mail.TypeTextHTML)); err != nil {
			return err
		}
	}
	err := c.client.DialAndSendWithContext(ctx, m)
	if err == nil || m.IsDelivered() { // the message was accepted, and only closing the connection failed
		return nil
	}
	return err
}
