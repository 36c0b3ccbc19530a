package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/test"
)

const day = 24 * time.Hour

// lists returns the paths of a resource's lists, by the id of their parent.
func lists(s *Server, r *organisation.Resource) map[string]string {
	if r.List == "" {
		return nil
	}
	if r.Parent == "" {
		return map[string]string{"": r.List}
	}
	all := map[string]string{}
	for _, p := range s.Organisation().Truth(r.Parent, s.Now()) {
		all[p.ID] = pathOf(r.List, p.ID)
	}
	return all
}

// crawl follows next_cursor to the end of a list.
func crawl(t *testing.T, s *Server, r *organisation.Resource, path, query string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for cursor := ""; ; {
		target := path
		if !r.Unpaged {
			target += "?limit=7&" + query + cursor
		}
		w := do(s, "GET", target)
		if w.Code != 200 {
			t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
		}
		var body map[string]any
		decode(t, w.Body.Bytes(), &body)
		for _, it := range body[r.Items].([]any) {
			all = append(all, it.(map[string]any))
		}
		next, more := body["next_cursor"].(string)
		if _, there := body["next_cursor"]; there == r.Unpaged {
			t.Fatalf("%s: next_cursor is there: %v", target, there)
		}
		if !more {
			if total := int(body["total_count"].(float64)); total != len(all) {
				t.Fatalf("%s: total_count %d, %d items", target, total, len(all))
			}
			return all
		}
		cursor = "&cursor=" + next
	}
}

// plain returns an object as decoded from its JSON.
func plain(t *testing.T, o any) map[string]any {
	t.Helper()
	body, err := json.Marshal(o)
	test.OK(t, err)
	var m map[string]any
	decode(t, body, &m)
	return m
}

// lively returns an organisation with many changes.
func lively() Options {
	return Options{World: Config{Calls: 400, Agents: 6}, Organisation: organisation.Config{Pace: 5}}
}

// TestResourcesAddUpToTheirTruth crawls every list and every object of every resource, and compares
// them with the Go API.
func TestResourcesAddUpToTheirTruth(t *testing.T) {
	for _, wait := range []time.Duration{0, 9 * day} {
		s := newServer(t, lively())
		s.opts.Clock.Advance(wait)
		for _, r := range organisation.All() {
			want, got := map[string]map[string]any{}, map[string]map[string]any{}
			for _, rec := range s.Organisation().Truth(r.Name, s.Now()) {
				o := plain(t, rec.Object)
				want[rec.Parent+"/"+rec.ID] = o
				if r.Item == "" {
					continue
				}
				w := do(s, "GET", pathOf(r.Item, rec.ID))
				var detail map[string]any
				decode(t, w.Body.Bytes(), &detail)
				if r.Versioned {
					if v, ok := detail["version"]; !ok || v != nil {
						t.Errorf("%s %s: version %v", r.Name, rec.ID, v)
					}
					delete(detail, "version")
				}
				if diff := cmp.Diff(o, detail); w.Code != 200 || diff != "" {
					t.Errorf("%s %s: %d, truth (-) is not what is served (+):\n%s", r.Name, rec.ID, w.Code, diff)
				}
			}
			if len(want) == 0 {
				t.Errorf("there are no %s", r.Name)
			}
			queries := []string{""}
			for _, f := range r.Filters {
				if f.Default != "" { // request each value
					queries = nil
					for _, v := range f.Values {
						queries = append(queries, f.Name+"="+v)
					}
				}
			}
			for parent, path := range lists(s, r) {
				for _, query := range queries {
					for _, it := range crawl(t, s, r, path, query) {
						id := parent + "/" + r.ID(it)
						if got[id] != nil {
							t.Errorf("%s: %s is listed twice", r.Name, id)
						}
						got[id] = it
					}
				}
			}
			if r.List == "" {
				continue
			}
			for _, o := range want {
				for _, name := range r.Inside {
					delete(o, name)
				}
			}
			test.Same(t, want, got, "%s: truth (-) is not what is listed (+)", r.Name)
		}
	}
}

// pathOf returns a resource's path with an id in place of its placeholders.
func pathOf(pattern, id string) string {
	parts, ids := strings.Split(pattern, "/"), strings.Split(id, "/")
	for i := range parts {
		if strings.HasPrefix(parts[i], "{") {
			parts[i], ids = ids[0], ids[1:]
		}
	}
	return strings.Join(parts, "/")
}

// state returns a resource's truth by parent and id.
func state(s *Server, resource string, at time.Time) map[string]organisation.Object {
	all := map[string]organisation.Object{}
	for _, rec := range s.Organisation().Truth(resource, at) {
		all[rec.Parent+"/"+rec.ID] = rec.Object
	}
	return all
}

// TestEditsExplainEveryDifference applies the log of edits to the truth at one instant and compares
// the result with the truth at another.
func TestEditsExplainEveryDifference(t *testing.T) {
	longtest.Only(t)
	s := newServer(t, lively())
	happened := map[string]int{}
	for _, r := range organisation.All() {
		for n := range 8 {
			from, to := busy.Add(time.Duration(n)*31*time.Hour), busy.Add(time.Duration(n+1)*31*time.Hour)
			now := state(s, r.Name, from)
			for _, e := range s.Organisation().Edits(r.Name, from, to) {
				id := e.Parent + "/" + e.ID
				was := now[id]
				switch {
				case e.Before == nil:
					if was != nil {
						t.Fatalf("%s %s came twice", r.Name, id)
					}
					now[id] = e.After
					happened["came"]++
				case e.After == nil:
					if diff := cmp.Diff(was, e.Before); diff != "" {
						t.Fatalf("%s %s vanished as something else: %s", r.Name, id, diff)
					}
					delete(now, id)
					happened["vanished"]++
				default:
					is := maps.Clone(was)
					for _, f := range e.Fields {
						if diff := cmp.Diff(was[f], e.Before[f]); diff != "" {
							t.Fatalf("%s %s: %s was something else: %s", r.Name, id, f, diff)
						}
						is[f] = e.After[f]
					}
					if at, ok := is["updated_at"]; ok && at != e.At && !cmp.Equal(e.Fields, []string{"production_version"}) {
						t.Fatalf("%s %s: %v was edited at %d, and says %v", r.Name, id, e.Fields, e.At, at)
					}
					now[id] = is
					happened[r.Name]++
				}
			}
			if diff := cmp.Diff(state(s, r.Name, to), now); diff != "" {
				t.Fatalf("%s: truth (-) is not what the log says (+):\n%s", r.Name, diff)
			}
			seenAsTruth(t, s, r.Name, from, to)
		}
		if happened[r.Name] == 0 && !slices.Contains([]string{"organizations", "schemas", "llms", "voices"}, r.Name) {
			t.Errorf("nothing happened to %s", r.Name)
		}
	}
	if happened["came"] == 0 || happened["vanished"] == 0 {
		t.Errorf("%v", happened)
	}
}

// seenAsTruth compares the result of Seen with the truth at both instants.
func seenAsTruth(t *testing.T, s *Server, resource string, from, to time.Time) {
	was, is := state(s, resource, from), state(s, resource, to)
	want := map[string]organisation.Edit{}
	for id := range was {
		if is[id] == nil {
			want[id] = organisation.Edit{Before: was[id]}
		}
	}
	for id, now := range is {
		e := organisation.Edit{After: now}
		if was[id] != nil {
			e = organisation.Edit{Before: organisation.Object{}, After: organisation.Object{}}
			for _, name := range slices.Sorted(maps.Keys(now)) {
				if !cmp.Equal(was[id][name], now[name]) {
					e.Fields, e.Before[name], e.After[name] = append(e.Fields, name), was[id][name], now[name]
				}
			}
			if e.Fields == nil {
				continue
			}
		}
		want[id] = e
	}
	got := map[string]organisation.Edit{}
	for _, e := range s.Organisation().Seen(resource, from, to) {
		got[e.Parent+"/"+e.ID] = organisation.Edit{Fields: e.Fields, Before: e.Before, After: e.After}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s: the difference of two truths (-) is not what is told (+):\n%s", resource, diff)
	}
}

// TestOrganisationIsAFunctionOfSeedAndTime queries two servers of the same seed in different orders.
func TestOrganisationIsAFunctionOfSeedAndTime(t *testing.T) {
	longtest.Only(t)
	a, b := newServer(t, lively()), newServer(t, lively())
	b.Organisation().Truth("agents", busy.Add(60*day))
	for _, r := range organisation.All() {
		for _, at := range []time.Time{busy.Add(40 * day), busy, busy.Add(-20 * day)} {
			test.Same(t, state(a, r.Name, at), state(b, r.Name, at), "%s", r.Name)
		}
	}
	// A server started a week later shows the same company, except perhaps for the oldest campaigns and incidents.
	o := lively()
	o.World.Origin = busy.Add(7 * day)
	later := newServer(t, o)
	for _, r := range organisation.All() {
		was, is := state(a, r.Name, busy.Add(9*day)), state(later, r.Name, busy.Add(9*day))
		if r.Name == "campaigns" || r.Name == "incidents" {
			maps.DeleteFunc(was, func(id string, _ organisation.Object) bool { return is[id] == nil })
		}
		if diff := cmp.Diff(was, is); diff != "" || len(is) == 0 {
			t.Errorf("%s, served later: %s", r.Name, diff)
		}
	}
	o = lively()
	o.World.Seed = 2
	if cmp.Equal(state(a, "agents", busy), state(newServer(t, o), "agents", busy)) {
		t.Error("two seeds have the same agents")
	}
}

// TestListsOfResources requests lists in every order, with every filter, and across changes between two pages.
func TestListsOfResources(t *testing.T) {
	o := lively()
	s := newServer(t, o)
	o.OffsetPaging = true
	shifting := newServer(t, o)
	o.ContractOnly = true
	strict := newServer(t, o)
	for _, r := range organisation.All() {
		for _, path := range lists(s, r) {
			if r.Unpaged {
				continue
			}
			down := crawl(t, s, r, path, "")
			test.Same(t, down, crawl(t, shifting, r, path, ""), "%s with other cursors", path)
			for name, s := range map[string]*Server{"sort_order": s, "type": strict, "version": strict} {
				if w := do(s, "GET", path+"?"+name+"=asc"); w.Code != 400 && (name != "sort_order" || r.Fixed) {
					t.Errorf("%s?%s=asc: %d", path, name, w.Code)
				}
			}
			if !r.Fixed {
				up := crawl(t, s, r, path, "sort_order=asc")
				slices.Reverse(up)
				test.Same(t, down, up, "%s", path)
			}
			for _, by := range r.Sorts {
				if got := crawl(t, s, r, path, "sort_by="+by); len(got) != len(down) {
					t.Errorf("%s by %s: %d of %d", path, by, len(got), len(down))
				}
			}
			for _, f := range r.Filters {
				for _, v := range f.Values {
					for _, it := range crawl(t, s, r, path, f.Name+"="+v) {
						test.Same(t, v, fmt.Sprint(it[f.Name]), "%s?%s", path, f.Name)
					}
				}
				if f.Values != nil || f.Since+f.Till != "" {
					if w := do(s, "GET", path+"?"+f.Name+"=nonsense"); w.Code != 400 {
						t.Errorf("%s?%s=nonsense: %d", path, f.Name, w.Code)
					}
				}
			}
			w := do(s, "GET", path+"?page=1")
			if w.Code != 400 || !strings.Contains(w.Body.String(), `"allowed_query_parameters":["cursor","limit"`) {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
			break // one parent is enough
		}
	}
	object := "/v3/agents/" + s.World().Agents()[0].ID.String()
	for target, want := range map[string]int{object + "?version=current": 200, object + "?limit=1": 400,
		object + "/versions?limit=1": 400} {
		if w := do(s, "GET", target); w.Code != want {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
	if w := do(strict, "GET", object+"?version=current"); w.Code != 400 {
		t.Errorf("a version, by the contract alone: %d", w.Code)
	}
	if w := do(s, "POST", "/v3/tools"); w.Code != 405 || w.Header().Get("Allow") != "GET" {
		t.Errorf("POST: %d", w.Code)
	}
}

// TestPagesOfResourcesGoOn follows a list while objects appear and vanish: every object present
// throughout is seen once.
func TestPagesOfResourcesGoOn(t *testing.T) {
	longtest.Only(t)
	s := newServer(t, lively())
	org := s.Organisation()
	first := s.World().Agents()
	path, cursor, seen := "/v3/agents", "", map[string]int{}
	for n := 0; ; n++ {
		w := do(s, "GET", path+"?limit=2&sort_order=asc"+cursor)
		var e envelope
		decode(t, w.Body.Bytes(), &e)
		for _, id := range ids(e.Items) {
			seen[id]++
		}
		if n == 0 { // the last object of this page vanishes: the next page continues after it
			test.OK(t, org.Delete(s.Now(), "agents", "", ids(e.Items)[1]))
		}
		s.opts.Clock.Advance(time.Minute)
		if e.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *e.NextCursor
	}
	for _, a := range first {
		test.Same(t, 1, seen[a.ID.String()], "how often agent %d was seen", a.Number)
	}
}

// TestResourceFaults sets each fault of a resource.
func TestResourceFaults(t *testing.T) {
	s := newServer(t, lively())
	get := func(target string) (int, map[string]any) {
		w := do(s, "GET", target)
		var body map[string]any
		decode(t, w.Body.Bytes(), &body)
		return w.Code, body
	}
	object := "/v3/agents/" + s.World().Agents()[0].ID.String()
	_, whole := get("/v3/agents")
	items := func(body map[string]any) []any { all, _ := body["items"].([]any); return all }
	set := func(kinds ...ResourceFault) {
		t.Helper()
		test.OK(t, s.SetResourceFaults("agents", kinds...))
	}
	for _, status := range []int{403, 404, 500} {
		set(ResourceFault(fmt.Sprint(status)))
		for _, target := range []string{"/v3/agents", object} {
			if code, _ := get(target); code != status {
				t.Errorf("%s: %d, want %d", target, code, status)
			}
		}
	}
	set(ResourceNoList)
	if code, _ := get("/v3/agents"); code != 404 {
		t.Errorf("no list: %d", code)
	}
	if code, _ := get(object); code != 200 {
		t.Errorf("no list: object %d", code)
	}
	set(ResourceEmpty)
	if _, body := get("/v3/agents"); len(items(body)) != 0 || body["total_count"] != 0.0 || body["next_cursor"] != nil {
		t.Errorf("empty: %v", body)
	}
	set()
	if _, body := get("/v3/agents"); !cmp.Equal(body, whole) {
		t.Error("the faults are still there")
	}
	for text, want := range map[string]string{
		"agents": "want RESOURCE=KIND", "agent=404": `unknown resource "agent"; available: all, agent_versions,`,
		"agents=418": `unknown resource fault "418"`,
	} {
		if _, err := ParseResourceFaults(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCampaignsMakeCalls compares the counts of campaigns with their listed calls, and the calls
// with the campaigns' windows.
func TestCampaignsMakeCalls(t *testing.T) {
	longtest.Only(t)
	o := Options{World: Config{Calls: 4000, Campaigns: 5}, CampaignInCalls: true}
	s := newServer(t, o)
	seen := map[string]bool{}
	for _, wait := range []time.Duration{-8 * time.Hour, 90 * time.Hour} { // the morning of a Thursday, noon of a Monday
		s.opts.Clock.Set(busy.Add(wait))
		campaignsAndCalls(t, s, seen)
	}
	if !seen["calls"] {
		t.Error("nobody was called")
	}
	// Every state occurs within five months.
	for _, e := range s.Organisation().Edits("campaigns", busy.Add(-30*day), busy.Add(120*day)) {
		if e.Before == nil || slices.Contains(e.Fields, "status") {
			seen[e.After["status"].(string)] = true
		}
		if e.Before != nil && slices.Contains(e.Fields, "paused_by") && e.After["paused_by"] != nil {
			seen[e.After["paused_by"].(string)] = true
		}
	}
	for _, status := range []string{"pending", "ongoing", "paused", "success", "canceled", "user", "system"} {
		if !seen[status] {
			t.Errorf("no campaign was ever %s", status)
		}
	}
	o.OldFilters = true
	if w := do(newServer(t, o), "GET", "/v3/calls?campaign_id=1"); w.Code != 400 || strings.Contains(w.Body.String(), "customer_id") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func campaignsAndCalls(t *testing.T, s *Server, seen map[string]bool) {
	byItem := map[string]int{}
	for _, c := range getAll(t, s, "limit=100&call_type=outbound") {
		if id, ok := c["campaign_id"].(string); ok {
			byItem[id]++
		}
	}
	for _, rec := range s.Organisation().Truth("campaigns", s.Now()) {
		c := plain(t, rec.Object)
		window := c["call_time_window"].(map[string]any)["windows"].([]any)[0].(map[string]any)
		zone, err := time.LoadLocation(c["call_time_window"].(map[string]any)["timezone"].(string))
		test.OK(t, err)
		calls := getAll(t, s, "limit=100&sort_order=asc&campaign_id="+rec.ID)
		test.Same(t, len(calls), byItem[rec.ID], "campaign %s: calls, and those that say so", rec.ID)
		seen["calls"] = seen["calls"] || len(calls) > 0
		var completed, failed, active float64
		for _, call := range calls {
			if !cmp.Equal(call["agent"].(map[string]any)["agent_id"], c["agent"].(map[string]any)["agent_id"]) ||
				call["from_number"] != c["from_number"] {
				t.Fatalf("campaign %s: %v", rec.ID, call)
			}
			switch call["status"] {
			case "queued":
				continue
			case "ongoing":
				active++
			case "ended":
				completed++
			default:
				failed++
			}
			start := time.UnixMilli(int64(call["start_at"].(float64))).In(zone)
			minute := float64(start.Hour()*60 + start.Minute())
			if !slices.Contains(window["days"].([]any), any(start.Weekday().String())) || minute < window["start_min"].(float64) ||
				minute > window["end_min"].(float64) { // it may have been queued at the end
				t.Errorf("campaign %s calls at %s, outside %v", rec.ID, start, window)
			}
		}
		want := []float64{completed, failed, active}
		if got := []float64{c["completed_calls"].(float64), c["failed_calls"].(float64),
			c["active_concurrency"].(float64)}; !cmp.Equal(want, got) {
			t.Errorf("campaign %s: counted %v, and its calls are %v", rec.ID, got, want)
		}
		total := c["total_calls"].(float64)
		if done := completed + failed; done > total || c["status"] == "success" && done != total || active > c["concurrency"].(float64) {
			t.Errorf("campaign %s: %v of %v calls, %v", rec.ID, done, total, c["status"])
		}
	}
}

// TestV2 reads campaigns and knowledge bases through the deprecated operations.
func TestV2(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 500, Campaigns: 7}})
	list := func(body string) (int, map[string]any) { return send(t, s, "POST", "/v2/campaigns/list", body) }
	truth := s.Organisation().Truth("campaigns", s.Now())
	code, page := list(`{"limit":100,"sort_order":"ascending"}`)
	got := page["campaigns"].([]any)
	if code != 200 || len(got) != len(truth) {
		t.Fatalf("%d, %d campaigns of %d", code, len(got), len(truth))
	}
	for i, c := range truth {
		created := time.UnixMilli(c.Object["created_at"].(int64)).UTC().Format("2006-01-02T15:04:05.000Z")
		agent := c.Object["agent"].(organisation.Object)["agent_id"]
		if is := got[i].(map[string]any); is["id"] != c.ID || is["created_at"] != created || is["agent_id"] != agent ||
			is["organization_id"] != s.Organisation().ID() {
			t.Errorf("%v is not %v", is, c.Object)
		}
	}
	if _, page := list(`{"filter_criteria":{"status":["success"],"start_timestamp":{"lower_threshold":1}}}`); len(page["campaigns"].([]any)) == len(truth) || page["total_count"] == 0.0 {
		t.Errorf("%v", page["total_count"])
	}
	for _, body := range []string{"", "[]", `{"page":1}`} {
		if code, answer := list(body); code != 422 || answer["detail"] == nil {
			t.Errorf("%s: %d %v", body, code, answer)
		}
	}
	for _, rec := range s.Organisation().Truth("knowledges", s.Now()) {
		w := do(s, "GET", "/v2/knowledge/"+rec.ID)
		var base map[string]any
		decode(t, w.Body.Bytes(), &base)
		want := len(s.Organisation().List(organisation.Named("knowledge_documents"), rec.ID, s.Now()))
		if base["knowledge_base_id"] != rec.ID || base["knowledge_base_name"] != rec.Object["name"] ||
			len(base["knowledge_documents"].([]any)) != want {
			t.Errorf("%v", base)
		}
	}
	test.OK(t, s.SetResourceFaults("campaigns", "404"))
	if code, _ := list("{}"); code != 200 {
		t.Errorf("without v3's list: %d", code)
	}
	for target, want := range map[string]int{"/v2/campaigns/" + truth[0].ID: 200, "/v2/campaigns/1": 404, "/v2/knowledge/1": 404,
		"/v2/campaigns/list": 405} {
		if w := do(s, "GET", target); w.Code != want {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
}

// Deleting a parent deletes its children, but does not change their past or bring back those that
// had vanished before.
func TestWhatVanishedStaysSo(t *testing.T) {
	s := newServer(t, lively())
	org, then := s.Organisation(), s.Now()
	s.opts.Clock.Advance(9 * day)
	before := org.Truth("knowledge_documents", then)
	test.OK(t, org.Delete(s.Now(), "knowledges", "", fmt.Sprint(before[0].Parent)))
	test.Same(t, before, org.Truth("knowledge_documents", then), "the past is another (-before the deletion +after it)")
	for _, e := range org.Edits("knowledge_documents", then, s.Now().Add(90*day)) {
		if e.Parent == before[0].Parent && (e.At > s.Now().UnixMilli() || e.Before == nil && e.After == nil) {
			t.Errorf("%s is edited after all of them vanished: %v", e.ID, e)
		}
	}
}
