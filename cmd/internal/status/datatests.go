package status

import (
	"fmt"
	"maps"
	"slices"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/wire"
)

// DataTests returns the problems of a run's commits, one line each.
func DataTests(found *sink.RunReport, now, before *layout.Snapshot, did sink.Stats, row *schema.Run,
	rep *crawler.Report) (failed []string) {
	for _, p := range found.Problems {
		failed = append(failed, p.Kind+": "+p.String())
	}
	if more := found.Count - int64(len(found.Problems)); more > 0 {
		failed = append(failed, cli.Plural(more, "more problem"))
	}
	if now == nil {
		return failed
	}
	// Only calls past their retention may disappear, and only counted calls may appear.
	var had int64
	if before != nil {
		had = before.Manifest.Rows(schema.Calls.Name)
	}
	if has := now.Manifest.Rows(schema.Calls.Name); has != had+did.New-did.Aged {
		failed = append(failed, fmt.Sprintf("rows: the warehouse has %d calls; it had %d, and the run counted %d new and %d erased ones",
			has, had, did.New, did.Aged))
	}
	// Unknown words are stored, but must also be counted.
	for _, column := range slices.Sorted(maps.Keys(found.Unknown)) {
		if _, counted := rep.DriftFields[wire.DriftKey{Path: column, Kind: wire.DriftUnknownValue}]; !counted {
			failed = append(failed, fmt.Sprintf("words: %s with an unknown %s that the run did not count as drift",
				cli.Plural(found.Unknown[column], "call"), column))
		}
	}
	// A completed run has listed everything up to its own start.
	if row.Outcome == schema.OutcomeDone && rep.Pages > 0 {
		listed := max(0, now.Manifest.ListedTo().UnixMilli())
		if listed < row.StartedAt {
			failed = append(failed, fmt.Sprintf("freshness: the run succeeded, but the recorded list ends at %s", cli.Instant(listed)))
		}
	}
	return failed
}
