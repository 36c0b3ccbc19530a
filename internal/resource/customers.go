package resource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
)

// Customers are the people and companies whose data the organisation stores in the service. extract
// forget finds them by number and by id.
var Customers = Declare(Resource{
	Name: "customers", Doc: "customers of the organisation",
	Path: "/v3/customers", Key: []string{"customer_id"}, Contact: []string{"identifiers"},
},
	schema.Column{ID: 1, Name: "customer_id", Type: schema.Text, Required: true, V3: "id", V2: "customer_id",
		Doc: "id of the customer"},
	schema.Column{ID: 2, Name: "name", Type: schema.Text, V3: "name",
		Doc: "name"},
	schema.Column{ID: 3, Name: "note", Type: schema.Text, V3: "note",
		Doc: "note"},
	schema.Column{ID: 4, Name: "identifiers", Type: schema.JSON, V3: "identifiers", AnyValue: true,
		Doc: "telephone numbers, addresses and ids of the customer"},
	schema.Column{ID: 5, Name: "attributes", Type: schema.JSON, V3: "attributes", AnyValue: true,
		Doc: "values by name, as in customer_attributes"},
	schema.Column{ID: 6, Name: "metadata", Type: schema.JSON, V3: "metadata", AnyValue: true,
		Doc: "free keys"},
	schema.Column{ID: 7, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "time of creation"},
	schema.Column{ID: 8, Name: "updated_at", Type: schema.Timestamp, V3: "updated_at",
		Doc: "time of the last edit"},
	schema.Column{ID: 9, Name: "phones", Type: schema.JSON, Fetch: true, AnyValue: true, Made: []string{"identifiers"},
		Doc: "list of the telephone numbers among the identifiers (type phone), each as caller in calls: in E.164 form if it has one, " +
			"else as sent; null: none"},
)

var colIdentifiers, colPhones = Customers.Table.Column("identifiers"), Customers.Table.Column("phones")

// SetPhones sets the column derived from a customer's identifiers: the telephone numbers among
// them, in normal form where possible. It reports whether the column changed.
func SetPhones(o *schema.Object, normal func(number string) (e164 string, ok bool)) (changed bool) {
	var identifiers []json.RawMessage
	_ = json.Unmarshal(schema.TextOf(o.Row[colIdentifiers]), &identifiers) // any other JSON has no numbers
	var phones []string
	for _, raw := range identifiers {
		var i struct {
			Type  string `json:"type"`
			Value any    `json:"value"` // a text or a number
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if d.Decode(&i) != nil || i.Type != "phone" {
			continue
		}
		switch i.Value.(type) {
		case string, json.Number:
		default:
			continue
		}
		number := fmt.Sprint(i.Value)
		if e164, ok := normal(number); ok {
			number = e164
		}
		if !slices.Contains(phones, number) {
			phones = append(phones, number)
		}
	}
	var value parquet.Value
	if phones != nil {
		text, _ := json.Marshal(phones) // texts cannot fail
		value = schema.TextValue(text)
	}
	changed = !parquet.Equal(o.Row[colPhones], value)
	o.Row[colPhones] = value
	return changed
}

// CustomerAttributes are the attributes that customers may have.
var CustomerAttributes = Declare(Resource{
	Name: "customer_attributes", Doc: "definitions of customer attributes",
	Path: "/v3/customer-attribute-definitions", Key: []string{"attribute_id"},
},
	schema.Column{ID: 1, Name: "attribute_id", Type: schema.Text, Required: true, V3: "id", V2: "definition_id",
		Doc: "id of the attribute"},
	schema.Column{ID: 2, Name: "name", Type: schema.Text, V3: "name",
		Doc: "name"},
	schema.Column{ID: 3, Name: "type", Type: schema.Word, V3: "type", Known: []string{"string", "number", "boolean", "enum", "date"},
		Doc: "string, number, boolean, enum or date"},
	schema.Column{ID: 4, Name: "description", Type: schema.Text, V3: "description",
		Doc: "description"},
	schema.Column{ID: 5, Name: "enum_options", Type: schema.JSON, V3: "enum_options", AnyValue: true,
		Doc: "values of an enum"},
	schema.Column{ID: 6, Name: "conflict_mode", Type: schema.Word, V3: "conflict_mode", Known: []string{"overwrite", "fill_if_empty"},
		Doc: "overwrite or fill_if_empty"},
	schema.Column{ID: 7, Name: "is_active", Type: schema.Bool, V3: "is_active",
		Doc: "whether it is in use"},
	schema.Column{ID: 8, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "time of creation"},
	schema.Column{ID: 9, Name: "updated_at", Type: schema.Timestamp, V3: "updated_at",
		Doc: "time of the last edit"},
)
