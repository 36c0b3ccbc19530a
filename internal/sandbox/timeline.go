package sandbox

// item is one item of a transcript, before its words are written out.
type item struct {
	role       role
	text       *template
	tool       string
	call       int   // number of the tool call, from 1
	start, end int64 // of what is said
}

// failures is what a tool answers when it fails; the agent then calls it again.
var failures = choices{
	plain(`{"status":"error","code":"upstream_timeout","message":"no answer within 5000 ms"}`),
	plain(`{"status":"error","code":"bad_gateway","message":"HTTP 502 from the backend","retryable":true}`),
	plain("Error: connection refused"),
}

// Timeline lays out what is said and done in the call, in order. It overwrites
// items.
//
// What is said gets its times from its length and the pauses between from who
// the agent is: first at the usual speed, then stretched evenly so that it fills
// the call. A user turn may begin before the agent has finished; the other way
// round never. Tool items have no times of their own: they make the next pause
// longer.
func (c *Call) Timeline(items []item) []item {
	items = items[:0]
	d := newDice(hash(c.key, 20))
	var (
		latency = c.latency()
		t       float64 // offset of the latest end so far
		spoken  float64 // how long the last turn was
		pending float64 // time that tools took since
		last    = roles
		calls   int
	)
	perRune := 66.0
	if c.Agent.Language == "ko" {
		perRune = 140
	}
	for _, n := range c.beats[:c.beatN] {
		b := &c.scenario.beats[n]
		for i := range b.lines {
			l := &b.lines[i]
			text := l.text.of(d.next())
			u := d.unit()
			it := item{role: l.role, text: text, tool: l.tool}
			switch l.role {
			case roleInvocation:
				calls++
				it.call = calls
				pending += 60 + 900*u*u*u
				if calls == int(c.retry) {
					items = append(items, it,
						item{role: roleResult, text: failures.of(d.next()), call: calls})
					pending += 1500
					calls++
					it.call = calls
				}
			case roleResult:
				it.call = calls
			default:
				gap := 250 + 700*u
				switch {
				case l.role == roleAgent && last == roleUser:
					gap = latency*(.7+.6*u) + pending
				case l.role == roleAgent:
					gap = 150 + pending
				case last == roleAgent && d.unit() < c.Agent.interrupts:
					gap = -.35 * u * spoken
				}
				spoken = float64(text.runes) * perRune * (.9 + .2*d.unit())
				if l.role == roleUser {
					spoken *= 1.1
				}
				it.start = int64(t + gap)
				it.end = int64(t + gap + spoken)
				t = max(t, t+gap+spoken) // a short word may end inside the turn it interrupts
				pending, last = 0, l.role
			}
			items = append(items, it)
		}
	}
	stretch(c, items, t)
	return items
}

// stretch turns offsets at the usual speed into times inside the call.
func stretch(c *Call, items []item, total float64) {
	const lead, tail = 300, 200
	f := float64(c.EndAt-c.StartAt-lead-tail) / max(total, 1)
	for i := range items {
		if it := &items[i]; it.role <= roleUser {
			it.start = c.StartAt + lead + int64(float64(it.start)*f)
			it.end = c.StartAt + lead + int64(float64(it.end)*f)
		}
	}
}

// Turn is one item of a transcript. What a role does not have is empty or zero.
type Turn struct {
	Role       string
	Content    string // what is said, or a tool's answer
	StartAt    int64
	EndAt      int64
	ToolCallID string
	Tool       string
	Arguments  string // a JSON object
}

// Turns returns the transcript that a call has when it is over; nil if it has none.
func (c *Call) Turns() []Turn {
	if !c.talked || c.OptedOut {
		return nil
	}
	turns := []Turn{}
	for _, it := range c.Timeline(nil) {
		text := it.text.text(c)
		t := Turn{Role: roleNames[it.role], StartAt: it.start, EndAt: it.end, Tool: it.tool}
		if it.call > 0 {
			t.ToolCallID = string(c.AppendToolCallID(nil, it.call))
		}
		if it.role == roleInvocation {
			t.Arguments = text
		} else {
			t.Content = text
		}
		turns = append(turns, t)
	}
	return turns
}

// AppendToolCallID writes the id of the n-th use of a tool.
func (c *Call) AppendToolCallID(dst []byte, n int) []byte {
	return appendHex(append(dst, "call_"...), hash(c.key, 5000+uint64(n)))
}

// CustomItem is one fact taken out of a conversation.
type CustomItem struct {
	Type  string // string, enum, boolean, number
	Name  string
	Value string // JSON
}

// CustomItems returns the custom_analysis_data that the call's analysis carries.
func (c *Call) CustomItems() []CustomItem {
	var all []CustomItem
	for i := range c.scenario.extracts {
		if c.extracts>>i&1 == 0 {
			continue
		}
		e := &c.scenario.extracts[i]
		values := e.bad
		if c.good {
			values = e.good
		}
		value := values.of(hash(c.key, 40+uint64(i))).text(c)
		if e.kind == "string" || e.kind == "enum" {
			value = string(appendString(nil, value))
		}
		all = append(all, CustomItem{Type: e.kind, Name: e.name, Value: value})
	}
	return all
}
