package crawler

import (
	"time"

	"callhouse/internal/api"
)

// slack is how much an operation may be repeated early, relative to whole days: a run may begin
// slightly earlier than the previous one.
const slack = 12 * time.Hour

// The allowances of operations.
var (
	// listAllowance is the allowance of a resource's lists, and of its records.
	listAllowance = api.Allowance{Failures: 12, Time: 2 * time.Minute}
	// bulkAllowance is the allowance of pages of v2.
	bulkAllowance = api.Allowance{Failures: 6, Time: 3 * time.Minute}
	// relistAllowance is the allowance for listing old parts of the list again.
	relistAllowance = api.Allowance{Failures: 12, Time: 3 * time.Minute}
	// linksAllowance is the allowance for records requested for new links to recordings.
	linksAllowance = api.Allowance{Failures: 12, Time: 3 * time.Minute}
)

// stream returns the stream of an optional operation of this run.
func (c *Crawler) stream(name string, a api.Allowance) *api.Stream {
	c.streamsMu.Lock()
	defer c.streamsMu.Unlock()
	if c.streams[name] == nil {
		c.streams[name] = api.NewStream(a)
	}
	return c.streams[name]
}
