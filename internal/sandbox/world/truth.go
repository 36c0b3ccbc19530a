package world

import (
	"time"

	"callhouse/internal/sandbox/script"
	"callhouse/internal/sandbox/wire"
)

// Truth counts what the API shows at one instant. Nulls are counted under the key "null". It is
// computed from the world's structs, not from JSON. Transcripts count if their records can be read.
type Truth struct {
	At    int64 `json:"at"` // unix ms
	Calls int64 `json:"calls"`

	ByStatus    map[string]int64 `json:"by_status"`
	ByType      map[string]int64 `json:"by_call_type"`
	ByReason    map[string]int64 `json:"by_disconnection_reason"`
	BySentiment map[string]int64 `json:"by_user_sentiment"` // "null": no analysis, or no sentiment in it
	ByAgent     map[string]int64 `json:"by_agent"`
	ByVersion   map[string]int64 `json:"by_agent_version"`
	ByVariant   map[string]int64 `json:"by_variant_label"`
	ByDay       map[string]int64 `json:"by_day"` // UTC day of start_at, 2006-01-02

	// DurationMS is the sum of end_at - start_at over the calls with both.
	DurationMS int64 `json:"duration_ms"`
	// TotalCost is the exact sum of total_cost, as a decimal with two places.
	TotalCost string `json:"total_cost"`

	WithAnalysis   int64            `json:"with_analysis"`
	WithCost       int64            `json:"with_cost"`
	WithTranscript int64            `json:"with_transcript"` // not null; may be empty
	WithRecording  int64            `json:"with_recording"`
	OptedOut       int64            `json:"opted_out"`
	TurnsByRole    map[string]int64 `json:"turns_by_role"` // over the transcripts in details
	Masked         int64            `json:"masked"`        // summaries and turns whose text is Mask
	Corrected      int64            `json:"corrected"`     // those with "(corrected)"
	CustomItems    map[string]int64 `json:"custom_items"`  // by name
}

// Truth counts what the API shows at an instant. It takes about half a second per million calls.
func (w *World) Truth(at time.Time) *Truth {
	t := &Truth{
		At:       at.UnixMilli(),
		ByStatus: map[string]int64{}, ByType: map[string]int64{}, ByReason: map[string]int64{},
		BySentiment: map[string]int64{}, ByAgent: map[string]int64{}, ByVersion: map[string]int64{},
		ByVariant: map[string]int64{}, ByDay: map[string]int64{},
		TurnsByRole: map[string]int64{}, CustomItems: map[string]int64{},
	}
	var cost int64 // hundredths
	var turns [script.Roles]int64
	byAgent := make([]int64, len(w.agents))
	byDay := map[int64]int64{}
	for v := range w.Visible(at) {
		t.Calls++
		t.ByStatus[v.Status]++
		t.ByType[v.Type]++
		t.ByReason[orNull(v.Reason)]++
		t.ByVersion[v.Version]++
		t.ByVariant[orNull(v.Variant)]++
		if v.Order == nil {
			byAgent[v.Agent.Number]++
		} else {
			t.ByAgent[v.Agent.ID.String()]++
		}
		if v.Started {
			byDay[floorDiv(v.StartAt, msDay)]++
		} else {
			t.ByDay["null"]++
		}
		t.count(v, &cost, &turns)
	}
	for i, n := range byAgent {
		if n > 0 {
			t.ByAgent[w.agents[i].ID.String()] += n
		}
	}
	for day, n := range byDay {
		t.ByDay[time.UnixMilli(day*msDay).UTC().Format(time.DateOnly)] = n
	}
	for r, n := range turns {
		if n > 0 {
			t.TurnsByRole[script.RoleNames[r]] = n
		}
	}
	t.TotalCost = string(wire.AppendDecimal(nil, cost))
	return t
}

// count counts a call's content, except agent and time.
func (t *Truth) count(v *View, cost *int64, turns *[script.Roles]int64) {
	if v.Over {
		t.DurationMS += v.EndAt - v.StartAt
	}
	if v.CostKnown {
		t.WithCost++
		*cost += v.Cost
	}
	if v.OptedOut {
		t.OptedOut++
	}
	if v.Readable() && v.Transcript {
		t.WithTranscript++
		for r, n := range v.counts {
			turns[r] += int64(n)
		}
	}
	switch summaries, speech := v.edited(); v.edit {
	case masked:
		t.Masked += summaries + speech
	case corrected:
		t.Corrected += summaries + min(speech, 1)
	}
	if v.Recording {
		t.WithRecording++
	}
	if !v.Analysis {
		t.BySentiment["null"]++
		return
	}
	t.WithAnalysis++
	t.BySentiment[orNull(v.Sentiment)]++
	for i := range v.scenario.Extracts {
		if v.extracts>>i&1 != 0 {
			t.CustomItems[v.scenario.Extracts[i].Name]++
		}
	}
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}
