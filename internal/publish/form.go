package publish

import (
	"slices"

	"github.com/apache/iceberg-go"

	"callhouse/internal/publish/catalog"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Iceberg ids that we choose and never change.
const (
	monthField = 1_001 // of the partition
	wholeSpec  = 0     // partitioning without months
	monthSpec  = 1
	sortOrder  = 1
)

// form is the form of a table in Iceberg.
type form struct {
	of     *schema.Table
	schema *iceberg.Schema
	// start is the column whose month partitions the files; nil if there is none.
	start *schema.Column
	order catalog.Order
	// personal means that the rows are people, or are about calls or people.
	personal bool
}

// Tables returns the published tables: all. The calls come last, so that when
// they have a commit, all other tables have it too.
func Tables() (out []*schema.Table) {
	for _, t := range resource.Tables {
		if t != &schema.Calls {
			out = append(out, t)
		}
	}
	return append(out, &schema.Calls)
}

// formOf returns the form of a table.
func formOf(t *schema.Table) *form {
	f := &form{of: t, order: catalog.Order{Fields: []catalog.SortField{}}, personal: t == &resource.Changes ||
		slices.ContainsFunc(resource.All, func(r *resource.Resource) bool { return r.Name == t.Name && (len(r.Contact) > 0 || r.OfCall != "") })}
	var fields []iceberg.NestedField
	for _, c := range t.Columns {
		doc := c.Doc
		if c.Unit != "" {
			doc += " (" + c.Unit + ")"
		}
		fields = append(fields, iceberg.NestedField{ID: c.ID, Name: c.Name, Type: types[c.Type], Required: c.Required, Doc: doc})
	}
	f.schema = iceberg.NewSchema(0, fields...)
	if sorts[t.Name] == nil {
		return f
	}
	f.order.ID = sortOrder
	for _, name := range sorts[t.Name] {
		c := &t.Columns[t.Column(name)]
		if f.start == nil {
			f.start = c
		}
		f.order.Fields = append(f.order.Fields, catalog.SortField{Source: c.ID, Transform: "identity", Direction: "asc", Nulls: "nulls-last"})
	}
	return f
}

// sorts holds the columns by which the rows of a file are sorted, for tables with a file per day or
// month.
var sorts = map[string][]string{
	schema.Calls.Name:      {"start_at", "call_id"},
	schema.Turns.Name:      {"call_start_at", "call_id", "turn"},
	schema.Items.Name:      {"call_start_at", "call_id", "position"},
	schema.Recordings.Name: {"call_start_at", "call_id"},
	schema.ToolCalls.Name:  {"call_start_at", "call_id", "turn"},
}

var types = map[schema.Type]iceberg.Type{
	schema.Text:      iceberg.PrimitiveTypes.String,
	schema.Word:      iceberg.PrimitiveTypes.String,
	schema.JSON:      iceberg.PrimitiveTypes.String,
	schema.Int32:     iceberg.PrimitiveTypes.Int32,
	schema.Int64:     iceberg.PrimitiveTypes.Int64,
	schema.Bool:      iceberg.PrimitiveTypes.Bool,
	schema.Timestamp: iceberg.PrimitiveTypes.TimestampTz,
	schema.Exact:     iceberg.DecimalTypeOf(38, 18),
	schema.Percent:   iceberg.DecimalTypeOf(18, 4),
}

// spec returns the partitioning of files. A table of calls has two: by month, and none, for files
// with more than one month.
func (f *form) spec(id int) iceberg.PartitionSpec {
	var fields []iceberg.PartitionField
	if id == monthSpec {
		fields = append(fields, iceberg.PartitionField{SourceIDs: []int{f.start.ID}, FieldID: monthField,
			Name: f.start.Name + "_month", Transform: iceberg.MonthTransform{}})
	}
	return iceberg.NewPartitionSpecID(id, fields...)
}
