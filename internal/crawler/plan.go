package crawler

import (
	"context"
	"net/url"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/calls"
)

// Range is a number of requests. A negative Most is unknown.
type Range struct{ Least, Most int64 }

// Plus returns the sum of two numbers.
func (r Range) Plus(o Range) Range {
	if r.Most < 0 || o.Most < 0 {
		return Range{r.Least + o.Least, -1}
	}
	return Range{r.Least + o.Least, r.Most + o.Most}
}

// Plan is an estimate of a run's requests, if none of them fails.
type Plan struct {
	Total       int64 // the service's calls; -1: unspecified
	Pages       Range // of the list of calls
	Transcripts Range // the fewest if pages of v2 serve all, the most with one request for each call
	Resources   Range
	Asked       int64 // requests of the planning itself
}

// Requests returns the requests of the run.
func (p *Plan) Requests() Range { return p.Pages.Plus(p.Transcripts).Plus(p.Resources) }

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

// First estimates the run that fills an empty store with a number of calls, without resources.
func First(total int64) Plan {
	p := Plan{Total: total, Pages: Range{pagesOf(total), pagesOf(total)}, Transcripts: Range{Most: total}}
	if n := bulkRequests(total); n < total {
		p.Transcripts.Least = n
	}
	return p
}

// Plan estimates the requests of Run from the service's number of calls, which it requests. Run must not
// be called after Plan.
func (c *Crawler) Plan(ctx context.Context) (Plan, error) {
	defer c.api.Close()
	var p Plan
	fresh, err := c.planList(ctx, &p)
	if err == nil && !c.cfg.ListOnly {
		p.Transcripts, err = c.planTranscripts(ctx, fresh)
	}
	if err == nil {
		p.Resources.Least, err = c.resources.plan(ctx)
		p.Resources.Most = p.Resources.Least
	}
	p.Asked = c.Progress().Requests
	return p, err
}

// planList estimates the pages of the list, and returns how many calls on them are not in the store; -1
// if that is unknown.
func (c *Crawler) planList(ctx context.Context, p *Plan) (fresh int64, err error) {
	a, err := c.ask(ctx, query{bounds: bounds{Sorted: true, Before: forever, After: max(0, c.since-1)}, limit: 1})
	switch {
	case err != nil:
		return 0, err
	case a.failure != nil && a.failure.Canceled():
		return 0, ctx.Err()
	case a.failure != nil:
		return 0, a.failure
	}
	for _, item := range a.page.Items {
		c.seeBrief(item)
	}
	between := func(from, to int64) (n int64) { // after an error, no count is used
		if err == nil {
			if n, err = c.store.Between(ctx, from, to); err != nil {
				err = &StoreError{"count known calls", err}
			}
		}
		return n
	}
	p.Total, fresh = a.page.Total, -1
	if p.Total >= 0 {
		fresh = max(0, p.Total-between(c.since, forever))
	}
	todo := plan(&c.cfg, c.nowMS(), c.since, c.store.Coverage())
	again := max(0, fresh)
	for _, s := range todo {
		again += between(s.from, s.to)
	}
	stale := int64(0)
	for _, span := range c.stale() {
		stale += pagesOf(between(span.From, span.To))
	}
	if err != nil {
		return 0, err
	}
	places, err := c.unsettled(ctx, todo)
	pages := max(1, pagesOf(again)) + min(stale, c.seventh())
	for _, place := range places {
		pages += pagesOf(place.Calls)
	}
	p.Pages = Range{pages, pages}
	if fresh < 0 {
		p.Pages.Most = -1
	}
	return fresh, err
}

// planTranscripts estimates the requests for transcripts: of the calls that are due, and of at most
// fresh others.
func (c *Crawler) planTranscripts(ctx context.Context, fresh int64) (Range, error) {
	if err := c.learn(ctx); err != nil {
		return Range{}, err
	}
	var due int64
	for call, err := range c.store.Due(ctx, c.scope()) {
		if err != nil {
			return Range{}, &StoreError{"read the calls that are due", err}
		}
		if c.decide(&call) == fetch {
			due++
		}
	}
	most := due + max(0, fresh)
	most += max(0, c.store.DueCount(calls.DueUnsettled)-due) // calls in progress that may have ended
	out := Range{due, most}
	if !c.briefList() {
		if n := c.bulk.plan(ctx, most); n < most {
			out.Least = n
		}
	}
	if fresh < 0 {
		out.Most = -1
	}
	return out, nil
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
