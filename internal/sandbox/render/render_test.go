package render

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

// busy is a Thursday, 18:30 in the company's zone: a busy time.
var busy = time.Date(2026, 11, 19, 9, 30, 0, 0, time.UTC)

func newWorld(t testing.TB, cfg world.Config) *world.World {
	t.Helper()
	cfg.Origin = busy
	w, err := world.New(cfg)
	test.OK(t, err)
	return w
}

func decode(t testing.TB, body []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}

// TestJSONSaysTheSame compares the rendered JSON with the Go API.
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
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	w := newWorld(t, world.Config{Seed: 6, Calls: 300, DriftRate: .1})
	var r Renderer
	for v := range w.Visible(busy) {
		var d detail
		decode(t, r.Detail(nil, v), &d)
		campaign, _ := d.Metadata["campaign"].(string)
		if d.ID != v.ID.String() || campaign != v.Campaign() || text(d.From) != v.From() || text(d.To) != v.To() {
			t.Fatalf("%s: %+v", v.ID, d)
		}
		if (d.Analysis != nil) != v.Analysis {
			t.Fatalf("%s: analysis %v", v.ID, d.Analysis)
		}
		if v.Analysis {
			var got []world.CustomItem
			for _, it := range d.Analysis.Items {
				got = append(got, world.CustomItem{Type: it.Type, Name: it.Name, Value: string(it.Value)})
			}
			if diff := cmp.Diff(v.CustomItems(), got); diff != "" || d.Analysis.Summary != v.Summary() || text(d.Analysis.Sentiment) != v.Sentiment {
				t.Fatalf("%s: %+v %s", v.ID, *d.Analysis, diff)
			}
		}
		if !v.Transcript {
			if d.Transcript != nil {
				t.Fatalf("%s: transcript shows too early", v.ID)
			}
			continue
		}
		got := []world.Turn{}
		for _, it := range d.Transcript {
			got = append(got, world.Turn{
				Role: it.Role, Content: it.Content, StartAt: it.StartAt, EndAt: it.EndAt,
				ToolCallID: it.ToolCallID, Tool: it.Name, Arguments: string(it.Arguments),
			})
		}
		if diff := cmp.Diff(v.Turns(), got); diff != "" {
			t.Fatalf("%s: %s", v.ID, diff)
		}
	}
}

// TestBodiesAreAsLargeAsTheServices checks that details have the sizes observed at the live service.
func TestBodiesAreAsLargeAsTheServices(t *testing.T) {
	w := newWorld(t, world.Config{Seed: 1, Calls: 5_000})
	var r Renderer
	var sizes []int
	for v := range w.Visible(busy.Add(24 * time.Hour)) {
		sizes = append(sizes, len(r.Detail(nil, v)))
	}
	slices.Sort(sizes)
	least, median, most := sizes[0], sizes[len(sizes)/2], sizes[len(sizes)-1]
	if least < 1500 || least > 2500 || median < 5500 || median > 8500 || most < 20_000 || most > 42_000 {
		t.Errorf("bodies have %d to %d bytes, half of them fewer than %d", least, most, median)
	}
}
