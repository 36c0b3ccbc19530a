package querycmd

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"strings"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"callhouse/internal/test"
	"callhouse/internal/words"
)

// office is an SMTP server that keeps the messages it receives.
type office struct {
	letters  [][]byte
	to       [][]string
	users    []string
	password string
	refuse   error // the answer to DATA
}

type session struct {
	*office
	rcpt []string
}

func (o *office) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{office: o}, nil }

func (*session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != s.password {
			return errors.New("not " + password) // some servers repeat their input
		}
		s.users = append(s.users, user)
		return nil
	}), nil
}

func (*session) Mail(string, *smtp.MailOptions) error { return nil }

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.rcpt = append(s.rcpt, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err == nil {
		err = s.refuse
	}
	if err == nil {
		s.letters, s.office.to = append(s.letters, raw), append(s.office.to, s.rcpt)
	}
	return err
}

func (*session) Reset() {}

func (*session) Logout() error { return nil }

// serve starts an office: with STARTTLS, TLS from the first byte, or neither.
func (o *office) serve(t *testing.T, how string) (address string) {
	s := smtp.NewServer(o)
	s.Domain, s.ErrorLog = "office.example.com", quiet{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	test.OK(t, err)
	switch how {
	case startTLS:
		s.TLSConfig = &tls.Config{Certificates: known()}
	case useTLS:
		l = tls.NewListener(l, &tls.Config{Certificates: known()})
	case noTLS:
		s.AllowInsecureAuth = true
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func (quiet) Println(...any) {}

func TestMail(t *testing.T) {
	for _, how := range []string{startTLS, useTLS, noTLS} {
		t.Run(how, func(t *testing.T) {
			o := &office{password: "open sesame"}
			address := o.serve(t, how)
			options := channel{Server: address, TLS: how, From: "Callhouse <callhouse@example.com>", To: []string{"a@example.com", "B <b@example.com>"}}
			if how != noTLS {
				options.User, options.password = "callhouse", "open sesame"
			}
			c, err := newMailer(options)
			if err == nil {
				err = c.Send(t.Context(), message())
			}
			if err == nil {
				err = c.deliver(t.Context(), "page", "Thursday was as usual", "Key numbers", []byte("<!doctype html><title>Calls</title>"))
			}
			test.OK(t, err)
			if len(o.letters) != 2 || len(o.users) != 2 && how != noTLS || strings.Join(o.to[0], " ") != "a@example.com b@example.com" {
				t.Fatalf("%d letters by %v to %v", len(o.letters), o.users, o.to)
			}
			m, err := mail.ReadMessage(bytes.NewReader(o.letters[0]))
			test.OK(t, err)
			subject, _ := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			body, _ := io.ReadAll(m.Body)
			if m.Header.Get("Message-Id") != "<5f3a@example.com>" || m.Header.Get("Auto-Submitted") != "auto-generated" ||
				subject != "acme: completed low: completed_percent below 65.0%, 2 groups" || !strings.Contains(string(body), "query calls --since") {
				t.Errorf("the message: %v\n%s", m.Header, body)
			}
			m, err = mail.ReadMessage(bytes.NewReader(o.letters[1]))
			test.OK(t, err)
			_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
			test.OK(t, err)
			parts := multipart.NewReader(m.Body, params["boundary"])
			text, err := parts.NextPart()
			if err != nil || !strings.HasPrefix(text.Header.Get("Content-Type"), "text/plain") {
				t.Errorf("the first part: %v, %v", text, err)
			}
			page, err := parts.NextPart()
			if err != nil || page.FileName() != "report.html" || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
				t.Errorf("the second part: %v, %v", page, err)
			}
		})
	}
}

// Failures of mail. No error repeats the password.
func TestMailFailures(t *testing.T) {
	o := &office{password: "open sesame"}
	address := o.serve(t, startTLS)
	unencrypted := o.serve(t, noTLS)
	good := channel{Server: address, User: "callhouse", From: "a@example.com", To: []string{"b@example.com"}, password: "open sesame"}
	for name, edit := range map[string]func(*channel){
		"no STARTTLS":    func(o *channel) { o.Server = unencrypted },
		"wrong password": func(o *channel) { o.password = "close sesame" },
		"nobody listens": func(o *channel) { o.Server = "127.0.0.1:1" },
	} {
		with := good
		edit(&with)
		c, err := newMailer(with)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := (masked{c, words.NewSecrets(with.password)}).Send(t.Context(), message()); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.refuse = errors.New("mailbox full")
	c, err := newMailer(good)
	test.OK(t, err)
	if err := c.Send(t.Context(), message()); err == nil || !strings.Contains(err.Error(), "mailbox full") {
		t.Errorf("refused: %v", err)
	}
	if o.refuse = nil; c.Send(t.Context(), message()) != nil || len(o.letters) != 1 {
		t.Errorf("after a refusal: %d letters", len(o.letters))
	}
	for name, edit := range map[string]func(*channel){
		"no recipient":          func(o *channel) { o.To = nil },
		"a wrong recipient":     func(o *channel) { o.To = []string{"x"} },
		"no sender":             func(o *channel) { o.From = "" },
		"a user alone":          func(o *channel) { o.password = "" },
		"an unknown encryption": func(o *channel) { o.TLS = "ssl" },
		"plain, far away":       func(o *channel) { o.TLS, o.Server = noTLS, "example.com" },
		"a login without TLS":   func(o *channel) { o.TLS, o.Server = noTLS, "localhost" },
		"no server":             func(o *channel) { o.Server = "" },
		"a wrong port":          func(o *channel) { o.Server = "example.com:smtp" },
	} {
		with := good
		edit(&with)
		if _, err := newMailer(with); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
