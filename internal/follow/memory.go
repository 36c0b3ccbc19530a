package follow

import (
	"hash/maphash"
	"slices"
	"sync"

	"callhouse/internal/calls"
)

// Memory remembers the calls of the newest pages, so that a poll stores only what has changed, and
// measures how far the warehouse is behind. It is safe for concurrent use.
type Memory struct {
	seed  maphash.Seed
	began int64 // ms; calls that ended before do not count for the lag

	mu      sync.Mutex
	calls   map[string]*seen
	pages   int64 // polls so far
	news    int   // calls that came or ended since the last poll began, which no hint had named
	waiting lags  // stored, and not committed
	done    lags  // the last ones that were committed
}

// lags are ends of calls, in ms; in done, the times from there to the commit.
type lags struct{ calls, transcripts []int64 }

// seen is a call as it was last seen.
type seen struct {
	sum    uint64
	page   int64 // the last poll that listed it
	start  int64 // or when it was first seen
	over   bool
	told   bool // its transcript was fetched
	hinted bool
}

const (
	// mostSeen is how many calls are remembered.
	mostSeen = 20_000
	// lastLags is how many calls determine the lag.
	lastLags = 100
	// openFor is how long after its start a call in progress makes polls more frequent and longer.
	openFor = int64(30 * 60_000)
)

// NewMemory returns an empty memory; now is in ms.
func NewMemory(now int64) *Memory {
	return &Memory{seed: maphash.MakeSeed(), began: now, calls: map[string]*seen{}}
}

// Poll begins a poll.
func (m *Memory) Poll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pages++
	m.news = 0
	if len(m.calls) > mostSeen {
		for id, c := range m.calls {
			if c.page < m.pages-1 {
				delete(m.calls, id)
			}
		}
	}
}

// Changed reports whether an item of the list, decoded, differs from what was seen of its call
// before, and remembers it.
func (m *Memory) Changed(call *calls.Call, now int64) bool {
	sum := m.sum(call)
	id := string(call.ID())
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	if c == nil {
		c = &seen{start: now}
		m.calls[id] = c
	}
	known := c.page > 0
	if call.StartAt().OK {
		c.start = call.StartAt().V
	}
	changed := !known || c.sum != sum
	if over := call.Over(); !known || over && !c.over {
		if over && call.EndAt().OK && call.EndAt().V >= m.began {
			m.waiting.calls = append(m.waiting.calls, call.EndAt().V)
		}
		if !c.hinted && (m.pages > 1 || !over) {
			m.news++
		}
	}
	c.sum, c.page, c.over = sum, m.pages, call.Over()
	return changed
}

// sum returns a hash of what a call says. Signed links say the same with any query.
func (m *Memory) sum(call *calls.Call) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	for i := range call.Of.Table.Columns {
		if c := &call.Of.Table.Columns[i]; c.Compared() {
			v := c.Content(call.Row[i])
			_ = h.WriteByte(byte(v.Kind() + 1))
			_, _ = h.Write(v.Bytes())
			_ = h.WriteByte(0)
		}
	}
	for i := range call.Lists {
		t := call.Of.Lists[i]
		for n := range call.Lists[i].Len() {
			for k := range t.Columns {
				if c := &t.Columns[k]; c.Compared() {
					_, _ = h.Write(c.Content(call.Lists[i].At(n)[k]).Bytes())
					_ = h.WriteByte(0)
				}
			}
		}
	}
	return h.Sum64()
}

// Fetched remembers that a call's record was stored.
func (m *Memory) Fetched(call *calls.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[string(call.ID())]
	if c == nil || c.told || call.Turns().Len() == 0 {
		return
	}
	c.told = true
	if call.EndAt().OK && call.EndAt().V >= m.began {
		m.waiting.transcripts = append(m.waiting.transcripts, call.EndAt().V)
	}
}

// Committed reports a commit of everything that was stored before.
func (m *Memory) Committed(now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add := func(done, waiting *[]int64) {
		for _, end := range *waiting {
			*done = append(*done, max(0, now-end))
		}
		*done = (*done)[max(0, len(*done)-lastLags):]
		*waiting = nil
	}
	add(&m.done.calls, &m.waiting.calls)
	add(&m.done.transcripts, &m.waiting.transcripts)
}

// Lag returns how long after their end calls and transcripts were committed, in ms: of the last
// hundred of each, all but the slowest five. 0: none was.
func (m *Memory) Lag() (call, transcript int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := func(all []int64) int64 {
		if len(all) == 0 {
			return 0
		}
		sorted := slices.Sorted(slices.Values(all))
		return sorted[(len(sorted)*19-1)/20]
	}
	return of(m.done.calls), of(m.done.transcripts)
}

// News returns how many calls came or ended in the last poll without a hint, and whether any is in
// progress.
func (m *Memory) News(now int64) (news int, open bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.calls {
		if c.open(now) {
			return m.news, true
		}
	}
	return m.news, false
}

// open reports whether a call is in progress and will likely end soon.
func (c *seen) open(now int64) bool { return c.page > 0 && !c.over && now-c.start < openFor }

// Down returns how far down a poll has to list, in ms: to from, and to the calls in progress.
func (m *Memory) Down(from, now int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.calls {
		if c.open(now) {
			from = min(from, c.start)
		}
	}
	return from
}

// Knows reports whether a call was seen.
func (m *Memory) Knows(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	return c != nil && c.page > 0
}

// Hinted remembers that a hint named a call. It reports whether the call is known, and whether it
// was on the pages of the last poll: then the next one shows what became of it. Otherwise its own
// record does.
func (m *Memory) Hinted(id string) (known, listed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	if c == nil || c.page == 0 {
		return false, false
	}
	c.hinted = true
	return true, c.page == m.pages
}

// Expect remembers a hint for a call that is not known yet.
func (m *Memory) Expect(id string, now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls[id] == nil && len(m.calls) < 2*mostSeen {
		m.calls[id] = &seen{start: now, hinted: true}
	}
}
