package api

import "sync"

// Counts are the running numbers of a client.
type Counts struct {
	Requests       int64 // attempts, each charged to the budget
	PageRequests   int64
	DetailRequests int64
	SideRequests   int64 // for pages of lists other than the calls
	BulkRequests   int64 // for pages of whole calls
	Retries        int64 // attempts after a failed one, including those after a 429

	Status2xx int64
	Status3xx int64
	Status4xx int64
	Status5xx int64

	RateLimited   int64 // 429
	ServerErrors  int64 // 5xx
	NetworkErrors int64 // no answer, or an incomplete one
	WrongBodies   int64 // 200, complete, but not the requested content
}

// counter keeps Counts for many requests at once.
type counter struct {
	mu sync.Mutex
	n  Counts
}

func (c *counter) now() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *counter) sent(k Kind, retry bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n.Requests++
	switch k {
	case Record:
		c.n.DetailRequests++
	case Side:
		c.n.SideRequests++
	case Bulk:
		c.n.BulkRequests++
	default:
		c.n.PageRequests++
	}
	if retry {
		c.n.Retries++
	}
}

// ended counts the end of an attempt; f is nil for a good one.
func (c *counter) ended(f *RequestError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f == nil {
		c.n.Status2xx++
		return
	}
	switch f.Status / 100 {
	case 2:
		c.n.Status2xx++
	case 3:
		c.n.Status3xx++
	case 4:
		c.n.Status4xx++
	case 5:
		c.n.Status5xx++
		c.n.ServerErrors++
	}
	if count := f.rule.count; count != nil {
		*count(&c.n)++
	}
}
