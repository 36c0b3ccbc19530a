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

// first prints the forecast of the first night.
func (i *initial) first() {
	if i.calls < 0 {
		return
	}
	cfg, r := i.service(), i.firstRun()
	words.Fprintf(i.stderr, "\nThe first run takes %s to %s requests (%s to %s) for calls: few if the service has v2 pages, else one for\n"+
		"each call that connected. Agents and other resources come on top.\n", humanize.Comma(r.Least), humanize.Comma(r.Most),
		cli.Clock(crawler.Takes(&cfg, r.Least)), cli.Clock(crawler.Takes(&cfg, r.Most)))
	if i.long() && i.MaxDuration == 0 {
		words.Fprintln(i.stderr, `max_duration = "6h" spreads it over several nights, if necessary.`)
	}
}

// firstRun returns the requests of the first run.
func (i *initial) firstRun() crawler.Range {
	p := crawler.First(i.calls)
	if i.ListOnly {
		p.Transcripts = crawler.Range{}
	}
	return p.Requests()
}

// long reports whether the first run may take longer than one night.
func (i *initial) long() bool {
	cfg := i.service()
	return i.calls >= 0 && crawler.Takes(&cfg, i.firstRun().Most) > night
}
