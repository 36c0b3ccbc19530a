package analytics_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// meanBounds returns the bounds of a mean: the values for which Hall's polynomial of the distance,
// in standard errors, equals Student's quantile. It finds them by bisection.
func meanBounds(amounts []float64, z float64) (mean, low, high float64) {
	n := float64(len(amounts))
	for _, v := range amounts {
		mean += v / n
	}
	var second, third float64
	for _, v := range amounts {
		second, third = second+math.Pow(v-mean, 2)/n, third+math.Pow(v-mean, 3)/n
	}
	df, skewness := n-1, third/math.Pow(second, 1.5)
	if second == 0 {
		return mean, mean, mean
	}
	student := z + (math.Pow(z, 3)+z)/4/df + (5*math.Pow(z, 5)+16*math.Pow(z, 3)+3*z)/96/df/df +
		(3*math.Pow(z, 7)+19*math.Pow(z, 5)+17*math.Pow(z, 3)-15*z)/384/df/df/df
	hall := func(t float64) float64 {
		return t + skewness*t*t/3/math.Sqrt(n) + skewness*skewness*t*t*t/27/n + skewness/6/math.Sqrt(n)
	}
	find := func(y float64) float64 {
		from, to := -1e4, 1e4
		for range 100 {
			if mid := (from + to) / 2; hall(mid) < y {
				from = mid
			} else {
				to = mid
			}
		}
		return from
	}
	se := math.Sqrt(second / df)
	return mean, mean - se*find(student), mean - se*find(-student)
}

func number(t *testing.T, v any) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	test.OK(t, err)
	return f
}

// Changes of costs and handle times are judged by bounds for means of skewed amounts.
func TestMeansAreJudged(t *testing.T) {
	longtest.Only(t)
	r := rand.New(rand.NewPCG(8, 8))
	since := time.Date(2026, 11, 9, 0, 0, 0, 0, time.UTC)
	var calls []row
	costs, times := map[string][]float64{}, map[string][]float64{}
	for i := range 700 {
		agent, at := []string{"few", "many", "other"}[min(i%9, 2)], since.AddDate(0, 0, i%14-7).Add(time.Duration(i)*time.Second)
		cost, ms := math.Exp(r.NormFloat64())/10, int64(40_000*math.Exp(.7*r.NormFloat64()))
		if at.Before(since) && agent == "many" {
			ms *= 3
		}
		c := row{"call_id": fmt.Sprint(i), "agent_id": agent, "status": "ended", "disconnection_reason": "user_hangup", "start_at": at.UnixMilli(), "user_turns": int64(1), "duration_ms": ms}
		period := fmt.Sprint(at.Before(since))
		if i%3 > 0 {
			text := strconv.FormatFloat(cost, 'f', 2, 64) // many are equal
			c["total_cost"] = text
			cost, _ = strconv.ParseFloat(text, 64)
			costs[period], costs[agent+period] = append(costs[period], cost), append(costs[agent+period], cost)
		}
		times[period], times[agent+period] = append(times[period], float64(ms)), append(times[agent+period], float64(ms))
		calls = append(calls, c)
	}
	w := warehouse(t, analyticstest.Data{Calls: calls}, nil)
	p := question.Params{Since: since, Until: since.AddDate(0, 0, 7), PreviousSince: since.AddDate(0, 0, -7), PreviousUntil: since}
	check := func(report, columns, agent string, amounts map[string][]float64, z float64, p question.Params) {
		t.Helper()
		rows, err := askFor(t.Context(), w, report, p)
		test.OK(t, err)
		at := map[string]int{}
		for i, c := range rows.Columns() {
			if at[c.Name] = i; c.Name == "handled_spread" {
				t.Error("what bounds are made of is shown")
			}
		}
	lines:
		for _, line := range all(t, rows, nil) {
			for _, id := range []string{"agent_id", "agent"} {
				if i, ok := at[id]; ok && line[i] != agent {
					continue lines
				}
			}
			a, aLow, aHigh := meanBounds(amounts[agent+"false"], z)
			b, bLow, bHigh := meanBounds(amounts[agent+"true"], z)
			for side, want := range map[string]float64{"low": a - b - math.Hypot(a-aLow, bHigh-b), "high": a - b + math.Hypot(aHigh-a, b-bLow)} {
				for _, column := range strings.Fields(columns) {
					v, near := line[at["change_"+side+"_"+column]], 1.0
					if column == "per_call" {
						near = 1e-4
					}
					if math.Abs(number(t, v)-want) > near {
						t.Errorf("%s, %q: the %s bound of %s is %v, want %v", report, agent, side, column, v, want)
					}
				}
			}
			if !p.Bounds {
				continue
			}
			column := columns
			for name, want := range map[string]float64{"low_": aLow, "high_": aHigh, "whole_": float64(len(amounts[agent+"false"]))} {
				if v := line[at[name+column]]; math.Abs(number(t, v)-want) > 1e-4*want {
					t.Errorf("%s, %q: %s%s is %v, want %v", report, agent, name, column, v, want)
				}
			}
		}
	}
	check("costs", "per_call", "", costs, quantile(1), p)
	byAgent := p
	byAgent.By = "agent"
	check("costs", "per_call", "many", costs, quantile(2), byAgent) // the few have no costs
	check("durations", "mean_ms handle_ms", "", times, quantile(2), p)
	check("agents", "handle_ms", "few", times, quantile(3*5), p) // with shares of connected, completed, successful and transferred calls
	single := p
	single.Columns, single.Strict = []string{"handle_ms", "change_low_handle_ms", "change_high_handle_ms"}, question.Strict{Answers: 4, Changes: 5}
	check("durations", "handle_ms", "", times, quantile(20), single)
	single.Bounds, single.Columns = true, append(single.Columns, "low_handle_ms", "high_handle_ms", "whole_handle_ms")
	check("durations", "handle_ms", "", times, quantile(20), single)
}

// Quantiles as in published tables: of the normal distribution and, for few calls, Student's.
func TestQuantiles(t *testing.T) {
	w := sharedWarehouse(t, false)
	cases := []struct {
		text string
		want float64
		near float64
	}{
		{"chance_z(1)", 1.959963984540054, 1e-14}, {"chance_z(5)", 2.5758293035489004, 1e-14}, {"chance_z(50)", 3.2905267314918945, 1e-14}, {"chance_z(1000000)", quantile(1e6), 1e-7},
		{"student(z_1, 9)", 2.262157, 3e-4}, {"student(z_1, 30)", 2.042272, 1e-5}, {"student(z_5, 19)", 2.860935, 1e-3}, {"unskewed(1.5, 0)", 1.5, 0},
		// Newcombe (1998), table II, method 10: 56/70 and 48/80 differ by 0.0524 to 0.3339, 9/10 and 3/10 by 0.1705 to 0.8090.
		{"share_change(80, 70, 60, 80, z_1, -1)", 5.24, .005}, {"share_change(80, 70, 60, 80, z_1, 1)", 33.39, .005},
		{"share_change(90, 10, 30, 10, z_1, -1)", 17.05, .005}, {"share_change(90, 10, 30, 10, z_1, 1)", 80.90, .005},
		// Wilson (1927), from Newcombe's table I: 81 of 263 is 0.2553 to 0.3662.
		{"wilson(81, 263, -1)", 25.53, .005}, {"wilson(81, 263, 1)", 36.62, .005},
		// 78 of 100 and 90 of 100 differ significantly, but not as one of 21 such pairs.
		{"sign(share_change(78, 100, 90, 100, z_1, 1))", -1, 0}, {"sign(share_change(78, 100, 90, 100, z_21, 1))", 1, 0},
		{"sign(share_change(100, 10, 0, 20, z_1, -1))", 1, 0}, {"sign(share_change(0, 10, 0, 20, z_1, 1))", 1, 0},
	}
	texts := make([]string, len(cases))
	for i, c := range cases {
		texts[i] = c.text
	}
	got := sqlOf(t, w, "SELECT "+strings.Join(texts, ", ")+" FROM (SELECT chance_z(1) AS z_1, chance_z(5) AS z_5, chance_z(21) AS z_21)")[0]
	for i, c := range cases {
		if math.Abs(number(t, got[i])-c.want) > c.near {
			t.Errorf("%s is %v, want %v", c.text, got[i], c.want)
		}
	}
}
