package analytics_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// document is a JSON value and what --by finds in it.
type document struct {
	raw    string
	values map[string]any
}

var documents = []document{
	{raw: `{"campaign":"spring","n":1.50}`, values: map[string]any{"campaign": "spring", "n": "1.5"}},
	{raw: `{"campaign":"가을 행사","a/b~c":"slash"}`, values: map[string]any{"campaign": "가을 행사", "a/b~c": "slash"}},
	{raw: `{"campaign":null}`},
	{raw: `{"campaign":"it's \"quoted\"","nested":{"x":1}}`, values: map[string]any{"campaign": `it's "quoted"`, "nested": `{"x":1}`}},
	{raw: `{}`},
}

// changes are instants at which clocks change somewhere.
var changes = []string{
	"2026-03-08T07:00:00Z", // New York forward
	"2026-03-29T01:00:00Z", // Berlin forward
	"2026-10-25T01:00:00Z", // Berlin back: an hour happens twice
	"2026-11-01T06:00:00Z", // New York back
	"2026-11-19T15:00:00Z", // midnight in Seoul
	"2026-12-31T23:30:00Z",
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// maybe returns one of the words, or null.
func maybe(r *rand.Rand, nulls float64, words ...string) any {
	if r.Float64() < nulls {
		return nil
	}
	return pick(r, words)
}

// randomCalls returns n calls as varied as the service allows: with nulls, ties, unknown values,
// and starts around clock changes.
func randomCalls(r *rand.Rand, n int) []row {
	var out []row
	judge := rand.New(rand.NewPCG(uint64(n), 20))
	for i := range n {
		c := row{
			"call_id":       fmt.Sprintf("call-%06d", i),
			"agent_id":      maybe(r, .05, "a1-one", "a1-two", "b-three"),
			"agent_version": maybe(r, .1, "production", "v262"),
			"call_type":     maybe(r, .1, "inbound", "inbound", "outbound", "outbound", "hologram", "web", "phone"),
			"status":        maybe(r, .05, "ended", "ended", "ended", "ended", "ended", "not_connected", "canceled", "ongoing", "error", "queued", "dreaming"),
			"disconnection_reason": maybe(r, .2, "user_hangup", "user_hangup", "agent_hangup", "agent_hangup", "dial_no_answer", "voicemail_reached", "call_transfer", "sunspots",
				"error_voxai", "operator_hangup", "insufficient_balance", "daily_call_limit_reached", "dial_eclipsed"),
			"user_sentiment":    maybe(r, .3, "positive", "neutral", "negative", "ecstatic"),
			"variant_label":     maybe(r, .5, "A", "B"),
			"metadata":          pick(r, documents).raw,
			"dynamic_variables": pick(r, documents).raw,
			"from_number":       maybe(r, .1, slices.Sorted(maps.Keys(numbers))...),
			"to_number":         maybe(r, .1, slices.Sorted(maps.Keys(numbers))...),
			"settlement":        pick(r, []string{"open", "ended", "settled", "expired"}),
			"transcript_state":  pick(r, []string{"pending", "present", "empty", "withheld", "missing"}),
		}
		if r.Float64() < .7 { // a file of the current format
			switch c["call_type"] {
			case "inbound", "outbound":
				c["direction"] = c["call_type"]
			case "web":
			default:
				c["direction"] = pick(r, []string{"inbound", "outbound", "unknown"})
			}
			for _, side := range []string{"from", "to"} {
				if n, _ := c[side+"_number"].(string); n == "+821012345678" || n == "821012345678" {
					c[side+"_e164"] = maybe(r, .2, "+821012345678")
				}
			}
			c["own_number"] = maybe(r, .7, "+8215880000")
		}
		if r.Float64() < .9 {
			at, err := time.Parse(time.RFC3339, pick(r, changes))
			if err != nil {
				panic(err)
			}
			c["start_at"] = at.UnixMilli() + int64(r.IntN(72))*1_800_000 - 36*1_800_000 + int64(r.IntN(3))
		}
		if r.Float64() < .85 {
			c["duration_ms"] = pick(r, []int64{0, 1, 999, 9_999, 10_000, 60_000, 60_000, int64(r.IntN(600_000))})
		}
		if r.Float64() < .7 {
			c["total_cost"] = pick(r, []string{"0.0000", "0.0001", "120.5000", "99999999999.9999", "-5.0000", fmt.Sprintf("%d.%04d", r.IntN(300), r.IntN(10_000))})
		}
		if r.Float64() < .3 {
			c["credits_used"] = pick(r, []string{"0.0000", "12.5000", fmt.Sprintf("%d.%04d", r.IntN(300), r.IntN(10_000))})
		}
		if r.Float64() < .1 {
			c["opt_out_sensitive_data_storage"] = true
		}
		c["evaluation"] = randomEvaluation(judge, i)
		out = append(out, c)
	}
	return out
}
