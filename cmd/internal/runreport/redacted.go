package runreport

import (
	"encoding/json"
	"fmt"
	"maps"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/wire/mask"
)

// Requested is when texts that were not checked are requested again.
const Requested = "the next run requests them again"

// RedactedText says how many values of each kind were redacted; empty if none. unchecked is how many
// calls a service did not check.
func RedactedText(counts map[string]int64) (text string, unchecked int64) {
	by := maps.Clone(counts)
	delete(by, mask.Unchecked)
	return cli.Counts(by), counts[mask.Unchecked]
}

// RedactedLines prints both; again is what has calls checked that were not.
func RedactedLines(line func(name, format string, args ...any), counts map[string]int64, again string) {
	text, n := RedactedText(counts)
	if text != "" {
		line("redacted", "%s", text)
	}
	if n > 0 {
		line("unchecked", "%s: the service of --redact-service did not check the texts, and they are not stored; %s",
			cli.Plural(n, "record"), again)
	}
}

// Unchecked is the error of what left texts unchecked; nil if none.
func Unchecked(column string, again string) error {
	n := RedactedCounts([]byte(column))[mask.Unchecked]
	if n == 0 {
		return nil
	}
	return cli.Fail(cli.ExitIncomplete, fmt.Errorf("the service of --redact-service did not check %s, whose texts are not stored",
		cli.Plural(n, "record")), "check that it runs; "+again)
}

// RedactedCounts are the counts of a row in runs.
func RedactedCounts(column []byte) (by map[string]int64) {
	_ = json.Unmarshal(column, &by) // ours; empty: none
	return by
}
