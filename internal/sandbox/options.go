package sandbox

import (
	"cmp"
	"fmt"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/limit"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/world"
)

// Config selects a server's world.
type Config = world.Config

// Options configure a [Server]. The zero value, apart from World.Origin, behaves like the live
// service, with its documented limits.
type Options struct {
	World Config
	// Organisation configures everything except calls.
	Organisation organisation.Config

	// Keys are the organisation's API keys, which share its limits. Default "sandbox-key".
	Keys []string

	// Clock, if set, is the data's clock, and /sandbox/clock can move it. Otherwise the data's
	// clock is Now, default time.Now.
	Clock *ManualClock
	Now   func() time.Time
	// LimitNow is the rate limiter's clock. Default time.Now.
	LimitNow func() time.Time
	// DateNow is the clock of the header Date. Default Now.
	DateNow func() time.Time

	// PerSecond and PerMinute are the limits of the organisation; 0 is the documented one (5 and
	// 120), negative is none. Limiter is their algorithm.
	PerSecond, PerMinute int
	Limiter              limit.Algorithm

	// ContractOnly refuses every query parameter except cursor and limit, as a service limited to
	// its contract may do.
	ContractOnly bool
	// OldFilters refuses the filters campaign_id and customer_id of calls, like the service before
	// it supported them.
	OldFilters bool
	// CampaignInCalls adds the field campaign_id to calls. The service is not known to have it.
	CampaignInCalls bool
	// ThinList leaves only id, status and start_at in list items.
	ThinList bool
	// OffsetPaging makes cursors offsets from the top, so that calls which appear or vanish between
	// two pages shift all later ones. Otherwise a cursor names the last item of its page.
	OffsetPaging bool
	// InclusiveBounds makes start_at_after and start_at_before inclusive. Otherwise both are
	// exclusive.
	InclusiveBounds bool
	// CursorTTL is the lifetime of a cursor by the data's clock; 0: unlimited.
	CursorTTL time.Duration

	// Faults are drawn, from Seed and the request's number, for every request with a known key and
	// within the limits.
	Faults Faults
	// ResourceFaults are the permanent faults of resources other than calls.
	ResourceFaults ResourceFaults
	// Lists selects faults of the list of v3's calls, V2 faults of v2's calls.
	Lists Lists
	V2    V2
	// Inject, if set, is called with the number of the request (from 1) before Faults are drawn; if
	// it returns "", Faults apply. It may move Clock, so that calls appear and vanish between any
	// two requests.
	Inject func(number int64, request Request) FaultKind
	// Latency, plus a random time up to Jitter, is added to every answer under /v3.
	Latency, Jitter time.Duration
	// Tail, if set, makes the delays log-normal around that: the standard deviation of the factor's
	// logarithm.
	Tail float64
	// Recordings is the base address of links to recordings (a recordings.Host), without a trailing
	// slash. Default: a host that does not exist.
	Recordings string
	// Counted is the moment within the latency at which a request is counted. Default: random.
	Counted Moment
}

// Moment is a moment between the arrival of a request and its answer.
type Moment string

// Moments at which a request may be counted.
const (
	AtRandom  Moment = "random"
	AtArrival Moment = "arrival"
	AtAnswer  Moment = "answer"
)

// Request is the information available to Inject.
type Request struct {
	Kind     string // page or detail of calls, bulk for calls of v2, list or object of another resource, write, other
	Resource string // of a list or an object; v2_calls, v2_call or v2_calls_legacy of a bulk request
	ID       string // of a detail, an object or a v2_call; the parent of a list: an agent or knowledge base
	Query    string // of a page or a list, as sent
}

func (o *Options) setDefaults() error {
	if len(o.Keys) == 0 {
		o.Keys = []string{"sandbox-key"}
	}
	for _, k := range o.Keys {
		if k == "" {
			return fmt.Errorf("a key is empty")
		}
	}
	if o.Clock != nil {
		o.Now = o.Clock.Now
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LimitNow == nil {
		o.LimitNow = time.Now
	}
	if o.DateNow == nil {
		o.DateNow = o.Now
	}
	o.PerSecond = cmp.Or(o.PerSecond, 5)
	o.PerMinute = cmp.Or(o.PerMinute, 120)
	o.Limiter = cmp.Or(o.Limiter, limit.SlidingLog)
	if o.World.Origin.IsZero() {
		o.World.Origin = o.Now()
	}
	o.Counted = cmp.Or(o.Counted, AtRandom)
	if err := dice.Known("moment of counting", o.Counted, []Moment{AtRandom, AtArrival, AtAnswer}); err != nil {
		return err
	}
	if o.Latency < 0 || o.Jitter < 0 || !(o.Tail >= 0 && o.Tail <= 3) {
		return fmt.Errorf("latency and jitter must not be negative, and the tail of latencies must be 0 to 3")
	}
	if err := o.Lists.check(); err != nil {
		return err
	}
	if _, err := limit.New(o.Limiter, 1, 1); err != nil {
		return err
	}
	if err := o.ResourceFaults.check(); err != nil {
		return err
	}
	if err := o.V2.check(); err != nil {
		return err
	}
	return o.Faults.Check("fault", anyFault)
}
