package analytics_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

// organisation adds the data of an organisation, besides calls, to random data. For the oracle, it
// sets the type of the agent and the organisation's own number in each call.
func organisation(r *rand.Rand, d *analyticstest.Data) {
	d.Others = map[*schema.Table][]row{}
	add := func(of *resource.Resource, rows ...row) { d.Others[of.Table] = append(d.Others[of.Table], rows...) }
	types := map[any]any{"a1-one": "flow", "a1-two": "single_prompt", "c-unused": "flow"} // b-three was never listed
	for id, kind := range types {
		a := row{"agent_id": id, "type": kind}
		if kind == "flow" {
			a["flow"] = `{"nodes":[{"id":"n1","data":{"name":"Greet"}},{"id":"n2","data":{"name":"Ask"}},{"id":"n3","data":{}},{"id":"(none)","data":{"name":"n2"}}],"edges":[]}`
		}
		add(resource.Agents, a)
	}
	for _, v := range []row{
		{"agent_id": "a1-one", "version": "v261", "created_at": int64(1)}, {"agent_id": "a1-one", "version": "v262", "created_at": int64(1_793_000_000_000)},
		{"agent_id": "a1-two", "version": "v262"}, {"agent_id": "b-three", "version": "v1", "created_at": int64(1_792_600_000_000)},
	} {
		add(resource.AgentVersions, v)
	}
	add(resource.Agents, row{"agent_id": "d-untyped"})
	for i, number := range []any{"+821012345678", "sip:777@10.0.0.1", "+8215880000", "+8215880000", "+8215880000", "+82unused", nil} {
		add(resource.Numbers, row{"number_id": fmt.Sprint("n", i), "number": number, "status": maybe(r, .1, "active", "expired"), "created_at": int64(r.IntN(2)),
			"deleted_at": pick(r, []any{nil, nil, int64(9)}), "inbound_agent_id": maybe(r, .3, "a1-one"), "outbound_agent_id": maybe(r, .3, "b-three")})
	}
	for i := range 9 {
		c := row{"campaign_id": fmt.Sprint("p", i), "name": maybe(r, .1, "spring", "autumn"), "status": maybe(r, 0, "draft", "ongoing", "success"), "agent_id": maybe(r, .2, "a1-one"),
			"total_calls": int64(r.IntN(3) * 10), "completed_calls": int64(r.IntN(5)), "failed_calls": int64(r.IntN(5)), "created_at": int64(r.IntN(4) * 1000), "deleted_at": pick(r, []any{nil, int64(9)})}
		if i == 0 {
			delete(c, "failed_calls")
			delete(c, "created_at")
		}
		add(resource.Campaigns, c)
	}
	d.Others[&resource.Changes] = randomChanges(r)
	add(resource.AlertRules, row{"alert_rule_id": "r1", "name": "too many", "metric_type": "call_count"}, row{"alert_rule_id": "r2"})
	for i := range 12 {
		add(resource.Incidents, row{"incident_id": fmt.Sprint("i", i), "alert_rule_id": maybe(r, .2, "r1", "r2", "r3"), "status": "resolved", "metric_value": "1.5",
			"created_at": d.Calls[r.IntN(len(d.Calls))]["start_at"]})
	}
	for _, c := range d.Calls { // the campaign that placed it, from the call, the campaign's list, or both; the call takes precedence
		shown, listed := maybe(r, .6, "p1", "p2", "p8", "gone"), maybe(r, .6, "p0", "p1", "p2")
		if listed != nil {
			add(resource.CampaignCalls, row{"campaign_id": listed, "call_id": c["call_id"]})
			c["campaign"] = listed
		}
		if shown != nil {
			c["extra"], c["campaign"] = fmt.Sprintf(`{"campaign_id":%q}`, shown), shown
		}
	}
	moved := map[string]int64{} // how far each call was moved
	for _, c := range d.Calls {
		if _, started := c["start_at"].(int64); started { // every day has calls
			moved[c["call_id"].(string)] = int64(r.IntN(20)-10) * 86_400_000
		}
		c["presentation_number"] = maybe(r, .5, "+8215880000", "+8215889999")
		c["agent_type"] = types[c["agent_id"]]
	}
	withNumbers(*d)
	for _, rows := range [][]row{d.Calls, d.Turns, d.Items} { // with all its rows
		for _, c := range rows {
			for _, at := range []string{"start_at", "end_at", "call_start_at"} {
				if ms, ok := c[at].(int64); ok {
					c[at] = ms + moved[c["call_id"].(string)]
				}
			}
		}
	}
}

// edit is a change of one field, and the report's text for it; empty: not reported.
type edit struct{ field, before, after, shown string }

var edits = []edit{
	{"name", `"A"`, `"환불"`, "name A → 환불"},
	{"type", `null`, `"flow"`, "type none → flow"},
	{"total_calls", `1`, `20`, "total_calls 1 → 20"},
	{"data", `{"voice":{"id":1},"prompt":"x","a/b~":1}`, `{"prompt":"y","voice":{"id":1},"speed":1.50}`, "data (a/b~, prompt, speed)"},
	{"flow", `{"nodes":[]}`, `null`, "flow"},
	{"description", `"short"`, `"` + strings.Repeat("long ", 9) + `"`, "description"},
	{"updated_at", `"2026-11-01T00:00:00.000Z"`, `"2026-11-02T00:00:00.000Z"`, "updated_at 2026-11-01T00:00:00.000Z → 2026-11-02T00:00:00.000Z"},
	{"completed_calls", `1`, `2`, ""},
}

// randomChanges returns rows of the table changes around the times of random calls. For the oracle,
// they also have the object's later name and the edits that they consist of.
func randomChanges(r *rand.Rand) (out []row) {
	for _, object := range []struct{ resource, key, first, name string }{
		{"agents", "a1-one", `{"name":"Bookings"}`, "Bookings"}, {"agents", "a1-two", `{"name":null}`, ""}, {"agent_versions", "a1-one/v%2F12", `{"version":"v/12"}`, ""},
		{"tools", "t%2F1", `{"x":1}`, ""}, {"telephone_numbers", "n1", `{"number":"+82"}`, "+82"}, {"customers", "c1", `{"name":"Kim"}`, "Kim"}, {"campaigns", "p1", `{"name":"spring"}`, "spring"},
	} {
		at, err := time.Parse(time.RFC3339, pick(r, []string{"2026-10-24T20:00:00Z", "2026-10-31T22:00:00Z", "2026-11-08T03:00:00Z", "2026-11-18T03:00:00Z"}))
		if err != nil {
			panic(err)
		}
		for n := range 1 + r.IntN(6) {
			c := row{"resource": object.resource, "key": object.key, "since_at": at.UnixMilli(), "kind": "changed"}
			at = at.Add(time.Duration(1+r.IntN(60)) * time.Hour)
			c["seen_at"] = at.UnixMilli()
			switch {
			case n == 0:
				c["kind"], c["fields"], c["after"], c["named"] = "created", "[]", object.first, object.name
				if r.IntN(2) == 0 {
					delete(c, "since_at")
				}
			case r.IntN(5) == 0:
				c["kind"], c["fields"], c["before"], c["after"] = pick(r, []string{"deleted", "returned", "completed"}), `["deleted_at"]`, `{"deleted_at":null}`, `{"deleted_at":"x"}`
			default:
				var fields, before, after []string
				var of []edit
				for _, e := range edits {
					if r.IntN(3) == 0 || len(of) == 0 && e.field == "completed_calls" {
						fields, of = append(fields, fmt.Sprintf("%q", e.field)), append(of, e)
						before, after = append(before, fmt.Sprintf("%q:%s", e.field, e.before)), append(after, fmt.Sprintf("%q:%s", e.field, e.after))
					}
				}
				if of[0].field == "name" {
					c["named"] = "환불"
				}
				c["fields"], c["edits"] = "["+strings.Join(fields, ",")+"]", of
				c["before"], c["after"] = "{"+strings.Join(before, ",")+"}", "{"+strings.Join(after, ",")+"}"
			}
			out = append(out, c)
		}
	}
	return out
}

// shownEdits returns the report's text for the fields of a change; nil if there is none.
func shownEdits(c row) any {
	of, _ := c["edits"].([]edit)
	var shown []string
	for _, e := range of {
		if e.shown != "" && e.field != "updated_at" {
			shown = append(shown, e.shown)
		}
	}
	for _, e := range of {
		if e.field == "updated_at" && shown == nil {
			shown = append(shown, e.shown)
		}
	}
	if shown == nil {
		return nil
	}
	return strings.Join(shown, ", ")
}

// wall returns the local time in a zone as if it were UTC.
func wall(ms int64, loc *time.Location) time.Time {
	_, offset := time.UnixMilli(ms).In(loc).Zone()
	return time.UnixMilli(ms).UTC().Add(time.Duration(offset) * time.Second)
}

func changesOf(d analyticstest.Data, p question.Params, loc *time.Location) (out [][]any) {
	names, judged := map[any]string{}, map[string]bool{}
	all, first := slices.Clone(d.Others[&resource.Changes]), int64(math.MaxInt64)
	for _, c := range d.Calls {
		if at, ok := c["start_at"].(int64); ok {
			first = min(first, at)
		}
	}
	for _, v := range d.Others[resource.AgentVersions.Table] {
		if at, ok := v["created_at"].(int64); ok && at >= first {
			all = append(all, row{"resource": "agent_versions", "key": fmt.Sprint(v["agent_id"], "/", v["version"]), "since_at": at, "seen_at": at, "kind": "published"})
		}
	}
	for _, c := range all {
		object, key := c["resource"], c["key"].(string)
		if name, _ := c["named"].(string); name != "" {
			names[key] = name
		}
		since, known := c["since_at"].(int64)
		seen := c["seen_at"].(int64)
		agent, last, _ := strings.Cut(key, "/")
		var agentID any
		if object == "agents" || object == "agent_versions" {
			agentID = agent
		}
		shown := shownEdits(c)
		if !known || object == "customers" || c["kind"] == "completed" || c["kind"] == "changed" && shown == nil ||
			!p.Since.IsZero() && seen < p.Since.UnixMilli() || !p.Until.IsZero() && seen >= p.Until.UnixMilli() || p.Agent != "" && agentID != p.Agent {
			continue
		}
		what := names[key]
		if what == "" {
			what, _ = url.PathUnescape(cmp.Or(last, key))
		}
		line := []any{seen, since, object, agentID, what, c["kind"], nil, nil, nil, nil, nil, nil, nil, shown, nil, nil, nil, key}
		if agentID != nil {
			var before, after []row
			known, first := wall(since, loc).Truncate(time.Hour), wall(seen, loc).Truncate(time.Hour).Add(time.Hour)
			const day = 24 * time.Hour
			back := 7 * day
			for first.Add(-back).Add(4 * day).After(known) {
				back += 7 * day
			}
			end := first.Add(7 * day)
			if known.Add(back).Before(end) {
				end = known.Add(back)
			}
			for _, call := range d.Calls {
				ms, started := call["start_at"].(int64)
				if call["agent_id"] != agentID || !started || !selects(call, question.Params{Where: p.Where}, loc) {
					continue
				}
				at := wall(ms, loc)
				if !at.Before(first.Add(-back)) && at.Before(end.Add(-back)) {
					before = append(before, call)
				}
				if !at.Before(first) && at.Before(end) {
					after = append(after, call)
				}
			}
			span := fmt.Sprint(agentID, known, first)
			n, m := count(before, answered), count(after, answered)
			if n > 0 && m > 0 {
				judged[span] = true
			}
			was, is := share(count(before, completed), n), share(count(after, completed), m)
			line = append(line[:6], int64(len(before)), int64(len(after)), was, is, nil, nil, nil, shown, nil, int64(n), int64(m), key)
		}
		out = append(out, line)
	}
	z := quantile(len(judged))
	for _, line := range out {
		n, _ := line[15].(int64)
		m, _ := line[16].(int64)
		low, high := newcombe(line[9], int(m), line[8], int(n), z)
		var needed int64
		if n > 0 {
			p, ratio := (line[8].(float64)/100*float64(n)+1)/float64(n+2), float64(m)/float64(n)
			if m == 0 {
				ratio = 1
			}
			needed = max(int64(math.Ceil(p*(1-p)*math.Pow((z+.8416212335729143)/.1, 2)*(1+ratio)))-m, 0)
		}
		if line[10], line[11] = low, high; low != nil {
			line[12] = "unclear"
		}
		switch {
		case low != nil && low.(float64) > 0:
			line[12] = "better"
		case low != nil && high.(float64) < 0:
			line[12] = "worse"
		case needed > 0:
			line[12], line[14] = "too early", needed
		}
	}
	slices.SortFunc(out, func(a, b []any) int {
		return cmp.Or(cmp.Compare(b[0].(int64), a[0].(int64)), cmp.Compare(a[2].(string), b[2].(string)), cmp.Compare(a[17].(string), b[17].(string)))
	})
	return out
}

// falseFirst compares two conditions.
func falseFirst(a, b bool) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }

func campaignsOf(d analyticstest.Data, p question.Params, loc *time.Location) (out [][]any) {
	rows := slices.Clone(d.Others[resource.Campaigns.Table])
	slices.SortFunc(rows, func(a, b row) int {
		newest, _ := b["created_at"].(int64)
		other, _ := a["created_at"].(int64)
		return cmp.Or(falseFirst(a["deleted_at"] != nil, b["deleted_at"] != nil), falseFirst(a["created_at"] == nil, b["created_at"] == nil),
			cmp.Compare(newest, other), cmp.Compare(a["campaign_id"].(string), b["campaign_id"].(string)))
	})
	for _, c := range rows {
		line := []any{c["name"], c["status"], c["total_calls"], nil}
		if failed, shown := c["failed_calls"].(int64); shown {
			line[3] = share(int(c["completed_calls"].(int64)+failed), int(c["total_calls"].(int64)))
		}
		line = append(line, placedBy(c["campaign_id"], d, p, loc)...)
		out = append(out, append(line, c["completed_calls"], c["failed_calls"], c["agent_id"],
			c["created_at"], c["deleted_at"], c["campaign_id"]))
	}
	return out
}

// placedBy returns the figures of the calls that a campaign placed.
func placedBy(campaign any, d analyticstest.Data, p question.Params, loc *time.Location) []any {
	mine := func(r row) bool {
		return selects(r, p, loc) && r["campaign"] == campaign && r["start_at"] != nil && wayOf(r) != "inbound"
	}
	reached := func(r row) bool {
		return over(r) && linked(r) != "" && connected(r) && !reasonIs(r, "voicemail_reached")
	}
	attempts, known, met, first, later := 0, 0, 0, 0, 0
	hours := map[int64][2]int{} // the known attempts, and those that reached someone
	for _, r := range d.Calls {
		if !mine(r) {
			continue
		}
		attempts++
		hour := timeKey(time.UnixMilli(r["start_at"].(int64)).In(loc), "hour").(int64)
		h := hours[hour]
		if over(r) && linked(r) != "" {
			known++
			h[0]++
		}
		if reached(r) {
			met++
			h[1]++
			if to := numberIn(r, "to"); to != "" {
				if count(d.Calls, func(o row) bool {
					return mine(o) && numberIn(o, "to") == to && o["start_at"].(int64) < r["start_at"].(int64)
				}) == 0 {
					first++
				} else {
					later++
				}
			}
		}
		hours[hour] = h
	}
	var best any
	most := -1.0
	for hour := range int64(24) {
		if h := hours[hour]; h[1] > 0 && h[0] >= 20 {
			if low, _ := wilson(h[1], h[0]); low.(float64) > most {
				best, most = hour, low.(float64)
			}
		}
	}
	return []any{int64(attempts), int64(met), share(met, known), int64(first), int64(later), best}
}

// withNumbers sets the number of each call for the oracle.
func withNumbers(d analyticstest.Data) analyticstest.Data {
	for _, c := range d.Calls {
		c["number"] = c["own_number"]
	}
	return d
}

// A fetched but empty resource is not reported as never fetched.
func TestWhatWasNeverFetched(t *testing.T) {
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{})
	changes, _ := sqlfiles.Report("changes")
	volume, _ := sqlfiles.Report("volume")
	campaigns, _ := sqlfiles.Report("campaigns")
	lacks := func(want string) {
		t.Helper()
		w := open(t, root, nil)
		got := ""
		for _, q := range []struct {
			of *sqlfiles.File
			p  question.Params
		}{{changes, question.Params{}}, {volume, question.Params{By: "agent_type", Where: []string{"number="}}}, {volume, question.Params{By: "agent"}}, {campaigns, question.Params{}}} {
			r, err := w.Remarks(t.Context(), analytics.Question{Report: q.of.Name, Params: q.p})
			test.OK(t, err)
			got += fmt.Sprint(r.NotFetched, " ")
		}
		if got != want {
			t.Errorf("lacking are %s, want %s", got, want)
		}
	}
	lacks("[agents, tools and other resources] [agents telephone_numbers] [] [campaigns campaign_calls] ")
	analyticstest.Edit(t, filepath.Join(root, "snapshots", "000001", "manifest.json"), func(m *layout.Manifest) {
		m.Lists = map[string]layout.List{"agents": {ListedAt: 1},
			"campaigns": {ListedAt: 1}} // without campaigns, there are no lists of their calls
	})
	lacks("[] [telephone_numbers] [] [] ")
}
