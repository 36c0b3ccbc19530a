package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/wire"
	"callhouse/internal/words"
)

// Row returns the run's row of the table runs. Names of drifting fields come from the service, so
// secrets in them are masked.
func Row(id string, started time.Time, p *crawler.Progress, drift wire.DriftCounts,
	did sink.Stats, commits int64, secrets *words.Secrets) schema.Run {
	row := schema.Run{
		ID: id, StartedAt: started.UnixMilli(), Outcome: schema.OutcomeRunning, Version: cli.Version(),
		Requests: p.Requests, PageRequests: p.PageRequests, DetailRequests: p.DetailRequests, Retries: p.Retries,
		RateLimited: p.RateLimited, ServerErrors: p.ServerErrors, NetworkErrors: p.NetworkErrors,
		Pages: p.Pages, CallsListed: p.CallsListed,
		CallsMissing: p.Missing, CallsSetAside: p.SetAside, Drift: p.Drift, Commits: commits,
		BudgetUsedPercent: schema.Some(int64(math.Round(p.BudgetUsed * 10_000))),
	}
	row.Bulk = p.Bulk.BulkCounts
	row.Bulk.Requests = p.BulkRequests
	did.AddTo(&row)
	if p.TotalCount >= 0 {
		row.TotalCount = schema.Some(p.TotalCount)
	}
	row.DriftFields = DriftFields(drift, secrets)
	return row
}

// DriftFields returns the JSON with the number of unexpected values by field; nil if there are none.
func DriftFields(drift wire.DriftCounts, secrets *words.Secrets) []byte {
	if len(drift) == 0 {
		return nil
	}
	fields := make(map[string]int64, len(drift))
	for k, n := range drift {
		fields[secrets.Line(k.Path)+": "+k.Kind.String()] += n
	}
	text, _ := json.Marshal(fields) // a map of strings to integers always encodes
	return text
}

// Judge returns the outcome of a crawl for the table runs, and the error with its exit code; nil if
// the crawl is complete.
func Judge(rep *crawler.Report, err error) (outcome string, _ error) {
	switch {
	case rep.Interrupted || errors.Is(err, context.Canceled):
		return schema.OutcomeInterrupted, cli.Fail(cli.ExitInterrupted, errors.New("interrupted"),
			"fetched data is committed; run again to continue")
	case err != nil:
		return schema.OutcomeFailed, err
	case rep.DeadlineHit:
		return schema.OutcomeIncomplete, cli.Fail(cli.ExitIncomplete, errors.New("the time limit was reached before everything was fetched"),
			"fetched data is committed; the next run continues")
	case rep.Unaccounted() != 0:
		return schema.OutcomeIncomplete, cli.Fail(cli.ExitIncomplete,
			fmt.Errorf("listed calls neither stored nor set aside: %d", rep.Unaccounted()),
			"this is a bug in callhouse: please report it; fetched data is committed")
	case rep.Recordings != nil && rep.Recordings.Err != nil:
		return schema.OutcomeIncomplete, cli.Fail(cli.ExitIncomplete, fmt.Errorf("recordings could not be stored: %w", rep.Recordings.Err),
			"check the archive (setting recordings); the calls are committed, and the next run stores the recordings")
	case !rep.Complete():
		return schema.OutcomeIncomplete, cli.Fail(cli.ExitIncomplete, errors.New("not everything could be fetched"),
			"fetched data is committed; the next run retries the rest")
	}
	return schema.OutcomeDone, nil
}
