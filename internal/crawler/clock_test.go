package crawler

import (
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// Nights with a clock days ahead or behind list every call, and record nothing that contradicts the
// service's clock; so do the following nights with a correct clock.
func TestNightsByAWrongClock(t *testing.T) {
	tried := longtest.Each(3)
	for i, wrong := range []time.Duration{4 * 24 * time.Hour, -4 * 24 * time.Hour, 20 * time.Hour} {
		if !tried(i) && i > 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			st, err := newStand(sandbox.Options{World: sandbox.Config{Seed: 7, Calls: 600, Days: 3, Origin: origin}})
			test.OK(t, err)
			for night, by := range []time.Duration{0, wrong, wrong, wrong, 0, 0} {
				r, err := st.run(t, 0, func(cfg *Config) {
					cfg.AnyClock = true
					cfg.Now = func() time.Time { return st.clock.Now().Add(by) }
				})
				if err == nil {
					err = st.differs()
				}
				if err != nil || !r.Complete() {
					t.Fatalf("night %d, %v ahead: %v %v", night, by, err, r.Problems)
				}
				for _, span := range st.store.spans {
					if late := st.clock.Now().Add(2 * time.Minute).UnixMilli(); span.To > late || span.ListedAt > late {
						t.Errorf("night %d, %v ahead: on record as listed: %+v", night, by, span)
					}
				}
				if ended := r.Ended.Sub(st.clock.Now()).Abs(); ended > time.Minute || r.Ended.Before(r.Started) {
					t.Errorf("night %d, %v ahead: it lasted from %v to %v, and it is %v", night, by, r.Started, r.Ended, st.clock.Now())
				}
				time.Sleep(2 * time.Minute)
				st.clock.Advance(24 * time.Hour)
			}
		})
	}
}
