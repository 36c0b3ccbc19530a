package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// begun returns a sandbox started from a scenario, without limits.
func begun(t *testing.T, name string) *sandbox.Server {
	t.Helper()
	var f serveFlags
	c := newServeInto(&f)
	test.OK(t, c.ParseFlags([]string{"--scenario", name, "--requests-per-second", "0", "--requests-per-minute", "0", "--slow-for",
		"1ms"}))
	chosen, err := f.chooseScenario(c.Flags())
	test.OK(t, err)
	o, err := f.prepare(time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC))
	test.OK(t, err)
	if o.Clock == nil {
		o.Clock = sandbox.NewManualClock(time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC))
	}
	s, err := sandbox.New(o)
	test.OK(t, err)
	test.OK(t, chosen.play(s))
	return s
}

// ask returns the status and the body of an answer.
func ask(t *testing.T, s *sandbox.Server, path string) (status int, answer map[string]any) {
	t.Helper()
	status, text := s.Do(http.MethodGet, path, "")
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s: %v in %s", path, err, text)
	}
	return status, answer
}

func TestScenarios(t *testing.T) {
	total := func(t *testing.T, s *sandbox.Server, path string) float64 {
		status, answer := ask(t, s, path)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %v", path, status, answer)
		}
		return answer["total_count"].(float64)
	}
	is := func(t *testing.T, s *sandbox.Server, want map[string]float64) {
		for path, n := range want {
			if got := total(t, s, path); got != n {
				t.Errorf("%s: %v, not %v", path, got, n)
			}
		}
	}
	campaign := func(t *testing.T, s *sandbox.Server) string {
		_, list := ask(t, s, "/v3/campaigns")
		c := list["items"].([]any)[0].(map[string]any)
		return fmt.Sprint(c["status"], " ", c["completed_calls"].(float64)+c["failed_calls"].(float64), " of ", c["total_calls"])
	}
	clock := func(s *sandbox.Server, by time.Duration) {
		s.Clock().Advance(by)
	}
	checks := map[string]func(t *testing.T, s *sandbox.Server){
		"empty": func(t *testing.T, s *sandbox.Server) {
			clock(s, 400*24*time.Hour)
			is(t, s, map[string]float64{"/v3/agents": 0, "/v3/calls": 0, "/v3/campaigns": 0, "/v3/tools": 0, "/v3/customers": 0,
				"/v3/knowledges": 0, "/v3/organization-telephone-numbers": 0,
				"/v3/models/llms": 4, "/v3/models/voices": 6, "/v3/schemas": total(t, s, "/v3/schemas")})
		},
		"campaign": func(t *testing.T, s *sandbox.Server) {
			is(t, s, map[string]float64{"/v3/agents": 1, "/v3/calls": 0, "/v3/campaigns": 1})
			var seen []string
			for range 5 {
				seen = append(seen, campaign(t, s))
				clock(s, 5*time.Second)
			}
			clock(s, time.Hour)
			if seen[0] != "pending 0 of 12" || seen[1] != "ongoing 0 of 12" || campaign(t, s) != "success 12 of 12" {
				t.Error(seen, campaign(t, s))
			}
		},
		"large": func(t *testing.T, s *sandbox.Server) {
			if voices := total(t, s, "/v3/models/voices"); voices < 370 || voices > 400 { // their number varies
				t.Error(voices)
			}
			if calls := s.World().Count(s.World().Origin()); calls < 201_312 || calls > 201_330 { // some are queued
				t.Error(calls)
			}
			if agents := total(t, s, "/v3/agents"); agents < 82 || agents > 84 {
				t.Error(agents)
			}
		},
		"troubled": func(t *testing.T, s *sandbox.Server) {
			if status, _ := ask(t, s, "/v3/alert-rules"); status != 500 {
				t.Error(status)
			}
			for range 400 {
				r, err := http.NewRequest(http.MethodGet, "/v3/agents", nil)
				test.OK(t, err)
				r.Header.Set("Authorization", "Bearer sandbox-key")
				func() {
					defer func() { _ = recover() }() // the handler may cut the connection
					s.ServeHTTP(discard{http.Header{}}, r)
				}()
			}
			if n := len(s.Stats().Faults); n < 5 {
				t.Error(s.Stats().Faults)
			}
		},
		"incidents": func(t *testing.T, s *sandbox.Server) {
			lost := func(from, to int) float64 {
				midnight := s.World().Origin()
				return total(t, s, fmt.Sprint("/v3/calls?limit=1&disconnection_reason=dial_failed&start_at_after=", midnight.AddDate(0, 0, from).UnixMilli(),
					"&start_at_before=", midnight.AddDate(0, 0, to).UnixMilli()))
			}
			if before, during := lost(-20, -17), lost(-13, -10); during < 4*before {
				t.Errorf("%v dials failed, before %v", during, before)
			}
			_, versions := ask(t, s, "/v3/agents/"+s.World().Agents()[2].ID.String()+"/versions")
			if bad := versions["versions"].([]any)[1].(map[string]any); bad["created_at"] != float64(s.World().Origin().AddDate(0, 0, -7).UnixMilli()) {
				t.Error(bad)
			}
		},
		"contract": func(t *testing.T, s *sandbox.Server) {
			for path, want := range map[string]int{
				"/v3/agents?limit=1": 200, "/v3/agents?q=a": 400, "/v3/calls?limit=1": 200, "/v3/calls?status=ended": 400,
				"/v3/schemas?category=x&include_schema=true": 200, "/v3/campaigns": 404,
				"/v3/knowledges": 200, "/v3/tools": 404, "/v3/customers": 404, "/v3/models/llms": 404, "/v3/alert-rules": 404,
			} {
				if status, _ := ask(t, s, path); status != want {
					t.Errorf("%s: %d", path, status)
				}
			}
			number := s.World().Campaigns(s.Now().UnixMilli())[0].Number
			if status, _ := ask(t, s, fmt.Sprint("/v3/campaigns/", 5000+number)); status != 200 {
				t.Errorf("a campaign: %d", status)
			}
		},
		"tomorrow": func(t *testing.T, s *sandbox.Server) {
			_, list := ask(t, s, "/v3/calls?disconnection_reason=assistant_forwarded&limit=1")
			if list["total_count"] == 0.0 {
				t.Error("no call has a reason that nobody knows")
			}
			_, tools := ask(t, s, "/v3/tools?limit=1")
			if tool := fmt.Sprint(tools["items"]); !strings.Contains(tool, "new") {
				t.Error(tool)
			}
		},
		"clocks-back": func(t *testing.T, s *sandbox.Server) {
			before := campaign(t, s)
			clock(s, 31*time.Minute)
			during := campaign(t, s)
			clock(s, 2*time.Hour)
			if after := campaign(t, s); !strings.HasPrefix(before, "pending") || !strings.HasPrefix(during, "ongoing") ||
				!strings.HasSuffix(after, "4 of 4") {
				t.Error(before, during, after)
			}
		},
	}
	table := "| scenario | what it is |\n| --- | --- |\n"
	for _, s := range scenarios() {
		table += fmt.Sprintf("| `%s` | %s |\n", s.Name, s.Says)
		t.Run(s.Name, func(t *testing.T) { checks[s.Name](t, begun(t, s.Name)) })
	}
	test.GoldenPart(t, "../../docs/reference/sandbox.md", "TestScenarios -update -->\n", "<!-- end of scenarios -->", table)
}

// discard is a ResponseWriter without a reader.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
