package e2e

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
)

// A transcript that the service adds minutes after the call's record was
// fetched is not lost: the record is asked for once more, and only of calls
// that had ended just before.
func TestTranscriptThatComesLate(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 31, Calls: 300 * *worlds, Days: 2}})
	e := newEditor(c)
	c.clock.Set(c.clock.Now().UTC().Truncate(24 * time.Hour).Add(30 * time.Hour)) // in the company's busy hours
	evening := c.clock.Now()
	var mu sync.Mutex // requests are answered side by side
	late := map[string]bool{}
	e.edit = func(id string, call map[string]any) bool {
		end, _ := call["end_at"].(json.Number)
		ms, _ := end.Int64()
		// In the last 90 minutes before the first run: neither transcript nor analysis.
		if ms > evening.Add(-90*time.Minute).UnixMilli() && c.clock.Now().Sub(evening) < time.Hour {
			call["call_analysis"], call["call_cost"] = nil, nil
			if turns, ok := call["transcript"].([]any); ok {
				mu.Lock()
				call["transcript"], late[id] = nil, len(turns) > 0
				mu.Unlock()
			}
		}
		return true
	}
	if r := e.extract(); r.code != cli.ExitOK || len(late) < 3 {
		t.Fatalf("exit code %d, %d transcripts are late:\n%s", r.code, len(late), r.stderr)
	}
	if n := c.one("SELECT count(*) AS v FROM calls WHERE transcript_state = 'pending' AND status = 'ended'"); n == json.Number("0") {
		t.Error("no transcript is waited for")
	}
	c.clock.Advance(24 * time.Hour)
	before := c.service.Server.Stats()
	if r := e.extract(); r.code != cli.ExitOK {
		t.Fatal(r.stderr)
	}
	sameAsTruth(t, c)
	after := c.service.Server.Stats()
	if again := after.DetailsAgain - before.DetailsAgain; again != int64(len(late)) {
		t.Errorf("%d details were asked for again, %d transcripts were late", again, len(late))
	}
	if r := e.extract(); r.code != cli.ExitOK {
		t.Fatal(r.stderr)
	}
	if n := c.service.Server.Stats().ByKind["detail"] - after.ByKind["detail"]; n != 0 {
		t.Errorf("a run with nothing new fetched %d details", n)
	}
}
