package analytics_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// organisation adds to random data what an organisation has beside calls. Of each call the
// row then tells the type of its agent and the organisation's own number, for the oracle.
func organisation(r *rand.Rand, d *analyticstest.Data) {
	d.Others = map[*schema.Table][]row{}
	add := func(of *resource.Resource, rows ...row) { d.Others[of.Table] = append(d.Others[of.Table], rows...) }
	types := map[any]any{"a1-one": "flow", "a1-two": "single_prompt", "c-unused": "flow"} // b-three was never listed
	for id, kind := range types {
		add(resource.Agents, row{"agent_id": id, "type": kind})
	}
	add(resource.Agents, row{"agent_id": "d-untyped"})
	own := map[any]bool{}
	for i, number := range []any{"+821012345678", "sip:777@10.0.0.1", "+8215880000", "+8215880000", "+8215880000", "+82unused", nil} {
		own[number] = number != nil
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
	for _, c := range d.Calls {
		c["presentation_number"] = maybe(r, .5, "+8215880000", "+8215889999")
		c["agent_type"] = types[c["agent_id"]]
		places := []string{"presentation_number", "from_number"}
		if c["call_type"] == "inbound" {
			places = []string{"to_number"}
		}
		for _, place := range places {
			if c["number"] == nil && own[c[place]] {
				c["number"] = c[place]
			}
		}
	}
}

// compareNulls compares numbers, the missing ones last.
func compareNulls(a, b any) int {
	switch {
	case a == nil || b == nil:
		return cmp.Compare(fmt.Sprint(a == nil), fmt.Sprint(b == nil))
	}
	return cmp.Compare(a.(int64), b.(int64))
}

func campaignsOf(d analyticstest.Data) (out [][]any) {
	rows := slices.Clone(d.Others[resource.Campaigns.Table])
	slices.SortFunc(rows, func(a, b row) int {
		if a, b := a["deleted_at"] != nil, b["deleted_at"] != nil; a != b {
			return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
		}
		if a, b := a["created_at"], b["created_at"]; a != b {
			if a == nil || b == nil {
				return compareNulls(a, b)
			}
			return -compareNulls(a, b)
		}
		return cmp.Compare(a["campaign_id"].(string), b["campaign_id"].(string))
	})
	for _, c := range rows {
		line := []any{c["name"], c["status"], c["agent_id"], c["total_calls"], c["completed_calls"], c["failed_calls"], nil,
			c["created_at"], c["scheduled_at"], c["finished_at"], c["deleted_at"], c["campaign_id"]}
		if failed, told := c["failed_calls"].(int64); told {
			line[6] = share(int(c["completed_calls"].(int64)+failed), int(c["total_calls"].(int64)))
		}
		out = append(out, line)
	}
	return out
}

// numbersOfOwn are the lines of a group's own numbers.
func numbersOfOwn(g *group, d analyticstest.Data, grouped bool) (out [][]any) {
	best := map[any]row{} // of each number the one that is there, active, and the newest
	rank := func(n row) []int64 {
		out := []int64{1, 1, n["created_at"].(int64)}
		if n["deleted_at"] != nil {
			out[0] = 0
		}
		if n["status"] != "active" {
			out[1] = 0
		}
		return out
	}
	for _, n := range d.Others[resource.Numbers.Table] {
		if was := best[n["number"]]; n["number"] != nil && (was == nil || slices.Compare(rank(n), rank(was)) > 0) {
			best[n["number"]] = n
		}
	}
	for number, n := range best {
		mine := &group{}
		for _, c := range g.calls {
			if c["number"] == number {
				mine.calls = append(mine.calls, c)
			}
		}
		if len(mine.calls) == 0 && grouped {
			continue
		}
		status := n["status"]
		if n["deleted_at"] != nil {
			status = "deleted"
		}
		known := func(c row) bool { return c["call_type"] == "outbound" && over(c) && linked(c) != "" }
		reached := func(c row) bool { return known(c) && connected(c) && !reasonIs(c, "voicemail_reached") }
		placed, met, whole, done := count(mine.calls, known), count(mine.calls, reached), count(mine.calls, answered), count(mine.calls, completed)
		low, high := wilson(met, placed)
		least, most := wilson(done, whole)
		out = append(out, []any{g.key, number, status, n["inbound_agent_id"], n["outbound_agent_id"], int64(len(mine.calls)),
			int64(count(mine.calls, func(c row) bool { return c["call_type"] == "inbound" })), int64(placed), share(met, placed), low, high,
			int64(whole), share(done, whole), least, most})
	}
	slices.SortFunc(out, func(a, b []any) int {
		return cmp.Or(cmp.Compare(b[5].(int64), a[5].(int64)), cmp.Compare(a[1].(string), b[1].(string)))
	})
	return out
}

// The reports on the organisation equal their oracles.
func TestReportsOnTheOrganisation(t *testing.T) {
	for seed := range 2 {
		r := rand.New(rand.NewPCG(uint64(seed), 16))
		d := randomData(r, 60)
		organisation(r, &d)
		w := warehouse(t, d, zone(t, "Asia/Seoul"))
		for _, p := range []analytics.Params{{}, {By: "agent"}, {By: "weekday,call_type", Where: []string{"agent_type=flow"}}, {Where: []string{"status=none"}}} {
			for _, report := range []string{"lines", "campaigns"} {
				p := p
				p.NamesInPlace = true
				if report != "lines" {
					p.By = ""
				}
				rows, err := w.Report(t.Context(), report, p)
				if d := diffNear(oracle(report, d, p, w.Location()), all(t, rows, err)); d != "" {
					t.Errorf("%s, %+v (-oracle +report):\n%s", report, p, d)
				}
			}
		}
	}
}

// Groups and conditions that tables of the organisation tell equal the oracle.
func TestDimensionsOfTheOrganisation(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 4))
	d := randomData(r, 150)
	organisation(r, &d)
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	w := open(t, root, zone(t, "Asia/Seoul"))
	first := rand.IntN(*everyQuestion)
	for i, p := range []analytics.Params{
		{By: "agent_type"},
		{By: "number"},
		{By: "agent_type,day"},
		{By: "number,agent_type", Where: []string{"agent_type=flow", "agent_type="}},
		{By: "weekday", Where: []string{"number=+8215880000", "number=sip:777@10.0.0.1"}},
		{By: "agent", Where: []string{"number=", "agent_type=single_prompt"}},
	} {
		p.NamesInPlace = true // else there is a column for them
		for _, report := range []string{"volume", "durations", "worst", "attempts"} {
			rows, err := w.Report(t.Context(), report, p)
			if d := diffNear(oracle(report, d, p, w.Location()), all(t, rows, err)); d != "" {
				t.Errorf("%s, %+v (-oracle +report):\n%s", report, p, d)
			}
		}
		if i%*everyQuestion == first {
			checkReports(t, root, w.Location(), d, p)
		}
	}
}
