package crawler

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// failing is a way in which an optional operation fails.
type failing func(n int64, w http.ResponseWriter, r *http.Request)

func status(code int, retryAfter string) failing {
	return func(_ int64, w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
		fmt.Fprint(w, `{"error":{"code":"NO","message":"no"}}`)
	}
}

var failings = map[string]failing{
	"429":              status(429, ""),
	"429, in a minute": status(429, "60"),
	"429, in an hour":  status(429, "3500"),
	"503, in an hour":  status(503, "3500"),
	"500":              status(500, ""),
	"401":              status(401, ""),
	"403":              status(403, ""),
	"hangs": func(_ int64, _ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	},
}

// endless are lists without an end.
var endless = map[string]failing{
	"ever new cursors": func(n int64, w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"items":[],"next_cursor":"%d","total_count":5}`, n)
	},
	"the same five": func(n int64, w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"items":[{"id":"1"},{"id":"2"},{"id":"3"},{"id":"4"},{"id":"5"}],"next_cursor":"%d","total_count":5}`, n)
	},
	"ever new objects": func(n int64, w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"items":[{"id":"a%d"},{"id":"b%d"}],"next_cursor":"%d","total_count":5}`, n, n, n)
	},
	"ever more objects": func(n int64, w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"items":[{"id":"a%d"},{"id":"b%d"}],"next_cursor":"%d","total_count":%d}`, n, n, n, 5+2*n)
	},
}

// optionalNight is a sandbox with failing requests.
type optionalNight struct {
	*fixture
	objects   *objectStore
	of        func(*http.Request) bool
	fails     failing // nil: nothing fails
	requested atomic.Int64
}

func (o *optionalNight) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !o.of(r) {
		o.server.ServeHTTP(w, r)
		return
	}
	n := o.requested.Add(1)
	if o.fails == nil {
		o.server.ServeHTTP(w, r)
		return
	}
	o.fails(n, w, r)
}

// run is one night. It returns the number of requests for the operation, and the night's duration.
func (o *optionalNight) run(t *testing.T) (r Report, requested int64, took time.Duration) {
	t.Helper()
	return o.runFrom(t, Auto)
}

func (o *optionalNight) runFrom(t *testing.T, source Source) (r Report, requested int64, took time.Duration) {
	t.Helper()
	tr, stop := serve(t, o)
	defer stop()
	c := tester(t, tr, o.objects, func(cfg *Config) {
		cfg.Key, cfg.Now, cfg.Transcripts = "sandbox-key", o.clock.Now, source
		cfg.Organization = o.server.Organisation().ID()
		cfg.Resources = resource.All
	})
	before, began := o.requested.Load(), time.Now()
	r, err := c.Run(t.Context())
	test.OK(t, err)
	took = time.Since(began)
	time.Sleep(2 * time.Minute)
	return r, o.requested.Load() - before, took
}

func newOptionalNight(t *testing.T, of func(*http.Request) bool) *optionalNight {
	t.Helper()
	world := sandbox.Config{Seed: 6, Calls: 150, Days: 2, Agents: 8, Origin: origin}
	if longtest.On() {
		world.Calls, world.Agents = 250, 15
	}
	st := newFixture(t, sandbox.Options{World: world})
	return &optionalNight{fixture: st, of: of, objects: &objectStore{memStore: st.store, bodies: map[string]string{}, listedDue: true}}
}

// lines returns the report's lines about failed operations.
func lines(r *Report) (out []string) {
	if r.BulkOff != "" {
		out = append(out, "v2: "+r.BulkOff)
	}
	for _, of := range r.Resources {
		if of.Problem != "" && !strings.Contains(of.Problem, "no such object") { // it was deleted, which the test's store does not track
			out = append(out, of.Name+": "+of.Problem)
		}
	}
	return out
}

// However an optional operation fails, the night fetches all transcripts in nearly the same time
// (if v2's pages fail, in that of a night by v3's records), and one line reports what is missing
// and why. Once the operation works again, everything is as before.
func TestOptionalWorkDelaysNoTranscript(t *testing.T) {
	longtest.Only(t)
	path := func(p string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.URL.Path == p }
	}
	operations := []struct {
		name  string
		of    func(*http.Request) bool
		fails map[string]failing
		most  int64 // requests in a night
		// usually is the source of transcripts in a night that takes as long, except for the failures.
		usually Source
		longer  time.Duration
	}{
		{"pages of v2", path("/v2/calls/list"), failings, 8, FromV3, 3 * time.Minute},
		{"a list", path("/v3/agents"), failings, 8, Auto, 90 * time.Second},
		{"a list", path("/v3/tools"), endless, 30, Auto, 90 * time.Second},
		{"all but calls", func(r *http.Request) bool { return !strings.HasPrefix(r.URL.Path, "/v3/calls") }, failings, 70, FromV3, 6 * time.Minute},
		{"records", func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v3/agents/") }, failings, 70, Auto, 150 * time.Second},
	}
	usually := map[Source]time.Duration{}
	for _, op := range operations {
		for _, how := range slices.Sorted(maps.Keys(op.fails)) {
			t.Run(op.name+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					usual, known := usually[op.usually]
					if !known {
						_, _, usual = newOptionalNight(t, func(*http.Request) bool { return false }).runFrom(t, op.usually)
						usually[op.usually] = usual
					}
					o := newOptionalNight(t, op.of)
					o.fails = op.fails[how]
					r, requested, took := o.run(t)
					if err := o.differs(); err != nil || !r.Complete() {
						t.Error(err, r.Problems)
					}
					if requested > op.most || took > usual+op.longer || len(lines(&r)) == 0 || requested > 0 && len(lines(&r)) > 1 && (op.name == "a list" || op.name == "pages of v2") {
						t.Errorf("the first night: %d requests; it took %v, and usually %v; it says %q", requested, took, usual, lines(&r))
					}
					t.Logf("%d requests, %v instead of %v: %q", requested, took, usual, lines(&r))
					absent := o.store.state.State == schema.BulkAbsent

					o.clock.Advance(24 * time.Hour)
					r, again, _ := o.run(t)
					if err := o.differs(); err != nil || !r.Complete() || again > 3*op.most || absent && op.name == "pages of v2" && again > 0 || len(lines(&r)) == 0 && o.store.state.State != schema.BulkAbsent {
						t.Errorf("the second night: %v; %d requests after %d; it says %q", err, again, requested, lines(&r))
					}

					o.fails = nil
					o.clock.Advance(8 * 24 * time.Hour)
					r, requested, _ = o.run(t)
					if err := o.differs(); err != nil || len(lines(&r)) > 0 || requested == 0 && op.name != "pages of v2" {
						t.Errorf("all is well: %v; %d requests; it says %q", err, requested, lines(&r))
					}
				})
			})
		}
	}
}
