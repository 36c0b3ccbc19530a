package querycmd

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"callhouse/internal/alert"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

var companies = flag.Int("companies", 5, "how many companies in which nothing changes are simulated")

// In companies in which nothing changes, rules hardly ever start an alert in thirty nights: at most
// as often as documented.
func TestNothingChanges(t *testing.T) {
	longtest.Only(t)
	const days = 44
	path := rules(t, string(test.Read(t, "testdata/alerts/stationary.toml")))
	started, f := map[string]int{}, new(alertFile)
	const batch = 50
	for from := 0; from < *companies; from += batch {
		r := rand.New(rand.NewPCG(2026, uint64(from)))
		calls := simulated(r, firstNight.AddDate(0, 0, 30-days), days, min(batch, *companies-from), 20, func(at time.Time, agent int) day {
			is := day{[]float64{1, 2, 4}[agent%3], .8, .2, 1}
			if agent%2 == 1 && (at.Weekday() == time.Saturday || at.Weekday() == time.Sunday) {
				is.calls /= 3
			}
			if agent/2%2 == 1 {
				is.calls *= math.Exp(.1 * r.NormFloat64()) // more variation than chance
			}
			return is
		})
		seen := map[[2]string]bool{}
		f = nights(t, warehouse(t, calls), path, 1, 30, 1, true, func(r *alertRule, _ int, m *alert.Message) {
			for _, i := range m.Items {
				seen[[2]string{r.Name, i.Group}] = true
			}
		})
		for of := range seen {
			started[of[0]]++
		}
		t.Logf("%d companies: %v", min(from+batch, *companies), started)
	}
	for _, r := range f.Rules {
		const p = .05
		name := r.Name
		n := float64(*companies)
		t.Logf("%-40s %3d of %3d companies in 30 nights, %4.1f %%", name, started[name], *companies, 100*float64(started[name])/n)
		if float64(started[name]) > n*p+3.1*math.Sqrt(n*p*(1-p))+1 {
			t.Errorf("%s: in %d of %d companies; the docs say %.0f %% at most", name, started[name], *companies, 100*p)
		}
	}
}
