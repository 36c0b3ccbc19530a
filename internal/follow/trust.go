package follow

// Action is the reaction to a hint.
type Action uint8

const (
	Wait  Action = iota // do nothing until the next poll
	Fetch               // fetch the call's record
	Poll                // poll soon, which serves many calls
)

// trust measures how often hints of one kind arrive when calls are over, so that fetching the
// record at once pays off. It is at most mostTrust; a wrong hint subtracts one. At zero, a wrong
// hint sets it to leastTrust: that many hints are ignored before the next one is tried.
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

// Hinted remembers a hint for a call, and returns the reaction. A sender may send hints when a call
// begins, ends and is analysed. The first hint for a call and later ones are trusted separately.
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
		return Wait // the next poll finds the change
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
		return Wait // a hint at its end will follow
	}
	return Poll
}
