package world

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/sandbox/script"
)

// TestTheCompanyLooksLikeOne checks that the world's shares are those of a real company.
func TestTheCompanyLooksLikeOne(t *testing.T) {
	w := newWorld(t, Config{Seed: 1, Calls: 20_000})
	at := busy.Add(24 * time.Hour)
	truth := w.Truth(at)
	n := float64(truth.Calls)
	connected := float64(truth.ByStatus["ended"])
	turns := truth.TurnsByRole
	tools := float64(turns["tool_call_invocation"] + turns["tool_call_result"])
	all := tools + float64(turns["agent"]+turns["user"])

	type mood struct{ positive, negative, n float64 }
	var good, early mood
	for v := range w.Visible(at) {
		m := &mood{}
		switch {
		case v.Reason == "agent_hangup":
			m = &good
		case v.Reason == "user_hangup" && v.summary == "early":
			m = &early
		}
		m.n++
		switch v.Call.Sentiment {
		case "positive":
			m.positive++
		case "negative":
			m.negative++
		}
	}
	for _, c := range []struct {
		name       string
		is, lo, hi float64
	}{
		{"agents with calls", float64(len(truth.ByAgent)), 30, 30},
		{"not connected", float64(truth.ByStatus["not_connected"]) / n, .08, .4},
		{"canceled", float64(truth.ByStatus["canceled"]) / n, .002, .01},
		{"error", float64(truth.ByStatus["error"]) / n, .002, .01},
		{"opted out", float64(truth.OptedOut) / n, .005, .01},
		{"transferred", float64(truth.ByReason["call_transfer"]) / connected, .02, .12},
		{"voicemail", float64(truth.ByReason["voicemail_reached"]) / n, .02, .12},
		{"inbound", float64(truth.ByType["inbound"]) / n, .2, .6},
		{"mean duration, s", float64(truth.DurationMS) / connected / 1000, 40, 120},
		{"tools among items", tools / all, .5, .7},
		{"items a connected call", all / float64(truth.WithTranscript), 15, 50},
		{"positive after a good end", good.positive / good.n, .35, .65},
		{"negative after an early end", early.negative / early.n, .35, .65},
		{"analysed after a day", float64(truth.WithAnalysis) / connected, .96, .999},
	} {
		if !(c.is >= c.lo && c.is <= c.hi) {
			t.Errorf("%s: %.4g, want %v to %v", c.name, c.is, c.lo, c.hi)
		}
	}
}

// With Personal, transcripts contain the planted exchanges, and their items are counted.
func TestPersonal(t *testing.T) {
	w := newWorld(t, Config{Seed: 4, Calls: 300, Personal: true})
	planted := 0
	for v := range w.Visible(busy) {
		if v.Turns() == nil {
			continue
		}
		var counts [4]int
		said := ""
		for _, turn := range v.Turns() {
			counts[slices.Index(script.RoleNames[:], turn.Role)]++
			said += turn.Content + "\n"
		}
		if a, u, i, r := v.Items(); counts != [4]int{a, u, i, r} {
			t.Fatalf("%s: %v items, counted %d %d %d %d", v.ID, counts, a, u, i, r)
		}
		for _, x := range v.exchanges() {
			for _, value := range x.values {
				if planted++; !strings.Contains(said, value) {
					t.Fatalf("%s: %q is not in %q", v.ID, value, said)
				}
			}
		}
	}
	if planted < 100 {
		t.Errorf("%d values planted", planted)
	}
}

func TestConversationsHoldTogether(t *testing.T) {
	w := newWorld(t, Config{Seed: 5, Calls: 4000})
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
