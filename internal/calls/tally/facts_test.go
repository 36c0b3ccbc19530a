package tally

import (
	"encoding/json"
	"fmt"
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

// factsOf returns the rows of FactTables of calls, in order.
func factsOf(t rapid.TB, all []*calls.Call) (rows map[*schema.Table][]string, tallies *Tallies) {
	rows = map[*schema.Table][]string{}
	tallies = NewTallies(schema.TallyTables, func(table *schema.Table, row parquet.Row) error {
		if len(row) != len(table.Columns) {
			t.Fatalf("a row of %s has %d values", table.Name, len(row))
		}
		if slices.Contains(schema.FactTables, table) {
			if table == &schema.ItemTallies { // its numbers last
				row = slices.Concat(row[:3], row[4:6], row[3:4], row[6:])
			}
			rows[table] = append(rows[table], texts(row...))
		}
		return nil
	})
	var tools calls.ToolRows
	for _, c := range all {
		tools.Of(c)
		_ = tools.Each(c, func(row schema.Row) error { tallies.AddTool(row); return nil })
		if err := tallies.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := tallies.Close(); err != nil {
		t.Fatal(err)
	}
	return rows, tallies
}

func texts(row ...parquet.Value) string {
	var out []string
	for _, v := range row {
		switch {
		case v.IsNull():
			out = append(out, "null")
		case v.Kind() == parquet.FixedLenByteArray:
			out = append(out, schema.ExactOf(v).V.String())
		default:
			out = append(out, v.String())
		}
	}
	return strings.Join(out, "|")
}

// wantFacts counts the rows of calls by their values, one number at a time.
func wantFacts(all []*calls.Call) map[*schema.Table][]string {
	keys := map[*schema.Table]map[string][]int64{}
	add := func(table *schema.Table, key string, numbers ...int64) {
		if keys[table] == nil {
			keys[table] = map[string][]int64{}
		}
		sum := keys[table][key]
		if sum == nil {
			sum = make([]int64, len(numbers))
			keys[table][key] = sum
		}
		for i, n := range numbers {
			sum[i] += n
		}
	}
	one := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	number := func(v parquet.Value) int64 {
		if v.Kind() == parquet.Int32 {
			return int64(v.Int32())
		}
		return v.Int64()
	}
	itemCol := func(r schema.Row, name string) parquet.Value { return r[schema.Items.Column(name)] }
	repeated := map[string]bool{}
	for _, c := range all {
		inCall := map[string]int{}
		for i := range c.Items().Len() {
			name := texts(itemCol(c.Items().At(i), "name"))
			inCall[name]++
			repeated[name] = repeated[name] || inCall[name] > 1
		}
	}
	var tools calls.ToolRows
	for _, c := range all {
		tools.Of(c)
		_ = tools.Each(c, func(r schema.Row) error {
			col := func(name string) parquet.Value { return r[schema.ToolCalls.Column(name)] }
			add(&schema.ToolTallies, texts(col("tool_name"), col("pause_ms"), col("duration_ms")), 1, one(col("is_first").Boolean()),
				one(col("failed").Boolean()), one(!col("failed").IsNull()))
			return nil
		})
		for i := range c.Items().Len() {
			r := c.Items().At(i)
			add(&schema.ItemTallies, strings.Join([]string{texts(itemCol(r, "name"), itemCol(r, "type"), itemCol(r, "value"), c.Row[colAgentID]),
				fmt.Sprint(repeated[texts(itemCol(r, "name"))])}, "|"), itemNumbers(c)...)
		}
		col := func(name string) parquet.Value { return c.Row[schema.Calls.Column(name)] }
		if number(col("spoken_turns")) > 0 {
			add(&schema.SpeechTallies, "null|null|"+texts(col("longest_silence_ms")), 1, number(col("spoken_turns")), number(col("agent_talk_ms")),
				number(col("user_talk_ms")), one(number(col("user_interruptions")) > 0), number(col("agent_interruptions")),
				number(col("user_interruptions")))
		}
		var all []int64
		if !col("response_ms").IsNull() {
			_ = json.Unmarshal(col("response_ms").ByteArray(), &all)
		}
		for _, ms := range all {
			add(&schema.SpeechTallies, fmt.Sprint(ms), 1)
		}
	}
	out := map[*schema.Table][]string{}
	for table, rows := range keys {
		for key, sums := range rows {
			for i, n := range sums {
				text := fmt.Sprint(n)
				if table == &schema.ItemTallies && i > 2 { // a cost, after two more numbers its calls
					text = texts(schema.ExactValue(schema.Opt[decimal.Number]{V: decimal.FromUnits(n, 0), OK: sums[i-2] > 0}))
				}
				key += "|" + text
			}
			out[table] = append(out[table], key+strings.Repeat("|null", len(table.Columns)-1-strings.Count(key, "|")))
		}
	}
	return out
}

// itemNumbers returns what an item of a call adds to a row of ItemTallies.
func itemNumbers(c *calls.Call) []int64 {
	cost, credits := c.Row[colTotalCost], c.Row[colCreditsUsed]
	switch {
	case !cost.IsNull():
		return []int64{1, 1, 0, wholes(cost), 0}
	case !credits.IsNull():
		return []int64{1, 0, 1, 0, wholes(credits)}
	}
	return []int64{1, 0, 0, 0, 0}
}

// wholes returns one of the costs 0 to 9.
func wholes(v parquet.Value) int64 {
	return int64(slices.IndexFunc([]int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, func(n int64) bool {
		return schema.ExactOf(v).V == decimal.FromUnits(n, 0)
	}))
}

// The tallies of facts equal separate counts for any calls in any order.
func TestFactTallies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string, words ...string) parquet.Value {
			if w := rapid.SampledFrom(append(words, "null")).Draw(t, name); w != "null" {
				return schema.TextValue([]byte(w))
			}
			return parquet.Value{}
		}
		var all []*calls.Call
		for range rapid.IntRange(0, 8).Draw(t, "calls") {
			c := calls.NewCall("")
			c.Row[colStartAt] = schema.InstantValue(0)
			c.Row[colAgentID] = word("agent", "a", "b")
			for _, col := range []int{colTotalCost, colCreditsUsed} {
				if n := rapid.Int64Range(-1, 9).Draw(t, "cost"); n >= 0 {
					c.Row[col] = schema.ExactValue(schema.Some(decimal.FromUnits(n, 0)))
				}
			}
			for i := range rapid.IntRange(0, 6).Draw(t, "turns") {
				turn := c.Turns().Add()
				turn[colTurnRole] = word("role", "user", "agent", "tool_call_invocation", "tool_call_result")
				turn[colTurnContent], turn[colTurnToolName], turn[colTurnToolCallID] = word("content", "hi", "error: no"), word("tool", "a", "b"), word("id", "1", "2")
				if rapid.Bool().Draw(t, "timed") {
					start := int64(i) * 1000
					turn[colTurnStart] = schema.InstantValue(start)
					turn[colTurnEnd] = schema.InstantValue(start + rapid.SampledFrom([]int64{0, 700, 1000, 1500}).Draw(t, "lasts"))
				}
				c.Row[colTurnCount] = parquet.Int32Value(int32(c.Turns().Len()))
			}
			for range rapid.IntRange(0, 4).Draw(t, "items") {
				item := c.Items().Add()
				item[colItemName], item[colItemType], item[colItemValue] = word("name", "x", "y"), word("type", "x", "number"), word("value", `"x"`, "1", "null")
			}
			c.Complete(c.ToolCalls(nil))
			all = append(all, c)
		}
		want := wantFacts(all)
		got, tallies := factsOf(t, all)
		slices.Reverse(all)
		again, _ := factsOf(t, all)
		if d := gocmp.Diff(got, again); d != "" {
			t.Fatalf("the rows depend on the order of the calls:\n%s", d)
		}
		for _, table := range []*schema.Table{&schema.ToolTallies, &schema.ItemTallies, &schema.SpeechTallies} {
			slices.Sort(want[table])
			slices.Sort(got[table])
			if d := gocmp.Diff(want[table], got[table]); d != "" || tallies.GivenUp(table) {
				t.Fatalf("%s (-want +got):\n%s", table.Name, d)
			}
		}
	})
}

// A field with too many or too long values has one row. A table with too many rows has none.
func TestFactTalliesGivenUp(t *testing.T) {
	rowsOf := func(n int, name func(int) string, value func(int) string) ([]string, bool) {
		var rows []string
		tallies := NewTallies(schema.TallyTables, func(table *schema.Table, row parquet.Row) error {
			if table == &schema.ItemTallies {
				rows = append(rows, texts(row...))
			}
			return nil
		})
		for i := range n {
			c := calls.NewCall("")
			row := c.Items().Add()
			row[colItemName], row[colItemValue] = schema.TextValue([]byte(name(i))), schema.TextValue([]byte(value(i)))
			tallies.addItems(c)
		}
		if err := tallies.Close(); err != nil {
			t.Fatal(err)
		}
		return rows, tallies.GivenUp(&schema.ItemTallies)
	}
	one := func(int) string { return "a" }
	long := func(int) string { return strings.Repeat("x", longestValue+1) }
	const gone = "a|null|null|null|null|false|null|null|null|null"
	for name, c := range map[string]struct {
		n           int
		name, value func(int) string
		rows        int
		first       string
		givenUp     bool
	}{
		"as many values as there may be": {2 * mostFieldValues, one, func(i int) string { return fmt.Sprint(i % mostFieldValues) },
			mostFieldValues, "a|null|0|2|null|false|0|0|null|null", false},
		"too many values":             {mostFieldValues + 1, one, func(i int) string { return fmt.Sprint(i) }, 1, gone, false},
		"one value, often":            {mostFieldValues + 2, one, one, 1, fmt.Sprint("a|null|a|", mostFieldValues+2, "|null|false|0|0|null|null"), false},
		"a long value":                {3, one, long, 1, gone, false},
		"a long value among booleans": {4, one, func(i int) string { return []string{"false", "7", long(0), "true"}[i] }, 3, gone, false},
		"too many fields":             {mostItemTallies + 1, func(i int) string { return fmt.Sprint(i) }, one, 0, "", true},
	} {
		rows, givenUp := rowsOf(c.n, c.name, c.value)
		if givenUp != c.givenUp || len(rows) != c.rows || c.rows > 0 && rows[0] != c.first {
			t.Errorf("%s: %d rows, the first %q, given up: %v", name, len(rows), slices.Concat(rows, []string{""})[0], givenUp)
		}
	}
	tallies := NewTallies(schema.TallyTables, func(table *schema.Table, _ parquet.Row) error { return fmt.Errorf("a row of %s", table.Name) })
	row := make(schema.Row, len(schema.ToolCalls.Columns))
	row[colToolFirst] = parquet.BooleanValue(true)
	for i := range mostToolTallies + 1 {
		row[colToolPause] = parquet.Int64Value(int64(i))
		tallies.AddTool(row)
	}
	c := calls.NewCall("")
	c.Row[colSpokenTurns], c.Row[colTalk[1]] = parquet.Int32Value(1), parquet.Int64Value(1<<62)
	for range 2 { // the sum exceeds its column
		tallies.addSpeech(c)
	}
	if err := tallies.Close(); err != nil || !tallies.GivenUp(&schema.ToolTallies) || !tallies.GivenUp(&schema.SpeechTallies) {
		t.Errorf("rows without end: %v", err)
	}
}
