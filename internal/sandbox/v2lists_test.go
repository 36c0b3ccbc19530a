package sandbox

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// listedV2 follows next_cursor through a list of v2, and returns the ids in order.
func listedV2(t *testing.T, s *Server, path, name, id, body string) (all []string) {
	t.Helper()
	key := ""
	for {
		status, o := send(t, s, "POST", path, "{"+body+key+"}")
		if status != 200 {
			t.Fatalf("%s %s: %d %v", path, body, status, o)
		}
		for _, item := range o[name].([]any) {
			all = append(all, member(item, id).(string))
		}
		if o["next_cursor"] == nil {
			if o["total_count"] != float64(len(all)) {
				t.Errorf("%s %s: total_count is %v of %d", path, body, o["total_count"], len(all))
			}
			return all
		}
		key = fmt.Sprintf(`,"pagination_key":%q`, o["next_cursor"])
	}
}

// TestListsOfV2 requests campaigns and agents with filters and thresholds, in both orders, page by
// page.
func TestListsOfV2(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 600, Agents: 12, Campaigns: 6}})
	for _, name := range []string{"agents", "campaigns"} {
		path, id := "/v2/"+name+"/list", "id"
		if name == "agents" {
			id = "agent_id"
		}
		var want []string // newest first
		truth := s.Organisation().Truth(name, s.Now())
		created := func(i int) int64 { return truth[i].Object["created_at"].(int64) }
		order := make([]int, len(truth))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return int(created(b)/1000 - created(a)/1000) })
		for _, i := range order {
			want = append(want, truth[i].ID)
		}
		list := func(body string) []string { return listedV2(t, s, path, name, id, body) }
		if got := list(`"limit":4`); !slices.Equal(got, want) || len(got) < 6 {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
		ascending := list(`"limit":5,"sort_order":"ascending"`)
		slices.Reverse(ascending)
		if !slices.Equal(ascending, want) {
			t.Errorf("%s, the oldest first: %v", name, ascending)
		}
		for body, status := range map[string]int{
			``: 200, `"limit":500`: 200, `"limit":0`: 422, `"limit":501`: 422, `"sort_order":"asc"`: 422, `"pagination_key":"7"`: 422,
			`"pagination_key":null`: 200, `"filter_criteria":{"colour":[]}`: 422,
			`"filter_criteria":{"agent_id":[]}`: 200,
		} {
			if got, o := send(t, s, "POST", path, "{"+body+"}"); got != status {
				t.Errorf("%s {%s}: %d %v", name, body, got, o)
			}
		}
		agent := member(truth[0].Object, "agent", "agent_id")
		if name == "agents" {
			agent = truth[0].ID
		}
		got := list(fmt.Sprintf(`"limit":1,"filter_criteria":{"agent_id":[%q,"none"]}`, agent))
		if len(got) == 0 || !slices.Contains(got, truth[0].ID) || name == "agents" && len(got) != 1 {
			t.Errorf("%s of %v: %v", name, agent, got)
		}
		if name == "agents" {
			continue
		}
		from, to := created(order[4]), created(order[2])
		between := fmt.Sprintf(`"filter_criteria":{"start_timestamp":{"lower_threshold":%d,"upper_threshold":%d}}`, from, to)
		seconds := fmt.Sprintf(`"filter_criteria":{"start_timestamp":{"lower_threshold":%d,"upper_threshold":%d}}`, from/1000, to/1000+1)
		for _, body := range []string{between, seconds} {
			if diff := cmp.Diff(want[2:5], list(body)); diff != "" {
				t.Errorf("%s: %s", body, diff)
			}
		}
	}
}

// TestPageGoesOnBehindWhatNoLongerMatches changes the last campaign of a page before the next one
// is requested.
func TestPageGoesOnBehindWhatNoLongerMatches(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 60, Campaigns: -1}})
	var ids []string
	for range 3 {
		ids = append(ids, newCampaign(t, s, 1, "")["id"].(string))
		s.opts.Clock.Advance(time.Second)
	}
	const pending = `{"limit":1,"filter_criteria":{"status":["pending"]}`
	_, first := send(t, s, "POST", "/v2/campaigns/list", pending+"}")
	send(t, s, "POST", "/v2/campaigns/"+ids[2]+"/pause", "")
	_, second := send(t, s, "POST", "/v2/campaigns/list", fmt.Sprintf(`%s,"pagination_key":%q}`, pending, first["next_cursor"]))
	if first["next_cursor"] != ids[2] || member(second["campaigns"].([]any)[0], "id") != ids[1] || second["total_count"] != 2.0 {
		t.Errorf("%v, then %v", first, second)
	}
}

func TestFailureOfADeletionIsAList(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 20}})
	document := s.Organisation().Truth("knowledge_documents", s.Now())[0]
	for _, r := range [][3]string{
		{"/v2/knowledge/" + document.Parent + "/documents/none", "", "knowledge_document_id"},
		{"/v2/knowledge/7/documents/" + document.ID, "", "knowledge_document_id"},
		{"/v2/knowledge/7/documents/batch", fmt.Sprintf(`{"knowledge_document_ids":[%q]}`, document.ID), "knowledge_base_id"},
	} {
		status, o := send(t, s, "DELETE", r[0], r[1])
		if status != 404 {
			t.Errorf("%s: %d", r[0], status)
		}
		same(t, r[0], o, fmt.Sprintf(`{"detail":[{"loc":["path",%q],"msg":"no such object","type":"not_found"}]}`, r[2]))
	}
}

// TestTrafficSplit makes calls from a number whose traffic is split among variants, and from one
// whose traffic is not.
func TestTrafficSplit(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 60}})
	labels, plain := map[any]int{}, ""
	for _, a := range s.World().Agents() {
		split := s.Organisation().Split(a.Line)
		if split == nil {
			plain = a.Line
			continue
		}
		for range 8 {
			status, c := send(t, s, "POST", "/v3/calls", fmt.Sprintf(`{"from_number":%q,"to_number":"010"}`, split.Line))
			if status != 201 || member(c, "agent", "agent_id") != split.ID.String() {
				t.Fatalf("%d %v", status, c)
			}
			labels[c["variant_label"]]++
		}
		status, o := send(t, s, "POST", "/v3/calls",
			fmt.Sprintf(`{"from_number":%q,"to_number":"010","agent":{"agent_id":%q}}`, split.Line, split.ID))
		if status != 400 || member(o, "error", "details", "field") != "agent" {
			t.Errorf("with an agent: %d %v", status, o)
		}
	}
	if labels["A"] == 0 || labels["B"] == 0 || len(labels) != 2 {
		t.Errorf("%v", labels)
	}
	status, o := send(t, s, "POST", "/v3/calls", fmt.Sprintf(`{"from_number":%q,"to_number":"010"}`, plain))
	if status != 400 || member(o, "error", "details", "field") != "agent" {
		t.Errorf("without an agent: %d %v", status, o)
	}
}

// TestTotalsKnowCallsOfTheSameMillisecond requests the same list before and after ordering a call.
func TestTotalsKnowCallsOfTheSameMillisecond(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 20}})
	before := getPage(t, s, "limit=1", "").TotalCount
	send(t, s, "POST", "/v3/calls", fmt.Sprintf(`{"from_number":"021","to_number":"010","agent":{"agent_id":%q}}`,
		s.World().Agents()[0].ID))
	if now := getPage(t, s, "limit=1", "").TotalCount; now != before+1 {
		t.Errorf("%d calls, then %d", before, now)
	}
}
