package status

import (
	"fmt"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// DataTests returns the problems of a run's commits, one line each.
func DataTests(found *sink.RunReport, now, before *layout.Snapshot, did sink.Stats) (failed []string) {
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
	return failed
}
