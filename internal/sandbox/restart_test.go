package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"callhouse/internal/sandbox/limit"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/statefile"
	"callhouse/internal/test"
)

// everything returns all read-only answers: each list and its objects, in v3 and v2, the truth and
// the log of edits.
func everything(s *Server) map[string]string {
	all := map[string]string{}
	ask := func(method, target, body string) {
		r, err := http.NewRequest(method, "http://sandbox"+target, strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("Authorization", "Bearer sandbox-key")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		all[method+" "+target] = fmt.Sprint(w.Code, " ", w.Body)
	}
	for _, r := range organisation.All() {
		ask("GET", "/sandbox/edits/"+r.Name, "")
		for _, o := range s.Organisation().Truth(r.Name, s.Now()) {
			if r.Parent != "" {
				ask("GET", fill(r.List, o.Parent), "")
			} else if r.Item != "" {
				ask("GET", fill(r.Item, o.ID), "")
			}
			switch r.Name {
			case "campaigns":
				ask("GET", "/v2/campaigns/"+o.ID, "")
				ask("GET", "/v3/calls?campaign_id="+o.ID, "")
			case "knowledges":
				ask("GET", "/v2/knowledge/"+o.ID, "")
			}
		}
		if r.Parent == "" && r.List != "" {
			ask("GET", r.List, "")
		}
	}
	ask("GET", "/sandbox/truth", "")
	ask("GET", "/sandbox/clock", "")
	ask("GET", "/v3/calls?limit=100", "")
	for v := range s.World().Visible(s.Now()) {
		ask("GET", "/v3/calls/"+v.ID.String(), "")
		ask("GET", "/v2/calls/"+v.ID.String(), "")
	}
	for _, o := range operation.All() {
		if o.V2() && (o.Kind == "list" || o.Kind == "bulk") && o.Method == http.MethodPost {
			ask("POST", o.Path, "{}")
		}
	}
	return all
}

// fill inserts an id into a path.
func fill(path, id string) string {
	before, after, _ := strings.Cut(path, "{")
	_, after, _ = strings.Cut(after, "}")
	return before + id + after
}

// TestRestart performs random writes and restarts from the state. Every answer is the same, now and
// later.
func TestRestart(t *testing.T) {
	checks(t, 2)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		name := filepath.Join(t.TempDir(), fmt.Sprint("state", n))
		seed := rapid.Uint64().Draw(rt, "seed")
		start := func(at time.Time) (*Server, *statefile.File) {
			file, err := statefile.Open(name)
			test.OK(rt, err)
			if file.Settings == nil {
				test.OK(rt, file.Begin(map[string]string{}))
			}
			return newServer(t, Options{
				World:        Config{Seed: seed, Calls: 12, Agents: 3, Campaigns: 2, Origin: busy},
				Organisation: organisation.Config{Sizes: organisation.Sizes{"long_prompts": 0}},
				Clock:        NewManualClock(at), State: file, CampaignInCalls: true,
			}), file
		}
		s, file := start(busy)
		for range rapid.IntRange(1, 10).Draw(rt, "steps") {
			write(rt, t, s)
		}
		send(t, s, "POST", "/sandbox/clock", `{"advance":"90s"}`)
		after := s.Now()
		before := everything(s)
		_ = file.Close()
		again, file := start(busy.Add(-time.Hour))
		defer file.Close()
		if !again.Now().Equal(after) {
			rt.Fatalf("the clock shows %s", again.Now())
		}
		if diff := cmp.Diff(before, everything(again)); diff != "" {
			rt.Fatal(diff)
		}
		s.opts.Clock.Advance(40 * time.Hour)
		again.opts.Clock.Advance(40 * time.Hour)
		if diff := cmp.Diff(everything(s), everything(again)); diff != "" {
			rt.Fatal("after 40 hours", diff)
		}
	})
}

// write performs one random action of a client, or advances the clock.
func write(rt *rapid.T, t testing.TB, s *Server) {
	one := func(resource string) organisation.Record {
		all := s.Organisation().Truth(resource, s.Now())
		if len(all) == 0 {
			return organisation.Record{ID: "none"}
		}
		return rapid.SampledFrom(all).Draw(rt, resource)
	}
	number := rapid.SampledFrom([]string{`1`, `1.50`, `-0`, `1e3`, `12345678901234567890`, `0.1`}).Draw(rt, "number")
	switch rapid.IntRange(0, 8).Draw(rt, "what") {
	case 0:
		send(t, s, "POST", "/v3/agents", `{"name":"A <b> & \u2028 é","data":{"n":`+number+`},"flow":`+smallFlow+`}`)
	case 1:
		send(t, s, "PATCH", "/v3/agents/"+one("agents").ID, `{"data":{"llm":{"temperature":`+number+`},"speech":null}}`)
	case 2:
		send(t, s, "POST", "/v3/calls", fmt.Sprintf(`{"from_number":"021","to_number":"010","agent":{"agent_id":%q},"metadata":{"n":%s}}`,
			one("agents").ID, number))
	case 3:
		send(t, s, "POST", "/v2/campaigns", fmt.Sprintf(`{"name":"Spring","call_from":"021","agent_id":%q,"concurrency":2,"tasks":%s}`,
			one("agents").ID, tasksOf(6)))
	case 4:
		send(t, s, "PATCH", "/v3/campaigns/"+one("campaigns").ID,
			`{"name":"Summer","call_time_window":{"timezone":"UTC","windows":[{"days":["Thursday","Friday"],"start_min":0,"end_min":1440}]}}`)
	case 5:
		what := rapid.SampledFrom([]string{"/v2/campaigns/%s/pause", "/v3/campaigns/%s/pause", "/v3/campaigns/%s/resume",
			"/v3/campaigns/%s/cancel"}).Draw(rt, "action")
		send(t, s, "POST", fmt.Sprintf(what, one("campaigns").ID), "")
	case 6:
		d := one("knowledge_documents")
		send(t, s, "DELETE", "/v2/knowledge/"+d.Parent+"/documents/batch", fmt.Sprintf(`{"knowledge_document_ids":[%q,"none"]}`, d.ID))
	default:
		send(t, s, "POST", "/sandbox/clock", fmt.Sprintf(`{"advance":"%ds"}`, rapid.SampledFrom([]int{1, 7, 60, 4000}).Draw(rt, "seconds")))
	}
}

// TestWhatCannotBeKeptIsNotDone makes writes to the state file fail.
func TestWhatCannotBeKeptIsNotDone(t *testing.T) {
	file, err := statefile.Open(filepath.Join(t.TempDir(), "state"))
	test.OK(t, err)
	s := newServer(t, Options{World: Config{Calls: 12, Agents: 3}, State: file})
	before := everything(s)
	_ = file.Close()
	agent, document := s.World().Agents()[0].ID.String(), s.Organisation().Truth("knowledge_documents", s.Now())[0]
	pending := fmt.Sprintf(`{"name":"x","call_from":"021","agent_id":%q,"tasks":[{"call_to":"010"}]}`, agent)
	for _, r := range [][3]string{
		{"POST", "/v3/agents", `{"name":"x"}`},
		{"PATCH", "/v3/agents/" + agent, `{"name":"x"}`},
		{"POST", "/v3/calls", fmt.Sprintf(`{"from_number":"021","to_number":"010","agent":{"agent_id":%q}}`, agent)},
		{"POST", "/v2/calls", fmt.Sprintf(`{"call_from":"021","call_to":"010","agent_id":%q}`, agent)},
		{"POST", "/v2/campaigns", pending},
		{"DELETE", "/v2/knowledge/" + document.Parent + "/documents/" + document.ID, ""},
		{"DELETE", "/v2/knowledge/" + document.Parent + "/documents/batch", fmt.Sprintf(`{"knowledge_document_ids":[%q]}`, document.ID)},
	} {
		if status, o := send(t, s, r[0], r[1], r[2]); status != 503 {
			t.Errorf("%v: %d %v", r, status, o)
		}
	}
	test.Same(t, before, everything(s), "(-want +got)")
}

// TestServerLimitsOverHTTP runs a client against the server in simulated time: 5 requests a second
// are admitted, the 6th gets 429 with a waiting time, and a client that respects it is never
// refused again.
func TestServerLimitsOverHTTP(t *testing.T) {
	for _, algorithm := range []limit.Algorithm{limit.SlidingLog, limit.FixedWindow, limit.TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			s, err := New(Options{World: Config{Calls: 50, Origin: busy}, Limiter: algorithm})
			test.OK(t, err)
			statuses := map[int]int{}
			send := func() *http.Response {
				w := do(s, "GET", "/v3/calls?limit=1")
				statuses[w.Code]++
				return w.Result()
			}
			for range 8 {
				if r := send(); r.StatusCode == 429 && r.Header.Get("Retry-After") != "1" {
					t.Errorf("%s: Retry-After %q", algorithm, r.Header.Get("Retry-After"))
				}
			}
			if statuses[200] != 5 || statuses[429] != 3 {
				t.Errorf("%s: %v", algorithm, statuses)
			}
			time.Sleep(time.Minute)
			for range 240 {
				time.Sleep(500 * time.Millisecond)
				send()
			}
			stats := s.Stats()
			if statuses[200] != 245 || stats.AboveLimit != 3 || stats.RateLimited != 3 || stats.MaxPerSecond != 8 ||
				stats.MaxPerMinute != 120 || stats.Requests != 248 {
				t.Errorf("%s: %v %+v", algorithm, statuses, stats)
			}
		})
	}
}

// TestLatencyAndServeInSimulatedTime runs the whole net/http stack over pipes.
func TestLatencyAndServeInSimulatedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{World: Config{Calls: 50, Origin: busy}, Latency: 2 * time.Second, Jitter: time.Second, PerSecond: -1,
			PerMinute: -1})
		test.OK(t, err)
		l := newPipes()
		running := Serve(t.Context(), l, s)
		client := &http.Client{Transport: &http.Transport{DialContext: l.dial}}
		for range 20 {
			start := time.Now()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://sandbox/v3/calls", nil)
			test.OK(t, err)
			r.Header.Set("Authorization", "Bearer sandbox-key")
			a, err := client.Do(r)
			test.OK(t, err)
			_ = a.Body.Close()
			if took := time.Since(start); took < 2*time.Second || took > 3*time.Second || a.StatusCode != http.StatusOK {
				t.Errorf("%d after %v", a.StatusCode, took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://sandbox/v3/calls", nil)
		if _, err := client.Do(r); err == nil {
			t.Error("no time-out")
		}
		client.CloseIdleConnections()
		test.OK(t, running.Close())
		synctest.Wait()
		if n := s.Stats().Requests; n != 21 {
			t.Errorf("%d requests counted, want 21: one that is given up arrives too", n)
		}
	})
}

// pipes is a listener in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
