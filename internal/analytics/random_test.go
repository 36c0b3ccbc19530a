package analytics_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/calls"
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

// answer is a possible result of a tool, and whether it indicates a failure.
type answer struct {
	content any
	failed  bool
}

var answers = []answer{
	{`{"status":"ok","code":200}`, false}, {`{"ok":true,"error":null}`, false}, {`{"error":"","errors":[]}`, false}, {`{"error":false}`, false},
	{`[{"error":"inside a list"}]`, false}, {`"error"`, false}, {"", false}, {nil, false}, {"errors are not told", false}, {`{"status":"500"}`, false},
	{`{"status":399,"code":600}`, false}, {`{"success":"false"}`, false}, {`{"status":["error"]}`, false}, {"12", false},
	{`{"status":"Error"}`, true}, {`{"status":"timed_out"}`, true}, {`{"error":"no such customer"}`, true}, {`{"errors":[1]}`, true}, {`{"error":{"a":1}}`, true},
	{`{"status":400}`, true}, {`{"code":599}`, true}, {`{"status_code":502.0}`, true}, {`{"statusCode":404}`, true}, {`{"success":false}`, true},
	{`{"ok":false}`, true}, {`{"is_error":true}`, true}, {`{"isError":true}`, true}, {"Error: refused", true}, {"  TIMEOUT", true}, {"failed, try again", true},
	{`{"\u0065rror":"spelled so"}`, true}, {`{"code":"\u0034","st\u0061tus":404}`, true}, {`{"note":"\"error\": 1"}`, false},
	{"{\n \"status\" :\t\"FAILED\"}", true}, {`{"code": 4.04e2}`, true}, {`{"success" : false}`, true}, {`{"of":{"error":1,"status":500,"ok":false}}`, false},
	{`{"status":"errored"}`, true}, {`{"status":"failure"}`, true}, {`{"status":"fault"}`, true}, {`{"status":"exception"}`, true}, {`{"status":"timeout"}`, true},
	{"exception in line 3", true}, {"Failure.", true}, {"traceback", true}, {"errored", false}, {"a\\b", false},
	{`{"status":"error"`, false}, // truncated: neither JSON nor a sentence
}

// move has the arguments of a possible move to a node, and the node that they name.
type move struct{ arguments, node any }

var moves = []move{
	{`{"node":"n1"}`, "n1"}, {`{"node":"n1","reason":"again"}`, "n1"}, {`{"node":"n2"}`, "n2"}, {`{"node_id":"n3","node":null}`, "n3"}, {`{"node":"gone","node_id":"n1"}`, "gone"},
	{`{"node":7}`, "7"}, {`{"to":"n1"}`, `{"to":"n1"}`}, {nil, "(none)"},
	{`{"node":"a\"b\\"}`, `a"b\`}, {`{"node":true}`, "true"}, {`{"node":{"x":[1]}}`, `{"x":[1]}`}, {`{"n\u006fde":"n2"}`, "n2"}, {`{"node":"n1","node":"n2"}`, "n1"},
	{`{"node":1.5}`, "1.5"}, {`{"node":""}`, ""}, {`["n1"]`, `["n1"]`}, {`{"of":{"node":"n1"}}`, `{"of":{"node":"n1"}}`},
}

var sentences = []string{"Hello, how may I help?", "환불 부탁드립니다", "my CREDIT card", "  ", "card of credit", "100% sure_thing", "it's \\ 'quoted'"}

// randomTurns returns transcripts for some of the calls: with unknown roles, missing times, turns
// out of order, and tool calls without invocation or result.
func randomTurns(r *rand.Rand, calls []row) (turns []row) {
	for _, c := range calls {
		if r.IntN(4) == 0 {
			continue
		}
		at := int64(1_790_000_000_000)
		if ms, ok := c["start_at"].(int64); ok {
			at = ms
		}
		for i := range r.IntN(14) {
			t := row{"call_id": c["call_id"], "turn": int64(i), "call_start_at": c["start_at"],
				"role": maybe(r, .03, "agent", "agent", "user", "user", "tool_call_invocation", "tool_call_result", "narrator")}
			switch t["role"] {
			case "tool_call_invocation":
				t["tool_call_id"] = maybe(r, .1, "t1", "t2")
				t["tool_name"] = maybe(r, .1, "find", "book", "transition_to_node", "transition_to_node")
				t["arguments"] = `{"n":1}`
				if t["tool_name"] == "transition_to_node" {
					t["arguments"] = pick(r, moves).arguments
				}
			case "tool_call_result":
				t["tool_call_id"] = maybe(r, .1, "t1", "t2")
				t["content"] = pick(r, answers).content
			default:
				t["content"] = maybe(r, .05, sentences...)
				at += int64(r.IntN(40)-10) * 100
				if r.Float64() < .95 {
					t["start_at"] = at
				}
				at += int64(r.IntN(5)) * 700
				if r.Float64() < .95 {
					t["end_at"] = at
				}
			}
			if r.IntN(6) == 0 && t["start_at"] == nil { // as a future version of the service may send
				t["start_at"], t["end_at"] = at, at+int64(r.IntN(900))
			}
			turns = append(turns, t)
		}
	}
	return turns
}

// extraction is a value, and its text.
type extraction struct {
	raw  any
	text any
}

func randomItems(r *rand.Rand, calls []row) (items []row) {
	for _, c := range calls {
		for i := range r.IntN(4) {
			v := pick(r, []extraction{{`"red"`, "red"}, {`"blue"`, "blue"}, {"true", "true"}, {"true", "true"}, {"false", "false"}, {"1", "1"}, {"1.5", "1.5"}, {nil, nil}, {"null", nil}, {`{"a":1}`, `{"a":1}`},
				{"315.00", "315.00"}, {"-2.5e2", "-2.5e2"}, {`"12.25"`, "12.25"}, {"12345678901234", "12345678901234"}, {"0.1234567890123456789", "0.1234567890123456789"}})
			if r.IntN(2) == 0 {
				n := r.IntN(30)
				v = extraction{fmt.Sprintf(`"v%d"`, n), fmt.Sprintf("v%d", n)}
			}
			name := maybe(r, .1, "colour", "size")
			if i == 0 && r.IntN(2) == 0 { // a field that calls have only once
				name = pick(r, []any{"solved", "mood"})
			}
			items = append(items, row{"call_id": c["call_id"], "position": int64(i), "call_start_at": c["start_at"],
				"name": name, "type": maybe(r, .05, "string", "enum", "number"), "value": v.raw, "text": v.text})
		}
	}
	return items
}

// randomData returns random rows of everything that reports read.
func randomData(r *rand.Rand, n int) analyticstest.Data {
	calls := randomCalls(r, n)
	d := analyticstest.Data{Calls: calls, Turns: randomTurns(r, calls), Items: randomItems(r, calls)}
	some := r.IntN(5)
	d.Compacted = func(month string) bool { return some > 0 && int(month[6]-'0')%some == 0 }
	turns := byCall(d.Turns)
	for _, c := range calls {
		if r.Float64() < .9 { // otherwise never fetched, or not counted yet
			c["user_turns"] = int64(count(turns[c["call_id"]], said))
		}
	}
	if n != 1 {
		d.Runs = []row{
			{"run_id": "20261119T000000Z-00000001", "started_at": int64(1), "calls_set_aside": int64(9), "total_count": int64(5)},
			{"run_id": "20261120T000000Z-00000001", "started_at": int64(2), "calls_set_aside": int64(n % 2 * 7), "total_count": int64(n + 3)},
		}
	}
	return d
}

// The sink, which stores the number of failed tool calls, and the view tool_calls agree on failures.
func TestFailuresOfTools(t *testing.T) {
	texts := slices.DeleteFunc(slices.Clone(answers), func(a answer) bool { return a.content == nil })
	failed := eachOf(t, "is_failure", texts, func(a answer) string { return a.content.(string) })
	for i, a := range texts {
		if sink := calls.IsFailure([]byte(a.content.(string))); sink != a.failed || failed[i] != a.failed {
			t.Errorf("%q is a failure for the sink: %t, for the view: %v, want %t", a.content, sink, failed[i], a.failed)
		}
	}
}

// eachOf returns what a macro of SQL says of texts.
func eachOf[T any](t *testing.T, macro string, of []T, text func(T) string) (said []any) {
	t.Helper()
	var values, args = make([]string, len(of)), make([]any, len(of))
	for i := range of {
		values[i], args[i] = fmt.Sprintf("(%d, ?)", i), text(of[i])
	}
	rows, err := sharedWarehouse(t, false).SQL(t.Context(), "SELECT "+macro+"(x) FROM (VALUES "+strings.Join(values, ", ")+") v(n, x) ORDER BY n", args...)
	for _, line := range all(t, rows, err) {
		said = append(said, line[0])
	}
	return said
}
