package analytics_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// november returns a time of November 2026, in ms.
func november(day, hour int) int64 {
	return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC).UnixMilli()
}

// Publications are changes from the first run on, with their own times. What the nightly runs see of one
// is not listed again; that an earlier version is back in production is.
func TestPublicationsAreChanges(t *testing.T) {
	d := analyticstest.Data{Others: map[*schema.Table][]row{}}
	for day := 3; day < 28; day++ {
		d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(day), "agent_id": "a", "agent_version": "v1", "start_at": november(day, 15), "status": "ended",
			"disconnection_reason": "user_hangup", "duration_ms": int64(60_000), "user_turns": int64(1)})
	}
	for version, at := range map[string]int64{"v1": november(1, 12), "v2": november(10, 12), "v/3": november(20, 12)} {
		d.Others[resource.AgentVersions.Table] = append(d.Others[resource.AgentVersions.Table], row{"agent_id": "a", "version": version, "created_at": at})
	}
	saw := func(day int, of, key, kind, before, after string, since any) {
		names := "[]"
		if kind == "changed" {
			names = "[\"" + strings.Split(after, "\"")[1] + "\"]"
		}
		d.Others[&resource.Changes] = append(d.Others[&resource.Changes], row{"resource": of, "key": key, "kind": kind, "run_id": fmt.Sprint(day),
			"since_at": since, "seen_at": november(day, 2), "fields": names, "before": before, "after": after})
	}
	for _, v := range []string{"v1", "v2"} {
		saw(15, "agent_versions", "a/"+v, "created", "null", "{}", nil) // the first run
	}
	saw(21, "agents", "a", "changed", `{"production_version":"v2"}`, `{"production_version":"v/3"}`, november(20, 2))
	saw(21, "agent_versions", "a/v%2F3", "created", "null", "{}", november(20, 2))
	saw(21, "agent_versions", "a/v2", "changed", `{"is_production":true}`, `{"is_production":false}`, november(20, 2))
	saw(24, "agents", "a", "changed", `{"production_version":"v/3"}`, `{"production_version":"v2"}`, november(23, 2))
	saw(24, "agent_versions", "a/v2", "changed", `{"is_production":false}`, `{"is_production":true}`, november(23, 2))
	saw(24, "agent_versions", "a/v%2F3", "changed", `{"is_production":true}`, `{"is_production":false}`, november(23, 2))
	w := warehouse(t, d, nil)
	for _, c := range []struct {
		p    question.Params
		want []string
	}{
		{question.Params{}, []string{"24 02 changed a production_version v/3 → v2 6 4", "20 12 published v/3 <nil> 7 7", "10 12 published v2 <nil> 7 7"}},
		{question.Params{Since: time.UnixMilli(november(15, 0)), Until: time.UnixMilli(november(21, 0))}, []string{"20 12 published v/3 <nil> 7 7"}},
	} {
		rows, err := askFor(t.Context(), w, "changes", c.p)
		var got []string
		for _, line := range all(t, rows, err) {
			got = append(got, fmt.Sprint(time.UnixMilli(line[0].(int64)).UTC().Format("02 15 "), line[5], " ", line[3], " ", line[6], " ", line[7], " ", line[8]))
		}
		test.Same(t, c.want, got, "changes (-want +got)")
	}
}
