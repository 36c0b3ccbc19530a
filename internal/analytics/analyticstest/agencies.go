package analyticstest

import (
	"fmt"
	"strings"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Secret occurs in every text of [Agencies] that does not belong to the agent "own".
const Secret = "SECRET"

// Agencies returns two calls of each of two agents, and one row of every other table.
func Agencies() Data {
	d := Data{Runs: []Row{{"run_id": Secret + "-run", "outcome": Secret}}, Others: One()}
	for i, agent := range []string{"own", Secret + "-agent", "own", Secret + "-agent"} {
		word := fmt.Sprintf("mine %d", i)
		if agent != "own" {
			word = fmt.Sprintf("%s %d", Secret, i)
		}
		at, id := int64(1_760_000_000_000)+int64(i)*3_600_000, strings.ReplaceAll(word, " ", "-")
		d.Calls = append(d.Calls, Row{"call_id": id, "agent_id": agent, "start_at": at, "end_at": at + 60_000,
			"duration_ms": int64(60_000), "summary": word, "metadata": fmt.Sprintf(`{"k": %q}`, word),
			"from_number": word, "to_number": word, "status": "ended", "user_sentiment": word, "disconnection_reason": "user_hangup",
			"user_turns": int64(1), "turn_count": int64(3), "extra": fmt.Sprintf(`{"e": %q}`, word)})
		for turn, role := range []string{"user", "tool_call_invocation", "tool_call_result"} {
			d.Turns = append(d.Turns, Row{"call_id": id, "turn": int64(turn), "role": role, "content": word, "tool_call_id": "t",
				"tool_name": word, "arguments": fmt.Sprintf(`{"k": %q}`, word), "call_start_at": at})
		}
		d.Recordings = append(d.Recordings, Row{"call_id": id, "state": "stored", "path": word, "reason": word,
			"fetched_at": at, "call_start_at": at})
		d.Items = append(d.Items, Row{"call_id": id, "position": int64(0), "name": word, "value": fmt.Sprintf("%q", word), "call_start_at": at})
	}
	for t, rows := range d.Others {
		marked := Row{}
		for _, c := range t.Columns {
			marked[c.Name] = rows[0][c.Name]
			if c.Type == schema.Text || c.Type == schema.Word {
				marked[c.Name] = Secret + "-" + c.Name
			}
			if c.Name == "agent_id" {
				marked[c.Name] = Secret + "-agent"
			}
			if c.Name == "call_id" {
				marked[c.Name] = Secret + "-1"
			}
		}
		d.Others[t] = []Row{marked}
		if t == resource.Agents.Table {
			own := rows[0]
			own["agent_id"], own["name"] = "own", "Mine"
			d.Others[t] = append(d.Others[t], own)
		}
	}
	return d
}
