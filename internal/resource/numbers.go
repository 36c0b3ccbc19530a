package resource

import (
	"net/url"

	"callhouse/internal/schema"
)

// Numbers are the organisation's own telephone numbers. The list has only the active ones, unless
// each status is requested.
var Numbers = Declare(Resource{
	Name: "telephone_numbers", Doc: "telephone numbers of the organisation",
	Path: "/v3/organization-telephone-numbers", Key: []string{"number_id"},
	Queries: []url.Values{{"status": {"active"}}, {"status": {"scheduled"}}, {"status": {"cancel_requested"}}, {"status": {"expired"}}},
},
	schema.Column{ID: 1, Name: "number_id", Type: schema.Text, Required: true, V3: "id", V2: "organization_telephone_number_id",
		Doc: "id of the number"},
	schema.Column{ID: 2, Name: "number", Type: schema.Text, V3: "number",
		Doc: "number, as in from_number, to_number and presentation_number of calls"},
	schema.Column{ID: 3, Name: "provider", Type: schema.Word, V3: "provider", Known: []string{"vox", "custom"},
		Doc: "vox or custom"},
	schema.Column{ID: 4, Name: "status", Type: schema.Word, V3: "status",
		Known: []string{"active", "scheduled", "cancel_requested", "expired"},
		Doc:   "active, scheduled, cancel_requested or expired"},
	schema.Column{ID: 5, Name: "monthly_fee", Type: schema.Exact, V3: "monthly_fee", Amount: true, Unit: "money",
		Doc: "monthly fee"},
	schema.Column{ID: 6, Name: "memo", Type: schema.Text, V3: "memo",
		Doc: "note"},
	schema.Column{ID: 7, Name: "inbound_agent_id", Type: schema.Word, V3: "inbound_agent.agent_id",
		Doc: "agent of inbound calls"},
	schema.Column{ID: 8, Name: "inbound_agent_version", Type: schema.Word, V3: "inbound_agent.agent_version",
		Doc: "version of the agent"},
	schema.Column{ID: 9, Name: "outbound_agent_id", Type: schema.Word, V3: "outbound_agent.agent_id",
		Doc: "agent of outbound calls"},
	schema.Column{ID: 10, Name: "outbound_agent_version", Type: schema.Word, V3: "outbound_agent.agent_version",
		Doc: "version of the agent"},
	schema.Column{ID: 11, Name: "address", Type: schema.Text, V3: "address",
		Doc: "SIP address"},
	schema.Column{ID: 17, Name: "inbound_trunk_id", Type: schema.Text, V3: "inbound_trunk_id",
		Doc: "trunk of inbound calls"},
	schema.Column{ID: 18, Name: "outbound_trunk_id", Type: schema.Text, V3: "outbound_trunk_id",
		Doc: "trunk of outbound calls"},
	schema.Column{ID: 12, Name: "start_at", Type: schema.Timestamp, V3: "start_at",
		Doc: "start of ownership"},
	schema.Column{ID: 13, Name: "end_at", Type: schema.Timestamp, V3: "end_at",
		Doc: "end of ownership"},
	schema.Column{ID: 14, Name: "cancel_requested_at", Type: schema.Timestamp, V3: "cancel_requested_at",
		Doc: "time the cancellation was requested"},
	schema.Column{ID: 15, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "time of creation"},
	schema.Column{ID: 16, Name: "updated_at", Type: schema.Timestamp, V3: "updated_at",
		Doc: "time of the last edit"},
)
