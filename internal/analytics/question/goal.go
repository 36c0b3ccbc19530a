package question

import (
	"slices"
	"strings"
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
		return g, Unknown("outcome of an answered call", g.Outcome, goals)
	}
	return g, nil
}
