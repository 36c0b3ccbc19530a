package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/serve"
)

// What fails in its middle is never taken for the whole, and what fails before its first
// byte is told.
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
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		server.Close()
		if size == 0 && resp.StatusCode != http.StatusInternalServerError || size > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %d bytes: %s, %d bytes, %v", size, resp.Status, len(body), err)
		}
	}
}

// Whoever asks for an answer that is being made gets each part of it at once, also when who
// asked first is gone. It is made once for all of them, and again only if it failed.
func TestReadersFollow(t *testing.T) {
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{})
	houses := &serve.Houses{Root: root, Open: func(ctx context.Context, zone *time.Location, r rights.Rights) (*analytics.Warehouse, error) {
		return analytics.Open(ctx, root, analytics.Options{Location: zone, Rights: r})
	}}
	s := New(Config{House: houses, Settings: answer.Command{Config: config.Config{Values: config.Values{TZ: "UTC", Lang: "en"}}}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	var made atomic.Int32
	goOn := make(chan error)
	server := httptest.NewServer(s.answers(func(*question) (*answerTo, error) {
		return &answerTo{kind: "text/plain", small: true, write: func(_ context.Context, w io.Writer) error {
			made.Add(1)
			_, _ = io.WriteString(w, "first")
			w.(interface{ Flush() }).Flush()
			_, _ = io.WriteString(w, "second")
			return <-goOn
		}}, nil
	}))
	t.Cleanup(func() {
		server.Close()
		if err := houses.Close(); err != nil {
			t.Error(err)
		}
	})
	begin := func(ctx context.Context) io.ReadCloser {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		part := make([]byte, len("first"))
		if _, err := io.ReadFull(resp.Body, part); err != nil || string(part) != "first" {
			t.Fatalf("the beginning is %q: %v", part, err)
		}
		return resp.Body
	}
	for i, fails := range []error{errors.New("the disk is gone"), nil} {
		ctx, leave := context.WithCancel(t.Context())
		bodies := []io.ReadCloser{begin(ctx), begin(t.Context()), begin(t.Context())}
		leave()
		goOn <- fails
		for n, body := range bodies {
			rest, err := io.ReadAll(body)
			_ = body.Close()
			if wrong := string(rest) != "second" || err != nil; n > 0 && wrong != (fails != nil) {
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
