package crawler

import "time"

// clockApart is how far apart our clock and the service's may be.
const clockApart = 24 * time.Hour

// checkClock compares our clock with that of the first answer that tells the
// service's, before anything that came is stored: a call that is seen at a wrong
// time would have it for ever, and what is due, over or old goes by it too. An
// answer that ends the run anyway, and may not be the service's, does not count.
func (c *Crawler) checkClock(a *answer, f *failure) error {
	if a.date.IsZero() || f != nil && (rules[f.class].ofPage == badBase || rules[f.class].ofPage == badKey) {
		return nil
	}
	if !c.clockSeen.CompareAndSwap(false, true) {
		return nil
	}
	ours := c.cfg.Now()
	if apart := ours.Sub(a.date).Abs(); apart <= clockApart {
		return nil
	}
	err := &ClockError{Ours: ours, Theirs: a.date}
	if c.cfg.AnyClock {
		c.log.Warn("going on all the same", "error", err)
		return nil
	}
	return err
}
