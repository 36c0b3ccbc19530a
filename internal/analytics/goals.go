package analytics

import (
	"context"
	"errors"
	"slices"
	"strings"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/stored"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

// Goal is an outcome that is a success of an agent.
type Goal struct{ Agent, Outcome string } // by its id or name, as with --agent

// goals are the outcomes that an answered call may have.
var goals = []string{"completed", "transferred", "abandoned", "failed"}

// ParseGoal reads AGENT=OUTCOME. It returns an *UnknownError for any outcome that an answered call
// cannot have.
func ParseGoal(text string) (Goal, error) {
	at := strings.LastIndexByte(text, '=')
	if at < 1 {
		return Goal{}, &GroupError{text + " has no outcome",
			"write AGENT=OUTCOME, e.g. triage=transferred; repeat an agent for further outcomes"}
	}
	g := Goal{text[:at], text[at+1:]}
	if !slices.Contains(goals, g.Outcome) {
		return g, &UnknownError{What: "outcome of an answered call", Name: g.Outcome, Nearest: words.Nearest(g.Outcome, goals), Known: goals}
	}
	return g, nil
}

// goalsOf returns, as a literal of SQL, the outcomes that are a success by agent, if a report asks
// for them. A reader of some agents' calls does not learn that there are others.
func (w *Warehouse) goalsOf(ctx context.Context, conn *duck.Conn, f *sqlfiles.File) (string, error) {
	of := map[string][]string{}
	var ids []string
	wanted := w.goals
	if !strings.Contains(f.SQL, "goals_of(") {
		wanted = nil
	}
	for _, g := range wanted {
		id, err := w.agent(ctx, conn, g.Agent)
		if !w.Rights().None() && errors.As(err, new(*UnknownError)) {
			continue
		}
		if err != nil {
			return "", err
		}
		if of[id] == nil {
			ids = append(ids, id)
		}
		of[id] = append(of[id], stored.Quote(g.Outcome))
	}
	entries := make([]string, len(ids))
	for i, id := range ids {
		entries[i] = stored.Quote(id) + ": [" + strings.Join(of[id], ", ") + "]"
	}
	return "CAST(MAP {" + strings.Join(entries, ", ") + "} AS MAP(VARCHAR, VARCHAR[]))", nil
}
