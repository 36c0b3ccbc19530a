package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/crawler/forecast"
	"callhouse/internal/words"
)

// night is the longest forecast that still counts as a single night.
const night = 6 * time.Hour

func (i *initial) service() api.Config {
	return api.Config{BaseURL: i.BaseURL, Key: api.Secret(cmp.Or(i.key, i.stored)), KeySource: i.from, Clock: i.Clock,
		PerSecond: i.PerSecond, PerMinute: i.PerMinute, Share: i.Share, Version: cli.Version()}
}

// test sends the one request.
func (i *initial) test(ctx context.Context) error {
	words.Fprintf(i.stderr, "Testing with one request … ")
	var err error
	if i.calls, err = crawler.Try(ctx, i.service()); err != nil {
		words.Fprintln(i.stderr, "failed.")
		return explain(err)
	}
	if i.calls < 0 {
		words.Fprintln(i.stderr, "the key works.")
		return nil
	}
	words.Fprintf(i.stderr, "the key works. The service has %s.\n", cli.Plural(i.calls, "call"))
	return nil
}

// explain adds a hint to the error of the test.
func explain(err error) error {
	f, answered := errors.AsType[*api.RequestError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return interrupted()
	case cli.Is[*api.AuthError](err):
		return cli.Fail(cli.ExitFailed, err, "check the key in the service's dashboard; nothing was written")
	case answered && f.Status == http.StatusTooManyRequests:
		wait := "a minute"
		if f.Wait() > 0 {
			wait = cli.Clock(f.Wait())
		}
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the request limits are used up by other programs (%w)", err),
			"wait "+wait+" and try again; nothing was written")
	case answered:
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the service fails (%w)", f), "try again later; nothing was written")
	}
	err = settings.Explain(err)
	return cli.Fail(cli.Code(err), err, cli.Hint(err))
}

// blamed reports which answer must be asked for again after an error: the address, the key, or
// neither.
func blamed(err error) (address, key bool) {
	switch {
	case cli.Is[*api.AuthError](err):
		return false, true
	case cli.Is[*api.UnreachableError](err), cli.Is[*api.CertificateError](err), cli.Is[*api.AddressError](err):
		return true, false
	}
	return false, false
}

// forecast returns the first night's requests for the list, and the fewest and most for transcripts.
func (i *initial) forecast(cfg *api.Config) (p forecast.Run, fewest, most int64) {
	p = crawler.First(cfg, i.calls)
	if i.ListOnly || i.calls == 0 {
		return p, 0, 0
	}
	if most = max(p.Fallback, p.Records.Most); p.Fallback != 0 {
		fewest = min(p.Bulk.Most+p.Compared.Most, most)
	}
	return p, fewest, most
}

// long reports whether the first run may take longer than one night.
func (i *initial) long() bool {
	if i.calls < 0 {
		return false
	}
	cfg := i.service()
	p, _, most := i.forecast(&cfg)
	return crawler.Takes(&cfg, p.List.Most+most) > night
}

// first prints the forecast of the first night.
func (i *initial) first() {
	if i.calls < 0 {
		return
	}
	cfg := i.service()
	p, fewest, most := i.forecast(&cfg)
	words.Fprintf(i.stderr, "\nThe first night takes, without failures:\n")
	line := func(what string, least, most int64, note string) {
		requests, unit, takes := humanize.Comma(least), "requests", cli.Clock(crawler.Takes(&cfg, least))
		if most != least {
			requests += " to " + humanize.Comma(most)
			takes += " to " + cli.Clock(crawler.Takes(&cfg, most))
		} else if least == 1 {
			unit = "request " // as wide as the others
		}
		words.Fprintf(i.stderr, "  %-11s %17s %s  %17s  %s\n", what, requests, unit, takes, note)
	}
	line("list", p.List.Least, p.List.Most, "")
	switch {
	case most == 0:
	case p.Fallback == 0:
		line("transcripts", fewest, most, "one for each call that connected")
	default:
		line("transcripts", fewest, most, "few if the service has v2 pages, else one for each call that connected")
	}
	words.Fprintln(i.stderr, "Agents, campaigns and other objects come on top; extract plan counts them, with about 15 requests.")
	if i.long() && i.MaxDuration == 0 {
		words.Fprintln(i.stderr, `max_duration = "6h" spreads it over several nights, if necessary.`)
	}
}
