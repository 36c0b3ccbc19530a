package world

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/sandbox/script"
)

func TestConversationsHoldTogether(t *testing.T) {
	t.Run("usual", func(t *testing.T) { holdTogether(t, newWorld(t, Config{Seed: 5, Calls: 4000})) })
	t.Run("incidents", func(t *testing.T) {
		holdTogether(t, newWorld(t, Config{Seed: 5, Calls: 1000, Incidents: incidents(t, "tool:get_customer=-30..3,carrier=-9..3,release:2=-20..3")}))
	})
}

func holdTogether(t *testing.T, w *World) {
	overlaps, spoken := 0, 0
	for v := range w.Visible(busy.Add(48 * time.Hour)) {
		turns := v.Turns()
		if v.Transcript != (turns != nil) && v.Over {
			t.Fatalf("%s: transcript %v, turns %v", v.ID, v.Transcript, turns)
		}
		var count [script.Roles]int
		open := map[string]bool{}
		var last Turn
		for i, turn := range turns {
			count[slices.Index(script.RoleNames[:], turn.Role)]++
			switch turn.Role {
			case "tool_call_invocation":
				if open[turn.ToolCallID] || turn.Tool == "" || !json.Valid([]byte(turn.Arguments)) || turn.Arguments[0] != '{' {
					t.Fatalf("%s, item %d: %+v", v.ID, i, turn)
				}
				open[turn.ToolCallID] = true
			case "tool_call_result":
				if !open[turn.ToolCallID] || turn.Content == "" {
					t.Fatalf("%s, item %d answers no call: %+v", v.ID, i, turn)
				}
				delete(open, turn.ToolCallID)
				if c := turn.Content[0]; (c == '{' || c == '[') && !json.Valid([]byte(turn.Content)) {
					t.Fatalf("%s, item %d: %s", v.ID, i, turn.Content)
				}
			default:
				spoken++
				if turn.StartAt < v.Call.StartAt || turn.EndAt > v.Call.EndAt || turn.EndAt <= turn.StartAt {
					t.Fatalf("%s lasts from %d to %d, item %d is %+v", v.ID, v.Call.StartAt, v.Call.EndAt, i, turn)
				}
				if turn.StartAt < last.StartAt || turn.StartAt < last.EndAt && turn.Role == "agent" {
					t.Fatalf("%s: %+v comes after %+v", v.ID, turn, last)
				}
				if turn.StartAt < last.EndAt {
					overlaps++
					turn.EndAt = max(turn.EndAt, last.EndAt)
				}
				if strings.TrimSpace(turn.Content) != turn.Content || turn.Content == "" || strings.ContainsAny(turn.Content, "<>") {
					t.Fatalf("%s, item %d: %q", v.ID, i, turn.Content)
				}
				last = turn
			}
		}
		if len(open) > 0 {
			t.Fatalf("%s: no answer to %v", v.ID, open)
		}
		if turns != nil && count != v.counts {
			t.Fatalf("%s: %v items, said to be %v", v.ID, count, v.counts)
		}
		if v.Reason == "voicemail_reached" && count[script.RoleUser] > 0 {
			t.Fatalf("%s: a machine speaks", v.ID)
		}
	}
	if share := float64(overlaps) / float64(spoken); share < .005 || share > .1 {
		t.Errorf("%.3f of the turns interrupt", share)
	}
}
