package resource

import (
	"net/url"

	"callhouse/internal/schema"
)

// Campaigns place calls to a list of numbers. Their counts change while they run.
var Campaigns = Declare(Resource{
	Name: "campaigns", Doc: "campaigns of outbound calls",
	Path: "/v3/campaigns", Key: []string{"campaign_id"},
},
	schema.Column{ID: 1, Name: "campaign_id", Type: schema.Text, Required: true, V3: "id", V2: "campaign_id",
		Doc: "id of the campaign"},
	schema.Column{ID: 2, Name: "name", Type: schema.Text, V3: "name",
		Doc: "name"},
	schema.Column{ID: 3, Name: "status", Type: schema.Word, V3: "status",
		Known: []string{"draft", "pending", "ongoing", "paused", "success", "fail", "canceled"},
		Doc:   "draft, pending, ongoing, paused, success, fail or canceled"},
	schema.Column{ID: 4, Name: "agent_id", Type: schema.Word, V3: "agent.agent_id",
		Doc: "agent of its calls"},
	schema.Column{ID: 5, Name: "agent_version", Type: schema.Word, V3: "agent.agent_version",
		Doc: "version of the agent"},
	schema.Column{ID: 6, Name: "from_number", Type: schema.Word, V3: "from_number",
		Doc: "calling number"},
	schema.Column{ID: 7, Name: "presentation_number", Type: schema.Word, V3: "presentation_number",
		Doc: "number shown to callees"},
	schema.Column{ID: 8, Name: "total_calls", Type: schema.Int64, V3: "total_calls", Unit: "count",
		Doc: "planned calls"},
	schema.Column{ID: 9, Name: "completed_calls", Type: schema.Int64, V3: "completed_calls", Unit: "count",
		Doc: "completed calls"},
	schema.Column{ID: 10, Name: "failed_calls", Type: schema.Int64, V3: "failed_calls", Unit: "count",
		Doc: "failed or canceled calls"},
	schema.Column{ID: 11, Name: "concurrency", Type: schema.Int64, V3: "concurrency", Unit: "count",
		Doc: "maximum of simultaneous calls"},
	schema.Column{ID: 12, Name: "active_concurrency", Type: schema.Int64, V3: "active_concurrency", Unit: "count",
		Doc: "calls in progress when it was listed"},
	schema.Column{ID: 13, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "time of creation"},
	schema.Column{ID: 14, Name: "scheduled_at", Type: schema.Timestamp, V3: "scheduled_at",
		Doc: "scheduled start"},
	schema.Column{ID: 15, Name: "finished_at", Type: schema.Timestamp, V3: "finished_at",
		Doc: "end"},
	schema.Column{ID: 16, Name: "paused_at", Type: schema.Timestamp, V3: "paused_at",
		Doc: "time of the pause"},
	schema.Column{ID: 17, Name: "paused_by", Type: schema.Word, V3: "paused_by",
		Doc: "user or system"},
	schema.Column{ID: 18, Name: "call_time_window", Type: schema.JSON, V3: "call_time_window",
		Doc: "hours of the week in which it may call, with their time zone"},
)

// CampaignCalls link calls to the campaigns that placed them, which the calls themselves may not
// name. They are listed when the campaign changed.
var CampaignCalls = Declare(Resource{
	Name: "campaign_calls", Doc: "calls placed by each campaign",
	Path: "/v3/calls", Parent: Campaigns, Queries: []url.Values{{"campaign_id": {"{}"}}},
	Key: []string{"campaign_id", "call_id"}, ColumnsOnly: true, OfCall: "call_id",
},
	schema.Column{ID: 2, Name: "call_id", Type: schema.Text, Required: true, V3: "id", V2: "call_id",
		Doc: "id of the call"},
	schema.Column{ID: 1, Name: "campaign_id", Type: schema.Text, Required: true,
		Doc: "campaign that placed it"},
)
