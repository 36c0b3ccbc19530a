package crawler

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"testing"
	"time"

	"go.uber.org/goleak"

	"callhouse/internal/api"
	"callhouse/internal/api/apitest"
	"callhouse/internal/loopback"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the tests use little memory, and garbage collection took a quarter of their time
	loopback.Only()
	goleak.VerifyTestMain(m)
}

// serve answers requests with h, on an in-memory network, until the test ends or stop is called.
func serve(t testing.TB, h http.Handler) (tr *http.Transport, stop func()) {
	return apitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil // simulated time differs from the calls'; the sandbox sends its own
		h.ServeHTTP(w, r)
	}))
}

// tester returns a crawler on a transport, for tests of parts of a crawler.
func tester(t testing.TB, tr http.RoundTripper, store Store, change func(*Config)) *Crawler {
	t.Helper()
	cfg := Config{
		Config: api.Config{
			BaseURL: "http://calls.test", Key: "k-0123456789", KeySource: "TEST_KEY", Transport: tr,
			PerSecond: 5, PerMinute: 120, Share: 1,
		},
		Window: 72 * time.Hour, RelistEvery: 7 * 24 * time.Hour,
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg, store)
	test.OK(t, err)
	t.Cleanup(c.api.Close)
	return c
}

// testLog writes to the test's own log.
func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func errorAs[E error](err error) (e E, ok bool) {
	ok = errors.As(err, &e)
	return e, ok
}
