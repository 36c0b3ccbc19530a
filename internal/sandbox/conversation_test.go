package sandbox

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestConversationsHoldTogether(t *testing.T) {
	w := newWorld(t, Config{Seed: 5, Calls: 4000})
	overlaps, spoken := 0, 0
	for v := range w.Visible(busy.Add(48 * time.Hour)) {
		turns := v.Turns()
		if v.Transcript != (turns != nil) && v.Over {
			t.Fatalf("%s: transcript %v, turns %v", v.ID, v.Transcript, turns)
		}
		var count [roles]int
		open := map[string]bool{}
		var last Turn
		for i, turn := range turns {
			count[slices.Index(roleNames[:], turn.Role)]++
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
		if v.Reason == "voicemail_reached" && count[roleUser] > 0 {
			t.Fatalf("%s: a machine speaks", v.ID)
		}
	}
	if share := float64(overlaps) / float64(spoken); share < .005 || share > .1 {
		t.Errorf("%.3f of the turns interrupt", share)
	}
}

// TestJSONSaysTheSame compares what is rendered, by hand and by appending, with
// what the Go API says.
func TestJSONSaysTheSame(t *testing.T) {
	type item struct {
		Role       string          `json:"role"`
		Content    string          `json:"content"`
		StartAt    int64           `json:"start_at"`
		EndAt      int64           `json:"end_at"`
		ToolCallID string          `json:"tool_call_id"`
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
	}
	type detail struct {
		ID         string  `json:"id"`
		From       *string `json:"from_number"`
		To         *string `json:"to_number"`
		Metadata   map[string]any
		Transcript []item
		Analysis   *struct {
			Summary   string
			Sentiment *string `json:"user_sentiment"`
			Items     []struct {
				Type, Name string
				Value      json.RawMessage
			} `json:"custom_analysis_data"`
		} `json:"call_analysis"`
	}
	type v2 struct {
		CallID   string `json:"call_id"`
		Duration *int64 `json:"duration_ms"`
		Spoken   []item `json:"transcript"`
		All      []item `json:"transcript_with_tool_calls"`
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	w := newWorld(t, Config{Seed: 6, Calls: 300, DriftRate: .1})
	var r Renderer
	for v := range w.Visible(busy) {
		var d detail
		decode(t, r.Detail(nil, v), &d)
		var old v2
		decode(t, r.V2(nil, v), &old)
		campaign, _ := d.Metadata["campaign"].(string)
		if d.ID != v.ID.String() || old.CallID != d.ID || campaign != v.Campaign() || text(d.From) != v.From() || text(d.To) != v.To() {
			t.Fatalf("%s: %+v", v.ID, d)
		}
		if (d.Analysis != nil) != v.Analysis {
			t.Fatalf("%s: analysis %v", v.ID, d.Analysis)
		}
		if v.Analysis {
			var got []CustomItem
			for _, it := range d.Analysis.Items {
				got = append(got, CustomItem{it.Type, it.Name, string(it.Value)})
			}
			if diff := cmp.Diff(v.CustomItems(), got); diff != "" || d.Analysis.Summary != v.Summary() || text(d.Analysis.Sentiment) != v.Sentiment {
				t.Fatalf("%s: %+v %s", v.ID, *d.Analysis, diff)
			}
		}
		if !v.Transcript {
			if d.Transcript != nil || old.All != nil || old.Spoken != nil {
				t.Fatalf("%s: transcript shows too early", v.ID)
			}
			continue
		}
		if old.Duration == nil || *old.Duration != v.EndAt-v.StartAt {
			t.Fatalf("%s: v2 duration %v", v.ID, old.Duration)
		}
		got, spoken := []Turn{}, []item{}
		for _, it := range d.Transcript {
			got = append(got, Turn{it.Role, it.Content, it.StartAt, it.EndAt, it.ToolCallID, it.Name, string(it.Arguments)})
			if it.ToolCallID == "" {
				spoken = append(spoken, it)
			}
		}
		if diff := cmp.Diff(v.Turns(), got); diff != "" {
			t.Fatalf("%s: %s", v.ID, diff)
		}
		if diff := cmp.Diff(d.Transcript, old.All) + cmp.Diff(spoken, old.Spoken); diff != "" {
			t.Fatalf("%s: v2 %s", v.ID, diff)
		}
	}
}

func TestScripts(t *testing.T) {
	all, err := loadScenarios()
	if err != nil {
		t.Fatal(err)
	}
	if len(all["en"]) < 8 || len(all["ko"]) != len(all["en"]) {
		t.Fatalf("%d English and %d Korean scenarios", len(all["en"]), len(all["ko"]))
	}
	for i, en := range all["en"] {
		ko := all["ko"][i]
		if en.name != ko.name || en.direction != ko.direction || len(en.steps) != len(ko.steps) || len(en.extracts) != len(ko.extracts) {
			t.Errorf("%s and %s differ in more than their language", en.name, ko.name)
		}
		for j := range en.extracts {
			if en.extracts[j].name != ko.extracts[j].name || en.extracts[j].kind != ko.extracts[j].kind {
				t.Errorf("%s: extraction %d differs between languages", en.name, j)
			}
		}
	}
}

func TestScriptErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"direction inbound":           `line 1: want "key : value"`,
		"# a\n\n[hello]\nX hm":        `line 4: unknown kind of line "X"`,
		"[hello]\nA Hi <nobody>":      "line 2: no slot is called <nobody>",
		"[hello]\nA Hi <name":         "line 2: no slot is called <name>",
		"[hello]\nT tool {} -> {}":    "line 2: want T tool {arguments} => answer",
		"[hello]\nT tool {} => <no>.": "line 2: no slot is called <no>",
	} {
		if _, err := parseScript(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
