package crawler

import (
	"context"
	"time"

	"callhouse/internal/crawler/filters"
	"callhouse/internal/schema"
)

// Plan is the forecast of a run's requests.
type Plan struct {
	Total     int64 // the service's calls; -1: unspecified
	Known     int64 // the store's calls
	Stretches []Planned
	Pages     int64 // of all stretches
	Again     int64 // pages with older calls that are not settled
	Due       int64 // details that are due as of the last commit
	Skipped   int64 // details that are not requested because of their calls' kind
	Unsettled int64 // details that settle calls, if the list does not
	New       int64 // maximum number of calls that the store does not know, and so of their details
	Bulk      PlannedBulk
	Asked     int64 // requests used by planning itself
	// Side are the requests for other resources, assuming unchanged lengths of their lists;
	// Unlisted are those that were never listed.
	Side     int64
	Unlisted int64
}

// Planned is a part of the list that a run would read: the calls with From <= start_at < To, in ms
// since 1970 UTC; a To of math.MaxInt64 is no bound.
type Planned struct {
	From, To int64
	Calls    int64 // -1: unspecified
	Pages    int64
}

// PlannedBulk is the forecast for pages of v2: none unless they save requests.
type PlannedBulk struct {
	Pages    int64
	Calls    int64 // of Due and New, those whose transcripts come on pages
	Compared int64 // those of them that are also fetched one by one
}

// Requests is the maximum number of requests of the run.
func (p *Plan) Requests() int64 { return p.Pages + p.Again + p.Side + p.Bulk.Pages + p.Details() }

// Details is the maximum number of details of the run.
func (p *Plan) Details() int64 { return p.Due + p.Unsettled + p.New - p.Bulk.Calls + p.Bulk.Compared }

// usable is how many of a minute's requests a run sends while nobody else does. The rest stays free
// for others: see api/pace.go.
func (c *Crawler) usable() float64 {
	return float64(c.minute) * 29 / 30
}

// Within returns the number of requests that a run sends in d, if it starts with nothing spent and
// nobody else uses the limits.
func (c *Crawler) Within(d time.Duration) int64 {
	return int64(min(float64(c.second)*d.Seconds(), c.usable()*d.Minutes()))
}

// Takes returns the time that n requests take if nobody else uses the limits.
func (c *Crawler) Takes(n int64) time.Duration {
	return time.Duration(max(float64(n)/float64(c.second), 60*float64(n)/c.usable()) * float64(time.Second))
}

// Plan forecasts the requests of Run. It asks the service for the sizes of the parts of the list
// that a run would read, with one item each. known is the number of calls in the store. A Crawler
// that has planned does not run.
func (c *Crawler) Plan(ctx context.Context, known int64) (Plan, error) {
	defer c.api.Close()
	p := Plan{Known: known, Total: -1}
	size := func(q query) (*asked, error) {
		q.limit = 1
		a, err := c.ask(ctx, q)
		switch {
		case err != nil:
			return nil, err
		case a.failure != nil && a.failure.Canceled():
			return nil, ctx.Err()
		case a.failure != nil:
			return nil, a.failure
		}
		for _, item := range a.page.Items {
			_, _ = c.read(item, schema.KindItem) // to see which fields items have
		}
		return a, nil
	}
	whole, err := size(query{sorted: true, before: forever})
	if err != nil {
		return p, err
	}
	p.Total = whole.page.Total
	todo := plan(&c.cfg, c.nowMS(), c.since, c.store.Coverage())
	for _, s := range todo {
		planned := Planned{From: s.from, To: s.to, Calls: p.Total}
		if s.from > 0 || s.to != forever {
			a, err := size(query{sorted: true, before: s.to, after: max(0, s.from-1)})
			if err != nil {
				return p, err
			}
			if planned.Calls = a.page.Total; a.query.after == 0 && s.from > 0 || a.query.before != s.to { // refused: the run will list everything
				planned = Planned{To: forever, Calls: p.Total}
			}
		}
		planned.Pages = pagesOf(planned.Calls)
		p.Stretches = append(p.Stretches, planned)
		p.Pages += planned.Pages
		if planned.From == 0 && planned.To == forever {
			break
		}
	}
	places, err := c.unsettled(ctx, todo)
	if err != nil {
		return p, err
	}
	for _, place := range places {
		if c.filters.Now().Before != filters.Refused { // otherwise the run lists everything
			p.Again += pagesOf(place.Calls)
		}
	}
	if !c.cfg.ListOnly {
		if err := c.planDetails(ctx, &p); err != nil {
			return p, err
		}
	}
	if p.Side, p.Unlisted, err = c.resources.Plan(ctx); err != nil {
		return p, err
	}
	p.Asked = c.Progress().Requests
	return p, nil
}

// planDetails counts the details that are due, and the maximum for new calls.
func (c *Crawler) planDetails(ctx context.Context, p *Plan) error {
	if p.Total >= 0 {
		p.New = max(0, p.Total-p.Known)
	}
	if err := c.learn(ctx); err != nil {
		return err
	}
	for due, err := range c.store.Due(ctx, c.scope()) {
		if err != nil {
			return &StoreError{"read the calls that are due", err}
		}
		switch c.decide(&due) {
		case skip:
			p.Skipped++
		case fetch:
			if due.Settles {
				p.Unsettled++
			} else {
				p.Due++
			}
		}
	}
	return c.planBulk(ctx, p)
}
