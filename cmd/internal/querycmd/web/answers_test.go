package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/lend"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// An answer that fails midway cannot be mistaken for a complete one, and one that fails before its
// first byte reports the error.
func TestAnAnswerThatIsCut(t *testing.T) {
	for _, size := range []int{0, 1 << 20} {
		var s *Server
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			err := s.stream(w, r, 1, "key", &answerTo{kind: "text/csv", write: func(_ context.Context, to io.Writer) error {
				_, err := to.Write(bytes.Repeat([]byte("a"), size))
				return errors.Join(err, errors.New("the disk is gone"))
			}})
			if err != nil {
				s.explain(w, r, err)
			}
		})
		s = &Server{Config: Config{Log: slog.New(slog.DiscardHandler)}, working: make(chan struct{}, 1), kept: map[string]*making{},
			made: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "made"}, []string{"became"})}
		server := httptest.NewServer(handler)
		resp, err := http.Get(server.URL) //nolint:noctx // of this test's own server
		test.OK(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		server.Close()
		if size == 0 && resp.StatusCode != http.StatusInternalServerError || size > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %d bytes: %s, %d bytes, %v", size, resp.Status, len(body), err)
		}
	}
}

// newServer returns a server over a warehouse of one call.
func newServer(t *testing.T) *Server {
	t.Helper()
	root := t.TempDir()
	at := time.Now().AddDate(0, 0, -2).UnixMilli()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: []analyticstest.Row{{"call_id": "one", "start_at": at}},
		Turns: []analyticstest.Row{{"call_id": "one", "call_start_at": at, "turn": int64(0), "role": "user", "content": "hello"},
			{"call_id": "one", "call_start_at": at, "turn": int64(1), "role": "tool_call_invocation", "tool_call_id": "t", "tool_name": "find"}}})
	houses := &lend.Houses{Root: root, Open: func(ctx context.Context, zone *time.Location, r rights.Rights) (*analytics.Warehouse, error) {
		return analytics.Open(ctx, root, analytics.Options{Options: opened.Options{Location: zone, Rights: r}})
	}}
	t.Cleanup(func() {
		if err := houses.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(Config{House: houses, Settings: answer.Command{Config: config.Config{Values: config.Values{TZ: "UTC", Lang: "en"}}}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
}

// If a page made in advance fails, this is logged, and no reader is affected.
func TestAPageThatFailsAhead(t *testing.T) {
	s := newServer(t)
	var log strings.Builder
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	house, giveBack, err := s.House.Borrow(t.Context(), time.UTC, rights.Rights{})
	test.OK(t, err)
	defer giveBack()
	for _, of := range []*schema.Table{&schema.Turns, &schema.ToolCalls} { // the head of the page does not read them
		test.OK(t, os.RemoveAll(filepath.Join(house.Snapshot().Dir, of.Name)))
	}
	s.Ready(t.Context())
	if !strings.Contains(log.String(), "answer aborted") {
		t.Errorf("the log says %q", log.String())
	}
}

// Close ends an answer that does not end with its reader.
func TestCloseEndsAnswers(t *testing.T) {
	s := newServer(t)
	s.answers(func(*request) (*answerTo, error) {
		return &answerTo{small: true, write: func(ctx context.Context, _ io.Writer) error {
			s.Close()
			<-ctx.Done()
			return ctx.Err()
		}}, nil
	}).ServeHTTP(unread{}, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
}

// flushed records what was written at each flush.
type flushed struct {
	strings.Builder
	at []string
}

func (f *flushed) Flush() { f.at = append(f.at, f.String()) }

// The head of a page is sent before its numbers are known, if the question is valid.
func TestHeadComesFirst(t *testing.T) {
	s := newServer(t)
	for address, fails := range map[string]bool{"/calls": false, "/reports/worst": false, "/reports/funnel?by=agent": false, "/calls/one": false,
		"/calls?agent=nobody": true, "/reports/funnel?where=metadata": true, "/calls/other": true} {
		var out flushed
		var err error
		mux := http.NewServeMux()
		for pattern, find := range map[string]func(*request) (*answerTo, error){"/calls": s.calls, "/calls/{id}": s.call, "/reports/{name}": s.report} {
			mux.Handle(pattern, s.answers(func(q *request) (*answerTo, error) {
				a, wrong := find(q)
				if err = wrong; err == nil {
					err = a.write(t.Context(), &out)
				}
				return nil, errors.New("that was all")
			}))
		}
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
		if fails {
			if err == nil || out.Len() > 0 {
				t.Errorf("%s: %v after %q", address, err, out.String())
			}
			continue
		}
		if err != nil || len(out.at) != 2 || !strings.Contains(out.at[0], "</h1>") || strings.Contains(out.at[0][strings.Index(out.at[0], "<main>"):], "<table") || !strings.HasSuffix(out.at[1], "</html>\n") || !strings.Contains(out.at[1], "<table") && !strings.Contains(out.at[1], "<ol>") {
			t.Errorf("%s: %v, in parts %q", address, err, out.at)
		}
	}
}

// A head does not wait for other answers; the rest does.
func TestHeadsWaitForNobody(t *testing.T) {
	s := newServer(t)
	server := httptest.NewServer(s.Handler)
	t.Cleanup(server.Close)
	for range cap(s.working) {
		s.working <- struct{}{}
	}
	free := sync.OnceFunc(func() {
		for range cap(s.working) {
			<-s.working
		}
	})
	defer free()
	bodies := map[string]io.ReadCloser{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // expires only if an answer hangs
	defer cancel()
	for _, address := range []string{"/", "/calls", "/calls/one", "/reports/worst", "/reports/conversation", "/reports/search?word=hello"} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+address, nil)
		test.OK(t, err)
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatalf("%s: no head: %v", address, err)
		}
		defer resp.Body.Close()
		bodies[address] = resp.Body
	}
	free()
	for address, body := range bodies {
		if text, err := io.ReadAll(body); err != nil || !strings.HasSuffix(string(text), "</html>\n") {
			t.Errorf("%s: %v after %d bytes", address, err, len(text))
		}
	}
	if len(s.working) != 0 {
		t.Errorf("%d turns are not given back", len(s.working))
	}
}

// All readers of an answer in progress get each part at once, even after the first reader has left.
// It is made once for all, and again only if it failed.
func TestReadersFollow(t *testing.T) {
	s := newServer(t)
	var made atomic.Int32
	goOn := make(chan error)
	server := httptest.NewServer(s.answers(func(*request) (*answerTo, error) {
		return &answerTo{kind: htmlType, small: true, write: func(_ context.Context, w io.Writer) error {
			made.Add(1)
			_, _ = io.WriteString(w, "first")
			w.(interface{ Flush() }).Flush()
			_, _ = io.WriteString(w, "second")
			return <-goOn
		}}, nil
	}))
	t.Cleanup(server.Close)
	begin := func(ctx context.Context) io.ReadCloser {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		test.OK(t, err)
		resp, err := server.Client().Do(r)
		test.OK(t, err)
		part := make([]byte, len("first"))
		if _, err := io.ReadFull(resp.Body, part); err != nil || string(part) != "first" {
			t.Fatalf("the beginning is %q: %v", part, err)
		}
		return resp.Body
	}
	for i, fails := range []error{&duck.Error{Kind: "Out of Memory", Message: "the disk is full"}, nil} {
		ctx, leave := context.WithCancel(t.Context())
		bodies := []io.ReadCloser{begin(ctx), begin(t.Context()), begin(t.Context())}
		leave()
		goOn <- fails
		for n, body := range bodies {
			rest, err := io.ReadAll(body)
			_ = body.Close()
			isWhole := err == nil && string(rest) == "second"
			saysWhy := errors.Is(err, io.ErrUnexpectedEOF) && strings.Contains(string(rest), "the disk is full<br>query less at once")
			if n > 0 && (isWhole == (fails != nil) || saysWhy != (fails != nil)) {
				t.Errorf("reader %d of an answer that fails by %v gets %q: %v", n, fails, rest, err)
			}
		}
		if n := made.Load(); n != int32(i+1) {
			t.Errorf("it was made %d times", n)
		}
	}
	if rest, err := io.ReadAll(begin(t.Context())); err != nil || string(rest) != "second" || made.Load() != 2 {
		t.Errorf("what is kept is %q: %v; it was made %d times", rest, err, made.Load())
	}
}
