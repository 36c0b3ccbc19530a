package sandbox

import (
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"callhouse/internal/sandbox/limit"
	"callhouse/internal/sandbox/world"
)

// Stats are a server's request statistics. Requests under /sandbox are not counted.
type Stats struct {
	Requests int64            `json:"requests"`
	ByKind   map[string]int64 `json:"by_kind"`   // page, detail, bulk, list, object, write, other
	ByStatus map[string]int64 `json:"by_status"` // "aborted": the connection ended before the answer was complete
	Bytes    int64            `json:"bytes"`     // of bodies
	// ByResource counts all requests except those for v3's calls.
	ByResource map[string]int64 `json:"by_resource,omitempty"`

	// MaxPerSecond and MaxPerMinute are the maximum numbers of requests of all keys in any rolling
	// window, admitted or not; AboveLimit counts the requests that exceeded a limit.
	MaxPerSecond int   `json:"max_per_second"`
	MaxPerMinute int   `json:"max_per_minute"`
	AboveLimit   int64 `json:"above_limit"`
	// RateLimited counts the requests refused by the limiter.
	RateLimited int64 `json:"rate_limited"`

	Faults map[FaultKind]int64 `json:"faults"`

	// Complete answers with a call's detail: the number of calls, of answers after a call's first,
	// and of those without any change.
	DetailsDistinct  int64 `json:"details_distinct"`
	DetailsAgain     int64 `json:"details_again"`
	DetailsUnchanged int64 `json:"details_unchanged"`
	// The same for the objects of other resources.
	ObjectsDistinct  int64 `json:"objects_distinct"`
	ObjectsAgain     int64 `json:"objects_again"`
	ObjectsUnchanged int64 `json:"objects_unchanged"`
}

// ledger holds a server's Stats, and the limiter shared by all keys.
type ledger struct {
	mu      sync.Mutex
	opts    *Options
	stats   Stats
	limiter *limit.Limiter
	second  limit.Rolling
	minute  limit.Rolling
	details map[int64]answered  // by the call's index
	objects map[string]answered // by path and query
}

// answered records the complete answers about one object.
type answered struct {
	times uint32
	state uint32 // a hash of the last answer
}

func newLedger(o *Options) *ledger {
	limiter, err := limit.New(o.Limiter, o.PerSecond, o.PerMinute)
	if err != nil {
		panic("sandbox: " + err.Error()) // the options were validated
	}
	l := &ledger{
		opts: o, limiter: limiter, second: limit.Rolling{Span: time.Second}, minute: limit.Rolling{Span: time.Minute},
		details: map[int64]answered{}, objects: map[string]answered{},
	}
	l.stats.ByKind = map[string]int64{}
	l.stats.ByStatus = map[string]int64{}
	l.stats.Faults = map[FaultKind]int64{}
	return l
}

// arrive counts a request and applies the limiter.
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
	if !slices.Contains(l.opts.Keys, key) {
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

// verdict is the result of checking a request's key and the limits.
type verdict struct {
	unknown bool // no such key
	refused bool // over the limit
	wait    time.Duration
}

// answered counts an answer. Status 0 means none was sent.
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

// stateOf changes exactly when a call's JSON does, apart from the recording's link.
func stateOf(v *world.View) uint32 {
	var s uint32
	for i, b := range []bool{v.Started, v.Over, v.Analysis, v.CostKnown, v.Transcript, v.Recording} {
		if b {
			s |= 1 << i
		}
	}
	return s | v.Edit()<<8
}

// sent counts a complete answer with a call's detail or an object of another resource.
func (l *ledger) sent(a *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if st := &l.stats; a.view != nil {
		countAnswer(l.details, a.view.Index, stateOf(a.view), &st.DetailsDistinct, &st.DetailsAgain, &st.DetailsUnchanged)
	} else if a.object != "" {
		countAnswer(l.objects, a.object, crc32.ChecksumIEEE(a.body), &st.ObjectsDistinct, &st.ObjectsAgain, &st.ObjectsUnchanged)
	}
}

func countAnswer[K comparable](all map[K]answered, key K, state uint32, distinct, again, unchanged *int64) {
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
	all[key] = answered{was.times + 1, state}
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
