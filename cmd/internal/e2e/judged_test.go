//go:build judged

package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/judgetest"
)

// judged validates the answers of h against the sandbox's OpenAPI documents. It requires the tag
// judged: the validator slows down linking, starting and running the quick tests' program, and the
// sandbox's own tests validate every operation.
func judged(t testing.TB, h http.Handler) http.Handler { return judgetest.Around(t, h) }

// reportJudged prints how many answers were validated, if any.
func reportJudged() {
	if n := judgetest.Count(); n.Judged > 0 {
		fmt.Println(n)
	}
}

// TestEveryAnswerIsJudged compares the number of answers of a company's service with those
// validated or skipped, with the reason.
func TestEveryAnswerIsJudged(t *testing.T) {
	before := judgetest.Count()
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 30, Days: 3}, ResourceFaults: sandbox.ResourceFaults{"alert_rules": {"403"}}})
	c.extract(t.Context(), "--resources", "all", "--transcripts", "auto")
	asked := c.service.Server.Stats()
	if err := c.service.Close(); err != nil { // afterwards no answer is in flight
		t.Error(err)
	}
	n := judgetest.Count()
	n.Judged, n.Spoiled, n.Unknown = n.Judged-before.Judged, n.Spoiled-before.Spoiled, n.Unknown-before.Unknown
	if n.Judged+n.Spoiled != asked.Requests || n.Judged < 60 || n.Unknown > 0 {
		t.Errorf("the service was asked %d times; %s", asked.Requests, n)
	}
	if n.Spoiled == 0 || n.Spoiled != asked.ByResource["alert_rules"] {
		t.Errorf("%d answers are said to be wrong on purpose; %d were", n.Spoiled, asked.ByResource["alert_rules"])
	}
}
