package crawler

import (
	"context"
	"net/url"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/calls"
)

// Plan is an estimate of a run's requests, if none of them fails.
type Plan struct {
	Total       int64 `json:"total_count"` // the service's calls; -1: unspecified
	Pages       int64 `json:"pages"`       // of the list of calls
	Transcripts int64 `json:"transcripts"` // at most; pages of v2 need fewer
	Resources   int64 `json:"resources"`
}

// usable returns how many of a minute's requests a run sends if there are no other clients. The
// rest stays free for others: see api/pace.go.
func usable(minute int) float64 { return float64(minute) * 29 / 30 }

// Within returns the number of requests that a run sends in d if it starts with an unused budget
// and there are no other clients.
func (c *Crawler) Within(d time.Duration) int64 {
	return int64(min(float64(c.second)*d.Seconds(), usable(c.minute)*d.Minutes()))
}

// Takes returns the time that n requests take within the limits if there are no other clients.
func Takes(cfg *api.Config, n int64) time.Duration {
	second, minute := cfg.Limits()
	return time.Duration(max(float64(n)/float64(second), 60*float64(n)/usable(minute)) * float64(time.Second))
}

// Plan estimates the requests of Run from the service's number of calls, which takes one or two requests, and
// from what is due: see Forecast. Run must not be called after Plan.
func (c *Crawler) Plan(ctx context.Context) (p Plan, err error) {
	defer c.api.Close()
	a, err := c.ask(ctx, query{bounds: bounds{Sorted: true, Before: forever, After: max(0, c.since-1)}, limit: 1})
	switch {
	case err != nil:
		return p, err
	case a.failure != nil && a.failure.Canceled():
		return p, ctx.Err()
	case a.failure != nil:
		return p, a.failure
	}
	return c.Forecast(ctx, a.page.Total)
}

// Forecast estimates the requests of Run from what is due, if the service has so many calls; -1: unknown.
func (c *Crawler) Forecast(ctx context.Context, total int64) (p Plan, err error) {
	known := func(from, to int64) (n int64) { // after an error, no count is used
		if err == nil {
			if n, err = c.store.Between(ctx, from, to); err != nil {
				err = &StoreError{"count known calls", err}
			}
		}
		return n
	}
	p.Total = total
	fresh := max(0, p.Total-known(c.since, forever))
	listed, stale := fresh, int64(0)
	todo := plan(&c.cfg, c.nowMS(), c.since, c.store.Coverage())
	for _, s := range todo {
		listed += known(s.from, s.to)
	}
	for _, span := range c.stale() {
		stale += pagesOf(known(span.From, span.To))
	}
	if err != nil {
		return p, err
	}
	places, err := c.unsettled(ctx, todo)
	p.Pages = pagesOf(listed) + min(stale, c.maxRelisted())
	for _, place := range places {
		p.Pages += pagesOf(place.Calls)
	}
	if !c.cfg.ListOnly {
		p.Transcripts = fresh + c.store.DueCount(calls.DueUnsettled) // calls in progress may have ended
	}
	p.Resources = c.resources.plan()
	return p, err
}

// Try sends one request, without retries, and returns the number of the service's calls, -1 if it
// is unspecified. Its error is one of package api.
func Try(ctx context.Context, cfg api.Config) (total int64, err error) {
	client, err := api.New(cfg)
	if err != nil {
		return -1, err
	}
	defer client.Close()
	var page listPage
	err = client.Once(ctx, api.Request{Path: callsPath, Query: url.Values{"limit": {"1"}}}, func(a *api.Answer) (err error) {
		page, err = parsePage("items", a.Body)
		return err
	})
	return page.Total, err
}
