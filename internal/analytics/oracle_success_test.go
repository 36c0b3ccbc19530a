package analytics_test

import (
	"errors"
	"fmt"
	"math/big"
	"sort"
	"strings"
	"testing"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// successOf counts the calls in which a field was found, and those in which it had the wanted value.
func successOf(g *group, items map[any][]row, p question.Params, unit any) (out [][]any) {
	g = &group{key: g.key, calls: inUnit(g.calls, unit)}
	fieldName, wanted, _ := strings.Cut(p.Field, "=")
	if p.Field == "" {
		wanted = "true"
	}
	type tally struct {
		known, hits, costed, inUnit int
		cost                        *big.Int
		anyCost                     bool
	}
	fields := map[any]*tally{}
	for _, c := range g.calls {
		found := map[any]bool{}
		for _, i := range items[c["call_id"]] {
			yesOrNo := i["value"] == "true" || i["value"] == "false"
			if i["text"] == nil || p.Field == "" && !yesOrNo || p.Field != "" && i["name"] != fieldName {
				continue
			}
			found[i["name"]] = found[i["name"]] || i["text"] == wanted
		}
		for name, hit := range found {
			f := fields[name]
			if f == nil {
				f = &tally{cost: new(big.Int)}
				fields[name] = f
			}
			f.known++
			u, costed := units(c)
			if costed {
				f.cost.Add(f.cost, u)
				f.anyCost = true
				f.inUnit++
			}
			if hit {
				f.hits++
				if costed {
					f.costed++
				}
			}
		}
	}
	for name, f := range fields {
		low, high := wilson(f.hits, f.known)
		line := []any{g.key, name, wanted, int64(f.known), int64(f.hits), percentOf(f.hits, f.known), low, high, nil, unit, int64(f.inUnit), nil}
		if f.anyCost {
			line[8], line[11] = money(f.cost, 1), money(f.cost, int64(f.costed))
		}
		out = append(out, line)
	}
	sort.Slice(out, func(i, j int) bool {
		if a, b := out[i][3].(int64), out[j][3].(int64); a != b {
			return a > b
		}
		return keyLess(out[i][1], out[j][1])
	})
	return out
}

// withField returns the calls in which a field was found, once for each field.
func withField(calls []row, items map[any][]row, p question.Params) (out []row) {
	fieldName, _, _ := strings.Cut(p.Field, "=")
	for _, c := range calls {
		found := map[any]bool{}
		for _, i := range items[c["call_id"]] {
			yesOrNo := i["value"] == "true" || i["value"] == "false"
			if i["text"] != nil && (p.Field != "" || yesOrNo) && (p.Field == "" || i["name"] == fieldName) && !found[i["name"]] {
				found[i["name"]] = true
				out = append(out, c)
			}
		}
	}
	return out
}

// aim is the goal by which versions and agents are judged: the calls that count, and those that succeed.
type aim struct {
	of, hit func(row) bool
	isField bool
}

func aimOf(items map[any][]row, p question.Params) aim {
	name, wanted, isField := strings.Cut(p.Field, "=")
	if !isField {
		return aim{answered, completed, false}
	}
	found := func(c row, is func(any) bool) bool {
		for _, i := range items[c["call_id"]] {
			if i["name"] == name && i["text"] != nil && is(i["text"]) {
				return true
			}
		}
		return false
	}
	return aim{
		func(c row) bool { return found(c, func(any) bool { return true }) },
		func(c row) bool { return found(c, func(v any) bool { return v == wanted }) },
		true,
	}
}

// costOfSuccess returns the cost and number of the calls with the field, and of these the successes and the cost of one.
func costOfSuccess(calls []row, aim aim) []any {
	if !aim.isField {
		return nil
	}
	sum, costed, found := new(big.Int), int64(0), int64(0)
	for _, c := range calls {
		if u, ok := units(c); ok && aim.of(c) {
			sum.Add(sum, u)
			found++
			if aim.hit(c) {
				costed++
			}
		}
	}
	if found == 0 {
		return []any{nil, found, costed, nil}
	}
	return []any{money(sum, 1), found, costed, money(sum, costed)}
}

// A field that no call has, or without a value, is refused.
func TestFieldsThatThereAreNot(t *testing.T) {
	w := warehouse(t, analyticstest.Data{Calls: []row{{"call_id": "c"}}, Items: []row{{"call_id": "c", "name": "colour"}}}, nil)
	_, err := askFor(t.Context(), w, "success", question.Params{Field: "resolved"})
	if err == nil {
		t.Error("a field without a value is taken")
	}
	_, err = askFor(t.Context(), w, "costs", question.Params{Field: "color=1"})
	var u *question.UnknownError
	if !errors.As(err, &u) || u.Nearest != "colour" {
		t.Errorf("a field that no call has: %v", err)
	}
}

// An agent that hangs up on everyone does not lead, an agent with unhappy callers is marked, and an
// agent whose job is to transfer is judged by its transfers.
func TestWhoLeads(t *testing.T) {
	var d analyticstest.Data
	add := func(agent, reason, sentiment string, n int, ms int64) {
		for range n {
			d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(agent, len(d.Calls)), "agent_id": agent, "status": "ended", "disconnection_reason": reason, "user_turns": int64(2),
				"transcript_state": "present", "start_at": int64(1_763_000_000_000 + len(d.Calls)), "duration_ms": ms, "user_sentiment": sentiment})
		}
	}
	add("rude", "agent_hangup", "negative", 500, 8_000)
	add("good", "user_hangup", "positive", 90, 60_000)
	add("good", "agent_hangup", "neutral", 10, 10_000)
	add("good", "inactivity", "negative", 10, 60_000)
	add("sour", "user_hangup", "negative", 80, 60_000)
	add("sour", "user_hangup", "positive", 20, 60_000)
	add("sour", "inactivity", "positive", 30, 60_000)
	add("triage", "call_transfer", "neutral", 95, 30_000)
	add("triage", "user_hangup", "neutral", 5, 30_000)
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	board := func(goals ...string) (out []string) {
		t.Helper()
		o := analytics.Options{Options: database.Options{Threads: 1}}
		for _, text := range goals {
			goal, err := question.ParseGoal(text)
			test.OK(t, err)
			o.Goals = append(o.Goals, goal)
		}
		w, err := analytics.Open(t.Context(), root, o)
		test.OK(t, err)
		defer w.Close()
		rows, err := askFor(t.Context(), w, "agents", question.Params{})
		var unknown *question.UnknownError
		if errors.As(err, &unknown) {
			return []string{unknown.Nearest}
		}
		at := positions(rows)
		for _, r := range all(t, rows, err) {
			out = append(out, fmt.Sprintf("%v %v %.0f %v", r[at["agent_id"]], r[at["goal"]], r[at["goal_percent"]], r[at["doubt"]]))
		}
		return out
	}
	test.Same(t, []string{"good completed 91 <nil>", "sour completed 77 rated negative", "triage completed 5 <nil>", "rude completed 0 <nil>"}, board(), "(-want +got)")
	if longtest.On() {
		test.Same(t, []string{"triage transferred 95 <nil>", "good completed 91 <nil>", "sour completed 77 rated negative", "rude completed 0 <nil>"}, board("triage=transferred"), "(-want +got)")
	}
	test.Same(t, []string{"triage transferred or completed 100 <nil>", "good completed 91 <nil>", "sour completed 77 rated negative", "rude completed 0 <nil>"}, board("triage=transferred", "triage=completed"), "(-want +got)")
	test.Same(t, []string{"triage"}, board("triages=transferred"), "(-want +got)")
	for text, nearest := range map[string]string{"triage=complete": "completed", "triage=voicemail": "", "triage": "", "=completed": ""} {
		_, err := question.ParseGoal(text)
		var unknown *question.UnknownError
		if err == nil || errors.As(err, &unknown) && nearest != "" && unknown.Nearest != nearest {
			t.Errorf("%s: %v", text, err)
		}
	}
}
