package sandbox

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/test"
)

func TestCreateCallReturns201AndTheCallGoesItsWay(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 60}})
	_, agent := send(t, s, "POST", "/v3/agents", `{"name":"Mine"}`)
	for _, id := range longtest.Some(2, []string{s.World().Agents()[0].ID.String(), s.World().Agents()[1].ID.String(), agent["id"].(string)}) {
		before := s.Truth()
		status, c := send(t, s, "POST", "/v3/calls", fmt.Sprintf(`{"from_number":"0212345678","to_number":"01012345678","agent":{"agent_id":%q},
			"metadata":{"lead":"a-7","n":12345678901234567},"dynamic_variables":{"customer-name":"홍길동"}}`, id))
		if status != 201 || c["status"] != "queued" || c["start_at"] != nil || c["transcript"] != nil ||
			c["from_number"] != "0212345678" || c["to_number"] != "01012345678" {
			t.Fatalf("%d %v", status, c)
		}
		same(t, "the agent", c["agent"], fmt.Sprintf(`{"agent_id":%q,"agent_version":"production"}`, id))
		same(t, "metadata", c["metadata"], `{"lead":"a-7","n":12345678901234567}`)
		same(t, "dynamic_variables", c["dynamic_variables"], `{"customer-name":"홍길동"}`)
		path := "/v3/calls/" + c["id"].(string)
		if _, page := send(t, s, "GET", "/v3/calls?limit=1", ""); member(page["items"].([]any)[0], "id") != c["id"] {
			t.Error("a call that is queued is not the first of the list")
		}
		if now := s.Truth(); now.Calls != before.Calls+1 || now.ByStatus["queued"] != before.ByStatus["queued"]+1 ||
			now.ByAgent[id] != before.ByAgent[id]+1 {
			t.Errorf("the truth counts %d calls after %d", now.Calls, before.Calls)
		}
		// The state only advances: queued, ongoing, over, and then analysis and cost.
		last, stages := -1, 0
		for i := range 302 {
			_, o := send(t, s, "GET", path, "")
			_, v2 := send(t, s, "GET", "/v2"+path[3:], "")
			if v2["call_id"] != o["id"] || v2["call_to"] != o["to_number"] {
				t.Fatalf("v2 shows another call: %v", v2)
			}
			stage := slices.Index([]string{"queued", "ongoing"}, o["status"].(string))
			if o["end_at"] != nil {
				stage = 2
				for _, field := range []string{"transcript", "call_analysis", "call_cost"} {
					if o[field] != nil {
						stage++
					}
				}
			}
			if stage < last {
				t.Fatalf("from stage %d to %d: %v", last, stage, o)
			} else if stage > last {
				stages++
			}
			last = stage
			if i < 300 {
				s.opts.Clock.Advance(time.Second)
			} else {
				s.opts.Clock.Advance(24 * time.Hour)
			}
		}
		if last < 2 || stages < 2 {
			t.Errorf("after a day it is at stage %d, by %d steps", last, stages)
		}
	}
}

func TestCreateCallV2(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 60}, V2: V2{ExtraCalls: 3}})
	agent := s.World().Agents()[3].ID.String()
	status, c := send(t, s, "POST", "/v2/calls", fmt.Sprintf(`{"call_from":"0212345678","call_to":"01099998888","agent_id":%q,"metadata":{"a":1}}`, agent))
	id := c["call_id"]
	delete(c, "call_id")
	if status != 200 {
		t.Fatalf("%d %v", status, c)
	}
	same(t, "the answer", c, `{"status":"initiated","call_from":"0212345678","call_to":"01099998888","metadata":{"a":1},"dynamic_variables":{}}`)
	_, found := send(t, s, "GET", "/v3/calls/"+id.(string), "")
	same(t, "the agent", found["agent"], fmt.Sprintf(`{"agent_id":%q,"agent_version":"production"}`, agent))
	s.opts.Clock.Advance(time.Hour)
	_, page := send(t, s, "POST", "/v2/calls/list", `{"filter_criteria":{"call_to":["01099998888"]}}`)
	if page["total_count"] != 1.0 || member(page["calls"].([]any)[0], "call_id") != id {
		t.Errorf("%v", page)
	}
}

// TestPagesHoldOrderedCalls orders calls at random moments, with few computed calls between, and
// reads all lists: each is complete, sorted by start, and has each call once.
func TestPagesHoldOrderedCalls(t *testing.T) {
	longtest.Only(t)
	rapid.Check(t, func(rt *rapid.T) {
		clock := NewManualClock(busy)
		s := newServer(t, Options{World: Config{Seed: rapid.Uint64().Draw(rt, "seed"),
			Calls: int64(rapid.IntRange(0, 40).Draw(rt, "calls"))}, Clock: clock})
		agent := s.World().Agents()[0].ID.String()
		n := rapid.IntRange(0, 12).Draw(rt, "ordered")
		for range n {
			send(t, s, "POST", "/v3/calls", fmt.Sprintf(`{"from_number":"021","to_number":"010","agent":{"agent_id":%q}}`, agent))
			clock.Advance(time.Duration(rapid.SampledFrom([]int{0, 1, 40, 4000}).Draw(rt, "wait")) * time.Second)
		}
		limit := rapid.IntRange(1, 7).Draw(rt, "limit")
		want := map[string]bool{}
		for v := range s.World().Visible(s.Now()) {
			want[v.ID.String()] = true
		}
		ordered := 0
		for _, query := range []string{"", "sort_order=asc&", fmt.Sprintf("start_at_after=%d&", busy.UnixMilli()),
			fmt.Sprintf("start_at_before=%d&sort_order=asc&", clock.Now().UnixMilli()), "call_to=010&"} {
			items := getAll(t, s, fmt.Sprintf("%slimit=%d", query, limit))
			if total := getPage(t, s, query+"limit=1", "").TotalCount; total != int64(len(items)) {
				rt.Fatalf("%s: %d items, total_count is %d", query, len(items), total)
			}
			seen := map[string]bool{}
			last := 0.0
			if query == "sort_order=asc&" || query == "" {
				if len(items) != len(want) {
					rt.Fatalf("%s: %d of %d calls", query, len(items), len(want))
				}
			}
			for i := range items {
				it := items[i]
				if query == "" || query[:5] != "sort_" {
					it = items[len(items)-1-i]
				}
				if id := it["id"].(string); seen[id] || !want[id] {
					rt.Fatalf("%s: %s twice, or not there", query, id)
				} else {
					seen[id] = true
				}
				if start, ok := it["start_at"].(float64); ok && len(query) < 20 {
					if start < last {
						rt.Fatalf("%q is not in the order of start", query)
					}
					last = start
				}
			}
			if query == "call_to=010&" {
				ordered = len(items)
			}
		}
		if ordered != n {
			rt.Fatalf("%d of %d ordered calls", ordered, n)
		}
		_, v2 := send(t, s, "POST", "/v2/calls/list", `{"limit":3}`)
		seen := map[any]bool{}
		for {
			for _, c := range v2["calls"].([]any) {
				seen[member(c, "call_id")] = true
			}
			if v2["next_cursor"] == nil {
				break
			}
			_, v2 = send(t, s, "POST", "/v2/calls/list", fmt.Sprintf(`{"limit":3,"pagination_key":%q}`, v2["next_cursor"]))
		}
		if len(seen) != len(want) {
			rt.Fatalf("v2 lists %d of %d calls", len(seen), len(want))
		}
	})
}

func TestDeleteKnowledgeDocuments(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 20}, Organisation: organisation.Config{Pace: -1}})
	of := func(base string) []string {
		_, o := send(t, s, "GET", "/v2/knowledge/"+base, "")
		ids := []string{}
		for _, d := range o["knowledge_documents"].([]any) {
			ids = append(ids, member(d, "knowledge_document_id").(string))
		}
		return ids
	}
	mine, others := of("1001"), of("1002")
	if len(mine) < 3 || len(others) < 2 {
		t.Fatal(mine, others)
	}
	path := "/v2/knowledge/1001/documents/"
	if status, o := send(t, s, "DELETE", path+mine[0], ""); status != 200 || o["success"] != true {
		t.Errorf("%d %v", status, o)
	}
	for _, gone := range []string{mine[0], others[0], "x"} {
		if status, o := send(t, s, "DELETE", path+gone, ""); status != 404 || o["detail"] == nil {
			t.Errorf("a document that the knowledge base has not: %d %v", status, o)
		}
	}
	status, o := send(t, s, "DELETE", path+"batch",
		fmt.Sprintf(`{"knowledge_document_ids":[%q,%q,%q,%q,%q]}`, mine[1], mine[1], mine[0], others[0], "x"))
	if status != 200 {
		t.Fatal(status, o)
	}
	same(t, "ids that do not exist or do not belong to this knowledge base have failed", o,
		fmt.Sprintf(`{"deleted_count":1,"deleted_document_ids":[%q],"failed_document_ids":[%q,%q,"x"]}`, mine[1], mine[0], others[0]))
	for body, want := range map[string]int{
		`{"knowledge_document_ids":[]}`: 422, `{"knowledge_document_ids":["1","2","3","4","5","6","7","8","9","10","11"]}`: 422,
		`{"knowledge_document_ids":["1","2","3","4","5","6","7","8","9","10"]}`: 200, `{}`: 422, `{"knowledge_document_ids":[1]}`: 422,
	} {
		if status, o := send(t, s, "DELETE", path+"batch", body); status != want {
			t.Errorf("1 to 10 ids: %s: %d %v", body, status, o)
		}
	}
	if status, _ := send(t, s, "DELETE", "/v2/knowledge/7/documents/batch", `{"knowledge_document_ids":["1"]}`); status != 404 {
		t.Errorf("of a knowledge base that is not there: %d", status)
	}
	test.Same(t, mine[2:], of("1001"), "(-want +got)")
	test.Same(t, others, of("1002"), "(-want +got)")
	if _, v3 := send(t, s, "GET", "/v3/knowledges/1001/documents", ""); v3["total_count"] != float64(len(mine)-2) {
		t.Errorf("v3 lists %v", v3["total_count"])
	}
}
