// Package wiretest provides JSON for tests: hostile bodies, random calls and objects of resources.
// Only tests use it.
package wiretest

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// The calls that random ones are made of, with all fields, as v3 and v2 send them.
const (
	v3Call = `{"id":"c-1","agent":{"agent_id":"g","agent_version":"v1","name":"n"},"call_type":"phone",
"status":"ended","disconnection_reason":"agent_hangup","from_number":"caller","to_number":"line",
"presentation_number":"other","start_at":1760000000000,"end_at":1760000061500,
"recording_url":"https://r/1?sig=2","metadata":{"order-id":"A-1","Count":1116.20},
"dynamic_variables":{ "x" : [ ] },"variant_label":"b","call_analysis":{"summary":"결제 문의",
"user_sentiment":"telepathy","evaluation":{"a":1E5,"a":2},"custom_analysis_data":[{"type":"boolean",
"name":"confirmed","value":true},{"type":"number","name":"n","value":1.50},{"type":"string","name":"s",
"value":"ok"}]},"call_cost":{"total_cost":"150.1234"},"transcript":[{"role":"agent",
"content":"Hi, how can I help?","start_at":1760000001000,"end_at":1760000002500},
{"role":"tool_call_invocation","tool_call_id":"t1","name":"get","arguments":"{\"a\": 1.50}",
"start_at":1760000003000,"end_at":1760000003000},{"role":"tool_call_result","tool_call_id":"t1",
"content":"line\nbreak","start_at":1760000003400,"end_at":1760000003400}],
"opt_out_sensitive_data_storage":false}`
	v2Call = `{"call_id":"3f2a","agent_id":"g","agent_version":"v1","call_type":"web","call_from":"caller",
"call_to":"line","status":"ended","disconnection_reason":"user_hangup","start_timestamp":1760000000000,
"end_timestamp":1760000061500,"duration_ms":61500,"metadata":{"campaign":"autumn"},
"dynamic_variables":{"customer_name":"Jun"},"recording_url":"https://r/1?sig=3",
"call_cost":{"total_credits_used":12.5000,"duration_seconds":61.25},"call_analysis":{"summary":"",
"user_sentiment":"positive","custom_analysis_data":[{"type":"boolean","name":"n","value":null}],
"evaluation":{"score":4}},"transcript":[{"role":"user","content":"Yes.","start_at":1760000003000,
"end_at":1760000003400}],"transcript_with_tool_calls":[{"role":"user","content":"Yes.",
"start_at":1760000003000,"end_at":1760000003400},{"role":"tool_call_result","tool_call_id":"t1",
"content":"null"}],"opt_out_sensitive_data_storage":false}`
)

// scalars are values without members and elements, in spellings that may be difficult.
var scalars = strings.Fields(`null true false 0 -0 1 150.00 1E5 1e-7 -3.5 1700000000000 1.7e12 9223372036854775807 9223372036854775808 1e400
	0.00001 0e9 123456789012345678901234567890 999999999999999999 0.30000000000000004 -0.1234567 -62135596800001 1.0
	"" "é한😀" "\n\"\\\/" "\u0000\u001f" "\ud83d\ude00" "\uD83Da" "\udc00" "\ud800\ud800"
	"\b\f\r\t$" "xxxxxxxxx" "200.00" "-0.00" "1e2" "false" "{\"a\":[1.50]}"`)

// names are names of members that the service does not send, or sends elsewhere.
var names = strings.Fields(`"$" "$$" "$x" "" "new_field" "another" "\ud800" "\uD800" "st\u0061tus" "키" "transcript"
	"id\u0000" "absent" "id" "call_id" "agent" "agent_id" "call_to" "to_number" "start_at" "start_timestamp" "duration_ms"
	"transcript_with_tool_calls" "total_cost"`)

// gen makes random JSON. It appends text, so that spelling, white space, order and repeated names are
// tested as well as values. wild is the percentage of what the service is not known to send.
type gen struct {
	t    *rapid.T
	b    []byte
	wild int
}

func (g *gen) chance(percent int) bool    { return rapid.IntRange(0, 99).Draw(g.t, "pick") >= 100-percent }
func (g *gen) add(s string)               { g.b = append(g.b, s...) }
func (g *gen) one(of []string, as string) { g.add(rapid.SampledFrom(of).Draw(g.t, as)) }

// next begins an element, or the name of a member.
func (g *gen) next() {
	if last := g.b[len(g.b)-1]; last != '{' && last != '[' {
		g.add(",")
	}
	if g.chance(g.wild / 8) {
		g.add("\n \t\r")
	}
}

// like appends a value like v.
func (g *gen) like(v scan.Value, name string) {
	fixed := slices.Contains([]string{"id", "call_id", "role", "opt_out_sensitive_data_storage"}, name)
	switch {
	case g.chance(g.wild / 3):
		g.any(2)
	case !fixed && name != "" && g.chance(25):
		g.add("null")
	case v.Shape == scan.IsObject:
		g.object(v.Raw)
	case v.Shape == scan.IsArray:
		g.add("[")
		for e := range scan.Elements(v.Raw) {
			if !g.chance(20) {
				g.next()
				g.like(e, "")
			}
		}
		g.add("]")
	default:
		g.add(string(v.Raw))
	}
}

// object appends an object with some of the members of another, and perhaps more.
func (g *gen) object(like []byte) {
	g.add("{")
	for m := range scan.Members(like) {
		if !g.chance(g.wild / 3) {
			g.member(m)
		}
	}
	for g.chance(g.wild / 2) {
		g.next()
		g.one(names, "name")
		g.add(":")
		g.any(3)
	}
	g.add("}")
}

// member appends a member, perhaps several times or under another name.
func (g *gen) member(m scan.Member) {
	for again := true; again; again = g.chance(g.wild / 10) {
		g.next()
		if g.chance(g.wild / 4) {
			g.one(names, "name")
		} else {
			g.add(string(m.Key.Raw))
		}
		g.add(":")
		g.like(m.Value, string(m.Name))
	}
}

// any appends any value.
func (g *gen) any(depth int) {
	switch n := rapid.IntRange(0, 2*depth).Draw(g.t, "depth"); {
	case n < 2:
		g.one(scalars, "scalar")
	case n%2 == 0:
		g.add("[ ")
		g.any(depth - 1)
		g.add(" ]")
	default:
		g.add(`{"k":`)
		g.any(depth - 1)
		g.add(`,"a":`)
		g.any(depth - 1)
		g.add("}")
	}
}

// DrawCall returns a random call's JSON: as observed (wild 0), or stranger.
func DrawCall(t *rapid.T, wild int) []byte { return draw(t, wild, v3Call, v3Call, v2Call) }

// DrawV3 returns a random call's JSON as observed, as v3 sends it.
func DrawV3(t *rapid.T) []byte { return draw(t, 0, v3Call) }

func draw(t *rapid.T, wild int, calls ...string) []byte {
	v, err := scan.Whole([]byte(rapid.SampledFrom(calls).Draw(t, "version")))
	if err != nil {
		t.Fatal(err)
	}
	g := gen{t: t, wild: wild}
	g.object(v.Raw)
	return g.b
}

// DrawKind returns one of the two kinds.
func DrawKind(t *rapid.T) schema.Kind {
	return rapid.SampledFrom([]schema.Kind{schema.KindItem, schema.KindDetail}).Draw(t, "kind")
}
