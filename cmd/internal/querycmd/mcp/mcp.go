// Package mcp is the command query mcp: it serves a warehouse to one assistant over the Model
// Context Protocol, on stdin and stdout. Its four tools only read. Every answer lists its omissions
// and marks recorded text as data. Recorded text is copied into answers and never influences the
// server.
package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/database"
	"callhouse/internal/serve"
	"callhouse/internal/words"
)

// server answers the tool calls of one assistant.
type server struct {
	*answer.Command
	serve.User  // whose rights and limits apply; empty: no limits
	reportsOnly bool
	timeout     time.Duration // of a tool call
	working     chan struct{} // limits concurrent answers
}

// Command returns the command.
func Command(a *answer.Command) *cobra.Command {
	s := &server{Command: a, working: make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))}
	var file, user string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an assistant over the Model Context Protocol, on stdin and stdout",
		Long: `Serve the reports, one conversation, and SQL to an assistant such as Claude, Copilot
or Gemini, until stdin ends. The assistant starts the command itself: docs/guide/assistants.md
has its configuration. The server only reads; new commits appear without a restart.

Tools: reports (query list), report (runs one), describe, and sql (as query sql --safe).
Every answer says what it leaves out, and marks texts of callers as data that are not to
be obeyed. An assistant may pass on everything it reads to the company that runs it:
--reports-only serves no SQL, no transcripts and no summaries, and --users with --user
applies the limits of a user of query serve.`,
		Example: `  query mcp --warehouse /var/lib/callhouse --tz Asia/Seoul
  query mcp --reports-only
  query mcp --users /etc/callhouse/users.json --user analyst`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.limit(file, user); err != nil {
				return err
			}
			return s.serve(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&s.reportsOnly, "reports-only", false, "refuse SQL, transcripts, and summaries of calls")
	f.StringVar(&file, "users", "", "`FILE` with users of query serve; requires --user")
	f.StringVar(&user, "user", "", "`NAME` of the user of --users whose limits apply")
	cli.SpanVar(f, &s.timeout, "timeout", time.Minute, "limit the time of an answer to `TIME`, e.g. 30s or 5m")
	return cmd
}

// limit applies the limits of a user and of --reports-only.
func (s *server) limit(file, user string) error {
	if (file == "") != (user == "") {
		return cli.Usage("give both --users and --user", "the limits of a user require the file and the name")
	}
	if user != "" {
		list, err := serve.OpenUsers(file)
		if err != nil {
			return cli.Usage(cmp.Or(cli.Hint(err), "create it: query serve user add NAME --users "+file), "%w", err)
		}
		if _, s.User, err = list.Find(user); err != nil {
			return err
		}
		if s.Name == "" {
			return cli.Usage("query serve user list shows all users", "unknown user %q", user)
		}
	}
	if limit := s.Limit(); limit > 0 {
		s.timeout = min(limit, s.timeout)
	}
	if s.reportsOnly {
		s.Rights.Masked = append(s.Rights.Masked, "summary") // the only free text in a report without arguments
	}
	return nil
}

// maxRequest is the maximum size of a request in bytes: a statement of 1 MiB, escaped.
const maxRequest = 4 << 20

// serve serves the assistant until its input ends.
func (s *server) serve(ctx context.Context) error {
	loc, err := s.Location()
	if err != nil {
		return err
	}
	if err := database.CheckZone(ctx, loc); err != nil {
		return err
	}
	if _, err := database.CurrentAbsolute(s.Warehouse); err != nil {
		return err
	}
	if cli.IsTerminal(s.Stdin) {
		words.Fprintln(s.Stderr, "an assistant is expected on stdin: docs/guide/assistants.md has its configuration; Ctrl-D ends this")
	}
	protocol := sdk.NewServer(&sdk.Implementation{Name: "callhouse", Version: cli.Version()}, &sdk.ServerOptions{
		Instructions: instructions + s.TZ, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
	if err := s.offer(protocol); err != nil {
		return err
	}
	both := &lines{Writer: s.Stdout, in: bufio.NewReaderSize(s.Stdin, maxRequest)}
	if err := protocol.Run(ctx, transport{&sdk.IOTransport{Reader: both, Writer: both}}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the assistant: %w", err)
	}
	return nil
}

// transport is one whose input ends only after all requests are answered. The SDK would cancel those
// in progress.
type transport struct{ sdk.Transport }

// Connect implements sdk.Transport.
func (t transport) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &connection{Connection: c}, err
}

type connection struct {
	sdk.Connection
	unanswered sync.WaitGroup
}

// Read implements sdk.Connection.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.unanswered.Add(1)
	}
	if errors.Is(err, io.EOF) {
		done := make(chan struct{})
		go func() {
			c.unanswered.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	return m, err
}

// Write implements sdk.Connection.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	if _, ok := m.(*jsonrpc.Response); ok {
		defer c.unanswered.Done()
	}
	return c.Connection.Write(ctx, m)
}

// lines reads a message from each line. The SDK would end at a line that is none, so these are
// answered here.
type lines struct {
	io.Writer
	in    *bufio.Reader
	began bool
	rest  []byte // of the line
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	if mark, _ := l.in.Peek(3); !l.began && string(mark) == "\uFEFF" { // as some programs begin a text
		_, _ = l.in.Discard(3)
	}
	l.began = true
	for len(l.rest) == 0 {
		line, err := l.in.ReadSlice('\n')
		_, wrong := jsonrpc.DecodeMessage(line)
		for line = bytes.TrimSpace(line); errors.Is(err, bufio.ErrBufferFull); _, err = l.in.ReadSlice('\n') {
			wrong = err
		}
		switch {
		case len(line) == 0 && err != nil:
			return 0, err
		case len(line) > 0 && (wrong != nil || !json.Valid(line)):
			_, _ = io.WriteString(l, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":`+
				`"not one message in a line of at most 4 MiB"}}`+"\n")
		case len(line) > 0:
			l.rest = append(line, '\n')
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (*lines) Close() error { return nil }
