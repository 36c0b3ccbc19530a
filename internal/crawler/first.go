package crawler

import (
	"context"
	"math/bits"
	"net/url"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/crawler/bulk"
	"callhouse/internal/crawler/envelope"
	"callhouse/internal/crawler/forecast"
)

// Try sends one request, without retries, and returns the number of the service's calls, -1 if it
// is unspecified. Its error is one of package api.
func Try(ctx context.Context, cfg api.Config) (total int64, err error) {
	client, err := api.New(cfg)
	if err != nil {
		return -1, err
	}
	defer client.Close()
	var page envelope.Page
	err = client.Once(ctx, api.Request{Path: callsPath, Query: url.Values{"limit": {"1"}}}, func(a *api.Answer) (err error) {
		page, err = envelope.Parse("items", a.Body)
		return err
	})
	return page.Total, err
}

// First forecasts the run that fills an empty store with this many calls. It sends no request, so
// whether pages of v2 can be used is unknown, and resources are left out.
func First(cfg *api.Config, calls int64) forecast.Run {
	_, minute := cfg.Limits()
	p := forecast.Run{Total: calls, List: forecast.Exactly(forecast.Pages(calls)), Calls: forecast.Calls{New: calls}}
	p.Transcripts = bulk.Estimate(&p.Calls, 2+int64(bits.Len64(uint64(p.List.Least/int64(minute)))))
	return p
}

// Takes returns the time that n requests take within the limits if there are no other clients.
func Takes(cfg *api.Config, n int64) time.Duration {
	var c Crawler
	c.second, c.minute = cfg.Limits()
	return c.Takes(n)
}
