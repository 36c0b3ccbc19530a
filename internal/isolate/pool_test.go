package isolate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"callhouse/internal/analytics/value"
	"callhouse/internal/isolate"
	"callhouse/internal/loopback"
	"callhouse/internal/postgres"
	"callhouse/internal/test"
)

const envWorker = "CALLHOUSE_TEST_WORKER"

var (
	events *isolate.Events
	hears  chan struct{} // closed to end the deaf statement
)

// TestMain makes this binary the program of the statement processes.
func TestMain(m *testing.M) {
	if os.Getenv(envWorker) == "" {
		loopback.Main(m)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var job json.RawMessage
	err := isolate.ReadJob(os.Stdin, &job, cancel)
	if err == nil {
		events = isolate.NewEvents(os.Stdout)
		events.Log("the job is " + string(job))
		err = isolate.Run(ctx, events, backend{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// backend has its own statements: "pid", "hang", "deaf", "die", and "rows", whose rows are large.
type backend struct{}

func (backend) Open(context.Context, string, postgres.SessionSettings) (postgres.Session, error) {
	return backend{}, nil
}
func (backend) Begin(context.Context) error                          { return nil }
func (backend) End()                                                 {}
func (backend) Zone(context.Context, string) (*time.Location, error) { return time.UTC, nil }
func (backend) Prepare(_ context.Context, text string, _ []uint32) (postgres.Prepared, error) {
	return &statement{text: text}, nil
}

type statement struct {
	text string
	at   int
}

func (*statement) Columns() []postgres.Column {
	return []postgres.Column{{Name: "text", Type: postgres.TextType}}
}
func (*statement) Params() []postgres.Type                               { return nil }
func (s *statement) Query(context.Context, []any) (postgres.Rows, error) { return s, nil }
func (*statement) Close()                                                {}
func (s *statement) Values(ctx context.Context) ([]value.Value, error) {
	s.at++
	switch {
	case s.text == "pid" && s.at == 1:
		return []value.Value{value.Of(fmt.Sprint(os.Getpid()))}, nil
	case s.text == "hang":
		if events != nil {
			events.Log("it hangs")
		}
		<-ctx.Done()
		return nil, ctx.Err()
	case s.text == "deaf":
		<-hears
	case s.text == "die":
		fmt.Fprintln(os.Stderr, "terminate called")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case s.text == "rows" && s.at < 100:
		return []value.Value{value.Of(strings.Repeat("x", 16<<20))}, nil // more than the buffers in between hold
	}
	return nil, io.EOF
}

// served is a server whose statements run in processes.
type served struct {
	t       *testing.T
	pool    *isolate.Pool
	address string
	stop    func()

	mu    sync.Mutex
	audit []postgres.Entry
	log   []string
}

func serve(t *testing.T, perUser bool) *served {
	s := &served{t: t}
	s.pool = &isolate.Pool{PerUser: perUser, Idle: time.Hour, Job: func(user string) (any, error) { return map[string]string{"for": user}, nil },
		Command: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), envWorker+"=1")
			return cmd
		},
		Audit: func(e postgres.Entry) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.audit = append(s.audit, e)
		},
		Log: func(text string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.log = append(s.log, text)
		}}
	server := &postgres.Server{Host: s.pool, Log: s.pool.Log}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	test.OK(t, err)
	s.address = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- server.Serve(ctx, l) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
		s.pool.Close()
		if n := server.Connections(); n > 0 {
			t.Errorf("%d connections are left", n)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func (s *served) connect(user string) *pgconn.PgConn {
	s.t.Helper()
	c, err := pgconn.Connect(s.t.Context(), "postgres://"+user+"@"+s.address+"/callhouse?sslmode=disable")
	test.OK(s.t, err)
	s.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// ask returns the single value of an answer.
func ask(c *pgconn.PgConn, sql string) (string, error) {
	results, err := c.Exec(context.Background(), sql).ReadAll()
	if err != nil {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}

// pid returns the process of a connection's statements.
func (s *served) pid(c *pgconn.PgConn) int {
	s.t.Helper()
	text, err := ask(c, "pid")
	test.OK(s.t, err)
	pid, err := strconv.Atoi(text)
	test.OK(s.t, err)
	return pid
}

// hang begins a statement that does not end by itself, and returns its result.
func (s *served) hang(c *pgconn.PgConn) chan error {
	hanging := func() (n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, line := range s.log {
			if line == "it hangs" {
				n++
			}
		}
		return n
	}
	before, ended := hanging(), make(chan error, 1)
	go func() {
		_, err := ask(c, "hang")
		ended <- err
	}()
	for hanging() == before {
		time.Sleep(time.Millisecond)
	}
	return ended
}

func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

// A statement that ends its process ends the connections of its user, who can connect again, and of nobody else.
func TestAStatementEndsItsProcess(t *testing.T) {
	s := serve(t, true)
	ana, too, bo := s.connect("ana"), s.connect("ana"), s.connect("bo")
	before, his := s.pid(ana), s.pid(bo)
	if before == his || before != s.pid(too) || before == os.Getpid() {
		t.Errorf("processes: %d, %d and %d", before, s.pid(too), his)
	}
	for i := range 3 { // planned, but never run
		if _, err := too.Prepare(t.Context(), fmt.Sprint("s", i), "pid", nil); err != nil {
			t.Error(err)
		}
	}
	if answer := too.ExecPrepared(t.Context(), "s1", nil, nil, nil).Read(); answer.Err != nil {
		t.Error(answer.Err)
	}
	waits := s.hang(too)
	if _, err := ask(ana, "die"); code(err) != "57P02" {
		t.Errorf("the statement that aborts: %v", err)
	}
	if err := <-waits; code(err) != "57P02" {
		t.Errorf("a statement beside it: %v", err)
	}
	if after := s.pid(bo); after != his {
		t.Errorf("the other user had %d, now %d", his, after)
	}
	if after := s.pid(s.connect("ana")); after == before || after == his {
		t.Errorf("the user's next process is %d, before it was %d", after, before)
	}
	s.stop()
	ended, answered := map[string]string{}, 0
	for _, e := range s.audit {
		if e.Text == "pid" {
			answered++
		}
		if e.Code != "00000" {
			ended[e.Text] = e.User + " " + e.Code
		}
	}
	if answered != 6 {
		t.Errorf("%d answered statements are in the audit, want 6", answered)
	}
	if fmt.Sprint(ended) != "map[die:ana 57P02 hang:ana 57P02]" {
		t.Errorf("the audit has %v", ended)
	}
	said := strings.Join(s.log, "\n")
	for _, want := range []string{`the job is {"for":"ana"}`, `of "ana" ended (signal: killed: terminate called), closing 2 connections; it was running: die | hang`} {
		if !strings.Contains(said, want) {
			t.Errorf("the log lacks %q:\n%s", want, said)
		}
	}
}

// If a process ends within a row, the row stays cut off, and nothing is sent that could be taken
// for the rest of it.
func TestNothingIsSaidWithinAMessage(t *testing.T) {
	s := serve(t, false)
	c := s.connect("ana")
	pid := s.pid(c)
	raw, err := c.Hijack()
	test.OK(t, err)
	raw.Frontend.Send(&pgproto3.Query{String: "rows"})
	test.OK(t, raw.Frontend.Flush())
	_, err = io.ReadFull(raw.Conn, make([]byte, 300<<10))
	test.OK(t, err)
	test.OK(t, syscall.Kill(pid, syscall.SIGKILL))
	rest, err := io.ReadAll(raw.Conn)
	if err != nil || strings.Contains(string(rest), "57P02") || strings.Trim(string(rest[len(rest)-100:]), "x") != "" {
		t.Errorf("after %d bytes: %v; the end is %q", len(rest), err, rest[max(0, len(rest)-100):])
	}
}

// Cancel requests, messages sent before the server has answered, and the server's end reach the process.
func TestOrders(t *testing.T) {
	s := serve(t, false)
	c := s.connect("ana")
	went := s.hang(c)
	test.OK(t, c.CancelRequest(t.Context()))
	if err := <-went; code(err) != "57014" {
		t.Errorf("cancelled: %v", err)
	}

	raw, err := net.Dial("tcp", s.address)
	test.OK(t, err)
	defer raw.Close()
	f := pgproto3.NewFrontend(raw, raw)
	f.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": "bo"}})
	f.Send(&pgproto3.Query{String: "pid"})
	test.OK(t, f.Flush())
	for answered := false; !answered; {
		m, err := f.Receive()
		if err != nil {
			t.Fatalf("what was said at once: %v", err)
		}
		_, answered = m.(*pgproto3.CommandComplete)
	}

	went = s.hang(c)
	s.stop()
	if err := <-went; code(err) != "57P01" {
		t.Errorf("as the server ended: %v", err)
	}
	if said := strings.Join(s.log, "\n"); strings.Contains(said, "ended (") {
		t.Errorf("a process fell as the server ended: %s", said)
	}
}

// A process without clients ends, and its leftovers are removed.
func TestIdle(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := serve(t, true)
	s.pool.Idle = 0
	first := s.connect("ana")
	pid := s.pid(first)
	_ = first.Close(t.Context())
	for wait := time.Now(); syscall.Kill(pid, 0) == nil; time.Sleep(time.Millisecond) {
		if time.Since(wait) > 30*time.Second {
			t.Fatal("the process stays")
		}
	}
	if _, err := ask(s.connect("ana"), "pid"); err != nil {
		t.Error(err)
	}
	s.stop()
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A statement that does not stop when told to is detected, and one that stops is not.
func TestStuck(t *testing.T) {
	stuck := make(chan struct{})
	hears = make(chan struct{})
	sessions := &postgres.Sessions{Backend: backend{}, Late: 10 * time.Millisecond, Stuck: func() { close(stuck) }}
	here, there := net.Pipe()
	go func() {
		_ = sessions.Answer(t.Context(), there, postgres.Connection{User: "ana", PID: 1, Key: make([]byte, 4)})
	}()
	f := pgproto3.NewFrontend(here, here)
	until := func(done func(pgproto3.BackendMessage) bool) {
		t.Helper()
		for m, err := f.Receive(); !done(m); m, err = f.Receive() {
			test.OK(t, err)
		}
	}
	isReady := func(m pgproto3.BackendMessage) bool { _, ok := m.(*pgproto3.ReadyForQuery); return ok }
	until(isReady)
	for _, sql := range []string{"SET statement_timeout = 1; hang", "deaf"} {
		f.Send(&pgproto3.Query{String: sql})
		test.OK(t, f.Flush())
		if sql == "deaf" {
			<-stuck
			close(hears)
		}
		until(isReady)
	}
}
