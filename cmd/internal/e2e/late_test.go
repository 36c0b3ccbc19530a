package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
)

// A transcript that appears minutes after the call's record was fetched is not lost: the record is
// requested again, but only for calls that had just ended.
func TestTranscriptThatComesLate(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 31, Calls: 300 * int64(*worlds), Days: 2}})
	e := newEditor(c)
	c.clock.Set(c.clock.Now().UTC().Truncate(24 * time.Hour).Add(30 * time.Hour)) // in the company's busy hours
	evening := c.clock.Now()
	late := map[string]bool{}
	e.edit = func(id string, call map[string]any) bool {
		// In the last 90 minutes before the first run: neither transcript nor analysis.
		if endOf(call).After(evening.Add(-90*time.Minute)) && c.clock.Now().Sub(evening) < time.Hour {
			call["call_analysis"], call["call_cost"] = nil, nil
			if turns, ok := call["transcript"].([]any); ok {
				call["transcript"], late[id] = nil, len(turns) > 0
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
	e.extract().exits(t, cli.ExitOK)
	sameAsTruth(t, c)
	after := c.service.Server.Stats()
	if again := after.DetailsAgain - before.DetailsAgain; again != int64(len(late)) {
		t.Errorf("%d details were asked for again, %d transcripts were late", again, len(late))
	}
	e.extract().exits(t, cli.ExitOK)
	if n := c.service.Server.Stats().ByKind["detail"] - after.ByKind["detail"]; n != 0 {
		t.Errorf("a run with nothing new fetched %d details", n)
	}
}

// An analysis that appears after an old call's first listing is not lost: later nights relist the
// ranges of unsettled calls, with few requests.
func TestAnalysisThatComesLateToAnOldCall(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	longtest.Only(t)
	for _, w := range []struct {
		name        string
		opts        sandbox.Options
		least, most int64 // additional pages per night because of such calls
	}{
		{"as observed", sandbox.Options{}, 1, 4},
		{"contract only", sandbox.Options{ContractOnly: true}, -1, 0}, // every night lists everything
	} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			w.opts.World = sandbox.Config{Seed: 32, Calls: sized(400, 1000), Days: 12}
			c := found(t, w.opts)
			e := newEditor(c)
			evening := c.clock.Now()
			late := map[string]bool{}
			e.edit = func(id string, call map[string]any) bool {
				ago := evening.Sub(endOf(call))
				// Some of the calls of one day, a week before the first run.
				if call["call_analysis"] != nil && ago > 7*24*time.Hour && ago < 8*24*time.Hour && strings.ContainsAny(id[:1], "02468ace") &&
					c.clock.Now().Sub(evening) < 12*time.Hour {
					call["call_analysis"], call["call_cost"] = nil, nil
					late[id] = true
				}
				return true
			}
			if r := e.extract(); r.code != cli.ExitOK || len(late) < 5 {
				t.Fatalf("exit code %d, %d analyses are late:\n%s", r.code, len(late), r.stderr)
			}
			if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE settlement = 'expired'")); n > 0 {
				t.Errorf("%d calls are given up on the night on which they were first seen", n)
			}
			c.clock.Advance(24 * time.Hour)
			before := c.service.Server.Stats().ByKind["page"]
			e.extract().exits(t, cli.ExitOK)
			sameAsTruth(t, c)
			second := c.service.Server.Stats().ByKind["page"]
			c.clock.Advance(24 * time.Hour)
			e.extract().exits(t, cli.ExitOK)
			third := c.service.Server.Stats().ByKind["page"]
			if more := (second - before) - (third - second); more < w.least || more > w.most {
				t.Errorf("looking again took %d pages: %d in the second night, %d in the third", more, second-before, third-second)
			}
		})
	}
}

// A missing transcript is requested at growing intervals, even by runs every quarter of an hour.
func TestLateTranscriptsAreAskedForSeldom(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	longtest.Only(t) // TestTranscriptMayComeLate in calls tests when a record is due again
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 31, Calls: sized(150, 600), Days: 2}})
	e := newEditor(c)
	c.clock.Set(c.clock.Now().UTC().Truncate(24 * time.Hour).Add(30 * time.Hour)) // in the company's busy hours
	begin := c.clock.Now()
	asked := map[string]int{}
	e.edit = func(id string, call map[string]any) bool {
		if _, own := call["transcript"]; call["status"] == "ended" && endOf(call).After(begin) {
			if own {
				asked[id]++
				call["transcript"] = nil
			}
			call["call_analysis"], call["call_cost"] = nil, nil
		}
		return true
	}
	for range 16 {
		e.extract().exits(t, cli.ExitOK)
		c.clock.Advance(15 * time.Minute)
	}
	if len(asked) < 5 {
		t.Fatalf("%d transcripts are late", len(asked))
	}
	for id, n := range asked {
		if n > 4 {
			t.Errorf("the record of %s was asked for %d times", id, n)
		}
	}
	if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE transcript_state = 'empty' AND turn_count = 0 AND status = 'ended'")); n == 0 {
		t.Error("nobody gave up waiting")
	}
}

// A null is not final while its call is young, although there is an analysis: it is checked again
// with growing pauses, for the last time three days after the call's end.
func TestNullThatWasNotFinal(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	longtest.Only(t) // the tests of calls and crawler test which calls are checked again
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 33, Calls: sized(120, 1500), Days: 2}})
	e := newEditor(c)
	evening := c.clock.Now()
	e.edit = func(id string, call map[string]any) bool {
		if _, own := call["transcript"]; own && c.clock.Now().Sub(evening) < 60*time.Hour {
			call["transcript"] = nil // but there is an analysis
		}
		return true
	}
	for range 3 {
		e.extract().exits(t, cli.ExitOK)
		c.clock.Advance(24 * time.Hour)
	}
	if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE transcript_state = 'present'")); n > 0 {
		t.Fatalf("%d transcripts are there already", n)
	}
	for night := range 3 {
		if night > 0 {
			c.clock.Advance(24 * time.Hour)
		}
		e.extract().exits(t, cli.ExitOK)
	}
	sameAsTruth(t, c)
}
