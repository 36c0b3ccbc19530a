package alerts

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

var companies = flag.Int("companies", 5, "how many companies in which nothing changes are simulated")

// stationary has rules by agent, where each agent is a separate company. The thresholds are the
// true values, which is the worst case.
const stationary = `
[[rules]]
name = "completed changed, 1 day"
report = "agents"
by = ["agent"]
column = "completed_percent"
changed = "any"
to = ["out"]
[[rules]]
name = "completed changed, 7 days"
report = "agents"
by = ["agent"]
column = "completed_percent"
changed = "any"
window = "7d"
to = ["out"]
[[rules]]
name = "handle time changed, 7 days"
report = "agents"
by = ["agent"]
column = "handle_ms"
changed = "any"
window = "7d"
to = ["out"]
[[rules]]
name = "negative changed, 7 days"
report = "sentiment"
by = ["agent"]
row = {user_sentiment = "negative"}
column = "rated_percent"
changed = "any"
window = "7d"
to = ["out"]
[[rules]]
name = "completed below its true value, 1 day"
report = "agents"
by = ["agent"]
column = "completed_percent"
below = 80
to = ["out"]
[[rules]]
name = "completed below its true value, 7 days"
report = "agents"
by = ["agent"]
column = "completed_percent"
below = 80
window = "7d"
to = ["out"]
`

// In companies in which nothing changes, rules hardly ever start an alert in thirty nights: at most
// as often as documented.
func TestNothingChanges(t *testing.T) {
	longtest.Only(t)
	falseAlarms(t, stationary, 44)
}

// The same for days unusual for their history, which is long.
func TestNothingUnusual(t *testing.T) {
	longtest.Only(t)
	text := ""
	for _, m := range measures {
		text += fmt.Sprintf("[[rules]]\nname = \"unusual %s\"\nby = [\"agent\"]\ncolumn = %q\nunusual = \"any\"\nto = [\"out\"]\n", m, m)
	}
	falseAlarms(t, text, 143)
}

// falseAlarms counts the companies, with the given number of days, in which rules start an alert in
// the last thirty nights.
func falseAlarms(t *testing.T, text string, days int) {
	t.Helper()
	path := rules(t, text)
	started, kinds := map[string]int{}, []string{}
	const batch = 50
	for from := 0; from < *companies; from += batch {
		r := rand.New(rand.NewPCG(2026, uint64(from)))
		calls := company(r, firstNight.AddDate(0, 0, 30-days), days, min(batch, *companies-from), 20, func(at time.Time, agent int) day {
			is := day{[]float64{1, 2, 4}[agent%3], .8, .2, 1}
			if agent%2 == 1 && (at.Weekday() == time.Saturday || at.Weekday() == time.Sunday) {
				is.calls /= 3
			}
			if agent/2%2 == 1 {
				is.calls *= math.Exp(.1 * r.NormFloat64()) // more variation than chance
			}
			return is
		})
		c, _, _ := over(house(t, calls), path, time.Time{})
		f, err := fileOf(c.Command)
		test.OK(t, err)
		w, err := c.Open(t.Context(), time.UTC)
		test.OK(t, err)
		e := newEvaluator(w, "")
		e.strict.Changes = 1 // as if each were evaluated alone
		found, _, _, err := e.replay(t.Context(), f, firstNight.AddDate(0, 0, 30), 30)
		test.OK(t, errors.Join(err, w.Close()))
		seen := map[string]bool{}
		for _, a := range found {
			if key := a.rule + "\n" + a.group; !seen[key] {
				seen[key] = true
				started[a.rule]++
			}
		}
		kinds = kinds[:0]
		for _, r := range f.Rules {
			kinds = append(kinds, r.Name)
		}
		t.Logf("%d companies: %v", min(from+batch, *companies), started)
	}
	for _, name := range kinds {
		const p = .05
		n := float64(*companies)
		t.Logf("%-40s %3d of %3d companies in 30 nights, %4.1f %%", name, started[name], *companies, 100*float64(started[name])/n)
		if float64(started[name]) > n*p+3.1*math.Sqrt(n*p*(1-p))+1 {
			t.Errorf("%s: in %d of %d companies; the docs say %.0f %% at most", name, started[name], *companies, 100*p)
		}
	}
}
