package extractcmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// Where the service says that it has more calls than the warehouse, so many may
// have come while it was being listed: a page, or a hundredth.
const (
	totalSlack   = 100
	totalPercent = 1
)

// check runs the data tests on what the run committed. Where one fails, the
// run's row says so, and the run ends with exit code 3: what was committed stays.
func (n *night) check(ctx context.Context, w *sink.Warehouse, before *layout.Snapshot) error {
	did, _ := w.Totals()
	found, err := w.Check(context.WithoutCancel(ctx), before)
	if err != nil {
		n.failures = []string{"unreadable: " + err.Error()}
	} else {
		n.failures = dataTests(found, w.Snapshot(), before, did, n.row, n.rep)
	}
	if n.cfg.Since.IsZero() {
		n.failures = append(n.failures, testTotal(w.Snapshot(), n.row)...)
	}
	if len(n.failures) == 0 {
		return nil
	}
	failed := fmt.Errorf("%s failed: %s", cli.Plural(int64(len(n.failures)), "data test"), n.failures[0])
	row := *n.row
	if row.Error != "" {
		row.Error += "; "
	}
	row.Error += n.secrets.Error(failed)
	if row.Outcome == schema.OutcomeDone {
		row.Outcome = schema.OutcomeIncomplete
	}
	n.row = &row
	if err := w.Record(context.WithoutCancel(ctx), row); err != nil {
		return explain(err)
	}
	if row.Outcome != schema.OutcomeIncomplete {
		return nil // it has failed for another reason, which its caller tells
	}
	return cli.Fail(cli.ExitIncomplete, failed, "what was fetched is committed; extract verify looks at all of the warehouse, extract rollback undoes this run")
}

// dataTests returns what is wrong with what a run committed, a line each.
func dataTests(found *sink.CheckReport, now, before *layout.Snapshot, did sink.Stats, row *schema.Run, rep *crawler.Report) (failed []string) {
	for _, p := range found.Problems {
		failed = append(failed, p.Kind+": "+p.String())
	}
	if more := found.Count - int64(len(found.Problems)); more > 0 {
		failed = append(failed, cli.Plural(more, "more problem"))
	}
	if now == nil {
		return failed
	}
	// Nothing goes but what is kept no longer, and nothing comes that was not counted.
	var had int64
	if before != nil {
		had = before.Manifest.Rows(schema.Calls.Name)
	}
	if has := now.Manifest.Rows(schema.Calls.Name); has != had+did.New-did.Aged {
		failed = append(failed, fmt.Sprintf("rows: there are %d calls; there were %d, and the run counted %d new ones and %d that it erased",
			has, had, did.New, did.Aged))
	}
	// A word that nobody knows is kept, but it must have been counted.
	for _, column := range slices.Sorted(maps.Keys(found.Unknown)) {
		if _, counted := rep.DriftFields[crawler.DriftKey{Path: column, Kind: schema.DriftUnknownValue}]; !counted {
			failed = append(failed, fmt.Sprintf("words: %s with an unknown %s that the run did not count as drift", cli.Plural(found.Unknown[column], "call"), column))
		}
	}
	// A run that says that it is done has listed up to its own beginning.
	if row.Outcome == schema.OutcomeDone && rep.Pages > 0 {
		listed := max(0, now.Manifest.ListedTo().UnixMilli())
		if listed < row.StartedAt {
			failed = append(failed, fmt.Sprintf("freshness: the run is done, but the list on record ends at %s", cli.Instant(listed)))
		}
	}
	return failed
}

// testTotal compares the number of calls with what the service says that it
// has, where it said so in this run and all of its list is on record. It may
// have fewer: calls go there that stay here. A total of 0 says nothing: it is
// what the field is where the service does not count.
func testTotal(now *layout.Snapshot, row *schema.Run) []string {
	if now == nil || !row.TotalCount.OK || row.TotalCount.V == 0 || row.Outcome != schema.OutcomeDone {
		return nil
	}
	m := now.Manifest
	if len(m.Coverage) == 0 || m.Coverage[0].From > 0 || len(m.Gaps()) > 0 {
		return nil
	}
	has := m.Rows(schema.Calls.Name)
	if m.Forgotten != nil {
		has += m.Forgotten.Calls
	}
	total := row.TotalCount.V
	if has+max(totalSlack, total*totalPercent/100) >= total {
		return nil
	}
	return []string{fmt.Sprintf("total: the service says that it has %d calls, the warehouse has %d", total, has)}
}

// firstLine returns the first line of what an error says.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return cmp.Or(strings.TrimSpace(line), "failed")
}
