package crawler

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/recording"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

// archive is a warehouse with an archive, a host, and a service that renews links.
type archive struct {
	t     *testing.T
	w     *sink.Warehouse
	a     *recording.Archive
	host  *httptest.Server
	now   time.Time
	renew map[string]renewal

	renewals int64 // maximum; 0: no limit
	again    bool
	answer   http.HandlerFunc // instead of the usual one; nil: none

	mu        sync.Mutex
	requested []string // paths requested from the host, and renewed calls
}

// open returns an archive. The host has the audio at paths that begin with /ok.
func open(t *testing.T) *archive {
	t.Helper()
	a := &archive{t: t}
	a.host = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.ask(r.URL.Path)
		if a.answer != nil {
			a.answer(w, r)
			return
		}
		status := 0
		if n, _ := fmt.Sscanf(r.URL.Path, "/%d", &status); n == 1 {
			w.WriteHeader(status)
			return
		}
		_, _ = w.Write([]byte("ID3 and some sound"))
	}))
	t.Cleanup(a.host.Close)
	a.open(nil)
	return a
}

// open opens the warehouse and the archive.
func (a *archive) open(host http.RoundTripper) {
	t := a.t
	var err error
	a.now, a.renew = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC), map[string]renewal{}
	root := filepath.Join(t.TempDir(), "w")
	a.w, err = sink.Open(sink.Options{Root: root, RunID: layout.RunID(a.now, 1), Now: func() time.Time { return a.now }})
	test.OK(t, err)
	t.Cleanup(func() { _ = a.w.Close() })
	a.a, err = recording.Open(recording.Config{To: filepath.Join(t.TempDir(), "a"), Scratch: filepath.Join(root, "parts"), Private: true,
		Pause: time.Millisecond, Transport: host})
	test.OK(t, err)
	a.w.Archive(a.a.Address())
}

func (a *archive) ask(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requested = append(a.requested, what)
}

// put stores and commits calls, one for each path, that ended n days ago.
func (a *archive) put(ago int, paths ...string) {
	a.t.Helper()
	at := a.now.AddDate(0, 0, -ago)
	for _, path := range paths {
		a.call(strings.ReplaceAll(path, "/", "-"), at, path)
	}
	a.commit()
}

// call stores a call that ended at a time, with a link to a path.
func (a *archive) call(id string, end time.Time, path string) {
	a.t.Helper()
	at := end.UnixMilli()
	body, _ := json.Marshal(map[string]any{"id": id, "status": "ended", "start_at": at - 1000, "end_at": at,
		"recording_url": a.host.URL + path, "transcript": []any{}, "call_cost": map[string]any{"total_cost": "1"}})
	rec := schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: a.now.UnixMilli(), Body: body}
	test.OK(a.t, a.w.Put(a.t.Context(), rec))
}

func (a *archive) commit() {
	a.t.Helper()
	err := a.w.Commit(a.t.Context(), func(sink.Stats, int64) schema.Run {
		return schema.Run{ID: a.w.RunID(), StartedAt: a.now.UnixMilli(), Outcome: schema.OutcomeDone}
	})
	test.OK(a.t, err)
}

// run archives the recordings due some time later, commits the result, and returns the requests.
func (a *archive) run(later time.Duration) (requested string, _ RecordingReport) {
	a.t.Helper()
	a.now, a.requested = a.now.Add(later), nil
	c := a.crawl(archiveStore{a.w})
	over := newSignal()
	over.Fire()
	test.OK(a.t, c.run(a.t.Context(), over))
	a.commit()
	return strings.Join(a.requested, ", "), c.result()
}

// crawl prepares a run whose list is read.
func (a *archive) crawl(store Store) *recordingCrawl {
	c := tester(a.t, nil, store, func(cfg *Config) {
		cfg.Recordings, cfg.RecordingsAgain, cfg.Logger = a.a, a.again, slog.New(slog.DiscardHandler)
		cfg.Now = func() time.Time { return a.now }
	})
	c.listed.Fire()
	c.recordings.maxRenewed = a.renewals
	c.recordings.renew = func(_ context.Context, id string) (renewal, error) {
		a.ask("renew " + id)
		return a.renew[id], nil
	}
	return c.recordings
}

// archiveStore is a warehouse that a test commits.
type archiveStore struct{ *sink.Warehouse }

func (archiveStore) Checkpoint(context.Context, bool) error { return nil }

// row returns the stored state of a call's recording.
func (a *archive) row(id string) string {
	a.t.Helper()
	found, err := sink.Find(a.t.Context(), a.w.Snapshot(), id)
	test.OK(a.t, err)
	r, ok := found.Recording()
	if !ok {
		return "none"
	}
	return strings.TrimSpace(fmt.Sprint(r.State, " ", r.Attempts, " ", strings.TrimPrefix(r.Reason, "127.0.0.1 ")))
}

// A rejected or missing recording costs one request for a new link, unless the link came in this
// run. The outcome depends on the answer.
func TestRenewedLinks(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	const day = 24 * time.Hour
	for _, c := range []struct {
		name, path     string
		renewal        renewal
		requested, row string
	}{
		{"a good link", "/ok", renewal{}, "/ok", "stored 1"},
		{"a new link", "/403", renewal{Answered: true, Link: "/ok2"}, "/403, renew -403, /ok2", "stored 1"},
		{"the same link, rejected", "/403", renewal{Answered: true, Link: "/403"}, "/403, renew -403", "due 1 does not accept the link (HTTP 403)"},
		{"the same link, gone", "/404", renewal{Answered: true, Link: "/404"}, "/404, renew -404", "gone 1 has no such recording (HTTP 404)"},
		{"no link any more", "/404", renewal{Answered: true}, "/404, renew -404", "gone 1 the service no longer has a link to it"},
		{"no answer", "/403", renewal{}, "/403, renew -403", "none"},
		{"an opt-out", "/403", renewal{Answered: true, Withheld: true}, "/403, renew -403", "none"},
		{"a teapot", "/418", renewal{}, "/418, renew -418", "refused 1 answered HTTP 418"},
		{"a web page of a link that is too old", "/203", renewal{Answered: true, Link: "/ok2"}, "/203, renew -203, /ok2", "stored 1"},
	} {
		a := open(t)
		a.put(4, c.path)
		id := strings.ReplaceAll(c.path, "/", "-")
		if c.renewal.Link != "" {
			c.renewal.Link = a.host.URL + c.renewal.Link
		}
		a.renew[id] = c.renewal
		if requested, _ := a.run(day); requested != c.requested || a.row(id) != c.row {
			t.Errorf("%s: asked %s, the row is %q", c.name, requested, a.row(id))
		}
	}
	a := open(t)
	a.put(1, "/403")
	if requested, r := a.run(0); requested != "/403" || r.Failed != 1 || r.Requests != 0 {
		t.Errorf("a link of this run: %s, %+v", requested, r)
	}
}

// A run renews a limited number of links. The other recordings wait, without requests to their hosts.
func TestRenewals(t *testing.T) {
	t.Parallel()
	a := open(t)
	a.renewals = 2
	for day := 1; day <= 4; day++ {
		path := fmt.Sprintf("/403/%d", day)
		a.put(day, path)
		a.renew[strings.ReplaceAll(path, "/", "-")] = renewal{Answered: true, Link: a.host.URL + "/ok"}
	}
	_, r := a.run(24 * time.Hour)
	if r.Requests != 2 || r.Stored != 2 {
		t.Errorf("%+v", r)
	}
	if _, r = a.run(24 * time.Hour); r.Requests != 2 || r.Stored != 2 {
		t.Errorf("the next night: %+v", r)
	}
}

// A failed recording waits longer from night to night, and finally counts as gone.
func TestRest(t *testing.T) {
	t.Parallel()
	a := open(t)
	a.put(1, "/500", "/403")
	a.renew["-403"] = renewal{Answered: true, Link: a.host.URL + "/403"}
	var tried []int
	for night := range 60 {
		if requested, _ := a.run(24 * time.Hour); strings.Contains(requested, "/500") {
			tried = append(tried, night)
		}
	}
	test.Same(t, "[0 1 2 4 7 11 16 22 28 34]", fmt.Sprint(tried), "tried in the nights")
	if a.row("-500") != "gone 10 answered HTTP 500" || a.row("-403") != "gone 3 does not accept the link (HTTP 403)" {
		t.Errorf("%q, %q", a.row("-500"), a.row("-403"))
	}
}

// The newest calls come first, and newer ones in a commit are noticed.
func TestNewestFirst(t *testing.T) {
	t.Parallel()
	a := open(t)
	for day := 12; day > 0; day-- {
		a.put(day, fmt.Sprintf("/ok%02d", day))
	}
	requested, _ := a.run(time.Hour) // over several connections, so that neighbours may overtake each other
	if list := strings.Split(requested, ", "); len(list) != 12 || slices.Index(list, "/ok01") > slices.Index(list, "/ok12") {
		t.Errorf("asked %s", requested)
	}
}

// A host that sends six KiB a second neither holds one recording for longer than its call lasted, nor a run for long:
// recordings that it does send count as slow, and the run leaves the rest to the next. extract recordings goes on.
func TestSlowRecordings(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	for _, c := range []struct {
		size        int // slower than they play, or just slow
		again       bool
		least, most int64 // recordings stored
	}{{1 << 20, false, 0, 0}, {400 << 10, false, 16, 40}, {400 << 10, true, 100, 100}} {
		synctest.Test(t, func(t *testing.T) {
			a := &archive{t: t, again: c.again}
			a.open(slowHost(c.size))
			crawl := a.crawl(slowStore{archiveStore{a.w}, a.now.UnixMilli()})
			over, begun := newSignal(), time.Now()
			over.Fire()
			test.OK(t, crawl.run(t.Context(), over))
			took, r := time.Since(begun), crawl.result()
			if r.Stored < c.least || r.Stored > c.most || !c.again && took > 15*time.Minute || took > time.Hour || (r.Problem == "") != c.again {
				t.Errorf("%d bytes, asked for %v: %+v in %v", c.size, c.again, r, took)
			}
		})
	}
}

// slowStore has 100 recordings due. It reads and writes no Parquet, whose decoders tests of other clocks share.
type slowStore struct {
	archiveStore
	now int64
}

func (slowStore) Put(context.Context, ...schema.Record) error { return nil }
func (s slowStore) RecordingsDue(context.Context) iter.Seq2[calls.Recording, error] {
	return func(yield func(calls.Recording, error) bool) {
		end := s.now - (4 * 24 * time.Hour).Milliseconds()
		for n := 0; n < 100 && yield(calls.Recording{CallID: fmt.Sprint(n), StartAt: schema.Some(end - 1000), Since: end,
			Link: fmt.Sprintf("http://host.test/ok/%d", n), LinkedAt: s.now}, nil); n++ {
		}
	}
}

// slowHost is a host that sends recordings of so many bytes, six KiB a second.
type slowHost int

func (h slowHost) RoundTrip(r *http.Request) (*http.Response, error) {
	body := &slowBody{r.Context(), append([]byte("ID3"), make([]byte, h)...)}
	return &http.Response{StatusCode: 200, ContentLength: int64(len(body.left)), Header: http.Header{}, Body: body, Request: r, ProtoMajor: 1}, nil
}

type slowBody struct {
	ctx  context.Context
	left []byte
}

func (b *slowBody) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	if b.ctx.Err() != nil {
		return 0, b.ctx.Err()
	}
	n := copy(p, b.left[:min(len(b.left), 6<<10)])
	if b.left = b.left[n:]; len(b.left) == 0 {
		return n, io.EOF
	}
	return n, nil
}

func (b *slowBody) Close() error { return nil }
