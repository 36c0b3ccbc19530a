package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"callhouse/internal/test"
)

// TestLimitersKeepTheirLimits drives each algorithm with random arrivals and counts the admitted
// requests independently.
func TestLimitersKeepTheirLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		algorithm := rapid.SampledFrom([]Algorithm{SlidingLog, FixedWindow, TokenBucket}).Draw(t, "algorithm")
		perSecond := rapid.IntRange(1, 8).Draw(t, "perSecond")
		perMinute := rapid.IntRange(1, 200).Draw(t, "perMinute")
		l, err := New(algorithm, perSecond, perMinute)
		test.OK(t, err)
		now := time.Date(2026, 11, 19, 9, 30, 0, 0, time.UTC)
		var in []time.Time
		for range 400 {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "gap")) * time.Millisecond)
			ok, wait := l.Allow(now)
			if ok != (wait == 0) {
				t.Fatalf("let in %v, wait %v", ok, wait)
			}
			if should := fits(algorithm, in, now, perSecond, time.Second) &&
				fits(algorithm, in, now, perMinute, time.Minute); algorithm != TokenBucket && ok != should {
				t.Fatalf("%s let in %v, want %v", algorithm, ok, should)
			}
			if ok {
				in = append(in, now)
			} else if rapid.Bool().Draw(t, "wait") {
				if now = now.Add(wait); !allowSoon(l, &now) {
					t.Fatalf("%s asked to wait %v and then refused", algorithm, wait)
				}
				in = append(in, now)
			}
		}
		if algorithm != TokenBucket {
			return
		}
		for i := range in { // no span admits more than a full bucket and its refill
			for j := i; j < len(in); j++ {
				span := in[j].Sub(in[i])
				if n := j - i + 1; float64(n) > float64(perSecond)*(1+span.Seconds())+1e-6 ||
					float64(n) > float64(perMinute)*(1+span.Minutes())+1e-6 {
					t.Fatalf("%d requests in %v", n, span)
				}
			}
		}
	})
}

// allowSoon asks at now, and later while the other window still refuses.
func allowSoon(l *Limiter, now *time.Time) bool {
	for range 3 {
		ok, wait := l.Allow(*now)
		if ok {
			return true
		}
		*now = now.Add(wait)
	}
	return false
}

// fits reports whether a window has room for another request, by counting.
func fits(a Algorithm, in []time.Time, now time.Time, limit int, span time.Duration) bool {
	n := 0
	for _, at := range in {
		if a == FixedWindow && at.Truncate(span).Equal(now.Truncate(span)) || a == SlidingLog && now.Sub(at) < span {
			n++
		}
	}
	return n < limit
}
