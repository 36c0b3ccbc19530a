package sandbox

import (
	"cmp"
	"fmt"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/limit"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/statefile"
	"callhouse/internal/sandbox/world"
)

// Config says which world a server shows.
type Config = world.Config

// Options says how a [Server] behaves. The zero value but for World.Origin is
// the service as it is seen live, at its documented limits.
type Options struct {
	World Config
	// Organisation is what there is besides calls.
	Organisation organisation.Config

	// Keys are the organisation's API keys, which share its limits. Default "sandbox-key".
	Keys []string

	// State, where set, keeps what is done: writes, and moves of Clock by /sandbox/clock.
	// What it kept before is done again first.
	State *statefile.File

	// Clock, where set, is the data's clock, and /sandbox/clock can move it.
	// Otherwise the data's clock is Now, default time.Now.
	Clock *ManualClock
	Now   func() time.Time
	// LimitNow is the rate limiter's clock. Default time.Now.
	LimitNow func() time.Time
	// DateNow is the clock of the header Date. Default Now.
	DateNow func() time.Time

	// PerSecond and PerMinute are the limits of the organisation; 0 is the documented
	// one (5 and 120), negative is none. Limiter is how they are counted.
	PerSecond, PerMinute int
	Limiter              limit.Algorithm

	// ContractOnly refuses every query parameter but cursor and limit, as a
	// service that keeps to its contract and no more may do.
	ContractOnly bool
	// OldFilters refuses the filters campaign_id and customer_id of calls, as the
	// service did before it had them.
	OldFilters bool
	// CampaignInCalls gives calls the field campaign_id. The service is not known to
	// have it.
	CampaignInCalls bool
	// NamedVersions makes calls name the version in production by its number, and
	// some versions better than others.
	NamedVersions bool
	// ThinList leaves only id, status and start_at in list items.
	ThinList bool
	// OffsetPaging makes cursors count items from the top, so that calls that
	// arrive or vanish between two pages shift all later ones. Otherwise a
	// cursor names the last item of its page.
	OffsetPaging bool
	// InclusiveBounds makes start_at_after and start_at_before include the
	// instant that they name. Otherwise both leave it out.
	InclusiveBounds bool
	// CursorTTL is how long a cursor stays good by the data's clock; 0: for ever.
	CursorTTL time.Duration

	// Faults are drawn for every request that has a known key and is within the
	// limits, from Seed and the number of the request.
	Faults Faults
	// ResourceFaults are what is wrong with resources other than calls, for ever.
	ResourceFaults ResourceFaults
	// V2 says how the calls of v2 are served.
	V2 V2
	// Inject, where set, is asked before Faults are drawn, with the number of the
	// request (from 1); an empty answer leaves it to Faults. It may move Clock,
	// so that calls arrive and vanish between any two requests.
	Inject func(number int64, request Request) FaultKind
	// SlowFor is how long the fault "slow" waits. Default 5 s.
	SlowFor time.Duration
	// Latency is added to every answer under /v3, and a draw from 0 to Jitter.
	Latency, Jitter time.Duration
	// Recordings is the address in links to recordings (of a recordings.Host), without a slash at
	// the end. Default: a host that does not exist.
	Recordings string
	// Counted is when during the latency a request is counted. Default: at random.
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

// Request is what an injected fault may depend on.
type Request struct {
	Kind     string // page or detail of calls, bulk for calls of v2, list or object of another resource, write, other
	Resource string // of a list or an object; of a bulk request v2_calls, v2_call or v2_calls_legacy
	ID       string // of a detail, an object or a v2_call; of the agent or the knowledge base that a list belongs to
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
	o.SlowFor = cmp.Or(o.SlowFor, 5*time.Second)
	if o.World.Origin.IsZero() {
		o.World.Origin = o.Now()
	}
	o.Counted = cmp.Or(o.Counted, AtRandom)
	if err := dice.Known("moment of counting", o.Counted, []Moment{AtRandom, AtArrival, AtAnswer}); err != nil {
		return err
	}
	if o.Latency < 0 || o.Jitter < 0 {
		return fmt.Errorf("latency and jitter must not be negative")
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
