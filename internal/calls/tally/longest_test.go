package tally

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// someCalls draws calls that share a few ends, callers and starts.
func someCalls(t *rapid.T) (out []*calls.Call) {
	word := func(name string, words ...string) parquet.Value {
		if w := rapid.SampledFrom(append(words, "null")).Draw(t, name); w != "null" {
			return schema.TextValue([]byte(w))
		}
		return parquet.Value{}
	}
	for i := range rapid.IntRange(0, 80).Draw(t, "calls") {
		c := calls.NewCall(fmt.Sprintf("%03d", i))
		for col, v := range map[int]parquet.Value{
			colAgentID: word("agent", "a"), colCallType: word("type", "inbound", "outbound", "web", "phone"),
			colStatus: word("status", "ended", "ended", "canceled"), colReason: word("reason", "user_hangup", "user_hangup", "voicemail_reached"),
			colUserSentiment: word("sentiment", "negative"), colFromNumber: word("from", "+1", "1", "01", "restricted", "sip:1@x"), colToNumber: word("to", "+1", "1"),
			colToE164: word("to e164", "+12125550123"), colDirection: word("direction", "inbound"),
		} {
			c.Row[col] = v
		}
		if rapid.IntRange(0, 9).Draw(t, "started") > 0 {
			c.Row[colStartAt] = schema.InstantValue(rapid.SampledFrom([]int64{0, 0, 1, day, day + 1, 2 * day, 7 * day, 8 * day, 9*day + 1}).Draw(t, "start"))
		}
		if rapid.Bool().Draw(t, "lasts") {
			c.Row[colDurationMS] = parquet.Int64Value(rapid.SampledFrom([]int64{0, 9_999, 10_000, 10_000, 20_000}).Draw(t, "duration"))
		}
		if rapid.Bool().Draw(t, "turns known") {
			c.Row[colUserTurns] = parquet.Int32Value(rapid.Int32Range(0, 2).Draw(t, "turns"))
		}
		c.Row[colFailedUses] = parquet.Int32Value(rapid.Int32Range(0, 1).Draw(t, "failures"))
		c.SetTranscriptState(rapid.SampledFrom([]calls.TranscriptState{calls.Present, calls.Present, calls.Present, calls.Empty, calls.Pending}).Draw(t, "state"))
		c.SetSettlement(rapid.SampledFrom([]calls.Settlement{calls.Settled, calls.Settled, calls.Open}).Draw(t, "settlement"))
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b *calls.Call) int {
		return cmp.Or(compareBool(b.StartAt().OK, a.StartAt().OK), cmp.Compare(a.StartAt().V, b.StartAt().V))
	})
	return out
}

// columnsOf returns the values of some columns of a call, and facts about how it ended.
func columnsOf(c *calls.Call, names ...string) string {
	spoke := "null"
	if n := c.UserTurns(); n.OK {
		spoke = fmt.Sprint(n.V > 0)
	}
	end := texts(c.Row[colStatus], c.Row[colReason], c.Row[schema.Calls.Column("settlement")]) + "|" + spoke + "|" + short(c)
	for _, name := range names {
		end += "|" + texts(c.Row[schema.Calls.Column(name)])
	}
	return end
}

// LongestTallies has the same calls as sorting all calls with a transcript.
func TestLongestTallies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := someCalls(t)
		kinds := map[string][]*calls.Call{}
		for _, c := range all {
			if c.TranscriptState() == calls.Present {
				kind := columnsOf(c, "user_sentiment", "failed_tool_uses")
				kinds[kind] = append(kinds[kind], c)
			}
		}
		var want []string
		for kind, of := range kinds {
			slices.SortFunc(of, func(a, b *calls.Call) int {
				number := func(n schema.Opt[int64]) int64 {
					if !n.OK {
						return -1
					}
					return n.V
				}
				return cmp.Or(cmp.Compare(number(b.DurationMS()), number(a.DurationMS())), cmp.Compare(number(b.StartAt()), number(a.StartAt())),
					strings.Compare(string(a.ID()), string(b.ID())))
			})
			for _, c := range of[:min(len(of), schema.LongestCalls)] {
				want = append(want,
					kind+"|"+texts(c.Row[colDurationMS], c.Row[colStartAt], c.Row[colCallID], c.Row[colAgentID]))
			}
		}
		got, _ := factsOf(t, all)
		slices.Sort(want)
		slices.Sort(got[&schema.LongestTallies])
		if d := gocmp.Diff(want, got[&schema.LongestTallies]); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
}

// The contacts of each caller equal those found by comparing all pairs. Package analytics compares
// the rules for contacts, answered and completed calls with SQL.
func TestCallerTallies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := someCalls(t)
		type one struct {
			ms                 int64
			undirected, judged bool
			completed          bool
		}
		by := map[string][]one{}
		for _, c := range all {
			rows, _ := factsOf(t, []*calls.Call{c}) // alone
			for _, row := range rows[&schema.CallerTallies] {
				f := strings.Split(row, "|")
				by[f[0]] = append(by[f[0]], one{c.StartAt().V, f[4] == "1", f[7] == "1", f[8] == "1"})
			}
		}
		var want []string
		for caller, all := range by {
			var numbers [4]int64
			var flags [3]bool
			n := func(b bool) int64 {
				if b {
					return 1
				}
				return 0
			}
			for i, a := range all {
				followed := false
				for j, b := range all {
					if i != j {
						flags[0] = flags[0] || max(a.ms, b.ms)-min(a.ms, b.ms) <= day
						flags[1] = flags[1] || max(a.ms, b.ms)-min(a.ms, b.ms) <= 7*day
						followed = followed || b.ms >= a.ms && b.ms-a.ms <= day
					}
				}
				numbers[0], numbers[1], numbers[2] = numbers[0]+n(a.undirected), numbers[1]+n(a.judged), numbers[2]+n(a.completed)
				numbers[3] += n(a.completed && !followed)
				flags[2] = flags[2] || a.completed && !followed && a.ms == all[len(all)-1].ms
			}
			want = append(want, fmt.Sprint(caller, "|", texts(schema.InstantValue(all[0].ms), schema.InstantValue(all[len(all)-1].ms)), "|", len(all), "|", numbers[0],
				"|", flags[0], "|", flags[1], "|", numbers[1], "|", numbers[2], "|", numbers[3], "|", flags[2]))
		}
		got, _ := factsOf(t, all)
		slices.Sort(want)
		slices.Sort(got[&schema.CallerTallies])
		if d := gocmp.Diff(want, got[&schema.CallerTallies]); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
}

// Every caller's text is restored from its packed number, and no two texts share one.
func TestPackedCallers(t *testing.T) {
	f := newFacts()
	seen := map[uint64]string{}
	for _, text := range []string{"+821012345678", "821012345678", "0821012345678", "00821012345678", "+0", "0", "00", "", "+", "+1", "1", "9999999999999999", "+9999999999999999",
		"99999999999999999", "12345678901234567890", "+1-2", "-5", "1_0", "sip:a@b", "१"} {
		packed := f.pack([]byte(text))
		if other, twice := seen[packed]; twice {
			t.Errorf("%q and %q have the same number", text, other)
		}
		seen[packed] = text
		if got := string(schema.TextOf(f.text(packed))); got != text {
			t.Errorf("%q is read back as %q", text, got)
		}
	}
	if f.pack(nil) != 0 || !f.text(0).IsNull() {
		t.Error("no caller is one")
	}
}
