package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

// TestTruthIsWhatTheAPIServes fetches every page and every detail over HTTP,
// counts them from their JSON alone, and compares.
func TestTruthIsWhatTheAPIServes(t *testing.T) {
	for _, c := range longtest.Some(3, []struct {
		cfg  Config
		wait time.Duration
	}{
		{Config{Seed: 1, Calls: 500}, 0},
		{Config{Seed: 2, Calls: 400}, 30 * time.Hour},
		{Config{Seed: 3, Calls: 20_000, Days: 300}, -292 * 24 * time.Hour}, // when a larger company was still small
		{Config{Seed: 4, Calls: 400, LateVisibleRate: .1, DeleteRate: .2, TieRate: .4,
			Faults: callFaults(t, "late-analysis=.3,late-cost=.3,stuck=.1")}, 5 * time.Hour},
		{Config{Seed: 5, Calls: 400, DriftRate: .3}, time.Minute},
		{Config{Seed: 8, Calls: 400, Faults: callFaults(t, "late-record=.1,late-transcript=.3,late-analysis=.3,late-cost=.3,late-link=.1,masked=.3,"+
			"corrected=.3,no-end=1,odd-times=.5,whole-seconds=.5,huge-record=.02,broken-record=.05")}, 30 * time.Hour},
		{Config{Seed: 6, Calls: 1}, -400 * 24 * time.Hour},
	}) {
		if c.cfg.Origin.IsZero() {
			c.cfg.Origin = busy
		}
		at := c.cfg.Origin.Add(c.wait)
		s := newServer(t, Options{World: c.cfg, Clock: NewManualClock(at)})
		w := do(s, "GET", "/sandbox/truth")
		var want world.Truth
		decode(t, w.Body.Bytes(), &want)
		got := count(t, s, at)
		test.Same(t, &want, got, "seed %d: truth (-) is not what is served (+)", c.cfg.Seed)
	}
}

// count computes a Truth from JSON.
func count(t *testing.T, s *Server, at time.Time) *world.Truth {
	truth := &world.Truth{
		At:       at.UnixMilli(),
		ByStatus: map[string]int64{}, ByType: map[string]int64{}, ByReason: map[string]int64{},
		BySentiment: map[string]int64{}, ByAgent: map[string]int64{}, ByVersion: map[string]int64{},
		ByVariant: map[string]int64{}, ByDay: map[string]int64{},
		TurnsByRole: map[string]int64{}, CustomItems: map[string]int64{},
	}
	cost := new(big.Rat)
	key := func(v any) string {
		if v == nil {
			return "null"
		}
		return v.(string)
	}
	for _, item := range getAll(t, s, "limit=100") {
		w := do(s, "GET", "/v3/calls/"+item["id"].(string))
		var c map[string]any
		if w.Code != 200 || w.Body.Len() > 8<<20 || json.Unmarshal(w.Body.Bytes(), &c) != nil {
			c = maps.Clone(item) // the record cannot be read
			c["transcript"] = nil
		}
		transcript, there := c["transcript"]
		delete(c, "transcript")
		if diff := cmp.Diff(item, c); diff != "" || !there {
			t.Fatalf("the detail says otherwise than the list: %s", diff)
		}
		truth.Calls++
		agent := c["agent"].(map[string]any)
		truth.ByStatus[key(c["status"])]++
		truth.ByType[key(c["call_type"])]++
		truth.ByReason[key(c["disconnection_reason"])]++
		truth.ByAgent[key(agent["agent_id"])]++
		truth.ByVersion[key(agent["agent_version"])]++
		truth.ByVariant[key(c["variant_label"])]++
		day := "null"
		start, started := moment(t, c["start_at"])
		if started {
			day = time.UnixMilli(start).UTC().Format(time.DateOnly)
		}
		truth.ByDay[day]++
		if end, ok := moment(t, c["end_at"]); ok && started && end >= start {
			truth.DurationMS += end - start
		}
		edited := func(text any) {
			switch text := fmt.Sprint(text); {
			case text == world.Mask:
				truth.Masked++
			case strings.HasSuffix(text, "(corrected)"):
				truth.Corrected++
			}
		}
		if m, ok := c["call_cost"].(map[string]any); ok {
			truth.WithCost++
			text, ok := m["total_cost"].(string)
			if !ok {
				text = strings.Trim(itoaFloat(m["total_cost"].(float64)), `"`)
			}
			n, ok := new(big.Rat).SetString(text)
			if !ok {
				t.Fatalf("cost %v", m)
			}
			cost.Add(cost, n)
		}
		if c["opt_out_sensitive_data_storage"] == true {
			truth.OptedOut++
		}
		if c["recording_url"] != nil {
			truth.WithRecording++
		}
		if transcript != nil {
			truth.WithTranscript++
			for _, turn := range transcript.([]any) {
				edited(turn.(map[string]any)["content"])
				truth.TurnsByRole[turn.(map[string]any)["role"].(string)]++
			}
		}
		analysis, ok := c["call_analysis"].(map[string]any)
		truth.BySentiment[key(analysis["user_sentiment"])]++
		if ok {
			edited(analysis["summary"])
			truth.WithAnalysis++
			for _, it := range analysis["custom_analysis_data"].([]any) {
				truth.CustomItems[it.(map[string]any)["name"].(string)]++
			}
		}
	}
	truth.TotalCost = cost.FloatString(2)
	return truth
}

// moment reads a time in any of the service's spellings, in ms.
func moment(t *testing.T, value any) (ms int64, ok bool) {
	switch value := value.(type) {
	case float64:
		return int64(value), true
	case string:
		for _, zone := range []string{"Z07:00", "Z0700", "Z07"} {
			if at, err := time.Parse("2006-01-02 15:04:05"+zone, strings.Replace(value, "T", " ", 1)); err == nil {
				return at.UnixMilli(), true
			}
		}
		t.Fatalf("the time %q", value)
	}
	return 0, false
}

func itoaFloat(f float64) string { return new(big.Rat).SetFloat64(f).FloatString(2) }

func TestClockOverHTTP(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 300}})
	post := func(s *Server, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/sandbox/clock", strings.NewReader(body)))
		return w
	}
	for body, want := range map[string]string{
		`{"set":"2026-11-20T00:00:00Z"}`: "2026-11-20T00:00:00Z", `{"set":"1795132800000"}`: "2026-11-20T00:00:00Z",
		`{"advance":"24h"}`: "2026-11-20T09:30:00Z", `{"advance":"-90m"}`: "2026-11-19T08:00:00Z",
		`{}`: "2026-11-19T09:30:00Z", `{"jump":"24h"}`: "2026-11-19T09:30:00Z", // refused
	} {
		s.opts.Clock.Set(busy)
		post(s, body)
		var c struct{ Now string }
		decode(t, do(s, "GET", "/sandbox/clock").Body.Bytes(), &c)
		test.Same(t, want, c.Now, "after %s", body)
	}
	real, err := New(Options{World: Config{Calls: 10}})
	test.OK(t, err)
	if w := post(real, `{"advance":"24h"}`); w.Code != 400 || !strings.Contains(w.Body.String(), "real-time clock") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(real, "GET", "/sandbox/nothing"); w.Code != 404 {
		t.Errorf("%d", w.Code)
	}
}

func TestStatsOfDetails(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 50_000}})
	get := func(index int64) { do(s, "GET", "/v3/calls/"+s.World().ID(index).String()) }
	get(100)
	get(101)
	get(100)
	young := int64(299)
	for v := range s.World().Visible(busy) {
		if v.Status == "ended" && !v.CostKnown {
			young = v.Index
			break
		}
	}
	get(young)
	s.opts.Clock.Advance(24 * time.Hour)
	get(young) // the answer has changed meanwhile
	do(s, "GET", "/v3/calls/none")
	do(s, "GET", "/v3/calls")
	got := s.Stats()
	got.Bytes = 0
	want := &Stats{
		Requests: 7, ByKind: map[string]int64{"detail": 6, "page": 1}, ByStatus: map[string]int64{"200": 6, "404": 1},
		MaxPerSecond: got.MaxPerSecond, MaxPerMinute: got.MaxPerMinute, Faults: map[FaultKind]int64{},
		DetailsDistinct: 3, DetailsAgain: 2, DetailsUnchanged: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" || s.ledger.details[100].times != 2 || s.ledger.details[5].times != 0 {
		t.Error(diff)
	}
}
