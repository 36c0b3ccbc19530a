package crawler

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
)

// verifiedNights runs nights over v2 transcripts in simulated time.
type verifiedNights struct {
	*stand
	t *testing.T
}

// newVerifiedNights runs a first night that takes its transcripts from v2.
func newVerifiedNights(t *testing.T, n int64) *verifiedNights {
	st, err := newStand(sandbox.Options{World: sandbox.Config{Seed: 6, Calls: n, Days: 3, Origin: origin}})
	if err != nil {
		t.Fatal(err)
	}
	v := &verifiedNights{st, t}
	r := v.night(nil)
	if len(st.store.bulk) < int(n)/2 || r.Bulk.Verified > 0 {
		t.Fatalf("%d transcripts came from v2, and %d were verified in the same run", len(st.store.bulk), r.Bulk.Verified)
	}
	// Progress does not announce the comparisons of later nights.
	if r.DetailsTotal > r.DetailsDone() {
		t.Errorf("at its end, the first night has %d of %d records", r.DetailsDone(), r.DetailsTotal)
	}
	return v
}

func (v *verifiedNights) night(change func(*Config)) Report {
	v.t.Helper()
	r, err := v.run(v.t, 0, func(cfg *Config) {
		cfg.Transcripts, cfg.RelistEvery, cfg.Verify = Auto, 0, 0.1
		if change != nil {
			change(cfg)
		}
	})
	if err == nil {
		err = v.differs()
	}
	if err != nil {
		v.t.Fatal(err)
	}
	time.Sleep(2 * time.Minute)
	return r
}

// A night compares as many transcripts as its share of eight hours allows or, with a time limit, as
// many as fit, without exceeding the limit. Once all are compared, a night sends no additional
// requests.
func TestVerifiedWithinItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVerifiedNights(t, 1200)
		left := func() int64 { return int64(len(v.store.bulk)) }
		came := left()
		small := func(cfg *Config) { cfg.Verify = 0.001 } // of 116 requests in each of 480 minutes
		for range 2 {
			before := left()
			r := v.night(small)
			if r.Bulk.Verified != 55 || r.DetailRequests > 55+30 || before-left() < 55-30 || !r.Complete() {
				t.Errorf("%d compared with %d requests, %d left of %d; %v", r.Bulk.Verified, r.DetailRequests, left(), before, r.Problems)
			}
		}
		if r := v.night(func(cfg *Config) { cfg.Verify = 0 }); r.Bulk.Verified != 0 {
			t.Errorf("%d compared with a share of nothing", r.Bulk.Verified)
		}
		if r := v.night(func(cfg *Config) { cfg.ListOnly = true }); r.Bulk.Verified != 0 {
			t.Errorf("%d compared by a run that only lists", r.Bulk.Verified)
		}
		before, began := left(), time.Now()
		r := v.night(func(cfg *Config) { small(cfg); cfg.MaxDuration = 4 * time.Minute })
		if took := time.Since(began) - 2*time.Minute; r.Bulk.Verified < 350 || left() != before-r.Bulk.Verified || r.DeadlineHit || !r.Complete() || took > 4*time.Minute {
			t.Errorf("%d compared in %v, %d left of %d; deadline hit: %v", r.Bulk.Verified, took, left(), before, r.DeadlineHit)
		}
		if r = v.night(nil); left() != 0 || r.Bulk.Differing > 0 || !r.Complete() {
			t.Errorf("%d left of %d, %d differ: %v", left(), came, r.Bulk.Differing, r.Problems)
		}
		with := v.night(nil)
		without := v.night(func(cfg *Config) { cfg.Verify = 0 })
		if with.Requests != without.Requests || with.Bulk.Verified > 0 {
			t.Errorf("%d requests, and %d without comparisons", with.Requests, without.Requests)
		}
		if stats := v.server.Stats(); stats.AboveLimit > 0 || stats.RateLimited > 0 {
			t.Errorf("%d above the limit, %d refused", stats.AboveLimit, stats.RateLimited)
		}
	})
}

// A stored transcript that differs is replaced. If v2 is wrong, all are fetched again at once, or
// over several runs; if the call has changed since, v2 is not to blame.
func TestWhoIsToBlame(t *testing.T) {
	change := func(c *calls.Call) {
		c.Turns().At(0)[schema.Turns.Column("content")] = schema.TextValue([]byte("another text"))
	}
	truncate := func(c *calls.Call) {
		c.Turns().Cut(1)
		c.Row[schema.Calls.Column("turn_count")] = parquet.Int32Value(1)
	}
	tried := longtest.Each(3)
	for i, c := range []struct {
		name   string
		v2     string
		spoil  func(*calls.Call)
		seen   time.Duration // time from the call's end until it was first seen
		source func(*Config)
		blamed bool
	}{
		{"the text has changed since", "", change, 3 * time.Hour, nil, false},
		{"the end was missing too early", "", truncate, time.Hour, nil, false},
		{"the end was missing", "", truncate, 3 * time.Hour, nil, true},
		{"v2 still shows another text", "wrong-turns=1", change, 3 * time.Hour, nil, true},
		{"v2 has gone", "off", change, 3 * time.Hour, nil, true},
		{"v2 is not to be asked", "", change, 3 * time.Hour, func(cfg *Config) { cfg.Transcripts = FromV3 }, true},
	} {
		if !tried(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVerifiedNights(t, 300)
				v.clock.Advance(24 * time.Hour) // every call ended long ago
				spoilt := ""
				for id, call := range v.store.bulk {
					if call.Turns().Len() > 3 && (spoilt == "" || id < spoilt) {
						spoilt = id
					}
				}
				call := v.store.bulk[spoilt]
				c.spoil(call)
				seen := call.EndAt().V + c.seen.Milliseconds()
				call.Fetched(seen, seen, nil)
				mode, err := sandbox.ParseV2(c.v2)
				if err == nil {
					err = v.server.SetV2(mode)
				}
				if err != nil {
					t.Fatal(err)
				}
				was := len(v.store.bulk)
				few := func(cfg *Config) {
					cfg.Transcripts = FromV3
					if c.source == nil {
						cfg.Transcripts = Auto
					}
					cfg.Verify = 1
				}
				r := v.night(few)
				blamed := v.store.state.State == schema.BulkRefuted
				if _, kept := v.store.bulk[spoilt]; kept || r.Bulk.Differing < 1 || blamed != c.blamed || r.Complete() == c.blamed {
					t.Errorf("kept: %v, %d differ, v2 is %q, problems %q", kept, r.Bulk.Differing, v.store.state.State, r.Problems)
				}
				if c.blamed && (!strings.Contains(strings.Join(r.Problems, " "), "are fetched again") || r.Bulk.Differing > 1 && c.v2 != "wrong-turns=1") {
					t.Errorf("%d differ, and the report says %q", r.Bulk.Differing, r.Problems)
				}
				if n := len(v.store.bulk); n > 0 {
					for id := range v.store.bulk {
						if !v.store.fresh[id] || c.blamed {
							t.Fatalf("%d of %d transcripts are still those of v2", n, was)
						}
					}
				}
			})
		})
	}
}

// When one transcript is wrong, all are fetched again, whatever the share; if the time does not
// suffice, later runs continue.
func TestFetchedAgainOverSeveralNights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVerifiedNights(t, 600)
		v.store.state = schema.Bulk{State: schema.BulkRefuted, At: 1}
		came := len(v.store.bulk)
		nights := 0
		for ; len(v.store.bulk) > 0 && nights < 9; nights++ {
			r := v.night(func(cfg *Config) { cfg.Verify, cfg.MaxDuration = 0, 2*time.Minute })
			if left := len(v.store.bulk); r.DeadlineHit != (left > 0) || r.Complete() != (left == 0) || r.BulkRequests > 0 {
				t.Errorf("%d left; deadline hit: %v, problems %v, %d v2 pages", left, r.DeadlineHit, r.Problems, r.BulkRequests)
			}
		}
		if nights < 3 || len(v.store.bulk) > 0 {
			t.Errorf("%d of %d transcripts are left after %d nights", len(v.store.bulk), came, nights)
		}
	})
}

// Missing records are not requested again, and records that fail are left to another night.
func TestUnverifiable(t *testing.T) {
	for _, fault := range []sandbox.FaultKind{"404", "500"} {
		synctest.Test(t, func(t *testing.T) {
			failing := false
			st, err := newStand(sandbox.Options{World: sandbox.Config{Seed: 6, Calls: 300, Days: 3, Origin: origin},
				Inject: func(_ int64, r sandbox.Request) sandbox.FaultKind {
					if failing && r.Kind == "detail" {
						return fault
					}
					return ""
				}})
			if err != nil {
				t.Fatal(err)
			}
			v := &verifiedNights{st, t}
			v.night(nil)
			failing = true
			came := len(v.store.bulk)
			r := v.night(nil)
			if left := len(v.store.bulk); !r.Complete() || fault == "404" && left > 0 || fault == "500" && (left < came || r.DetailRequests > 60) {
				t.Errorf("%s: %d of %d left, %d requests, %v", fault, left, came, r.DetailRequests, r.Problems)
			}
		})
	}
}
