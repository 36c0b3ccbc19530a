package querycmd_test

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"os"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// letters is a mail server that keeps the messages it receives.
type letters struct{ got [][]byte }

func (l *letters) NewSession(*smtp.Conn) (smtp.Session, error) { return l, nil }

func (*letters) Mail(string, *smtp.MailOptions) error { return nil }

func (*letters) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (l *letters) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	l.got = append(l.got, raw)
	return err
}

func (*letters) Reset() {}

func (*letters) Logout() error { return nil }

// The page is mailed as an attachment to its key figures.
func TestMailedPage(t *testing.T) {
	scattered(t, 5, 400)
	office := &letters{}
	s := smtp.NewServer(office)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	test.OK(t, err)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	text := "title = \"Acme\"\n[channels.morning]\ntype = \"mail\"\nserver = \"" + l.Addr().String() +
		"\"\ntls = \"none\"\nfrom = \"a@example.com\"\nto = [\"b@example.com\"]\n[channels.log]\ntype = \"stdout\"\n"
	test.OK(t, os.WriteFile("alerts.toml", []byte(text), 0o600))
	page := []string{"report", "--since", "2024-11-01", "--until", "2024-11-15"}
	mailed := append(page, "--alerts", "alerts.toml", "--mail", "morning")
	if r := run(t, "", mailed...); r.code != cli.ExitOK || r.out != "" || len(office.got) != 1 {
		t.Fatalf("%v, %d letters", r, len(office.got))
	}
	m, err := mail.ReadMessage(bytes.NewReader(office.got[0]))
	test.OK(t, err)
	subject, _ := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(subject, "Acme: Calls: ") {
		t.Errorf("%v, subject %q", err, subject)
	}
	parts, bodies := multipart.NewReader(m.Body, params["boundary"]), []string{}
	for {
		p, err := parts.NextPart()
		if err != nil {
			break
		}
		body, err := io.ReadAll(p)
		test.OK(t, err)
		bodies = append(bodies, string(body))
	}
	if len(bodies) != 2 || !strings.Contains(bodies[0], "Calls: ") || !strings.Contains(bodies[0], " → ") {
		t.Fatalf("the parts: %q", bodies)
	}
	t.Log(subject + "\n" + bodies[0])
	for args, want := range map[string]string{
		"--mail nobody":            `unknown channel "nobody"`,
		"--mail log":               `the channel "log" is not of type mail`,
		"--mail morning -o a.html": "--mail and --output exclude each other",
	} {
		run(t, "", append(append(page, "--alerts", "alerts.toml"), strings.Fields(args)...)...).reports(t, cli.ExitUsage, want)
	}
	run(t, "", append(page, "--mail", "morning")...).reports(t, cli.ExitUsage, "no file of rules")
	if !longtest.On() { // the whole page is made first; TestMailFailures in alert/channel tests why mail fails
		return
	}
	test.OK(t, s.Close())
	run(t, "", mailed...).reports(t, cli.ExitFailed, "mail the page: ")
}
