package schema

import "unsafe"

// Clone returns a deep copy of the call: it shares no memory with c, nor with
// the body, decoder or row that c aliases. All its bytes lie in one allocation.
func (c *Call) Clone() *Call {
	n := 0
	c.eachBytes(func(b *[]byte) { n += len(*b) })
	out := *c
	out.Turns = append([]Turn(nil), c.Turns...)
	out.Items = append([]Item(nil), c.Items...)
	arena := make([]byte, 0, n)
	out.eachBytes(func(b *[]byte) {
		if *b == nil {
			return
		}
		at := len(arena)
		arena = append(arena, *b...)
		*b = arena[at:len(arena):len(arena)]
	})
	return &out
}

// Size returns how many bytes of memory a clone of the call takes, but for what
// the allocator adds.
func (c *Call) Size() int {
	n := int(unsafe.Sizeof(*c)) + len(c.Turns)*int(unsafe.Sizeof(Turn{})) + len(c.Items)*int(unsafe.Sizeof(Item{}))
	c.eachBytes(func(b *[]byte) { n += len(*b) })
	return n
}

// eachBytes calls do for every byte slice of the call.
func (c *Call) eachBytes(do func(*[]byte)) {
	for _, b := range [...]*[]byte{
		&c.ID, &c.AgentID, &c.AgentVersion, &c.CallType, &c.Status, &c.DisconnectionReason,
		&c.FromNumber, &c.ToNumber, &c.PresentationNumber, &c.Summary, &c.UserSentiment,
		&c.Evaluation, &c.Metadata, &c.DynamicVariables, &c.VariantLabel, &c.RecordingURL,
		&c.Extra, &c.RunID,
	} {
		do(b)
	}
	for i := range c.Turns {
		t := &c.Turns[i]
		for _, b := range [...]*[]byte{&t.Role, &t.Content, &t.ToolCallID, &t.ToolName, &t.Arguments, &t.Extra} {
			do(b)
		}
	}
	for i := range c.Items {
		t := &c.Items[i]
		for _, b := range [...]*[]byte{&t.Name, &t.Type, &t.Value, &t.Extra} {
			do(b)
		}
	}
}
