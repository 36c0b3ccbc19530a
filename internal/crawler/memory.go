package crawler

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// Memory remembers the calls of the newest pages, so that a poll stores only changes and no record
// is requested in vain. It also measures how far the warehouse lags behind. Times are
// ms since 1970 UTC. It is safe for concurrent use.
type Memory struct {
	seed  maphash.Seed
	began int64 // calls that ended earlier do not count for the lag

	mu      sync.Mutex
	calls   map[string]*seen
	pages   int64 // number of polls
	news    News  // of the last poll
	ripe    int64 // usual delay of a transcript after the call's end
	waiting lags  // stored but not committed
	done    lags  // the latest committed ones
}

// lags holds ends of calls; in done, it holds the times from there to the commit.
type lags struct{ calls, transcripts []int64 }

// News is the result of a poll.
type News struct {
	Calls int  // new or ended since the last poll
	Open  bool // some calls are in progress
}

// seen is the last seen state of a call.
type seen struct {
	sum   uint64
	page  int64 // the last poll that listed it; 0: none
	start int64 // if unknown, when the call was first seen
	end   int64 // 0: unknown
	over  bool
	told  bool  // its record needs no further request
	null  int64 // delay after its end at which its record had no transcript; 0: not requested
	ready bool  // the list shows an analysis, which is made from the transcript
}

const (
	// mostSeen is how many calls are remembered before those missing from the last polls are
	// dropped.
	mostSeen = 20_000
	// lastLags is how many calls determine the lag.
	lastLags = 100
	// openFor is how long after its start a call in progress makes polls more frequent and longer.
	openFor = int64(30 * time.Minute / time.Millisecond)
)

// NewMemory returns an empty memory.
func NewMemory(now int64) *Memory {
	return &Memory{seed: maphash.MakeSeed(), began: now, calls: map[string]*seen{}}
}

// Poll begins a poll.
func (m *Memory) Poll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pages++
	m.news = News{}
	if len(m.calls) > mostSeen {
		for id, c := range m.calls {
			if c.page < m.pages-1 {
				delete(m.calls, id)
			}
		}
	}
}

// Changed reports whether a decoded list item differs from the last seen state of its call, and
// remembers it.
func (m *Memory) Changed(call *calls.Call, now int64) bool {
	sum := m.sum(call)
	m.mu.Lock()
	defer m.mu.Unlock()
	c, known := m.see(call, now)
	changed := c.page == 0 || c.sum != sum
	if ended := call.Over() && !c.over; m.pages > 1 && (ended || !known) {
		m.news.Calls++
	}
	m.ended(c, call)
	c.sum, c.page, c.ready = sum, m.pages, c.ready || call.Analyzed()
	return changed
}

// see returns the state of a call, and whether it was known.
func (m *Memory) see(call *calls.Call, now int64) (c *seen, known bool) {
	id := string(call.ID())
	if c = m.calls[id]; c == nil {
		c = &seen{start: now}
		m.calls[id] = c
	}
	known = c.page > 0 || c.over
	if call.StartAt().OK {
		c.start = call.StartAt().V
	}
	return c, known
}

// ended remembers whether a call is over.
func (m *Memory) ended(c *seen, call *calls.Call) {
	if c.over || !call.Over() {
		return
	}
	c.over, c.end = true, call.EndAt().V
	if c.end >= m.began {
		m.waiting.calls = append(m.waiting.calls, c.end)
	}
}

// sum returns a hash of a call's content. It ignores the query of signed links.
func (m *Memory) sum(call *calls.Call) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	add := func(columns []schema.Column, row []parquet.Value) {
		for i := range columns {
			if c := &columns[i]; c.Compared() {
				v := c.Content(row[i])
				_ = h.WriteByte(byte(v.Kind() + 1))
				_, _ = h.Write(v.Bytes())
				_ = h.WriteByte(0)
			}
		}
	}
	add(call.Of.Table.Columns, call.Row)
	for i := range call.Lists {
		for n := range call.Lists[i].Len() {
			add(call.Of.Lists[i].Columns, call.Lists[i].At(n))
		}
	}
	return h.Sum64()
}

// Fetched remembers a call's own record, including the state of its transcript.
func (m *Memory) Fetched(call *calls.Call, now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, _ := m.see(call, now)
	m.ended(c, call)
	switch {
	case !c.over || c.told:
	case call.TranscriptState() == calls.Pending:
		c.null = max(now-c.end, 1)
	default:
		c.told = true
		if call.Turns().Len() == 0 {
			return
		}
		if m.ripe -= m.ripe / 32; c.null > 0 {
			m.ripe = max(m.ripe, (c.null+now-c.end)/2)
		}
		if c.end >= m.began {
			m.waiting.transcripts = append(m.waiting.transcripts, c.end)
		}
	}
}

// Missed remembers that a call's record was not there.
func (m *Memory) Missed(id string, now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.calls[id]; c != nil && c.over {
		c.null = max(now-c.end, 1)
	}
}

// Told remembers that a call's record need not be requested.
func (m *Memory) Told(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.calls[id]; c != nil {
		c.told = true
	}
}

// Wants reports whether a changed list item makes its call's record due, and whether for a second
// time: the record had no transcript, and the item now has more data.
func (m *Memory) Wants(id string) (wants, again bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	return c == nil || !c.told, c != nil && c.null > 0
}

// Ripe reports whether a call's transcript probably exists, so that its record may be requested for
// the first time: the list shows an analysis, or enough time has passed since its end.
func (m *Memory) Ripe(id string, now int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	return c == nil || c.end == 0 || c.null > 0 || c.ready || now-c.end >= m.ripe
}

// Committed records a commit of everything stored so far.
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

// Lag returns how long after their end calls and transcripts were committed, in ms: the maximum
// over the last hundred of each, without the slowest five; 0 if there are none.
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

// News returns the result of the last poll.
func (m *Memory) News(now int64) News {
	m.mu.Lock()
	defer m.mu.Unlock()
	news := m.news
	for _, c := range m.calls {
		news.Open = news.Open || c.open(now)
	}
	return news
}

// open reports whether a call is in progress and will likely end soon.
func (c *seen) open(now int64) bool { return c.page > 0 && !c.over && now-c.start < openFor }

// Down returns the start down to which a poll must list: from, or that of the earliest call in
// progress.
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
