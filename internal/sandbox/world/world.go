// Package world computes a company's calls from a seed: their participants, times and words, and
// what the service shows of them at an instant.
//
// Calls are computed on demand and never stored, so ten million calls take no memory. The same
// [Config] and instant give the same calls. The world changes with its clock: calls are queued,
// start, end, and get their analysis and cost later. [World.Truth] counts what shows at an instant,
// without code of the pipeline, as an independent reference.
//
// Times inside the package are unix milliseconds, UTC, unless a name says otherwise; "the company's
// zone" is UTC+9, without daylight saving.
package world

import (
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"callhouse/internal/sandbox/dice"
)

// World computes a company's calls and stores none; it is safe for concurrent use.
//
// Calls have an index: 0 is the oldest, Config.Calls the first that starts after Config.Origin, and
// there is always a next one. A higher index never starts earlier. Calls of Config.Orders have
// negative indexes.
type World struct {
	cfg       Config
	Key       uint64
	base      int64 // call 0 on the arrival curve
	arrivals  *arrivals
	agents    []*Agent
	roster    *roster
	ids       cipher
	hides     bool // some calls show late or vanish
	driftFrom int64

	firstCampaign int64
	campaigns     sync.Map // of *Campaign by number
	handed        sync.Map // when clients took over campaigns, by number
}

// New validates cfg and prepares its world.
func New(cfg Config) (*World, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, fmt.Errorf("check world: %w", err)
	}
	key := dice.Hash(cfg.Seed, 1)
	for _, n := range []uint64{uint64(cfg.Calls), uint64(cfg.Days), uint64(cfg.Agents)} {
		key = dice.Hash(key, n)
	}
	perDay := float64(max(cfg.Calls, 1)) / float64(cfg.Days)
	if cfg.Agents < 0 {
		perDay = 1e-9 // the next call starts in millions of years
	}
	w := &World{
		cfg: cfg, Key: key,
		arrivals: newArrivals(key, perDay, cfg.TieRate, cfg.Steady),
		ids:      newCipher(key),
		hides:    cfg.LateVisibleRate > 0 || cfg.DeleteRate > 0 || cfg.Hidden > 0,
	}
	if !cfg.DriftFrom.IsZero() {
		w.driftFrom = cfg.DriftFrom.UnixMilli()
	}
	w.base = w.arrivals.before(cfg.Origin.UnixMilli()) - cfg.Calls
	agents, err := newAgents(dice.Hash(key, 4), max(cfg.Agents, 1)) // ordered calls need an agent as a model
	if err != nil {
		return nil, fmt.Errorf("make agents: %w", err)
	}
	w.agents, w.roster = agents, newRoster(agents)
	w.firstCampaign = floorDiv(cfg.Origin.UnixMilli()-Epoch, campaignEvery) - int64(cfg.Campaigns) + 1
	return w, nil
}

// Agents returns the company's agents in order of their numbers; not to be changed.
func (w *World) Agents() []*Agent { return w.agents[:max(w.cfg.Agents, 0)] }

// Origin is the instant by which Config.Calls calls have started.
func (w *World) Origin() time.Time { return w.cfg.Origin }

// PerDay is the mean number of calls per day.
func (w *World) PerDay() float64 { return w.arrivals.perPeriod / periodDays }

// Call computes the final state of call index into c.
func (w *World) Call(c *Call, index int64) {
	if index >= 0 {
		w.call(c, w.base+index)
	} else if ordered := w.cfg.Orders.call(index); ordered != nil {
		*c = *ordered
	} else {
		*c = Call{VisibleAt: math.MaxInt64} // no such call
	}
}

// ID returns the id of call index.
func (w *World) ID(index int64) UUID {
	if c := w.cfg.Orders.call(index); c != nil {
		return c.ID
	}
	return w.id(w.base + index)
}

func (w *World) id(k int64) UUID {
	body := w.ids.encrypt(uint64(k))
	return newUUID(body, dice.Hash(w.Key+1, body))
}

// IndexOf returns the index of the call with an id of this world, whether or not it shows yet.
func (w *World) IndexOf(id UUID) (index int64, ok bool) {
	if c := w.cfg.Orders.find(id); c != nil {
		return c.Index, true
	}
	k := int64(w.ids.decrypt(id.body()))
	index = k - w.base
	return index, index >= 0 && w.id(k) == id
}

// Find returns what the API shows of a call at an instant; false if nothing.
func (w *World) Find(id string, at time.Time) (*View, bool) {
	u, ok := ParseUUID(id)
	if !ok {
		return nil, false
	}
	index, ok := w.IndexOf(u)
	if !ok {
		return nil, false
	}
	return w.View(index, at)
}

// View returns what the API shows of call index at an instant; false if nothing.
func (w *World) View(index int64, at time.Time) (*View, bool) {
	v := &View{}
	if w.Call(&v.Call, index); !v.Call.shows(at.UnixMilli()) {
		return nil, false
	}
	v.show(at.UnixMilli())
	return v, true
}

// Start returns the start of call index.
func (w *World) Start(index int64) int64 {
	if c := w.cfg.Orders.call(index); c != nil {
		return c.StartAt
	}
	return w.arrivals.start(w.base + index)
}

// Started returns the number of calls that have started at or before t, hidden ones included: they
// have the lower indexes.
func (w *World) Started(t time.Time) int64 { return w.started(t.UnixMilli()) }

func (w *World) started(t int64) int64 { return max(0, w.arrivals.before(t)-w.base) }

// Top returns the index after the last call that can show at t: some calls are queued before they
// start.
func (w *World) Top(t int64) int64 { return w.started(t + maxQueue) }

// shows reports whether the API shows call index at t. For calls below started this is cheap.
func (w *World) shows(index, t, started int64) bool {
	if index >= started {
		var c Call
		w.Call(&c, index)
		return c.shows(t)
	}
	if !w.hides {
		return true
	}
	k := w.base + index
	shows, vanishes := w.hidden(k, w.arrivals.start(k))
	return shows <= t && (vanishes == 0 || t < vanishes)
}

// Visible yields every call that the API shows at an instant in default order, newest first. The
// view is overwritten by the next one; copy it to keep it.
func (w *World) Visible(at time.Time) iter.Seq[*View] {
	t := at.UnixMilli()
	return w.Merge(w.Walk(t, 0, w.Top(t), false), w.Ordered(t, false), false)
}

// Walk yields the computed calls of lo <= index < hi that show at t, newest or oldest first. The
// view is overwritten by the next one.
func (w *World) Walk(t, lo, hi int64, ascending bool) iter.Seq[*View] {
	return func(yield func(*View) bool) {
		var v View
		for n := range max(hi-lo, 0) {
			i := hi - 1 - n
			if ascending {
				i = lo + n
			}
			if w.Call(&v.Call, i); !v.Call.shows(t) {
				continue
			}
			v.show(t)
			if !yield(&v) {
				return
			}
		}
	}
}

// Count returns the number of calls that the API shows at an instant.
func (w *World) Count(at time.Time) int64 {
	t := at.UnixMilli()
	return w.CountIn(t, 0, w.Top(t)) + w.orders(t)
}

// CountIn returns the number of computed calls lo <= index < hi that show at t.
func (w *World) CountIn(t, lo, hi int64) int64 {
	started := w.started(t)
	var n int64
	if !w.hides {
		n = max(0, min(hi, started)-lo)
		lo = max(lo, started)
	}
	for i := lo; i < hi; i++ {
		if w.shows(i, t, started) {
			n++
		}
	}
	return n
}
