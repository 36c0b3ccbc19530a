package follow

// Action is what to do about a hint.
type Action uint8

const (
	Wait  Action = iota // for the next poll
	Fetch               // the call's record
	Poll                // soon: it serves many calls
)

// trust is how often hints of one kind come when calls are over, so that fetching the record at once
// is no waste. From mostTrust, a wrong one takes one off. At less than 0, leastTrust of them are
// passed over before the next is tried.
type trust int

const (
	mostTrust  = 3
	leastTrust = -10
)

func (t *trust) saw(over bool) {
	switch {
	case over:
		*t = min(*t+1, mostTrust)
	case *t > 0:
		*t--
	default:
		*t = leastTrust
	}
}

// worth reports whether to fetch a record for a hint.
func (t *trust) worth() bool {
	if *t < 0 {
		*t++
		return false
	}
	return true
}

// Hinted remembers a hint for a call, and returns what to do about it. A sender may send one when
// a call begins, when it ends and when it was analysed. The first one for a call and later ones are
// trusted separately.
func (m *Memory) Hinted(id string, now int64) Action {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	switch {
	case c == nil && len(m.calls) >= 2*mostSeen:
		return Poll
	case c == nil:
		c = &seen{start: now}
		m.calls[id] = c
	case c.told && c.page > 0 && c.page == m.pages:
		return Wait // the next poll shows what has changed
	}
	c.hints++
	t := &m.hints[min(c.hints, len(m.hints))-1]
	switch {
	case c.told || c.over:
		return Fetch
	case t.worth():
		c.tried = t
		return Fetch
	case c.hints == 1:
		return Wait // for the hint of its end
	}
	return Poll
}
