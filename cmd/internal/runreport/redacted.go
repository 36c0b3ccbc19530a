package runreport

import (
	"encoding/json"

	"callhouse/cmd/internal/cli"
)

// RedactedText says how many values of each kind a run redacted.
func RedactedText(counts []byte) string {
	var by map[string]int64
	_ = json.Unmarshal(counts, &by) // ours; empty: none
	return cli.Counts(by)
}
