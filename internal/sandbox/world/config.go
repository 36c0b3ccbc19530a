package world

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Config selects the world to compute. The zero value of every rate means none, except TieRate.
type Config struct {
	// Seed selects the world. Worlds that differ in Seed, Calls, Days or Agents share no call.
	Seed uint64
	// Calls is the number of calls that have started by Origin, except those hidden by a rate
	// below. A company without calls gets its first ones after Origin.
	Calls int64
	// Days is the approximate time these calls took to arrive: after Origin the world continues at
	// Calls/Days a day. Default 30.
	Days int
	// Agents is the number of voice agents, up to 200. Default 30; negative: none, and only ordered
	// calls.
	Agents int
	// Origin is the instant by which Calls calls have started; required. Worlds that differ only in
	// Origin agree on every common call: a later Origin drops old calls but never renames or moves
	// one.
	Origin time.Time

	// Campaigns is the approximate number of campaigns by Origin; another one comes every five
	// days. Default 3, negative: none. They change no call.
	Campaigns int
	// Personal plants personal data and near misses into conversations, tool calls, metadata and
	// summaries. Nothing else of a call changes.
	Personal bool

	// Steady makes calls arrive at the same rate at all hours and on all days.
	Steady bool

	// TieRate is the share of calls that start in the same millisecond as the one before. Default
	// 0.002; negative: none.
	TieRate float64
	// LateVisibleRate is the share of calls that the API shows only some time (1 minute to 6 hours)
	// after their start.
	LateVisibleRate float64
	// DeleteRate is the share of calls that vanish 1 minute to 10 days after their start.
	DeleteRate float64
	// Hidden is the number of calls, spread over the first Calls, that never show.
	Hidden int64
	// Faults are the shares of calls that are late, replaced or in another form.
	Faults Faults
	// Orders are the ordered calls besides the computed ones.
	Orders *Orders
	// DriftRate is the share of calls, from DriftFrom on, sent in a future form: a new
	// disconnection reason, a new field, a number instead of a decimal string.
	DriftRate float64
	DriftFrom time.Time
}

func (c *Config) setDefaults() error {
	c.Days = cmp.Or(c.Days, 30)
	c.Orders = cmp.Or(c.Orders, &Orders{})
	c.Agents = cmp.Or(c.Agents, 30)
	if c.Agents < 0 {
		c.Campaigns = -1
	}
	c.Campaigns = cmp.Or(c.Campaigns, 3)
	c.TieRate = cmp.Or(c.TieRate, .002)
	switch {
	case c.Calls < 0 || c.Calls > 1e9:
		return fmt.Errorf("calls must be 0 to 1,000,000,000, not %d", c.Calls)
	case c.Days < 0 || c.Days > 3650:
		return fmt.Errorf("days must be 1 to 3650, not %d", c.Days)
	case c.Hidden < 0 || c.Hidden > c.Calls:
		return fmt.Errorf("hidden calls must be 0 to %d, the number of calls, not %d", c.Calls, c.Hidden)
	case c.Agents > 200:
		return fmt.Errorf("agents must be 0 to 200, not %d", c.Agents)
	case c.Agents < 0 && c.Calls > 0:
		return errors.New("without agents, calls must be 0")
	case c.Campaigns > 1000:
		return fmt.Errorf("campaigns must be 0 to 1000, not %d", c.Campaigns)
	case c.Origin.IsZero():
		return errors.New("origin is not set")
	}
	for _, r := range []struct {
		name string
		rate float64
	}{
		{"tie", max(c.TieRate, 0)}, {"late-visible", c.LateVisibleRate}, {"delete", c.DeleteRate}, {"drift", c.DriftRate},
	} {
		if !(r.rate >= 0 && r.rate <= 1) {
			return fmt.Errorf("%s rate must be 0 to 1, not %v", r.name, r.rate)
		}
	}
	return checkFaults(c.Faults)
}
