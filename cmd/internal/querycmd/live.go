package querycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/layout"
	"callhouse/internal/postgres"
	"callhouse/internal/recording"
	"callhouse/internal/serve"
	"callhouse/internal/words"
)

// maxHeader is the maximum size of a request's header in bytes.
const maxHeader = 16 << 10

// liveServer serves a warehouse to browsers and spreadsheets: the morning page, the reports, the calls that a number
// counts, and transcripts. It only reads, and needs no script in the browser. An answer depends only on the snapshot, the
// address and the reader's rights, so it has an ETag.
type liveServer struct {
	Snapshots *serve.Snapshots
	Settings  answer.Command // default zone, language and currency; the warehouse's folder for messages
	// Login checks a user's password and returns the user's rights. Its error explains why no
	// password from an address is currently checked. nil: everyone who reaches the server may read
	// everything, which is only for loopback addresses.
	Login   func(ctx context.Context, user, password, address string) (rights.Rights, bool, error)
	Now     func() time.Time
	Log     *slog.Logger
	Metrics *prometheus.Registry
	Audit   *serve.AuditLog // of answered requests; nil: none

	http.Handler
	working chan struct{} // limits concurrent answers

	mu       sync.Mutex
	prepared map[string][]byte             // the page that Ready made, by its ETag
	loads    map[string]*load              // of readers with requests in progress
	archives map[string]*recording.Archive // by address

	number prometheus.Gauge
}

// newLive completes a server.
func newLive(s *liveServer) *liveServer {
	s.working = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))
	s.loads, s.archives = map[string]*load{}, map[string]*recording.Archive{}
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "callhouse_serve", Name: "request_duration_seconds",
		Help: "Duration of requests, by status.", Buckets: []float64{.01, .1, 1, 10, 100}}, []string{"code"})
	s.number = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "callhouse_serve", Name: "snapshot",
		Help: "Number of the snapshot used by the latest answer."})
	s.Metrics.MustRegister(requests, s.number)
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", s.answers(s.page))
	mux.Handle("GET /calls", s.answers(s.calls))
	mux.Handle("GET /calls/{id}", s.answers(s.call))
	mux.Handle("GET /reports", s.answers(s.index))
	mux.Handle("GET /reports/{name}", s.answers(s.report))
	mux.Handle("GET /style.css", http.HandlerFunc(style))
	mux.Handle("GET /metrics", s.unlimited(promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{})))
	mux.Handle("GET /healthz", http.HandlerFunc(s.health))
	all := http.NewServeMux()
	all.Handle("GET /calls/{id}/recording", http.HandlerFunc(s.recording)) // uncompressed: players request it in parts
	all.Handle("/", gzhttp.GzipHandler(mux))
	s.Handler = promhttp.InstrumentHandlerDuration(requests, s.audited(s.guard(all)))
	return s
}

// audited reports each request except probes, including refused and cut ones.
func (s *liveServer) audited(next http.Handler) http.Handler {
	if s.Audit == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, status := s.Now(), &status{ResponseWriter: w, code: http.StatusOK}
		defer func() {
			if user, _, _ := r.BasicAuth(); r.URL.Path != "/healthz" {
				s.Audit.Write(postgres.Entry{At: began, User: user, From: r.RemoteAddr, Application: "http",
					Text: r.Method + " " + r.URL.RequestURI(), Code: strconv.Itoa(status.code), Took: s.Now().Sub(began)})
			}
		}()
		next.ServeHTTP(status, r)
	})
}

// status records the status of an answer.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// guard admits authorised readers, and makes browsers keep answers private.
func (s *liveServer) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src data:; media-src 'self'; "+
			"base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "private, no-cache") // revalidate the ETag each time
		h.Set("Connection", "close")                // without a login, nobody keeps a connection
		defer func() {
			if h.Get("Connection") != "" { // the rest of the request's body is not waited for
				_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
			}
		}()
		user, password, ok := r.BasicAuth()
		var may rights.Rights
		switch {
		case r.URL.Path == "/healthz": // a probe has no password and learns nothing
			next.ServeHTTP(w, r)
			return
		case s.Login != nil:
			var err error
			if ok {
				may, ok, err = s.Login(r.Context(), user, password, r.RemoteAddr)
			}
			if err != nil {
				h.Set("Retry-After", "60")
				s.fail(w, http.StatusTooManyRequests, err, "")
				return
			}
			if !ok {
				h.Set("WWW-Authenticate", `Basic realm="callhouse", charset="UTF-8"`)
				s.fail(w, http.StatusUnauthorized, errors.New("user and password required"), "create a user with query serve user add")
				return
			}
		case !config.OnThisMachine((&url.URL{Host: r.Host}).Hostname()):
			// Another site's page could reach a loopback address under its own name.
			s.fail(w, http.StatusForbidden, fmt.Errorf("the host %q is not allowed", r.Host),
				"without --users, the server only accepts the hosts localhost and 127.0.0.1")
			return
		case r.Header.Get("Sec-Fetch-Site") == "cross-site":
			s.fail(w, http.StatusForbidden, errors.New("another site's page asks for this address"),
				"without --users, enter the address yourself")
			return
		}
		if s.Login == nil {
			user = ""
		}
		defer admit(r.Context())()
		if r.ContentLength == 0 {
			h.Del("Connection")
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), readerKey{}, reader{user, may})))
	})
}

// unlimited refuses users with limits, since the numbers are about everyone.
func (s *liveServer) unlimited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !readerOf(r).rights.None() {
			s.fail(w, http.StatusForbidden, errors.New("metrics cover all users, and your user may see only part of the data"),
				"use a user without restrictions: query serve user add NAME")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// health answers 200 while a snapshot can be opened.
func (s *liveServer) health(w http.ResponseWriter, r *http.Request) {
	zone, err := s.Settings.Location()
	if err == nil {
		var release func()
		if _, release, err = s.Snapshots.Acquire(r.Context(), zone, rights.Rights{}); err == nil {
			release()
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil {
		s.Log.Error("not healthy", "error", err)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "cannot open a snapshot: see the log\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// pathRE matches absolute paths.
var pathRE = regexp.MustCompile(`'/[^']*'|"/[^"]*"|(^|[^\w/.-])/[^\s"')]+`)

// explain answers with the error and its hint.
func (s *liveServer) explain(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody reads it
	}
	err = s.Settings.Explain(err)
	status, text, hint := http.StatusInternalServerError, err.Error(), cli.Hint(err)
	switch {
	case errors.Is(err, errBusy):
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "10")
	case errors.Is(err, errTooLong):
		status = http.StatusServiceUnavailable
	case analytics.Denied(err):
		status = http.StatusForbidden
	case errors.Is(err, errNotThere):
		status = http.StatusNotFound
	case cli.Code(err) == cli.ExitUsage:
		status = http.StatusBadRequest
	default:
		s.Log.Error("request failed", "path", r.URL.Path, "error", err)
	}
	text = layout.Inside(s.Settings.Warehouse, text)
	if cli.Code(err) != cli.ExitUsage && !errors.Is(err, errNotThere) { // these name addresses
		text, hint = pathRE.ReplaceAllString(text, "$1…"), pathRE.ReplaceAllString(hint, "$1…")
	}
	s.fail(w, status, errors.New(text), hint)
}

// fail writes a line or two.
func (s *liveServer) fail(w http.ResponseWriter, status int, err error, hint string) {
	h := w.Header()
	h.Del("ETag")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	for _, line := range []string{err.Error(), hint} {
		if line != "" {
			_, _ = io.WriteString(w, words.Lines(line)+"\n")
		}
	}
}
