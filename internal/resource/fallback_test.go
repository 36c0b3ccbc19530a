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
