package crawler

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// soakCalls is the observed size of a real organisation, or a tenth of it unless CALLHOUSE_SOAK is set.
func soakCalls() int64 {
	if soak() {
		return 201_312
	}
	return 20_132
}

func soak() bool { return os.Getenv("CALLHOUSE_SOAK") != "" }

// The first night of a real organisation, including transcripts, takes minutes instead of the day
// that single requests would take, and no request exceeds a limit.
func TestSandboxFirstNightInBulk(t *testing.T) {
	n := soakCalls()
	if !soak() {
		n /= 4
	}
	if !soak() && !longtest.On() {
		n /= 8
	}
	for latency, most := range map[time.Duration]time.Duration{300 * time.Millisecond: 24 * time.Minute, 2 * time.Second: 70 * time.Minute} {
		synctest.Test(t, func(t *testing.T) { firstNightInBulk(t, n, latency, most) })
	}
}

// firstNightInBulk runs a first night of n calls. most is the maximum time for 201,312 calls at
// that latency: the pages of the list are requested one after another.
func firstNightInBulk(t *testing.T, n int64, latency, most time.Duration) {
	st := newFixture(t, sandbox.Options{
		World: sandbox.Config{Seed: 1, Calls: n, Days: 365, Origin: origin}, Latency: latency, Counted: sandbox.AtAnswer,
	})
	start := time.Now()
	r := st.complete(t, func(cfg *Config) { cfg.Transcripts = Auto })
	took := time.Since(start)
	if stats := st.server.Stats(); stats.AboveLimit > 0 || stats.RateLimited > 0 {
		t.Fatal(stats.AboveLimit, stats.RateLimited)
	}
	// One minute is independent of the number of calls.
	if limit := most*time.Duration(n)/201_312 + time.Minute; took > limit {
		t.Errorf("it took %v, and %v are enough", took, limit)
	}
	if st.store.state.State != schema.BulkTrusted || r.Bulk.Differing > 0 || r.Bulk.Compared < 20 {
		t.Errorf("the pages are %q after %d comparisons", st.store.state.State, r.Bulk.Compared)
	}
}

// A service without v2 pages gets one request for them, whatever it answers, or a second if another
// server may have answered. All records are fetched singly, and the next night requests no page.
func TestServicesWithoutPages(t *testing.T) {
	for v2, why := range map[string]string{"off": "404", "off=401": "401", "off=403": "403", "off=410": "status 410", "422": "status 422", "off=429": "429"} {
		synctest.Test(t, func(t *testing.T) {
			mode, err := sandbox.ParseV2(v2)
			test.OK(t, err)
			st := newFixture(t, sandbox.Options{World: sandbox.Config{Seed: 6, Calls: 150, Days: 2, Origin: origin}, V2: mode})
			pages := int64(1)
			switch v2 {
			case "off=429":
				pages = 3
			case "off", "off=401", "off=403", "off=410", "422":
				pages = 2
			}
			for night := range int64(2) {
				r := st.complete(t, func(cfg *Config) { cfg.Transcripts = Auto })
				if r.BulkRequests != pages*(1-night) || night == 0 && !strings.Contains(r.BulkOff, why) || r.Bulk.Transcripts > 0 {
					t.Errorf("%s, night %d: %d pages, given up: %q", v2, night, r.BulkRequests, r.BulkOff)
				}
				test.Same(t, schema.BulkAbsent, st.store.state.State, "%s, night %d: the pages", v2, night)
				time.Sleep(2 * time.Minute)
				st.clock.Advance(24 * time.Hour)
			}
		})
	}
}

// The warehouse's state about pages names no call and quotes no text of the service, since every
// later snapshot contains it.
func TestStoredStateOfPagesNamesNoCall(t *testing.T) {
	longtest.Only(t)
	for v2, want := range map[string]string{"wrong-turns=1": "differs", "off": "404 not found", "off=403": "403 forbidden", "422": "status 422"} {
		synctest.Test(t, func(t *testing.T) {
			mode, err := sandbox.ParseV2(v2)
			test.OK(t, err)
			st := newFixture(t, sandbox.Options{World: sandbox.Config{Seed: 6, Calls: 150, Days: 2, Origin: origin}, V2: mode})
			st.run(t, func(cfg *Config) { cfg.Transcripts = Auto })
			why := st.store.state.Why
			if !strings.HasSuffix(why, want) || len(why) > len("transcript_turns[1000].content differs") {
				t.Errorf("%s: kept is %q, want %q", v2, why, want)
			}
			for id := range st.store.items {
				if strings.Contains(why, id) {
					t.Errorf("%s: kept is %q, which names a call", v2, why)
				}
			}
		})
	}
}

// If pages are shorter than requested, though there are more calls, that is their maximum.
func TestShortPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFixture(t, sandbox.Options{
			World: sandbox.Config{Seed: 6, Calls: 800, Days: 8, Origin: origin}, V2: sandbox.V2{PageMost: 60},
		})
		r := st.complete(t, func(cfg *Config) { cfg.Transcripts = Auto })
		if most := int64(800/60 + 8); r.BulkRequests > most || r.DetailRequests > 60 {
			t.Errorf("%d pages of v2 and %d details; given up: %q", r.BulkRequests, r.DetailRequests, r.BulkOff)
		}
	})
}

// When v2 was found wrong, all its transcripts are fetched again; if the time does not suffice, later
// runs continue.
func TestFetchedAgainOverSeveralNights(t *testing.T) {
	longtest.Only(t)
	synctest.Test(t, func(t *testing.T) {
		st := newFixture(t, sandbox.Options{World: sandbox.Config{Seed: 6, Calls: 600, Days: 3, Origin: origin}})
		night := func(limit time.Duration) Report {
			r := st.run(t, func(cfg *Config) { cfg.Transcripts, cfg.RelistEvery, cfg.MaxDuration = Auto, 0, limit })
			time.Sleep(2 * time.Minute)
			return r
		}
		night(0)
		came, nights := len(st.store.bulk), 0
		if came < 300 || night(0).DetailRequests > 0 {
			t.Errorf("%d transcripts came from v2; a second night requests records again", came)
		}
		st.store.state = schema.Bulk{State: schema.BulkRefuted, At: 1}
		for ; len(st.store.bulk) > 0 && nights < 9; nights++ {
			r := night(2 * time.Minute)
			if left := len(st.store.bulk); r.DeadlineHit != (left > 0) || r.Complete() != (left == 0) || r.BulkRequests > 0 {
				t.Errorf("%d left; deadline hit: %v, problems %v, %d v2 pages", left, r.DeadlineHit, r.Problems, r.BulkRequests)
			}
		}
		if nights < 3 || len(st.store.bulk) > 0 {
			t.Errorf("%d of %d transcripts are left after %d nights", len(st.store.bulk), came, nights)
		}
	})
}

// The sample has the documented size: twenty from the first page, and one in five hundred.
func TestSampleOfPages(t *testing.T) {
	b := tester(t, nil, newMemStore(), nil).bulk
	due := make([]calls.Due, 400)
	for i := range due {
		due[i].CallID = string(rune('a' + i))
	}
	compared := func(proven int) (n int) {
		b.compared = proven
		for _, keep := range b.newBulkPage(due, 500).wanted {
			if !keep {
				n++
			}
		}
		return n
	}
	if n := compared(0); n < sampled || n > sampled+12 {
		t.Errorf("%d of the first page are compared", n)
	}
	sum := 0
	for range 1000 {
		sum += compared(sampled)
	}
	want := 1000 * len(due) / oneIn
	if math.Abs(float64(sum-want)) > 6*math.Sqrt(float64(want)) { // once in 10^9
		t.Errorf("%d are compared of 400,000, want about %d", sum, want)
	}
}

// v2 is blamed for a difference unless the transcript may still come, or the caller has opted out since.
func TestBlame(t *testing.T) {
	const end = 1795089660000
	decode := func(body string, kind schema.Kind) *calls.Call {
		call := new(calls.Call)
		test.OK(t, new(calls.Decoder).Decode([]byte(body), kind, call))
		return call
	}
	const hello, bye = `[{"role":"user","content":"hello"}]`, `[{"role":"user","content":"bye"}]`
	for _, c := range []struct {
		name                string
		v2, v3              string
		age                 time.Duration
		compared, differing int64
	}{
		{"the same", hello, `"transcript":` + hello, time.Hour, 1, 0},
		{"another text, too early", hello, `"transcript":` + bye, time.Hour, 0, 0},
		{"another text", hello, `"transcript":` + bye, 3 * time.Hour, 1, 1},
		{"none when v2 had one", hello, `"transcript":null`, 3 * time.Hour, 1, 1},
		{"opted out since", hello, `"transcript":null,"opt_out_sensitive_data_storage":true`, 3 * time.Hour, 0, 0},
		{"nobody spoke, according to v2", "[]", `"transcript":` + hello, 3 * time.Hour, 1, 1},
	} {
		v2 := decode(fmt.Sprintf(`{"call_id":"a","status":"ended","end_timestamp":%d,"transcript_with_tool_calls":%s}`, end, c.v2), schema.KindBulk)
		body := fmt.Sprintf(`{"id":"a","status":"ended","end_at":%d,%s}`, end, c.v3)
		rec := schema.Record{Kind: schema.KindDetail, CallID: "a", Body: []byte(body)}
		b := tester(t, nil, newMemStore(), func(cfg *Config) {
			cfg.Now = func() time.Time { return time.UnixMilli(end).Add(c.age) }
		}).bulk
		err := b.judge(t.Context(), v2, decode(body, schema.KindDetail), rec)
		if n := b.Progress().Bulk; err != nil || n.Compared != c.compared || n.Differing != c.differing ||
			(b.state.State == schema.BulkRefuted) != (c.differing > 0) {
			t.Errorf("%s: %v, %+v, %q", c.name, err, n, b.state.State)
		}
	}
}
