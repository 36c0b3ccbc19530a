package status

import (
	"encoding/json"
	"fmt"
	"maps"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/wire/mask"
)

// Requested says when unchecked texts are requested again.
const Requested = "the next run requests them again"

// RedactedText lists how many values of each kind were redacted; empty if none. unchecked is the
// number of calls that a service did not check.
func RedactedText(counts map[string]int64) (text string, unchecked int64) {
	by := maps.Clone(counts)
	delete(by, mask.Unchecked)
	return cli.Counts(by), counts[mask.Unchecked]
}

// RedactedLines prints both. again says how unchecked calls are checked later.
func RedactedLines(line liner, counts map[string]int64, again string) {
	text, n := RedactedText(counts)
	if text != "" {
		line("redacted", "%s", text)
	}
	if n > 0 {
		line("unchecked", "%s: the service of --redact-service did not check the texts, and they are not stored; %s",
			cli.Plural(n, "record"), again)
	}
}

// Unchecked returns the error for unchecked texts; nil if there are none.
func Unchecked(column string, again string) error {
	n := RedactedCounts([]byte(column))[mask.Unchecked]
	if n == 0 {
		return nil
	}
	return cli.Fail(cli.ExitIncomplete, fmt.Errorf("the service of --redact-service did not check %s, whose texts are not stored",
		cli.Plural(n, "record")), "check that it runs; "+again)
}

// RedactedCounts parses the counts of a row in runs.
func RedactedCounts(column []byte) (by map[string]int64) {
	_ = json.Unmarshal(column, &by) // written by this program; empty: none
	return by
}
