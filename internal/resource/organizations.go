package resource

import "callhouse/internal/schema"

// Organizations are the organisation itself. No response of the service includes its id, which is a
// setting. The recipients of invoices and the address of its webhook are withheld.
var Organizations = Declare(Resource{
	Name: "organizations", Doc: "the organisation itself, with the limits of its subscription",
	Text: "Requires the setting organization_id.",
	Path: "/v3/organizations/{}", Single: true, Key: []string{"organization_id"}, Secrets: []string{"billing_invoice_recipient_emails"},
},
	schema.Column{ID: 1, Name: "organization_id", Type: schema.Text, Required: true, V3: "id", V2: "organization_id",
		Doc: "id of the organisation"},
	schema.Column{ID: 2, Name: "name", Type: schema.Text, V3: "name",
		Doc: "name"},
	schema.Column{ID: 3, Name: "is_main", Type: schema.Bool, V3: "is_main",
		Doc: "whether it is the main organisation"},
	schema.Column{ID: 4, Name: "parent_organization_id", Type: schema.Text, V3: "parent_organization_id",
		Doc: "parent organisation"},
	schema.Column{ID: 5, Name: "subscription", Type: schema.JSON, V3: "subscription",
		Doc: "plan: fees, and limits of calls at once, per hour and per day"},
	schema.Column{ID: 6, Name: "webhook_version", Type: schema.Word, V3: "webhook_version",
		Doc: "version of webhook events"},
	schema.Column{ID: 7, Name: "webhook_event_subscriptions", Type: schema.JSON, V3: "webhook_event_subscriptions", AnyValue: true,
		Doc: "events sent to the webhook"},
	schema.Column{ID: 8, Name: "webhook_url", Type: schema.Text, V3: "webhook_url",
		Doc: "set if events are sent; the address is withheld"},
	schema.Column{ID: 9, Name: "billing_invoice_recipient_emails", Type: schema.JSON, V3: "billing_invoice_recipient_emails", AnyValue: true,
		Doc: "number of invoice addresses; the addresses are withheld"},
	schema.Column{ID: 10, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "time of creation"},
)
