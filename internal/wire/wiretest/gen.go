// Package wiretest provides JSON for tests: the payloads in testdata, hostile bodies and random
// calls. Only tests use it.
package wiretest

import (
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"callhouse/internal/schema"
)

// gen makes random call JSON from the declaration of its columns. Its methods append text, so that spelling, white space, order and
// repeated names are tested as well as values.
type gen struct {
	t    *rapid.T
	b    []byte
	kind schema.Kind
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
		g.some("{}", 4, func() {
			g.name("k", "a", "b")
			g.add(":")
			g.any(depth - 1)
		})
	default:
		g.some("[]", 3, func() { g.any(depth - 1) })
	}
}

// some appends fewer than most elements between two brackets.
func (g *gen) some(brackets string, most int, element func()) {
	g.add(brackets[:1])
	for i := range g.pick(most) {
		g.comma(i)
		element()
	}
	g.space()
	g.add(brackets[1:])
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

// member is a field of an object.
type member struct {
	names []string // the name, and the one of the other version
	value func()
}

// object appends an object of some of the members.
func (g *gen) object(members []member) {
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

// members returns the fields below a place, as a version of the API sends them.
func (g *gen) members(fields []schema.Column, place string, v2 bool) (out []member) {
	objects := map[string]bool{}
	for i := range fields {
		c := &fields[i]
		path, other := c.V3, c.V2
		if v2 {
			path, other = other, path
		}
		rest, below := strings.CutPrefix(path, place)
		if path == "" || !below || c.List == &schema.Turns && !v2 && g.kind == schema.KindItem {
			continue
		}
		name, _, nested := strings.Cut(rest, ".")
		m := member{[]string{name}, func() { g.value(c, v2) }}
		if other, _, _ := strings.Cut(strings.TrimPrefix(other, place), "."); other != "" && other != name {
			m.names = append(m.names, other)
		}
		if nested {
			m.value = func() {
				if g.chance(25) {
					g.add("null")
					return
				}
				g.object(g.members(fields, place+name+".", v2))
			}
		}
		if !objects[name] {
			out = append(out, m)
		}
		objects[name] = true
	}
	return out
}

// value appends a value that the service may send for a column.
func (g *gen) value(c *schema.Column, v2 bool) {
	switch {
	case c.Name == "call_id":
		g.add(g.one(`"c-1"`, `"3f2a"`, `42`, `"한"`, `"a\u0062"`))
	case c.OptOut:
		g.add(g.one("false", "false", "null"))
	case c.Name != "role" && g.chance(25):
		g.add("null")
	case c.List != nil:
		g.some("[]", 4, func() {
			if g.chance(g.wild / 10) {
				g.any(2)
			} else {
				g.object(g.members(c.List.Fields, "", v2))
			}
		})
	case c.Link:
		g.add(`"https://r/1?sig=2"`)
	case c.Known != nil:
		g.add(`"` + g.one(append(slices.Clone(c.Known), "telepathy")...) + `"`)
	case c.Type == schema.Timestamp:
		g.add(strconv.Itoa(1_760_000_000_000 + g.pick(1_000_000)))
	case c.Type == schema.JSON && (c.AnyValue || g.chance(20)):
		g.any(3)
	case c.Type == schema.JSON:
		g.add(g.one(`{}`, `{"order-id":"A-1","Count":1116.20}`, `{"a":1E5,"a":2}`, `{ "x" : [ ] }`))
	case c.Amount:
		g.add(g.one(`"200.00"`, `"1116.20"`, `"150.1234"`, `"150"`, `"-0.00"`, `"1.500"`))
	case c.Type == schema.Exact:
		g.add(g.one("12", "0.5", "12.5000", "1e1", "61.25"))
	case c.Type == schema.Int64:
		g.number()
	default:
		g.str()
	}
}

// DrawCall returns a random call's JSON: as observed (wild 0), or stranger.
func DrawCall(t *rapid.T, kind schema.Kind, wild int) []byte {
	return draw(&gen{t: t, kind: kind, wild: wild}, rapid.IntRange(0, 2).Draw(t, "version") == 0)
}

// DrawV3 returns a random call's JSON as observed, as v3 sends it.
func DrawV3(t *rapid.T, kind schema.Kind) []byte { return draw(&gen{t: t, kind: kind}, false) }

func draw(g *gen, v2 bool) []byte {
	g.object(g.members(schema.Calls.Fields, "", v2))
	return g.b
}

// DrawKind returns one of the two kinds.
func DrawKind(t *rapid.T) schema.Kind {
	return rapid.SampledFrom([]schema.Kind{schema.KindItem, schema.KindDetail}).Draw(t, "kind")
}
