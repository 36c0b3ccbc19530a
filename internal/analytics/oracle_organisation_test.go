package analytics_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// organisation adds to random data what an organisation has beside calls. Of each call the
// row then tells the type of its agent and the organisation's own number, for the oracle.
func organisation(r *rand.Rand, d *analyticstest.Data) {
	types := map[any]any{"a1-one": "flow", "a1-two": "single_prompt", "c-unused": "flow"} // b-three was never listed
	own := map[any]bool{"+821012345678": true, "sip:777@10.0.0.1": true, "+8215880000": true}
	d.Others = map[*schema.Table][]row{}
	add := func(of *resource.Resource, rows ...row) { d.Others[of.Table] = append(d.Others[of.Table], rows...) }
	for id, kind := range types {
		add(resource.Agents, row{"agent_id": id, "type": kind})
	}
	add(resource.Agents, row{"agent_id": "d-untyped"})
	for number := range own {
		add(resource.Numbers, row{"number_id": fmt.Sprint("n", number), "number": number, "status": "active"})
	}
	add(resource.Numbers, row{"number_id": "again", "number": "+821012345678", "status": "expired"}, row{"number_id": "none"})
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

// Groups and conditions that tables of the organisation tell equal the oracle.
func TestDimensionsOfTheOrganisation(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 4))
	d := randomData(r, 150)
	organisation(r, &d)
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	w := open(t, root, zone(t, "Asia/Seoul"))
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
		if i%*everyQuestion == 0 {
			checkReports(t, root, w.Location(), d, p)
		}
	}
}
