package sandbox

import (
	"hash/crc32"
	"maps"
	"strconv"
	"sync"
	"time"

	"callhouse/internal/sandbox/limit"
	"callhouse/internal/sandbox/world"
)

// Stats is what a server has been asked so far. Requests under /sandbox are not
// counted.
type Stats struct {
	Requests int64            `json:"requests"`
	ByKind   map[string]int64 `json:"by_kind"`   // page, detail, bulk, list, object, write, other
	ByStatus map[string]int64 `json:"by_status"` // "aborted": a connection that ended without a whole answer
	Bytes    int64            `json:"bytes"`     // of bodies
	// ByResource are the requests for everything but calls of v3.
	ByResource map[string]int64 `json:"by_resource,omitempty"`

	// The most requests of all keys in any rolling window, whatever the limiter
	// made of them, and how many found their window full already.
	MaxPerSecond int   `json:"max_per_second"`
	MaxPerMinute int   `json:"max_per_minute"`
	AboveLimit   int64 `json:"above_limit"`
	// RateLimited is how many the limiter refused.
	RateLimited int64 `json:"rate_limited"`

	Faults map[FaultKind]int64 `json:"faults"`

	// Details that were answered whole: how many calls, how many answers beyond
	// the first of a call, and how many of these told nothing new.
	DetailsDistinct  int64 `json:"details_distinct"`
	DetailsAgain     int64 `json:"details_again"`
	DetailsUnchanged int64 `json:"details_unchanged"`
	// The same of the objects of other resources.
	ObjectsDistinct  int64 `json:"objects_distinct"`
	ObjectsAgain     int64 `json:"objects_again"`
	ObjectsUnchanged int64 `json:"objects_unchanged"`
}

// ledger keeps a server's Stats and the organisation's limiter, which all keys share.
type ledger struct {
	mu      sync.Mutex
	opts    *Options
	stats   Stats
	limiter *limit.Limiter
	second  limit.Rolling
	minute  limit.Rolling
	revoked map[string]bool // by key; those that are not in it are unknown
	details map[int64]told  // by the call's index
	objects map[string]told // by path and query
}

// told is what is known of the whole answers about one object.
type told struct {
	times uint32
	state uint32 // a number that changes with the answer
}

func newLedger(o *Options) *ledger {
	limiter, err := limit.New(o.Limiter, o.PerSecond, o.PerMinute)
	if err != nil {
		panic("sandbox: " + err.Error()) // the options were checked
	}
	l := &ledger{
		opts: o, limiter: limiter, second: limit.Rolling{Span: time.Second}, minute: limit.Rolling{Span: time.Minute},
		revoked: map[string]bool{}, details: map[int64]told{}, objects: map[string]told{},
	}
	l.stats.ByKind = map[string]int64{}
	l.stats.ByStatus = map[string]int64{}
	l.stats.Faults = map[FaultKind]int64{}
	for _, k := range o.Keys {
		l.revoked[k] = false
	}
	return l
}

// arrive counts a request and asks the limiter.
func (l *ledger) arrive(req Request, key string) (number int64, v verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Requests++
	l.stats.ByKind[req.Kind]++
	if req.Resource != "" {
		if l.stats.ByResource == nil {
			l.stats.ByResource = map[string]int64{}
		}
		l.stats.ByResource[req.Resource]++
	}
	number = l.stats.Requests
	if revoked, known := l.revoked[key]; !known || revoked {
		return number, verdict{unknown: true}
	}
	now := l.opts.LimitNow()
	inSecond, inMinute := l.second.Count(now), l.minute.Count(now)
	l.stats.MaxPerSecond = max(l.stats.MaxPerSecond, inSecond)
	l.stats.MaxPerMinute = max(l.stats.MaxPerMinute, inMinute)
	if l.opts.PerSecond >= 0 && inSecond > l.opts.PerSecond || l.opts.PerMinute >= 0 && inMinute > l.opts.PerMinute {
		l.stats.AboveLimit++
	}
	ok, wait := l.limiter.Allow(now)
	if !ok {
		l.stats.RateLimited++
	}
	return number, verdict{refused: !ok, wait: wait}
}

// verdict is what becomes of a request at the door.
type verdict struct {
	unknown bool // no such key
	refused bool // over the limit
	wait    time.Duration
}

// answered counts an answer. A status of 0 is none.
func (l *ledger) answered(status int, bytes int64, fault FaultKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := "aborted"
	if status != 0 {
		name = strconv.Itoa(status)
	}
	l.stats.ByStatus[name]++
	l.stats.Bytes += bytes
	if fault != "" {
		l.stats.Faults[fault]++
	}
}

// stateOf changes exactly when the JSON of a call does, the ageing of the
// recording's link apart.
func stateOf(v *world.View) uint32 {
	var s uint32
	for i, b := range []bool{v.Started, v.Over, v.Analysis, v.CostKnown} {
		if b {
			s |= 1 << i
		}
	}
	return s
}

// sent notes that a call's detail, or an object of another resource, was answered whole.
func (l *ledger) sent(a *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if st := &l.stats; a.view != nil {
		tell(l.details, a.view.Index, stateOf(a.view), &st.DetailsDistinct, &st.DetailsAgain, &st.DetailsUnchanged)
	} else if a.object != "" {
		tell(l.objects, a.object, crc32.ChecksumIEEE(a.body), &st.ObjectsDistinct, &st.ObjectsAgain, &st.ObjectsUnchanged)
	}
}

func tell[K comparable](all map[K]told, key K, state uint32, distinct, again, unchanged *int64) {
	was := all[key]
	switch {
	case was.times == 0:
		*distinct++
	case was.state == state:
		*unchanged++
		fallthrough
	default:
		*again++
	}
	all[key] = told{was.times + 1, state}
}

// snapshot returns a copy.
func (l *ledger) snapshot() *Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.ByKind = maps.Clone(s.ByKind)
	s.ByResource = maps.Clone(s.ByResource)
	s.ByStatus = maps.Clone(s.ByStatus)
	s.Faults = maps.Clone(s.Faults)
	return &s
}
