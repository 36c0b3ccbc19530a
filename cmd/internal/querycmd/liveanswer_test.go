package querycmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/schema"
	"callhouse/internal/serve"
	"callhouse/internal/test"
)

// An answer that fails midway cannot be mistaken for a complete one, and one that fails before its
// first byte reports the error.
func TestAnAnswerThatIsCut(t *testing.T) {
	for _, size := range []int{0, 1 << 20} {
		var s *liveServer
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			err := s.stream(w, r, &request{load: &load{turns: make(chan struct{}, 1)}}, &answerTo{kind: "text/csv", name: "x.csv", write: func(_ context.Context, to io.Writer) error {
				_, err := to.Write(bytes.Repeat([]byte("a"), size))
				return errors.Join(err, errors.New("the disk is gone"))
			}})
			if err != nil {
				s.explain(w, r, err)
			}
		})
		s = &liveServer{Log: slog.New(slog.DiscardHandler), working: make(chan struct{}, 1)}
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

// aServer returns a server over a warehouse of one call.
func aServer(t *testing.T) *liveServer {
	t.Helper()
	root := t.TempDir()
	at := time.Now().AddDate(0, 0, -2).UnixMilli()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: []analyticstest.Row{{"call_id": "one", "start_at": at}},
		Turns: []analyticstest.Row{{"call_id": "one", "call_start_at": at, "turn": int64(0), "role": "user", "content": "hello"},
			{"call_id": "one", "call_start_at": at, "turn": int64(1), "role": "tool_call_invocation", "tool_call_id": "t", "tool_name": "find"}}})
	snapshots := &serve.Snapshots{Root: root, Open: func(ctx context.Context, zone *time.Location, r rights.Rights) (*analytics.Warehouse, error) {
		return analytics.Open(ctx, root, analytics.Options{Options: database.Options{Location: zone, Rights: r}})
	}}
	t.Cleanup(func() { test.OK(t, snapshots.Close()) })
	return newLive(&liveServer{Snapshots: snapshots, Settings: answer.Command{Config: config.Config{Values: config.Values{TZ: "UTC", Lang: "en"}}}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
}

// If a page made in advance fails, this is logged, and no reader is affected.
func TestAPageThatFailsAhead(t *testing.T) {
	s := aServer(t)
	var log strings.Builder
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	warehouse, release, err := s.Snapshots.Acquire(t.Context(), time.UTC, rights.Rights{})
	test.OK(t, err)
	defer release()
	for _, of := range []*schema.Table{&schema.Turns, &schema.ToolCalls} {
		test.OK(t, os.RemoveAll(filepath.Join(warehouse.Snapshot().Dir, of.Name)))
	}
	s.Ready(t.Context())
	if !strings.Contains(log.String(), "request failed") {
		t.Errorf("the log says %q", log.String())
	}
}

// A page is sent whole or not at all. The one made in advance is made once, and again only if that failed.
func TestPagesAreWhole(t *testing.T) {
	s := aServer(t)
	made := 0
	handler := s.answers(func(*request) (*answerTo, error) {
		return &answerTo{kind: htmlType, ahead: true, write: func(_ context.Context, w io.Writer) error {
			_, _ = s.archive(t.TempDir()) // a recording does not wait for the page
			fmt.Fprint(w, "first")
			if made++; made == 1 {
				return &duck.Error{Kind: "Out of Memory", Message: "the disk is full"}
			}
			return nil
		}}, nil
	})
	for i, want := range []string{"500 out of memory error: the disk is full\nquery less at once", "200 first", "200 first"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if got := fmt.Sprint(w.Code, " ", w.Body); !strings.HasPrefix(got, want) || made != min(i+1, 2) || len(s.working) != 0 {
			t.Errorf("answer %d is %q, made %d times, with %d turns not given back", i, got, made, len(s.working))
		}
	}
}

// A reader with many requests keeps no other one waiting, and is refused beyond a limit. When its clients
// leave, nothing is made for them.
func TestOneReaderAmongOthers(t *testing.T) {
	s := aServer(t)
	s.Login = func(_ context.Context, user, _, _ string) (rights.Rights, bool, error) {
		return rights.Rights{}, true, nil
	}
	begun := make(chan string, 100)
	server := httptest.NewServer(s.guard(s.answers(func(q *request) (*answerTo, error) {
		return &answerTo{kind: htmlType, name: map[bool]string{true: "x.csv"}[q.path == "/file"], write: func(ctx context.Context, w io.Writer) error {
			if q.path == "/file" {
				_, _ = io.WriteString(w, "begin") // a slow client keeps its snapshot open
			}
			if q.path != "/fast" {
				begun <- q.path
				<-ctx.Done()
			}
			return ctx.Err()
		}}, nil
	})))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	get := func(ctx context.Context, user, path string) (code int, after string) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
		test.OK(t, err)
		r.SetBasicAuth(user, "x")
		resp, err := client.Do(r)
		if err != nil {
			return 0, ""
		}
		defer resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Retry-After")
	}
	requests := func() (n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, of := range s.loads {
			for _, requests := range of.requests {
				n += requests
			}
		}
		return n
	}
	ctx, leave := context.WithCancel(t.Context())
	for range maxRequests {
		go get(ctx, "many", "/slow")
	}
	for <-begun; requests() < maxRequests; time.Sleep(time.Millisecond) {
	}
	if code, after := get(t.Context(), "many", "/fast"); code != http.StatusServiceUnavailable || after == "" {
		t.Errorf("one more request: %d, Retry-After %q", code, after)
	}
	if code, _ := get(t.Context(), "one", "/fast"); code != http.StatusOK {
		t.Errorf("another reader's request: %d", code)
	}
	for i := range serve.MaxViews {
		go get(ctx, "zones", fmt.Sprintf("/file?tz=Etc/GMT-%d", i+1))
		for !strings.Contains(<-begun, "/file") {
		}
	}
	if code, after := get(t.Context(), "zones", "/fast?tz=Asia/Seoul"); code != http.StatusServiceUnavailable || after == "" {
		t.Errorf("in one more zone: %d, Retry-After %q", code, after)
	}
	leave()
	for requests() > 0 {
		time.Sleep(time.Millisecond)
	}
	if len(s.working) != 0 || len(s.loads) != 0 {
		t.Errorf("after they left, %d turns and %d readers remain", len(s.working), len(s.loads))
	}
}
