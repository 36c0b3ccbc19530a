package world

import (
	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/script"
	"callhouse/internal/sandbox/wire"
)

// Item is a transcript item before its words are written.
type Item struct {
	Role       script.Role
	Text       *script.Template
	Tool       string
	Call       int   // number of the tool call, from 1
	Start, End int64 // of speech
}

// Append writes the item's text, plain or escaped for a JSON string.
func (it *Item) Append(dst []byte, c *Call, escaped bool) []byte {
	return it.Text.Append(dst, c, escaped)
}

// failures are the results of a failing tool, which the agent calls again.
var failures = script.Choices{
	script.Plain(`{"status":"error","code":"upstream_timeout","message":"no answer within 5000 ms"}`),
	script.Plain(`{"status":"error","code":"bad_gateway","message":"HTTP 502 from the backend","retryable":true}`),
	script.Plain("Error: connection refused"),
}

// Timeline returns the items of the call's transcript in order. It overwrites items.
//
// Speech gets its times from its length and the pauses that depend on the agent: first at the usual
// speed, then stretched evenly to fill the call. A user turn may begin before the agent has
// finished, but not the reverse. Tool items have no times: they lengthen the next pause.
func (c *Call) Timeline(items []Item) []Item {
	items = items[:0]
	d := dice.New(dice.Hash(c.Key, 20))
	var (
		latency = c.latency()
		t       float64 // offset of the latest end so far
		spoken  float64 // duration of the last turn
		pending float64 // time of tools since
		last    = script.Roles
		calls   int
	)
	perRune := 66.0
	if c.Agent.Language == "ko" {
		perRune = 140
	}
	for _, n := range c.beats[:c.beatN] {
		b := &c.scenario.Beats[n]
		for i := range b.Lines {
			l := &b.Lines[i]
			text := l.Text.Of(d.Next())
			u := d.Unit()
			if i < b.Moves && !c.Agent.Flow {
				continue
			}
			it := Item{Role: l.Role, Text: text, Tool: l.Tool}
			switch l.Role {
			case script.RoleInvocation:
				calls++
				it.Call = calls
				pending += 60 + 900*u*u*u
				if calls == int(c.retry) {
					items = append(items, it,
						Item{Role: script.RoleResult, Text: failures.Of(d.Next()), Call: calls})
					pending += 1500
					calls++
					it.Call = calls
				}
			case script.RoleResult:
				it.Call = calls
			default:
				gap := 250 + 700*u
				switch {
				case l.Role == script.RoleAgent && last == script.RoleUser:
					gap = latency*(.7+.6*u) + pending
				case l.Role == script.RoleAgent:
					gap = 150 + pending
				case last == script.RoleAgent && d.Unit() < c.Agent.interrupts:
					gap = -.35 * u * spoken
				}
				spoken = float64(text.Runes) * perRune * (.9 + .2*d.Unit())
				if l.Role == script.RoleUser {
					spoken *= 1.1
				}
				it.Start = int64(t + gap)
				it.End = int64(t + gap + spoken)
				t = max(t, t+gap+spoken) // a short word may end within the turn it interrupts
				pending, last = 0, l.Role
			}
			items = append(items, it)
		}
	}
	items, t = c.withPlanted(items, t, calls, perRune)
	stretch(c, items, t)
	return items
}

// stretch converts offsets at the usual speed to times within the call.
func stretch(c *Call, items []Item, total float64) {
	const lead, tail = 300, 200
	f := float64(c.EndAt-c.StartAt-lead-tail) / max(total, 1)
	for i := range items {
		if it := &items[i]; it.Role <= script.RoleUser {
			it.Start = c.StartAt + lead + int64(float64(it.Start)*f)
			it.End = c.StartAt + lead + int64(float64(it.End)*f)
		}
	}
}

// Turn is a transcript item. Fields that a role lacks are empty or zero.
type Turn struct {
	Role       string
	Content    string // speech, or a tool's result
	StartAt    int64
	EndAt      int64
	ToolCallID string
	Tool       string
	Arguments  string // a JSON object
}

// Turns returns the final transcript of a call; nil if it has none.
func (c *Call) Turns() []Turn {
	if !c.talked || c.OptedOut {
		return nil
	}
	turns := []Turn{}
	for _, it := range c.Timeline(nil) {
		text := string(it.Append(nil, c, false))
		t := Turn{Role: script.RoleNames[it.Role], StartAt: it.Start, EndAt: it.End, Tool: it.Tool}
		if it.Call > 0 {
			t.ToolCallID = string(c.AppendToolCallID(nil, it.Call))
		}
		if it.Role == script.RoleInvocation {
			t.Arguments = text
		} else {
			t.Content = text
		}
		turns = append(turns, t)
	}
	return turns
}

// AppendToolCallID writes the id of the n-th tool call.
func (c *Call) AppendToolCallID(dst []byte, n int) []byte {
	return wire.AppendHex(append(dst, "call_"...), dice.Hash(c.Key, 5000+uint64(n)))
}

// CustomItem is a fact extracted from a conversation.
type CustomItem struct {
	Type  string // string, enum, boolean, number
	Name  string
	Value string // JSON
}

// CustomItems returns the call's custom_analysis_data.
func (c *Call) CustomItems() []CustomItem {
	var all []CustomItem
	for i := range c.scenario.Extracts {
		if c.extracts>>i&1 == 0 {
			continue
		}
		e := &c.scenario.Extracts[i]
		values := e.Bad
		if c.Good {
			values = e.Good
		}
		value := values.Of(dice.Hash(c.Key, 40+uint64(i))).Text(c)
		if e.Kind == "string" || e.Kind == "enum" {
			value = string(wire.AppendString(nil, value))
		}
		all = append(all, CustomItem{Type: e.Kind, Name: e.Name, Value: value})
	}
	return all
}
