package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
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
		s = &Server{Config: Config{Log: slog.New(slog.DiscardHandler)}, working: make(chan struct{}, 1), kept: map[string]*sent{},
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
