package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
)

// An analysis that appears after an old call's first listing is not lost: later nights relist the
// ranges of unsettled calls, with few requests.
func TestAnalysisThatComesLateToAnOldCall(t *testing.T) {
	t.Parallel()
	longtest.Only(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 32, Calls: 1000, Days: 12}})
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
	var pages []int64
	for range 2 {
		c.clock.Advance(24 * time.Hour)
		before := c.service.Server.Stats().ByKind["page"]
		e.extract().exits(t, cli.ExitOK)
		sameAsTruth(t, c)
		pages = append(pages, c.service.Server.Stats().ByKind["page"]-before)
	}
	if more := pages[0] - pages[1]; more < 1 || more > 4 {
		t.Errorf("looking again took %d pages: %v in the second night and the third", more, pages)
	}
}

// young returns a company in its busy hours, an editor of its answers, and the evening before the first night.
func young(t *testing.T, seed uint64, calls int64) (*company, *editor, time.Time) {
	t.Helper()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: seed, Calls: calls, Days: 2}})
	c.clock.Set(c.clock.Now().UTC().Truncate(24 * time.Hour).Add(30 * time.Hour))
	return c, newEditor(c), c.clock.Now()
}

// nightly runs some nights, the first one now, and checks their exit codes.
func (e *editor) nightly(want ...int) {
	t := e.company.t
	t.Helper()
	for night, code := range want {
		if night > 0 {
			e.company.clock.Advance(24 * time.Hour)
		}
		if r := e.extract(); r.code != code {
			t.Fatalf("night %d: exit code %d, want %d\n%s", night, r.code, code, r.stderr)
		}
	}
}

// While a call is young, no answer about its record is final: neither a 404, nor a null or empty transcript,
// with an analysis or without, nor both one after the other. Each is asked for again a few times, and no more.
// A record that the service replaces is fetched again when the list shows that, and with --call-id if it does
// not. One that is too large is requested in three nights, and with --full.
func TestRecordsThatChange(t *testing.T) {
	longtest.Only(t) // several nights; the tests of calls have its rules one by one
	t.Parallel()
	c, e, evening := young(t, 41, 75)
	large, requested, vain, kinds := "", map[string]int{}, map[string]int{}, map[string]int{}
	e.edit = func(id string, call map[string]any) bool {
		end, now := endOf(call), c.clock.Now()
		turns, own := call["transcript"].([]any)
		if own {
			requested[id]++
		}
		analysis, analyzed := call["call_analysis"].(map[string]any)
		settled := analyzed && call["call_cost"] != nil && end.After(evening.Add(-15*time.Hour))
		kind := strings.IndexByte("0123456789", id[0]) % 5
		switch late := !now.Before(evening.Add(time.Hour)); {
		case id == large || large == "" && kind < 0 && settled && len(turns) > 0:
			if large = id; own {
				turns[0].(map[string]any)["content"] = strings.Repeat("A", 9<<20)
			}
		case kind < 0 && late && analyzed && end.Before(evening.Add(-3*time.Hour)): // replaced
			for _, turn := range turns {
				turn.(map[string]any)["content"] = "[REDACTED]"
			}
			if id[0] < 'd' { // otherwise the list shows nothing of it
				analysis["summary"] = "[REDACTED]"
			}
		case kind < 0 || now.After(evening.Add(60*time.Hour)) || end.Before(evening.Add(-12*time.Hour)) || end.After(evening) || call["status"] != "ended":
		default:
			if kind != 3 {
				call["call_analysis"], call["call_cost"] = nil, nil
			}
			if !own || len(turns) == 0 {
				break
			}
			vain[id]++
			kinds[fmt.Sprint(kind)]++
			switch kind {
			case 0:
				return false // 404
			case 1, 3:
				call["transcript"] = nil
			case 2:
				call["transcript"] = []any{}
			case 4: // missing, then empty
				call["transcript"] = []any{}
				return late
			}
		}
		return true
	}
	e.nightly(cli.ExitIncomplete, cli.ExitIncomplete, cli.ExitOK, cli.ExitOK, cli.ExitOK)
	if len(kinds) != 5 {
		t.Fatalf("records in vain, by kind: %v", kinds)
	}
	of := func(what string) json.Number {
		return c.one("SELECT count(*) AS v FROM calls WHERE " + what).(json.Number)
	}
	for id, n := range vain {
		if n > 3 || requested[id] > n+1 {
			t.Errorf("the record of %s was requested %d times, in vain %d times", id, requested[id], n)
		}
	}
	if n := of("turn_count > 0 AND call_id IN ('" + strings.Join(slices.Collect(maps.Keys(vain)), "', '") + "')"); n != json.Number(fmt.Sprint(len(vain))) {
		t.Errorf("%s calls of %d have their transcript", n, len(vain))
	}
	const clear = "call_id IN (SELECT call_id FROM transcript_turns WHERE content <> '[REDACTED]')"
	if n, old := of("summary = '[REDACTED]'"), of("summary = '[REDACTED]' AND "+clear); n == "0" || old != "0" {
		t.Errorf("%s calls are masked, and %s of their transcripts are those before", n, old)
	}
	id := fmt.Sprint(c.one(fmt.Sprintf("SELECT min(call_id) AS v FROM calls WHERE call_id > 'd' AND call_id <> '%s' AND end_at < epoch_ms(%d) AND summary IS NOT NULL AND %s",
		large, evening.Add(-3*time.Hour).UnixMilli(), clear)))
	n := requested[id]
	e.extract("--call-id", id).exits(t, cli.ExitOK)
	if old := of("call_id = '" + id + "' AND " + clear); requested[id] != n+1 || old != "0" {
		t.Errorf("--call-id does not fetch the record of %s again", id)
	}
	if requested[large] != 3 {
		t.Errorf("the record that is too large was requested %d times", requested[large])
	}
	state := func() any { return c.one("SELECT transcript_state AS v FROM calls WHERE call_id = '" + large + "'") }
	if got := state(); got != "unreadable" {
		t.Errorf("its state is %v", got)
	}
	c.extract(t.Context(), "status").prints(t, cli.ExitOK, "the records of 1 call: too large")
	e.edit = nil
	e.extract("--full").exits(t, cli.ExitOK)
	if got := state(); got != "present" {
		t.Errorf("after --full its state is %v", got)
	}
}

// A list that shortens what the records have is no sign of change: a night fetches a hundred of the
// records in vain, and no more.
func TestListThatDiffersFromItsRecords(t *testing.T) {
	t.Parallel()
	longtest.Only(t) // TestMergeRules in calls shows what a difference means
	c, e, _ := young(t, 45, 150)
	requested := map[string]int{}
	e.edit = func(id string, call map[string]any) bool {
		_, own := call["transcript"]
		if own {
			requested[id]++
		} else if analysis, ok := call["call_analysis"].(map[string]any); ok {
			analysis["summary"] = "In short: " + id
		}
		return true
	}
	e.nightly(cli.ExitOK, cli.ExitOK)
	again := 0
	for _, n := range requested {
		again += n - 1
	}
	if again != 100 {
		t.Errorf("%d of %d records were fetched again", again, len(requested))
	}
	if n := c.one("SELECT count(*) AS v FROM calls WHERE transcript_state IN ('changed', 'pending') AND status = 'ended'"); n != json.Number("0") {
		t.Errorf("%v calls wait for a transcript that they have", n)
	}
}
