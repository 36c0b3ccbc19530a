package crawler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"callhouse/internal/api"
	"callhouse/internal/api/apitest"
	"callhouse/internal/calls"
	"callhouse/internal/loopback"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
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

// memStore keeps calls in memory. A call's detail is due when the call is over, its caller did not
// opt out, and it has none yet; due calls change with a commit.
type memStore struct {
	mu          sync.Mutex
	items       map[string]memCall
	details     map[string]int // number of times each was stored
	missing     map[string]int
	unreadable  map[string]int
	bulk        map[string]*calls.Call // details from v2 pages
	fromBulk    []string               // as of the last commit
	state       schema.Bulk
	spans       []schema.Span
	due         []calls.Due // as of the last commit
	checkpoints int         // offered, without waiting
	commits     int
	failPut     error
	onPut       func()
}

type memCall struct {
	Status string `json:"status"`
	Start  *int64 `json:"start_at"`
	OptOut bool   `json:"opt_out_sensitive_data_storage"`
}

func newMemStore() *memStore {
	return &memStore{items: map[string]memCall{}, details: map[string]int{}, missing: map[string]int{}, unreadable: map[string]int{}, bulk: map[string]*calls.Call{}}
}

func (s *memStore) Put(ctx context.Context, recs ...schema.Record) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failPut != nil {
		return s.failPut
	}
	for _, r := range recs {
		switch r.Kind {
		case schema.KindItem:
			var c memCall
			_ = json.Unmarshal(r.Body, &c)
			s.items[r.CallID] = c
		case schema.KindDetail:
			if s.bulk[r.CallID] != nil {
				delete(s.bulk, r.CallID)
				break
			}
			s.details[r.CallID]++
		case schema.KindMissing:
			s.missing[r.CallID]++
			delete(s.bulk, r.CallID)
		case schema.KindUnreadable:
			s.unreadable[r.CallID]++
		case schema.KindBulk:
			s.details[r.CallID]++
			call := new(calls.Call)
			if err := new(calls.Decoder).Decode(r.Body, schema.KindBulk, call); err != nil {
				return err
			}
			call.Fetched(r.FetchedAt, r.FetchedAt, nil)
			s.bulk[r.CallID] = call.Clone()
		case schema.KindBulkState:
			if err := json.Unmarshal(r.Body, &s.state); err != nil {
				return err
			}
		case schema.KindCovered:
			var span schema.Span
			if err := json.Unmarshal(r.Body, &span); err != nil {
				return err
			}
			s.cover(span)
		default:
			return errors.New("a record of no kind")
		}
	}
	if s.onPut != nil {
		s.onPut()
	}
	return nil
}

// cover records a span. Spans with different times of listing stay separate.
func (s *memStore) cover(n schema.Span) {
	var out []schema.Span
	for _, o := range s.spans {
		if left := (schema.Span{From: o.From, To: min(o.To, n.From), ListedAt: o.ListedAt}); left.From < left.To {
			out = append(out, left)
		}
		if right := (schema.Span{From: max(o.From, n.To), To: o.To, ListedAt: o.ListedAt}); right.From < right.To {
			out = append(out, right)
		}
	}
	out = append(out, n)
	slices.SortFunc(out, func(a, b schema.Span) int { return cmp.Compare(a.From, b.From) })
	s.spans = out
}

// covers reports whether an instant is recorded.
func (s *memStore) covers(ms int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.spans, func(sp schema.Span) bool { return sp.From <= ms && ms < sp.To })
}

func (s *memStore) Checkpoint(_ context.Context, wait bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !wait {
		s.checkpoints++
		return nil
	}
	s.commits++
	var all []calls.Due
	for id, c := range s.items {
		due := calls.Due{CallID: id}
		if c.Start != nil {
			due.StartAt = schema.Some(*c.Start)
		}
		all = append(all, due)
	}
	slices.SortFunc(all, func(a, b calls.Due) int {
		return cmp.Or(cmp.Compare(b.StartAt.V, a.StartAt.V), cmp.Compare(a.CallID, b.CallID))
	})
	s.due, s.fromBulk = s.due[:0], slices.Collect(maps.Keys(s.bulk))
	for i, d := range all {
		if c := s.items[d.CallID]; c.Status != "queued" && c.Status != "ongoing" && !c.OptOut && s.details[d.CallID] == 0 && s.missing[d.CallID] == 0 {
			d.Rank = int64(i)
			s.due = append(s.due, d)
		}
	}
	return nil
}

func (s *memStore) Bulk() schema.Bulk {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *memStore) FromBulk(context.Context) iter.Seq2[calls.Due, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []calls.Due
	for _, id := range s.fromBulk {
		due = append(due, calls.Due{CallID: id})
	}
	return seqOf(due)
}

func (s *memStore) Due(context.Context, calls.DueScope) iter.Seq2[calls.Due, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return seqOf(slices.Clone(s.due))
}

// seqOf yields values without errors.
func seqOf[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func (s *memStore) Coverage() []schema.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.spans)
}

func (s *memStore) Unsettled(context.Context, int64, int64, int64) ([]calls.Place, error) {
	return nil, nil
}

func (s *memStore) Between(_ context.Context, from, to int64) (n int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.items {
		if c.Start != nil && from <= *c.Start && *c.Start < to {
			n++
		}
	}
	return n, nil
}

// A memStore knows no kinds, no recordings and no objects.

func (s *memStore) Kinds(context.Context) (calls.Kinds, error) { return calls.Kinds{}, nil }
func (s *memStore) Committed() int64                           { return 0 }
func (s *memStore) Listed(*resource.Resource) int64            { return 0 }
func (s *memStore) Objects(*resource.Resource) int64           { return 0 }
func (s *memStore) RecordingsDue(context.Context) iter.Seq2[calls.Recording, error] {
	return seqOf[calls.Recording](nil)
}
func (s *memStore) Incomplete(context.Context, *resource.Resource, func(*resource.Resource, int64) bool) iter.Seq2[string, error] {
	return seqOf[string](nil)
}

func (s *memStore) DueCount(calls.DueScope) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.due))
}
