package wiretest

import (
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"callhouse/internal/schema"
)

// gen makes random call JSON. Its methods append text, so that spelling, white space, order and
// repeated names are tested as well as values.
type gen struct {
	t *rapid.T
	b []byte
	// wild is the percentage of values and names that the service is not known to send.
	wild int
}

func (g *gen) pick(n int) int          { return rapid.IntRange(0, n-1).Draw(g.t, "pick") }
func (g *gen) chance(percent int) bool { return g.pick(100) >= 100-percent }
func (g *gen) add(s string)            { g.b = append(g.b, s...) }
func (g *gen) one(of ...string) string { return of[g.pick(len(of))] }

func (g *gen) space() {
	if g.chance(g.wild / 8) {
		g.add(g.one(" ", "\n", "\t", "\r\n  "))
	}
}

// str appends a string of ordinary or awkward text.
func (g *gen) str() {
	if !g.chance(g.wild) {
		g.add(g.one(`"ok"`, `"결제 문의"`, `"Hi, how can I help?"`, `""`, `"{\"a\": 1.50}"`, `"line\nbreak"`))
		return
	}
	g.add(`"`)
	for range g.pick(4) {
		g.add(g.one("a", "é", "한", "😀", `\n`, `\"`, `\\`, `\/`, `\u0000`, `\u001f`, `\ud83d\ude00`, `\uD83D`,
			`\udc00`, `\ud800\ud800`, `\b\f\r\t`, "\x7f", "$", "\u2028", strings.Repeat("x", 9)))
	}
	g.add(`"`)
}

func (g *gen) number() {
	g.add(g.one("0", "-0", "1", "150", "150.00", "1E5", "1e-7", "1116.20", "-3.5", "1700000000000",
		"1.7e12", "9223372036854775807", "9223372036854775808", "1e400", "0.00001", "12.5", "0e9",
		"123456789012345678901234567890", "999999999999999999", "0.30000000000000004", "-0.1234567", "-62135596800001", "1.0", "5e0"))
}

// any appends a random value.
func (g *gen) any(depth int) {
	g.space()
	defer g.space()
	n := 8
	if depth <= 0 {
		n = 5
	}
	switch g.pick(n) {
	case 0:
		g.add("null")
	case 1:
		g.add(g.one("true", "false"))
	case 2:
		g.number()
	case 3, 4:
		g.str()
	case 5, 6:
		g.add("{")
		for i := range g.pick(4) {
			g.comma(i)
			g.name("k", "a", "b")
			g.add(":")
			g.any(depth - 1)
		}
		g.space()
		g.add("}")
	default:
		g.add("[")
		for i := range g.pick(3) {
			g.comma(i)
			g.any(depth - 1)
		}
		g.space()
		g.add("]")
	}
}

func (g *gen) comma(i int) {
	if i > 0 {
		g.add(",")
	}
	g.space()
}

// name appends one of the names, or a different one if wild.
func (g *gen) name(names ...string) {
	if g.chance(g.wild / 4) {
		g.add(g.one(`"$"`, `"$$"`, `"$x"`, `""`, `"new_field"`, `"\ud800"`, `"\uD800"`, `"st\u0061tus"`,
			`"키"`, `"transcript"`, `"id\u0000"`, `"absent"`, `"call_id"`, `"agent"`))
		return
	}
	g.add(`"` + g.one(names...) + `"`)
}

type memberGen struct {
	names []string // the name, and the one of the other version
	value func()
}

// object appends an object of some of the members.
func (g *gen) object(members ...memberGen) {
	g.space()
	g.add("{")
	n := 0
	for _, m := range members {
		if g.chance(g.wild / 3) {
			continue
		}
		for again := true; again; again = g.chance(g.wild / 10) {
			g.comma(n)
			n++
			if len(m.names) > 1 && g.chance(g.wild/4) {
				g.name(m.names...)
			} else {
				g.name(m.names[0])
			}
			g.space()
			g.add(":")
			if g.chance(g.wild / 3) {
				g.any(2)
			} else {
				g.space()
				m.value()
			}
		}
	}
	for g.chance(g.wild / 2) {
		g.comma(n)
		n++
		g.name("new_field", "another", "call_id", "call_to", "duration_ms", "agent_id", "transcript_with_tool_calls")
		g.add(":")
		g.any(3)
	}
	g.space()
	g.add("}")
}

func (g *gen) orNull(value func()) func() {
	return func() {
		if g.chance(25) {
			g.add("null")
			return
		}
		value()
	}
}

func (g *gen) word(of ...string) func() {
	return g.orNull(func() { g.add(`"` + g.one(of...) + `"`) })
}

func (g *gen) time() { g.add(strconv.Itoa(1_760_000_000_000 + g.pick(1_000_000))) }

func (g *gen) free() {
	if g.chance(20) {
		g.any(3)
		return
	}
	g.add(g.one(`{}`, `{"order-id":"A-1","Count":1116.20}`, `{"a":1E5,"a":2}`, `{ "x" : [ ] }`))
}

func (g *gen) turns() {
	g.add("[")
	for i := range g.pick(4) {
		g.comma(i)
		g.turn()
	}
	g.add("]")
}

func (g *gen) turn() {
	if g.chance(g.wild / 10) {
		g.any(2)
		return
	}
	id := memberGen{[]string{"tool_call_id"}, g.orNull(g.str)}
	content := memberGen{[]string{"content"}, g.orNull(g.str)}
	role := func(r string) memberGen { return memberGen{[]string{"role"}, func() { g.add(`"` + r + `"`) }} }
	start := memberGen{[]string{"start_at"}, g.orNull(g.time)}
	end := memberGen{[]string{"end_at"}, g.orNull(g.time)}
	name := memberGen{[]string{"name"}, g.orNull(g.str)}
	args := memberGen{[]string{"arguments"}, g.orNull(g.free)}
	switch g.pick(8) {
	case 0, 1, 2:
		g.object(role("agent"), content, start, end)
	case 3, 4:
		g.object(role("user"), content, start, end)
	case 5:
		g.object(role("tool_call_invocation"), id, name, args)
	case 6:
		g.object(role("tool_call_result"), id, content)
	default:
		g.object(role("system"), content, id, args, start)
	}
}

func (g *gen) analysis(v2 bool) func() {
	return g.orNull(func() {
		members := []memberGen{
			{[]string{"summary"}, g.orNull(g.str)},
			{[]string{"user_sentiment"}, g.word("positive", "negative")},
			{[]string{"custom_analysis_data"}, func() {
				g.add("[")
				for i := range g.pick(3) {
					g.comma(i)
					if g.chance(g.wild / 10) {
						g.any(2)
						continue
					}
					g.object(memberGen{[]string{"type"}, g.word("string", "enum", "number", "date")},
						memberGen{[]string{"name"}, g.orNull(g.str)}, memberGen{[]string{"value"}, func() { g.any(2) }})
				}
				g.add("]")
			}},
		}
		if v2 {
			members = append(members, memberGen{[]string{"evaluation"}, g.orNull(g.free)})
		}
		g.object(members...)
	})
}

// id appends a usable id.
func (g *gen) id() { g.add(g.one(`"c-1"`, `"3f2a"`, `42`, `"한"`, `"a\u0062"`)) }

func (g *gen) optOut() { g.add(g.one("false", "false", "null")) }

func (g *gen) v3(kind schema.Kind) {
	money := func() { g.add(g.one(`"200.00"`, `"1116.20"`, `"150.1234"`, `"150"`, `"-0.00"`, `"1.500"`, `null`)) }
	members := []memberGen{
		{[]string{"id", "call_id"}, g.id},
		{[]string{"agent", "agent_id"}, func() {
			g.object(memberGen{[]string{"agent_id"}, g.orNull(g.str)}, memberGen{[]string{"agent_version"}, g.word("production")})
		}},
		{[]string{"call_type"}, g.word("web", "inbound", "telepathy")},
		{[]string{"status"}, g.word("ended", "ongoing", "not_connected", "paused")},
		{[]string{"from_number", "call_from"}, g.orNull(g.str)},
		{[]string{"to_number", "call_to"}, g.orNull(g.str)},
		{[]string{"presentation_number"}, g.orNull(g.str)},
		{[]string{"disconnection_reason"}, g.word("user_hangup", "dial_failed", "other")},
		{[]string{"start_at", "start_timestamp"}, g.orNull(g.time)},
		{[]string{"end_at", "end_timestamp"}, g.orNull(g.time)},
		{[]string{"recording_url"}, g.word("https://r/1?sig=2")},
		{[]string{"metadata"}, g.orNull(g.free)},
		{[]string{"dynamic_variables"}, g.orNull(g.free)},
		{[]string{"call_analysis"}, g.analysis(false)},
		{[]string{"call_cost"}, g.orNull(func() { g.object(memberGen{[]string{"total_cost"}, money}) })},
		{[]string{"variant_label"}, g.word("A", "B")},
		{[]string{"opt_out_sensitive_data_storage"}, g.optOut},
	}
	if kind == schema.KindDetail {
		members = append(members, memberGen{[]string{"transcript", "transcript_with_tool_calls"}, g.orNull(g.turns)})
	}
	g.object(members...)
}

func (g *gen) v2(schema.Kind) {
	number := func() { g.add(g.one("12", "0.5", "12.5000", "1e1", "61.25", "null")) }
	g.object(
		memberGen{[]string{"call_id", "id"}, g.id},
		memberGen{[]string{"agent_id", "agent"}, g.orNull(g.str)},
		memberGen{[]string{"call_type"}, g.word("phone", "unknown")},
		memberGen{[]string{"call_from", "from_number"}, g.orNull(g.str)},
		memberGen{[]string{"call_to", "to_number"}, g.orNull(g.str)},
		memberGen{[]string{"status"}, g.word("ended", "registered")},
		memberGen{[]string{"disconnection_reason"}, g.word("agent_hangup")},
		memberGen{[]string{"start_timestamp", "start_at"}, g.orNull(g.time)},
		memberGen{[]string{"end_timestamp", "end_at"}, g.orNull(g.time)},
		memberGen{[]string{"duration_ms"}, g.orNull(g.number)},
		memberGen{[]string{"recording_url"}, g.word("https://r/2")},
		memberGen{[]string{"metadata"}, g.orNull(g.free)},
		memberGen{[]string{"dynamic_variables"}, g.orNull(g.free)},
		memberGen{[]string{"call_analysis"}, g.analysis(true)},
		memberGen{[]string{"call_cost"}, g.orNull(func() {
			g.object(memberGen{[]string{"total_credits_used"}, number}, memberGen{[]string{"duration_seconds"}, number})
		})},
		memberGen{[]string{"opt_out_sensitive_data_storage"}, g.optOut},
		memberGen{[]string{"transcript"}, g.orNull(g.turns)},
		memberGen{[]string{"transcript_with_tool_calls"}, g.orNull(g.turns)},
	)
}

// DrawCall returns a random call's JSON: as observed (wild 0), or stranger.
func DrawCall(t *rapid.T, kind schema.Kind, wild int) []byte {
	g := &gen{t: t, wild: wild}
	if rapid.IntRange(0, 2).Draw(t, "version") > 0 {
		g.v3(kind)
	} else {
		g.v2(kind)
	}
	return g.b
}

// DrawV3 returns a random call's JSON as observed, as v3 sends it.
func DrawV3(t *rapid.T, kind schema.Kind) []byte {
	g := &gen{t: t}
	g.v3(kind)
	return g.b
}

// DrawKind returns one of the two kinds.
func DrawKind(t *rapid.T) schema.Kind {
	return rapid.SampledFrom([]schema.Kind{schema.KindItem, schema.KindDetail}).Draw(t, "kind")
}
