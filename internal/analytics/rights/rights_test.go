package rights_test

import (
	"testing"

	"callhouse/internal/analytics/rights"
	"callhouse/internal/loopback"
)

func TestMain(m *testing.M) { loopback.Main(m) }

// A user without access to the transcript has no access to the recording either.
func TestHears(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		may  rights.Rights
		want bool
	}{
		{rights.Rights{}, true},
		{rights.Rights{Agents: []string{"a"}}, true},
		{rights.Rights{Masked: []string{"from_number", "summary"}}, true},
		{rights.Rights{Tables: []string{"calls", "transcript_turns", "recordings"}}, true},
		{rights.Rights{Tables: []string{"calls", "transcript_turns"}}, false},
		{rights.Rights{Tables: []string{"calls", "recordings"}}, false},
		{rights.Rights{Tables: []string{"recordings", "transcript_turns"}}, false},
		{rights.Rights{Masked: []string{"content"}}, false},
		{rights.Rights{Masked: []string{"transcript_turns.content"}}, false},
		{rights.Rights{Masked: []string{"recording_url"}}, false},
		{rights.Rights{Masked: []string{"path"}}, false},
	} {
		if got := c.may.MayListen(); got != c.want {
			t.Errorf("%+v: %v", c.may, got)
		}
	}
}
