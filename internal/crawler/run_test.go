package crawler

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// A first night that is interrupted repeatedly lists every page once, except those of the window,
// and fetches every detail once.
func TestInterruptedFirstNightGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(3000, time.Hour)} // 125 days
		store := newMemStore()
		var pages, details int64
		runs := 0
		for {
			if runs++; runs > 200 {
				t.Fatal("it never comes to an end")
			}
			r, err := s.visit(t, store, func(cfg *Config) {
				cfg.PerSecond, cfg.PerMinute = 5, 120
				cfg.MaxDuration = 61 * time.Second
			})
			test.OK(t, err)
			pages += r.PageRequests
			details += r.DetailRequests
			time.Sleep(2 * time.Minute)
			if !r.DeadlineHit {
				break
			}
			if r.Complete() || r.Interrupted {
				t.Errorf("run %d: complete %v, interrupted %v", runs, r.Complete(), r.Interrupted)
			}
		}
		if len(store.items) != 3000 || len(store.details) != 3000 || details != 3000 {
			t.Errorf("%d items, %d details, %d detail requests", len(store.items), len(store.details), details)
		}
		if extra := pages - 30; extra > int64(runs) { // the 72 calls of the window cost one page per run
			t.Errorf("%d pages in %d runs", pages, runs)
		}
	})
}

// An interrupted listing is recorded as far as it went, and the next run continues from there.
func TestInterruptedListingGoesOnBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(3000, time.Hour)}
		store := newMemStore()
		ctx, cancel := context.WithCancel(t.Context())
		s.onPage = func(n int, _ *testPage) {
			if n == 12 {
				cancel()
			}
		}
		tr, stop := serve(t, s)
		defer stop()
		c := tester(t, tr, store, func(cfg *Config) {
			cfg.Now = func() time.Time { return time.UnixMilli(testNow) }
		})
		r, err := c.Run(ctx)
		if err != nil || !r.Interrupted || r.DeadlineHit || r.Complete() {
			t.Fatalf("error %v, %+v", err, r)
		}
		if len(store.items) != 1200 || store.commits > 2 {
			t.Errorf("%d items kept, %d commits", len(store.items), store.commits)
		}
		if lowest := *s.sorted()[1199].Start; store.covers(after(lowest)-1) || !store.covers(after(lowest)) {
			t.Errorf("on record: %v, lowest %d", store.spans, lowest)
		}
		s.onPage, s.requests = nil, nil
		time.Sleep(2 * time.Minute)
		r, err = s.visit(t, store, nil)
		if err != nil || !r.Complete() || len(store.items) != 3000 {
			t.Fatalf("error %v, %d items", err, len(store.items))
		}
		test.Same(t, 21, r.PageRequests, "pages:\n%s", strings.Join(s.requests[:25], "\n"))
	})
}

func TestInterruptStopsAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(1000, time.Minute)}
		store := newMemStore()
		ctx, cancel := context.WithCancel(t.Context())
		tr, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			s.ServeHTTP(w, r)
		}))
		defer stop()
		c := tester(t, tr, store, func(cfg *Config) {
			cfg.Now = func() time.Time { return time.UnixMilli(testNow) }
		})
		time.AfterFunc(5*time.Minute+500*time.Millisecond, cancel)
		start := time.Now()
		r, err := c.Run(ctx)
		if err != nil || !r.Interrupted {
			t.Fatal(err, r)
		}
		if took := time.Since(start); took > 5*time.Minute+3*time.Second {
			t.Errorf("it went on for %v", took)
		}
		if r.DetailsFetched != r.DetailRequests || int(r.DetailsFetched) != len(store.details) {
			t.Errorf("%d details asked for, %d kept", r.DetailRequests, len(store.details))
		}
		test.Same(t, int(r.Requests), s.n, "requests counted (-) and sent (+)")
	})
}

// A failing store ends the run, since nothing fetched could be stored. Items that it did not take are
// not lost by the program, whichever put fails.
func TestStoreThatFailsLosesNothing(t *testing.T) {
	for fails := 1; fails <= 5; fails++ {
		synctest.Test(t, func(t *testing.T) {
			s := &service{calls: someCalls(400, time.Minute)}
			store := newMemStore()
			puts := 0
			store.onPut = func() {
				if puts++; puts == fails {
					store.failPut = syscall.ENOSPC
				}
			}
			r, err := s.visit(t, store, func(cfg *Config) { cfg.Workers = 4 })
			if _, isIt := errors.AsType[*StoreError](err); !isIt || !errors.Is(err, syscall.ENOSPC) || r.Unaccounted() != 0 || !r.Failed || r.Complete() {
				t.Errorf("put %d: %v; %d lost, %+v", fails, err, r.Unaccounted(), r.Counts)
			}
			if s.n > 4+fails+8 {
				t.Errorf("put %d: %d requests", fails, s.n)
			}
		})
	}
}

func TestSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(2000, time.Hour)}
		store := newMemStore()
		since := time.UnixMilli(testNow).Add(-950 * time.Hour)
		r, err := s.visit(t, store, func(cfg *Config) { cfg.Since = since })
		if err != nil || r.PageRequests != 10 || len(store.items) != 950 || len(store.details) != 950 {
			t.Errorf("%v: %d pages, %d items, %d details", err, r.PageRequests, len(store.items), len(store.details))
		}
		if store.covers(since.UnixMilli()-1) || !store.covers(since.UnixMilli()) {
			t.Errorf("on record: %v", store.spans)
		}
		r, err = s.visit(t, store, nil) // everything this time
		if err != nil || len(store.items) != 2000 || len(store.details) != 2000 || r.PageRequests != 13 {
			t.Errorf("%v: %d pages, %d items", err, r.PageRequests, len(store.items))
		}
	})
}

// A call that appears after its time was listed is found, even if the next run comes only after its window.
func TestCallsThatAppearLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(500, time.Hour)}
		store := newMemStore()
		late := testCall{ID: "late", Status: "ended", Start: at(testNow - 3*time.Hour.Milliseconds() - 7), End: at(testNow)}
		for _, day := range []int{0, 9} {
			_, err := s.visit(t, store, func(cfg *Config) {
				cfg.Now = func() time.Time { return time.UnixMilli(testNow).AddDate(0, 0, day) }
			})
			test.OK(t, err)
			s.calls = append(s.calls, late)
		}
		test.Same(t, 1, store.details["late"], "records of the late call")
	})
}

func TestPlan(t *testing.T) {
	const day = int64(24 * time.Hour / time.Millisecond)
	now := 100 * day
	span := func(from, to, listed int64) schema.Span {
		return schema.Span{From: from * day, To: to * day, ListedAt: listed * day}
	}
	for _, tc := range []struct {
		name     string
		cfg      Config
		since    int64
		coverage []schema.Span
		want     []stretch
	}{
		{name: "the first run", want: []stretch{{0, forever}}},
		{name: "the first run, since a day", since: 90 * day, want: []stretch{{90 * day, forever}}},
		{name: "a night later", coverage: []schema.Span{span(0, 99, 99)}, want: []stretch{{97 * day, forever}}},
		{name: "five nights later", coverage: []schema.Span{span(0, 95, 95)}, want: []stretch{{93 * day, forever}}},
		{name: "every night", coverage: []schema.Span{span(0, 94, 97), span(94, 95, 98), span(95, 99, 99)}, want: []stretch{{97 * day, forever}}},
		{name: "stopped in the first night", coverage: []schema.Span{span(60, 99, 99)}, want: []stretch{{97 * day, forever}, {0, 60 * day}}},
		{
			name: "gaps", coverage: []schema.Span{span(10, 20, 99), span(40, 50, 99), span(50, 60, 80)},
			want: []stretch{{60 * day, forever}, {20 * day, 40 * day}, {0, 10 * day}},
		},
		{name: "gaps, since a day", since: 30 * day, coverage: []schema.Span{span(10, 20, 99), span(40, 60, 99)}, want: []stretch{{60 * day, forever}, {30 * day, 40 * day}}},
		{name: "listed while it was young", coverage: []schema.Span{span(0, 50, 50), span(50, 99, 99)}, want: []stretch{{97 * day, forever}, {48 * day, 50 * day}}},
		{name: "full", cfg: Config{Full: true}, coverage: []schema.Span{span(0, 99, 99)}, want: []stretch{{0, forever}}},
		{name: "listed by a clock that was ahead", coverage: []schema.Span{span(0, 90, 95), span(90, 104, 104)}, want: []stretch{{90 * day, forever}}},
		{
			name: "listed by a clock a little ahead", coverage: []schema.Span{{From: 0, To: now + day/4, ListedAt: now + day/4}},
			want: []stretch{{97 * day, forever}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.cfg.Window = 72 * time.Hour
			got := plan(&tc.cfg, now, tc.since, tc.coverage)
			test.NoDiff(t, cmp.Diff(tc.want, got, cmp.AllowUnexported(stretch{})), "(-want +got)")
		})
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(1000, time.Hour)}
		tr, stop := serve(t, s)
		defer stop()
		c := tester(t, tr, newMemStore(), func(cfg *Config) {
			cfg.Now = func() time.Time { return time.UnixMilli(testNow) }
		})
		if p := c.Progress(); p.Phase != Starting || p.TotalCount != -1 || p.TimeLeft != -1 {
			t.Errorf("before: %+v", p)
		}
		done := make(chan Report)
		go func() {
			r, err := c.Run(t.Context())
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
		time.Sleep(1500 * time.Millisecond)
		if p := c.Progress(); p.TotalCount != 1000 || p.PagesTotal != 10 || p.Pages == 0 || p.DetailsFetched == 0 {
			t.Errorf("listing: %+v", p)
		}
		time.Sleep(5 * time.Minute)
		if p := c.Progress(); p.Phase != Details || p.LastMinute < 114 || p.Allowed != 120 || p.BudgetUsed < 96 {
			t.Errorf("details: %+v", p)
		}
		if r := <-done; r.Phase != Done || !r.Complete() || r.BudgetUsed < 95 || r.Requests != 1011 || r.Elapsed == 0 {
			t.Errorf("report: %+v", r)
		}
	})
}
