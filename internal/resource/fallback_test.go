package resource

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// A campaign in v2's form fills its columns: its agent's version by the name used in v3 and in
// calls, its organisation, and times without a zone, which are reported as drift.
func TestCampaignOfV2(t *testing.T) {
	for _, c := range []struct{ version, want string }{{"12", "v12"}, {"null", ""}, {`"production"`, "production"}} {
		body, err := Campaigns.Translate([]byte(`{"id":"7","name":"spring","agent_id":"a","agent_version":` + c.version +
			`,"organization_id":"o1","created_at":"2026-11-19T09:15:01.123456","paused_at":"2026-11-19T09:15:01Z","finished_at":null}`))
		if err != nil {
			t.Fatal(err)
		}
		var d wire.Decoder
		var o schema.Object
		if err := d.Decode(Campaigns.Resource, body, schema.KindItem, &o); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, name := range []string{"campaign_id", "agent_id", "agent_version", "organization_id"} {
			got[name] = string(schema.TextOf(o.Row[Campaigns.Table.Column(name)]))
		}
		if d := cmp.Diff(map[string]string{"campaign_id": "7", "agent_id": "a", "agent_version": c.want, "organization_id": "o1"}, got); d != "" {
			t.Errorf("version %s (-want +got):\n%s", c.version, d)
		}
		for name, want := range map[string]int64{"created_at": 1795079701123, "paused_at": 1795079701000} {
			if at := schema.MillisOf(o.Row[Campaigns.Table.Column(name)]); at.V != want {
				t.Errorf("%s is %v, want %d", name, at, want)
			}
		}
		told := ""
		for _, drift := range d.Drift {
			if drift.Kind == wire.DriftZone || drift.Kind == wire.DriftMisfit {
				told += drift.Path + ": " + drift.Kind.String() + "\n"
			}
		}
		if told != "created_at: zone\n" {
			t.Errorf("drift is %q", told)
		}
	}
}

// Times of a resource are read in every form that calls may have, and v2's exact text is not lost.
func TestTimesOfResources(t *testing.T) {
	for _, c := range []struct {
		sent string
		want int64
		v2   string // how v2's value is passed on
	}{
		{`"2026-11-19T18:15:01.2+09:00"`, 1795079701200, `1795079701200`},
		{`"2026-11-19 18:15:01.2+0900"`, 1795079701200, `1795079701200`},
		{`"2026-11-19 09:15:01.200999+00"`, 1795079701200, `"2026-11-19 09:15:01.200999+00"`},
		{`"2026-11-19T09:15:01.200999999999Z"`, 1795079701200, `"2026-11-19T09:15:01.200999999999Z"`},
		{`"2026-11-19 09:15:01.2009"`, 1795079701200, `"2026-11-19 09:15:01.2009"`},
		{`1795079701200.75`, 1795079701200, `1795079701200.75`},
	} {
		sent := `{"id":"7","created_at":` + c.sent + `}`
		v2, err := Campaigns.Translate([]byte(sent))
		if err != nil || string(v2) != `{"campaign_id":"7","created_at":`+c.v2+`}` {
			t.Errorf("%s of v2 becomes %s, %v", sent, v2, err)
		}
		for _, body := range []string{sent, string(v2)} {
			var d wire.Decoder
			var o schema.Object
			if err := d.Decode(Campaigns.Resource, []byte(body), schema.KindItem, &o); err != nil {
				t.Fatal(err)
			}
			if at := schema.MillisOf(o.Row[Campaigns.Table.Column("created_at")]); at.V != c.want {
				t.Errorf("%s is read as %v", body, at)
			}
		}
	}
}
