package querycmd_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"os"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// The command serves an assistant on its stdin and stdout until stdin ends, with the limits of a
// user.
func TestMCP(t *testing.T) {
	house(t)
	safeTemp(t)
	run(t, "a long password\n", "serve", "user", "add", "ann", "--users", "users.json", "--mask", "disconnection_reason").exits(t, cli.ExitOK)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- querycmd.Run(t.Context(), cmdtest.Env(), []string{"mcp", "--users", "users.json", "--user", "ann", "--audit", "audit", "--tz", "Asia/Seoul"}, in, out, &errs)
		_ = out.Close()
	}()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err, errs.String())
	}
	for _, x := range []struct{ tool, args, want string }{
		{"funnel", `{"since": "2024-11-18"}`, "since 2024-11-18T00:00:00+09:00"},
		{"sql", `{"statement": "SELECT count(*) AS n, count(disconnection_reason) AS reasons FROM calls"}`, `{"n":8,"reasons":0}`},
		{"call", `{"call_id": "c1"}`, `Hello, \"Ann\" speaking,\nhow may I help?`},
	} {
		got, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: x.tool, Arguments: json.RawMessage(x.args)})
		if err != nil || got.IsError || !strings.Contains(got.Content[0].(*sdk.TextContent).Text, x.want) {
			t.Errorf("%s: %v, %+v", x.tool, err, got)
		}
	}
	test.OK(t, c.Close())
	if code := <-ended; code != cli.ExitOK || errs.Len() > 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if raw, err := os.ReadFile("audit"); err != nil || strings.Count(string(raw), `"user":"ann","from":"stdin","application":"mcp"`) != 3 {
		t.Errorf("%v: %s", err, raw)
	}
}

// Errors in its flags are reported before it waits for an assistant.
func TestMCPFlags(t *testing.T) {
	house(t)
	for args, want := range map[string]string{"--users users.json": "both --users and --user", "--user ann": "both --users and --user", "--users none.json --user ann": "query serve user add",
		"--max-rows 0": "invalid --max-rows 0", "--max-output lots": "invalid --max-output lots", "--memory 1KiB": "too small", "--warehouse nowhere": "no warehouse", "extra": "takes no arguments", "--tz Mars": "unknown time zone"} {
		if r := run(t, "", append([]string{"mcp"}, strings.Fields(args)...)...); r.code == cli.ExitOK || r.out != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %v", args, r)
		}
	}
	run(t, "", "serve", "--postgres", "127.0.0.1:0", "--mcp").reports(t, cli.ExitUsage, "--mcp requires --http")
}

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
