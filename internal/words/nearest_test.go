package words_test

import (
	"testing"

	"callhouse/internal/test"
	"callhouse/internal/words"
)

func TestNearest(t *testing.T) {
	known := []string{"analysis_items", "call", "calls", "costs", "runs", "transcript_turns", "tool_calls", "agent_id", "agent_version", "user_sentiment", "start_at", "duration_ms"}
	for name, want := range map[string]string{
		"call_s": "calls", "cals": "calls", "CALLS": "calls", "calll": "call", "transcripts": "transcript_turns", "turns": "transcript_turns",
		"agnt_id": "agent_id", "agentid": "agent_id", "sentiment": "user_sentiment", "sentimen": "user_sentiment", "startat": "start_at",
		"durration": "duration_ms", "duration": "duration_ms", "zebra": "", "x": "", "": "",
	} {
		test.Same(t, want, words.Nearest(name, known), "nearest to %q", name)
	}
}
