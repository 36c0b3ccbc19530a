package tally

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/schema/decimal"
)

// units returns a number as an integer in units of 10^-18.
func units(n decimal.Number) *big.Int {
	b := n.AppendBytes(nil)
	u := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		u.Sub(u, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return u
}

// told formats a row of tallies: its key and its numbers.
func told(table *schema.Table, row parquet.Row) (key, numbers string) {
	keys := slices.IndexFunc(table.Columns, func(c schema.Column) bool { return c.Name == "calls" })
	var parts []string
	for i, v := range row {
		if v.IsNull() {
			parts = append(parts, "null")
			continue
		}
		if table.Columns[i].Type == schema.Exact {
			parts = append(parts, units(decimal.FromBytes(v.ByteArray())).String())
			continue
		}
		parts = append(parts, v.String())
	}
	return strings.Join(parts[:keys], "|"), strings.Join(parts[keys:], " ")
}

// tally returns the tally rows of calls, and the keys in order.
func tally(t rapid.TB, all []*calls.Call) (rows map[*schema.Table]map[string]string, order map[*schema.Table][]string, tallies *Tallies) {
	rows, order = map[*schema.Table]map[string]string{}, map[*schema.Table][]string{}
	for _, table := range schema.TallyTables {
		rows[table] = map[string]string{}
	}
	tallies = NewTallies(schema.TallyTables, func(table *schema.Table, row parquet.Row) error {
		if slices.Contains(schema.FactTables, table) {
			return nil
		}
		key, numbers := told(table, row)
		if _, twice := rows[table][key]; twice {
			t.Fatalf("%s has two rows of %s", table.Name, key)
		}
		rows[table][key] = numbers
		order[table] = append(order[table], key)
		return nil
	})
	for _, c := range all {
		if err := tallies.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := tallies.Close(); err != nil {
		t.Fatal(err)
	}
	return rows, order, tallies
}

// counted are the calls of a kind.
type counted struct{ calls, timed, costed, both, unheld []*calls.Call }

// numbers adds up the calls, each number separately.
func (n *counted) numbers() string {
	sum := func(all []*calls.Call, of func(*calls.Call) *big.Int) string {
		if len(all) == 0 {
			return "null"
		}
		total := new(big.Int)
		for _, c := range all {
			total.Add(total, of(c))
		}
		return total.String()
	}
	ms := func(c *calls.Call) *big.Int { return big.NewInt(c.DurationMS().V) }
	cost := func(c *calls.Call) *big.Int { return units(c.TotalCost().V) }
	longest := "null"
	if len(n.timed) > 0 {
		longest = fmt.Sprint(ms(slices.MaxFunc(n.timed, func(a, b *calls.Call) int { return ms(a).Cmp(ms(b)) })))
	}
	return fmt.Sprint(len(n.calls), " ", len(n.timed), " ", sum(n.timed, ms), " ", longest, " ", len(n.costed), " ", sum(n.costed, cost), " ",
		sum(n.both, cost), " ", sum(n.both, ms), " ", len(n.unheld))
}

// countAll groups the calls by the keys that key returns.
func countAll(all []*calls.Call, key func(*calls.Call) []string) map[string]string {
	kinds := map[string]*counted{}
	for _, c := range all {
		k := strings.Join(key(c), "|")
		n := kinds[k]
		if n == nil {
			n = new(counted)
			kinds[k] = n
		}
		n.calls = append(n.calls, c)
		if c.DurationMS().OK {
			n.timed = append(n.timed, c)
		}
		if c.TotalCost().OK {
			n.costed = append(n.costed, c)
		}
		if c.DurationMS().OK && c.TotalCost().OK {
			n.both = append(n.both, c)
		}
		if !c.TotalCost().OK && strings.Contains(string(c.Extra()), "call_cost") {
			n.unheld = append(n.unheld, c)
		}
	}
	out := map[string]string{}
	for k, n := range kinds {
		out[k] = n.numbers()
	}
	return out
}

// minutesOf counts the calls in progress at each start of a call and in the last millisecond of
// each.
func minutesOf(all []*calls.Call) map[string]string {
	going := func(at int64) (n int64) {
		for _, c := range all {
			if from := c.StartAt(); from.OK && c.DurationMS().OK && from.V <= at && at < from.V+c.DurationMS().V {
				n++
			}
		}
		return n
	}
	type minute struct {
		calls, peak    int64
		peakAt, longer schema.Opt[int64]
		at             int64 // the time for which peak is counted
	}
	of := map[int64]*minute{}
	see := func(at int64, starts bool) *minute {
		key := int64(math.Floor(float64(at)/60_000)) * 60_000
		m := of[key]
		if m == nil {
			m = &minute{peak: -1}
			of[key] = m
		}
		n := going(at)
		if n > m.peak || n == m.peak && (at < m.at || at == m.at && starts && m.peak > 0) {
			m.peak, m.at, m.peakAt = n, at, schema.Opt[int64]{V: at, OK: starts && n > 0}
		}
		return m
	}
	for _, c := range all {
		from, lasts := c.StartAt(), c.DurationMS()
		if !from.OK || !lasts.OK {
			continue
		}
		m := see(from.V, slices.ContainsFunc(all, func(o *calls.Call) bool { return o.StartAt() == from && o.DurationMS().OK && o.DurationMS().V > 0 }))
		m.calls++
		if !m.longer.OK || lasts.V > m.longer.V {
			m.longer = lasts
		}
		if lasts.V > 0 {
			see(from.V+lasts.V-1, slices.ContainsFunc(all, func(o *calls.Call) bool {
				return o.StartAt().OK && o.StartAt().V == from.V+lasts.V-1 && o.DurationMS().OK && o.DurationMS().V > 0
			}))
		}
	}
	out := map[string]string{}
	instant := func(o schema.Opt[int64]) string {
		if !o.OK {
			return "null"
		}
		return fmt.Sprint(o.V * 1000)
	}
	for key, m := range of {
		longer := "null"
		if m.longer.OK {
			longer = fmt.Sprint(m.longer.V)
		}
		out[fmt.Sprint(key*1000)] = fmt.Sprintf("%d %d %s %s", m.calls, m.peak, instant(m.peakAt), longer)
	}
	return out
}

// spoke is the column caller_spoke, short is short_step.
func spoke(c *calls.Call) string {
	if !c.TurnCount().OK {
		return "null"
	}
	for i := range c.Turns().Len() {
		turn := c.Turns().At(i)
		if string(schema.TextOf(turn[colTurnRole])) == "user" && strings.TrimSpace(string(schema.TextOf(turn[colTurnContent]))) != "" {
			return "true"
		}
	}
	return "false"
}

func short(c *calls.Call) string {
	switch ms := c.DurationMS(); {
	case !ms.OK:
		return "null"
	case ms.V < 5_000:
		return "0"
	case ms.V < 10_000:
		return "5000"
	}
	return "10000"
}

func orNull(word []byte) string {
	if word == nil {
		return "null"
	}
	return string(word)
}

// The tallies of any calls equal separate counts of each kind.
func TestTallies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string, words ...string) []byte {
			w := rapid.SampledFrom(append(words, "null")).Draw(t, name)
			if w == "null" {
				return nil
			}
			return []byte(w)
		}
		number := func(name string, values ...int64) schema.Opt[int64] {
			return schema.Opt[int64]{V: rapid.SampledFrom(values).Draw(t, name), OK: rapid.Bool().Draw(t, name+" known")}
		}
		money := func(name string, values ...string) schema.Opt[decimal.Number] {
			n, ok := decimal.Parse([]byte(rapid.SampledFrom(values).Draw(t, name)), decimal.Places)
			return schema.Opt[decimal.Number]{V: n, OK: ok && rapid.Bool().Draw(t, name+" known")}
		}
		var all []*calls.Call
		for range rapid.IntRange(0, 60).Draw(t, "calls") {
			c := calls.NewCall("")
			for col, v := range map[int]parquet.Value{
				colAgentID: schema.TextValue(word("agent", "a", "b")), colAgentVersion: schema.TextValue(word("version", "v1", "")), colCallType: schema.TextValue(word("type", "a", "phone")),
				colStatus: schema.TextValue(word("status", "ended", "v1")), colReason: schema.TextValue(word("reason", "x")), colUserSentiment: schema.TextValue(word("sentiment", "positive")),
				colVariantLabel: schema.TextValue(word("variant", "a", "B")),
				colStartAt:      schema.MillisValue(number("start", -1, 0, 1, schema.Quarter-1, schema.Quarter, 5*schema.Quarter, 5*schema.Quarter+7, -schema.Quarter, -schema.Quarter-1)),
				colDurationMS:   schema.LongValue(number("duration", 0, 1, 4_999, 5_000, 9_999, 10_000, 15_000, -3, -5_001, schema.Quarter-1, schema.Quarter, schema.Quarter+2)),
				colTotalCost:    schema.ExactValue(money("cost", "0", "12.5", "-0.0001", "0.000000000000000001", "-999999999999999")),
				colOptOut:       parquet.BooleanValue(rapid.Bool().Draw(t, "opted out")),
			} {
				c.Row[col] = v
			}
			c.SetTranscriptState(calls.TranscriptState(rapid.IntRange(0, 4).Draw(t, "state")))
			c.SetSettlement(calls.Settlement(rapid.IntRange(0, 3).Draw(t, "settlement")))
			for range rapid.IntRange(0, 2).Draw(t, "turns") {
				turn := c.Turns().Add()
				turn[colTurnRole], turn[colTurnContent] = schema.TextValue(word("role", "user", "agent")), schema.TextValue(word("content", " \n", "\u3000\u00a0", "Hi", "\t."))
				c.Row[colTurnCount] = parquet.Int32Value(int32(c.Turns().Len()))
			}
			c.Row[colExtra] = schema.TextValue(word("extra", `{"x":"5"}`, `{"call_cost":{"total_cost":"five"}}`, `{"call_cost":"free"}`))
			c.Complete(c.ToolCalls(nil))
			all = append(all, c)
		}
		slices.SortStableFunc(all, func(a, b *calls.Call) int {
			return cmp.Or(compareBool(b.StartAt().OK, a.StartAt().OK), cmp.Compare(a.StartAt().V, b.StartAt().V))
		})
		rows, order, tallies := tally(t, all)
		want := countAll(all, func(c *calls.Call) []string {
			return []string{orNull(c.Text("agent_id")), orNull(c.Text("agent_version")), orNull(c.Text("call_type")), orNull(c.Status()), orNull(c.Text("disconnection_reason")),
				orNull(c.Text("user_sentiment")), orNull(c.Text("variant_label")), c.TranscriptState().String(), c.Settlement().String(),
				fmt.Sprint(c.OptedOut()), fmt.Sprint(c.StartAt().OK), spoke(c), short(c)}
		})
		if d := gocmp.Diff(want, rows[&schema.WordTallies]); d != "" {
			t.Fatalf("word_tallies (-want +got):\n%s", d)
		}
		want = countAll(all, func(c *calls.Call) []string {
			quarter := "null"
			if c.StartAt().OK {
				quarter = fmt.Sprint(int64(math.Floor(float64(c.StartAt().V)/schema.Quarter)) * schema.Quarter * 1000)
			}
			return []string{quarter, orNull(c.Status()), orNull(c.Text("disconnection_reason")), orNull(c.Text("user_sentiment")), c.Settlement().String(),
				c.TranscriptState().String(), spoke(c), short(c)}
		})
		if d := gocmp.Diff(want, rows[&schema.QuarterTallies]); d != "" {
			t.Fatalf("quarter_tallies (-want +got):\n%s", d)
		}
		want = countAll(all, func(c *calls.Call) []string {
			step := "null"
			if c.DurationMS().OK {
				step = fmt.Sprint(c.DurationMS().V - c.DurationMS().V%5000)
			}
			return []string{step, orNull(c.Status()), orNull(c.Text("disconnection_reason")), fmt.Sprint(c.StartAt().OK)}
		})
		if d := gocmp.Diff(want, rows[&schema.LengthTallies]); d != "" {
			t.Fatalf("length_tallies (-want +got):\n%s", d)
		}
		if d := gocmp.Diff(minutesOf(all), rows[&schema.MinuteTallies]); d != "" {
			t.Fatalf("minute_tallies (-want +got):\n%s", d)
		}
		for _, table := range schema.TallyTables {
			if tallies.GivenUp(table) {
				t.Fatalf("%s was given up", table.Name)
			}
		}
		// The same calls with ties in another order give the same rows in the same order.
		for from := 0; from < len(all); {
			to := from + 1
			for to < len(all) && all[to].StartAt() == all[from].StartAt() {
				to++
			}
			slices.Reverse(all[from:to])
			from = to
		}
		if _, again, _ := tally(t, all); !gocmp.Equal(order, again) {
			t.Fatal("the order of the rows depends on that of calls that start at once")
		}
	})
}

// Tallies are given up, and free their memory, if all calls differ, or a sum exceeds its column.
func TestTalliesGivenUp(t *testing.T) {
	reason := func(i int, c *calls.Call) { set(c, "disconnection_reason", fmt.Sprint(i)) }
	for _, tt := range []struct {
		name string
		n    int
		make func(i int, c *calls.Call)
		want []*schema.Table
	}{
		{"agents", mostWordTallies + 1, func(i int, c *calls.Call) { set(c, "agent_id", fmt.Sprint(i)) }, []*schema.Table{&schema.WordTallies}},
		{"as many agents as there may be", mostWordTallies, func(i int, c *calls.Call) { set(c, "agent_id", fmt.Sprint(i)) }, nil},
		{"reasons at once", mostQuarterTallies + 1, reason, []*schema.Table{&schema.QuarterTallies}},
		{"lengths", mostLengthTallies + 1, func(i int, c *calls.Call) {
			c.Row[colDurationMS] = schema.LongValue(schema.Some(int64(i) * schema.DurationStep))
		}, []*schema.Table{&schema.LengthTallies}},
		{"reasons over a day", mostWordTallies + 1, func(i int, c *calls.Call) {
			reason(i, c)
			c.Row[colStartAt] = schema.InstantValue(int64(i) * 86_400_000 / mostWordTallies)
		}, []*schema.Table{&schema.WordTallies, &schema.LengthTallies}},
		{"a time too long", 2, func(_ int, c *calls.Call) { c.Row[colDurationMS] = schema.LongValue(schema.Some(int64(math.MaxInt64))) }, append(slices.Clone(schema.CountTables), &schema.MinuteTallies)},
		{"a time too short", 2, func(_ int, c *calls.Call) { c.Row[colDurationMS] = schema.LongValue(schema.Some(int64(math.MinInt64))) }, schema.CountTables},
		{"a fortune", 2, func(_ int, c *calls.Call) { c.Row[colTotalCost] = schema.ExactValue(schema.Some(decimal.MaxSum)) }, schema.CountTables},
		{"too many at once", mostGoing + 1, func(_ int, c *calls.Call) { c.Row[colDurationMS] = schema.LongValue(schema.Some(int64(1))) }, []*schema.Table{&schema.MinuteTallies}},
		{"what fits", 2, func(i int, c *calls.Call) {
			c.Row[colTotalCost], c.Row[colDurationMS] = schema.ExactValue([]schema.Opt[decimal.Number]{schema.Some(decimal.Number{}), schema.Some(decimal.MaxSum)}[i]), schema.LongValue(schema.Some(int64(i)*math.MaxInt64))
		}, []*schema.Table{&schema.MinuteTallies}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all []*calls.Call
			for i := range tt.n {
				c := calls.NewCall("")
				set(c, "status", "ended")
				c.Row[colStartAt] = schema.InstantValue(0)
				tt.make(i, c)
				all = append(all, c)
			}
			_, _, tallies := tally(t, all)
			for _, table := range schema.TallyTables {
				if got, want := tallies.GivenUp(table), slices.Contains(tt.want, table); got != want {
					t.Errorf("%s given up: %v, want %v", table.Name, got, want)
				}
			}
			if n := len(tallies.words.texts); slices.Contains(tt.want, &schema.LengthTallies) && n > mostQuarterTallies {
				t.Errorf("%d words are kept", n)
			}
		})
	}
}
