package crawler

import (
	"context"
	"math/bits"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/crawler/forecast"
	"callhouse/internal/crawler/params"
	"callhouse/internal/crawler/streams"
	"callhouse/internal/schema"
)

// usable returns how many of a minute's requests a run sends if there are no other clients. The
// rest stays free for others: see api/pace.go.
func (c *Crawler) usable() float64 {
	return float64(c.minute) * 29 / 30
}

// Within returns the number of requests that a run sends in d if it starts with an unused budget
// and there are no other clients.
func (c *Crawler) Within(d time.Duration) int64 {
	return int64(min(float64(c.second)*d.Seconds(), c.usable()*d.Minutes()))
}

// Takes returns the time that n requests take if there are no other clients.
func (c *Crawler) Takes(n int64) time.Duration {
	return time.Duration(max(float64(n)/float64(c.second), 60*float64(n)/c.usable()) * float64(time.Second))
}

// Plan forecasts the requests of Run. It requests the sizes of the parts of the list that a run
// would read, and of lists that were never read. known is the number of calls in the store. Run
// must not be called after Plan.
func (c *Crawler) Plan(ctx context.Context, known int64) (forecast.Run, error) {
	defer c.api.Close()
	p := forecast.Run{Known: known, Total: -1}
	whole, err := c.size(ctx, stretch{0, forever})
	if err != nil {
		return p, err
	}
	p.Total = whole.page.Total
	todo := plan(&c.cfg, c.nowMS(), c.since, c.store.Coverage())
	if err := c.planList(ctx, &p, todo); err != nil {
		return p, err
	}
	if err := c.planRelisting(ctx, &p, todo); err != nil {
		return p, err
	}
	if !c.cfg.ListOnly {
		if err := c.planDetails(ctx, &p); err != nil {
			return p, err
		}
	}
	if c.recordings != nil {
		if p.Links, err = c.recordings.Forecast(ctx, c.windowFrom()); err != nil {
			return p, err
		}
	}
	if p.Resources, err = c.resources.Plan(ctx, max(0, p.Total)); err != nil {
		return p, err
	}
	if c.verifies() {
		others := p.Requests()
		p.Verified = forecast.Range{Least: c.bulk.PlanStored(max(others.Least, others.Most)), Most: c.bulk.PlanStored(others.Least)}
		p.Verified.Least = max(0, p.Verified.Least-p.Calls.Open) // calls that the run changes are left for the next
	}
	p.Asked = c.Progress().Requests
	return p, nil
}

// size requests one item of a part of the list, to get the number of its calls.
func (c *Crawler) size(ctx context.Context, s stretch) (*asked, error) {
	a, err := c.ask(ctx, query{Query: params.Query{Sorted: true, Before: s.to, After: max(0, s.from-1)}, limit: 1})
	switch {
	case err != nil:
		return nil, err
	case a.failure != nil && a.failure.Canceled():
		return nil, ctx.Err()
	case a.failure != nil:
		return nil, a.failure
	}
	for _, item := range a.page.Items {
		_, _ = c.read(item, schema.KindItem) // to learn which fields items have
	}
	return a, nil
}

// planList forecasts the pages of the stretches, and of the places of unsettled calls.
func (c *Crawler) planList(ctx context.Context, p *forecast.Run, todo []stretch) error {
	for _, s := range todo {
		planned := forecast.Stretch{From: s.from, To: s.to, Calls: p.Total}
		bounded := s.from > 0 || s.to != forever
		if bounded {
			a, err := c.size(ctx, s)
			if err != nil {
				return err
			}
			if planned.Calls = a.page.Total; a.query.After == 0 && s.from > 0 || a.query.Before != s.to { // refused
				planned, bounded = forecast.Stretch{To: forever, Calls: p.Total}, false
			}
		}
		planned.Pages = forecast.Pages(planned.Calls)
		p.Stretches = append(p.Stretches, planned)
		p.List = p.List.Plus(c.pagesOf(&planned, todo[0].from > 0 && !bounded))
		if planned.From == 0 && planned.To == forever {
			break
		}
	}
	if c.filters.AnyRefused() { // the run will find this out as well
		p.List.Least++
		p.List = p.List.Plus(forecast.Range{Most: 2})
	}
	places, err := c.unsettled(ctx, todo)
	if err != nil {
		return err
	}
	for _, place := range places {
		if c.filters.Now().Before != params.Refused { // otherwise the run lists everything
			n := forecast.Pages(place.Calls)
			p.Again = p.Again.Plus(forecast.Range{Least: n, Most: n + 1})
		}
	}
	return nil
}

// pagesOf returns the pages of a stretch. If parts of the list cannot be requested, a run reads
// only the upper part, provided that the list proves to be in order. A list that is read in parts
// takes further pages: the first of a part, its last, and two that count the calls without a start.
func (c *Crawler) pagesOf(s *forecast.Stretch, upper bool) forecast.Range {
	r := forecast.Exactly(s.Pages)
	switch {
	case s.Calls < 0:
		return forecast.Range{Least: 1, Most: -1}
	case upper:
		r.Least = 1
	case s.To == forever && s.From > 0: // calls without a start, and a page that shows the calls below
		r.Most++
	}
	if s.From <= c.since && c.filters.Now().Before != params.Refused { // what is below the end
		r.Most++
	}
	if s.Pages >= 2*c.partLeast {
		r.Most += 4 * s.Pages / c.partLeast
	}
	return r
}

// mostCounted is the maximum number of relisted spans whose size a plan requests.
const mostCounted = 4

// planRelisting forecasts which parts of the list are relisted because they were listed long ago.
func (c *Crawler) planRelisting(ctx context.Context, p *forecast.Run, todo []stretch) error {
	old := c.stale(todo)
	if len(old) == 0 || c.streams.Of("listing again", streams.Relist).Idle() != "" {
		return nil
	}
	left := c.seventh()
	for n, span := range old {
		if left <= 0 || n == mostCounted {
			break
		}
		a, err := c.size(ctx, stretch{span.From, span.To})
		switch {
		case err != nil:
			return err
		case c.filters.Now().Before == params.Refused: // the whole list is relisted
			p.Relisted = forecast.Range{Least: 1, Most: forecast.Pages(p.Total) + 2}
			return nil
		case a.page.Total < 0:
			p.Relisted.Most += left
			return nil
		}
		known, err := c.store.Between(ctx, span.From, span.To)
		if err != nil {
			return &StoreError{"count known calls", err}
		}
		p.Calls.New += max(0, a.page.Total-known)
		pages := min(left, forecast.Pages(a.page.Total))
		p.Relisted = p.Relisted.Plus(forecast.Exactly(pages))
		left -= pages
	}
	if len(old) > mostCounted {
		p.Relisted = p.Relisted.Plus(forecast.Range{Least: min(left, 1), Most: max(0, left)})
	}
	return nil
}

// planDetails counts the details that are due, and the maximum for other calls.
func (c *Crawler) planDetails(ctx context.Context, p *forecast.Run) error {
	for _, s := range p.Stretches {
		if s.Calls < 0 {
			p.Calls.New = -1
			break
		}
		known := p.Known
		if s.From > 0 || s.To != forever {
			var err error
			if known, err = c.store.Between(ctx, s.From, s.To); err != nil {
				return &StoreError{"count known calls", err}
			}
		}
		p.Calls.New += max(0, s.Calls-known)
	}
	if p.Calls.New >= 0 && c.since == 0 { // calls without a start are not in the count
		p.Calls.New = max(p.Calls.New, p.Total-p.Known)
	}
	if s, ok := c.store.(dueCounter); ok {
		p.Calls.Open = s.DueCount(calls.DueUnsettled)
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
			p.Calls.Skipped++
		case fetch:
			if due.Settles {
				p.Calls.Unsettled++
			} else {
				p.Calls.Due++
			}
		}
	}
	p.Calls.Open = max(0, p.Calls.Open-p.Calls.Due-p.Calls.Skipped)
	p.Transcripts = p.Calls.Records()
	if c.bulk == nil || c.briefList() {
		return nil
	}
	var err error
	p.Transcripts, err = c.bulk.Plan(ctx, &p.Calls, 2+int64(bits.Len64(uint64(p.List.Least/int64(c.minute)))))
	return err
}
