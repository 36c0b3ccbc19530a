package sandbox

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

const bulkPath = "/v2/calls/list"

// bulkPage is a page of v2's calls as a client sees it.
type bulkPage struct {
	Calls  []map[string]any `json:"calls"`
	Next   *string          `json:"next_cursor"`
	Legacy *string          `json:"next_pagination_key"`
	Total  int64            `json:"total_count"`
}

// post sends one request with a body.
func post(s http.Handler, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer sandbox-key")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// getBulk requests one page; body does not include pagination_key.
func getBulk(t testing.TB, s http.Handler, target, body, key string) bulkPage {
	t.Helper()
	if key != "" {
		body = fmt.Sprintf(`{"pagination_key":%q,%s`, key, strings.TrimPrefix(body, "{"))
	}
	w := post(s, target, body)
	if w.Code != 200 {
		t.Fatalf("POST %s %s: %d %s", target, body, w.Code, w.Body)
	}
	var p bulkPage
	decode(t, w.Body.Bytes(), &p)
	return p
}

// getAllBulk follows the keys to the end. Each key is the id of the last call of its page.
func getAllBulk(t testing.TB, s http.Handler, target, body string) []map[string]any {
	t.Helper()
	var all []map[string]any
	key := ""
	for {
		p := getBulk(t, s, target, body, key)
		all = append(all, p.Calls...)
		next := p.Next
		if target != bulkPath {
			next = p.Legacy
		}
		if next == nil {
			return all
		}
		if key = *next; key != all[len(all)-1]["call_id"] {
			t.Fatalf("the key after %v is %s", all[len(all)-1]["call_id"], key)
		}
	}
}

func bulkIDs(calls []map[string]any) []string {
	all := make([]string, len(calls))
	for i, c := range calls {
		all[i] = c["call_id"].(string)
	}
	return all
}

// TestBulkListsTheCallsOfV3 pages through both lists, requests single calls from both, and compares
// each call of v2 with v3.
func TestBulkListsTheCallsOfV3(t *testing.T) {
	s := newServer(t, Options{World: Config{
		Seed: 2, Calls: 120, Days: 2, LateVisibleRate: .1, DeleteRate: .3, TieRate: .5,
		Faults: callFaults(t, "late-analysis=.2,late-cost=.2"),
	}})
	opted := 0
	for range 2 {
		want := map[string]map[string]any{}
		listed := getAll(t, s, "limit=100")
		for _, it := range listed {
			var detail map[string]any
			decode(t, do(s, "GET", "/v3/calls/"+it["id"].(string)).Body.Bytes(), &detail)
			want[it["id"].(string)] = detail
		}
		for target, body := range map[string]string{bulkPath: `{"limit":7}`, "/functions/v1/v1/list-calls": `{"limit":500}`} {
			got := getAllBulk(t, s, target, body)
			if !slices.Equal(bulkIDs(got), ids(listed)) {
				t.Fatalf("%s lists %d calls, v3 %d", target, len(got), len(listed))
			}
			for _, c := range got {
				old, detail := alike(c), want[c["call_id"].(string)]
				for _, only := range []string{"agent", "presentation_number", "variant_label"} {
					delete(detail, only)
				}
				if !reflect.DeepEqual(detail, old) {
					t.Fatalf("%s: %s", detail["id"], cmp.Diff(detail, old))
				}
				if end, over := c["end_timestamp"].(float64); over && c["duration_ms"] != end-c["start_timestamp"].(float64) {
					t.Fatalf("%s lasts %v", detail["id"], c["duration_ms"])
				}
				if c["opt_out_sensitive_data_storage"] == true {
					opted++
					withoutTranscript(t, c)
				}
				var single map[string]any
				decode(t, do(s, "GET", "/v2/calls/"+c["call_id"].(string)).Body.Bytes(), &single)
				delete(c, "status")
				if a, ok := c["call_analysis"].(map[string]any); ok {
					if a["evaluation"] == nil {
						t.Errorf("%s has no evaluation", c["call_id"])
					}
					delete(a, "evaluation")
				}
				if !reflect.DeepEqual(c, single) {
					t.Fatalf("%s alone: %s", c["call_id"], cmp.Diff(c, single))
				}
			}
		}
		s.opts.Clock.Advance(7 * time.Hour)
	}
	if opted == 0 {
		t.Error("nobody opted out: the world is too small for this test")
	}
}

func withoutTranscript(t *testing.T, c map[string]any) {
	t.Helper()
	if c["transcript"] != nil || c["transcript_with_tool_calls"] != nil {
		t.Errorf("%v has a transcript", c)
	}
}

// alike converts a call of v2 to v3's form, without fields that v3 lacks.
func alike(c map[string]any) map[string]any {
	o := map[string]any{}
	for to, from := range map[string]string{
		"id": "call_id", "call_type": "call_type", "status": "status", "from_number": "call_from", "to_number": "call_to",
		"disconnection_reason": "disconnection_reason", "start_at": "start_timestamp", "end_at": "end_timestamp",
		"recording_url": "recording_url", "metadata": "metadata", "dynamic_variables": "dynamic_variables",
		"opt_out_sensitive_data_storage": "opt_out_sensitive_data_storage", "transcript": "transcript_with_tool_calls",
	} {
		o[to] = c[from]
	}
	o["call_analysis"], o["call_cost"] = nil, nil
	if a, ok := c["call_analysis"].(map[string]any); ok {
		o["call_analysis"] = map[string]any{
			"summary": a["summary"], "user_sentiment": a["user_sentiment"], "custom_analysis_data": a["custom_analysis_data"],
		}
	}
	if cost, ok := c["call_cost"].(map[string]any); ok {
		o["call_cost"] = map[string]any{"total_cost": fmt.Sprintf("%.2f", cost["total_credits_used"])}
	}
	return o
}

// TestBulkFilters compares every filter with a brute-force search.
func TestBulkFilters(t *testing.T) {
	longtest.Only(t)
	s := newServer(t, Options{World: Config{Seed: 2, Calls: 300, TieRate: .5}})
	var all []*world.View
	for v := range s.World().Visible(busy) {
		v := *v
		all = append(all, &v)
	}
	mid, early := all[len(all)/2], all[len(all)*3/4]
	second := mid.StartAt / 1000
	for filter, keep := range map[string]func(*world.View) bool{
		`{}`: func(*world.View) bool { return true },
		fmt.Sprintf(`{"agent_id":[%q,%q]}`, mid.Agent.ID, early.Agent.ID): func(v *world.View) bool {
			return v.Agent == mid.Agent || v.Agent == early.Agent
		},
		`{"agent_id":[],"call_type":["web","api"]}`: func(v *world.View) bool { return v.Type == "web" || v.Type == "api" },
		`{"disconnection_reason":["user_hangup"]}`:  func(v *world.View) bool { return v.Reason == "user_hangup" },
		`{"user_sentiment":["positive","negative"]}`: func(v *world.View) bool {
			return v.Sentiment == "positive" ||
				v.Sentiment == "negative"
		},
		fmt.Sprintf(`{"call_from":[%q]}`, mid.From()): func(v *world.View) bool { return v.From() == mid.From() },
		fmt.Sprintf(`{"call_to":[%q]}`, mid.To()):     func(v *world.View) bool { return v.To() == mid.To() },
		`{"duration":{"lower_threshold":60000}}`:      func(v *world.View) bool { return v.Over && v.EndAt-v.StartAt >= 60000 },
		`{"duration":{"upper_threshold":0},"call_type":["outbound"]}`: func(v *world.View) bool {
			return v.Over && v.EndAt == v.StartAt && v.Type == "outbound"
		},
		fmt.Sprintf(`{"start_timestamp":{"lower_threshold":%d,"upper_threshold":%d}}`, early.StartAt,
			mid.StartAt): func(v *world.View) bool {
			return v.Started && v.StartAt >= early.StartAt && v.StartAt <= mid.StartAt
		},
		fmt.Sprintf(`{"start_timestamp":{"lower_threshold":%d}}`,
			second): func(v *world.View) bool { return v.Started && v.StartAt >= second*1000 },
		fmt.Sprintf(`{"start_timestamp":{"upper_threshold":%d}}`, mid.StartAt-1): func(v *world.View) bool {
			return v.Started && v.StartAt < mid.StartAt
		},
		`{"start_timestamp":{"lower_threshold":9223372036854775807}}`:                        func(*world.View) bool { return false },
		`{"start_timestamp":{"upper_threshold":0},"duration":{"lower_threshold":1}}`:         func(*world.View) bool { return false },
		`{"start_timestamp":{"lower_threshold":-9223372036854775808},"call_type":["phone"]}`: func(v *world.View) bool { return v.Started && v.Type == "phone" },
	} {
		want := []string{}
		for _, v := range all {
			if keep(v) {
				want = append(want, v.ID.String())
			}
		}
		for _, order := range []string{"descending", "ascending"} {
			body := fmt.Sprintf(`{"filter_criteria":%s,"sort_order":%q,"limit":11}`, filter, order)
			if got := bulkIDs(getAllBulk(t, s, bulkPath, body)); !slices.Equal(got, want) {
				t.Errorf("%s: %d calls, want %d", body, len(got), len(want))
			}
			if p := getBulk(t, s, bulkPath, body, ""); p.Total != int64(len(want)) {
				t.Errorf("%s: a total of %d, want %d", body, p.Total, len(want))
			}
			slices.Reverse(want)
		}
	}
}

func TestBulkRefusals(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 30}})
	for body, field := range map[string]string{
		"": "", "[]": "", "{} {}": "", `{"page":1}`: "page", `{"filter_criteria":{"status":["ended"]}}`: "filter_criteria.status",
		`{"limit":0}`: "limit", `{"limit":501}`: "limit", `{"limit":"5"}`: "limit", `{"limit":1.5}`: "limit",
		`{"sort_order":"up"}`: "sort_order", `{"pagination_key":7}`: "pagination_key",
		`{"pagination_key":"1"}`:                                                          "pagination_key",
		`{"pagination_key":"00000000-0000-4000-8000-000000000000"}`:                       "pagination_key",
		`{"filter_criteria":{"agent_id":"a"}}`:                                            "filter_criteria.agent_id",
		`{"filter_criteria":{"duration":{"lower_threshold":"1"}}}`:                        "filter_criteria.duration.lower_threshold",
		`{"filter_criteria":{"start_timestamp":{"upper_threshold":1763000000.5}}}`:        "filter_criteria.start_timestamp.upper_threshold",
		`{"filter_criteria":{"start_timestamp":{"upper_threshold":9223372036854775808}}}`: "filter_criteria.start_timestamp.upper_threshold",
	} {
		w := post(s, bulkPath, body)
		var answer struct {
			Detail []struct {
				Loc       []string
				Msg, Type string
			}
		}
		decode(t, w.Body.Bytes(), &answer)
		if w.Code != 422 || len(answer.Detail) != 1 || answer.Detail[0].Msg == "" || answer.Detail[0].Type == "" ||
			strings.TrimPrefix(strings.TrimPrefix(strings.Join(answer.Detail[0].Loc, "."), "body"), ".") != field {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if w := post(s, bulkPath, `{"limit":5.0}`); w.Code != 200 || strings.Count(w.Body.String(), `"call_id"`) != 5 {
		t.Errorf("5.0 is a whole number: %d", w.Code)
	}
	if w := do(s, "GET", "/v2/calls/00000000-0000-4000-8000-000000000000"); w.Code != 404 ||
		!strings.Contains(w.Body.String(), `"detail"`) {
		t.Errorf("an unknown call: %d %s", w.Code, w.Body)
	}
	r := httptest.NewRequest("POST", bulkPath, strings.NewReader("{}"))
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 401 {
		t.Errorf("without a key: %d", w.Code)
	}
}

// TestBulkIsLimitedAndCounted checks that v2 shares the limits and faults of v3, and has its own
// entries in the stats.
func TestBulkIsLimitedAndCounted(t *testing.T) {
	var requests []Request
	s := newServer(t, Options{
		World: Config{Calls: 600}, PerSecond: 5, PerMinute: 100, LimitNow: func() time.Time { return busy },
		Inject: func(number int64, r Request) FaultKind {
			requests = append(requests, r)
			if number == 3 {
				return "500"
			}
			return ""
		},
	})
	id := s.World().ID(4).String()
	var codes []int
	for _, target := range []string{bulkPath, "/functions/v1/v1/list-calls", bulkPath} {
		codes = append(codes, post(s, target, `{"limit":2}`).Code)
	}
	for _, target := range []string{"/v2/calls/" + id, "/v3/calls", "/v3/calls"} {
		codes = append(codes, do(s, "GET", target).Code)
	}
	codes = append(codes, post(s, bulkPath, "{}").Code)
	test.Same(t, []int{200, 200, 500, 200, 200, 429, 429}, codes, "answers")
	want := []Request{{Kind: "bulk", Resource: "v2_calls"}, {Kind: "bulk", Resource: "v2_calls_legacy"},
		{Kind: "bulk", Resource: "v2_calls"}, {Kind: "bulk", Resource: "v2_call", ID: id}, {Kind: "page"}}
	test.Same(t, want, requests, "(-want +got)")
	stats := s.Stats()
	if diff := cmp.Diff(map[string]int64{"bulk": 5, "page": 2}, stats.ByKind) +
		cmp.Diff(map[string]int64{"v2_calls": 3, "v2_calls_legacy": 1, "v2_call": 1}, stats.ByResource); diff != "" ||
		stats.RateLimited != 2 {
		t.Errorf("%d refused, %s", stats.RateLimited, diff)
	}
}
