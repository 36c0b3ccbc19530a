package world

import (
	"maps"
	"slices"
	"sync/atomic"
)

// Changes are the clients' changes of computed campaigns. The zero value is ready; worlds may share
// it. Changes are made one at a time.
type Changes struct{ all atomic.Pointer[changes] }

// changes is immutable.
type changes struct {
	of    map[int64][]Change // by the campaign's number, in order of time
	order []int64            // campaigns in order of their first change
	count map[int]int        // by the agent's number
}

// now returns the changes so far; nil if none.
func (c *Changes) now() *changes { return c.all.Load() }

// Change changes a campaign.
func (w *World) Change(c *Campaign, more ...Change) {
	is := &changes{of: map[int64][]Change{}, count: map[int]int{}}
	if was := w.cfg.Changes.now(); was != nil {
		is = &changes{of: maps.Clone(was.of), order: slices.Clone(was.order), count: maps.Clone(was.count)}
	}
	if is.of[c.Number] == nil {
		is.order = append(is.order, c.Number)
	}
	is.of[c.Number] = slices.Concat(is.of[c.Number], more)
	is.count[c.Agent.Number] += len(more)
	w.cfg.Changes.all.Store(is)
}

// of1 returns the changes of one campaign.
func (c *changes) of1(number int64) []Change {
	if c == nil {
		return nil
	}
	return c.of[number]
}

// before returns the campaigns changed before one.
func (c *changes) before(number int64) []int64 {
	return c.order[:max(slices.Index(c.order, number), 0)]
}
