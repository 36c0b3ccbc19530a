package querycmd_test

import (
	"strings"
	"testing"
)

// The shells offer the values of flags.
func TestCompletionOfValues(t *testing.T) {
	t.Chdir(t.TempDir())
	for args, want := range map[string]string{
		"sentiment --by ":       "agent",
		"sentiment --format ":   "markdown",
		"sql --format ":         "csv-excel",
		"costs --compare ":      "previous",
		"sentiment --tz ":       "Asia/Seoul",
		"describe transcript_t": "transcript_turns",
	} {
		r := run(t, "", append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if !strings.Contains("\n"+r.out, "\n"+want+"\n") {
			t.Errorf("query %s: does not offer %q:\n%s", args, want, r)
		}
	}
}
