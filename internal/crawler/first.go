package crawler

import (
	"context"
	"net/url"

	"callhouse/internal/api"
)

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
