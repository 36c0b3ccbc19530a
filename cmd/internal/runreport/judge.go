package runreport

import (
	"context"
	"errors"
	"fmt"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
)

// Judge says what became of a crawl: its word for the table runs, and its error
// with the exit code, nil when all was done.
func Judge(rep *crawler.Report, err error) (outcome string, _ error) {
	switch {
	case rep.Interrupted || errors.Is(err, context.Canceled):
		return schema.OutcomeInterrupted, cli.Fail(cli.ExitInterrupted, errors.New("interrupted"),
			"what was fetched is committed; run again to go on")
	case err != nil:
		return schema.OutcomeFailed, err
	case rep.DeadlineHit:
		return schema.OutcomeIncomplete, cli.Fail(cli.ExitIncomplete, errors.New("the time was up before all was fetched"),
			"what was fetched is committed; the next run goes on")
	case rep.Unaccounted() != 0:
		return schema.OutcomeIncomplete, cli.Fail(cli.ExitIncomplete,
			fmt.Errorf("of the calls that were listed, %d are neither stored nor set aside", rep.Unaccounted()),
			"this is a defect of callhouse: please report it; what was fetched is committed")
	case !rep.Complete():
		return schema.OutcomeIncomplete, cli.Fail(cli.ExitIncomplete, errors.New("not everything could be fetched"),
			"what was fetched is committed; the next run tries the rest again")
	}
	return schema.OutcomeDone, nil
}
