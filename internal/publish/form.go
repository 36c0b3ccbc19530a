package publish

import (
	"encoding/binary"

	"github.com/apache/iceberg-go"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// whole is the partitioning of all tables: none. Engines skip files by their bounds of the start.
var whole = iceberg.NewPartitionSpecID(0)

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

// starts names the column with the start of a row's call, in tables with a file per day or month.
var starts = map[string]string{schema.Calls.Name: "start_at", schema.Turns.Name: "call_start_at", schema.Items.Name: "call_start_at",
	schema.Recordings.Name: "call_start_at", schema.ToolCalls.Name: "call_start_at"}

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

// schemaOf returns the schema of a table, and the field id of the column in starts; 0: none.
func schemaOf(t *schema.Table, id int) (_ *iceberg.Schema, start int) {
	var fields []iceberg.NestedField
	for _, c := range t.Columns {
		doc := c.Doc
		if c.Unit != "" {
			doc += " (" + c.Unit + ")"
		}
		fields = append(fields, iceberg.NestedField{ID: c.ID, Name: c.Name, Type: types[c.Type], Required: c.Required, Doc: doc})
		if c.Name == starts[t.Name] {
			start = c.ID
		}
	}
	return iceberg.NewSchema(id, fields...), start
}

// describe returns Iceberg's description of a file's copy. It has bounds of the start alone: more
// people can read manifests than tables, and engines may return bounds as values. It counts the nulls of
// all columns: DuckDB 1.4 takes a column without a count for one that is never null, and always.
// A file that the table loses is not counted: the warehouse may have it no more.
func (t *table) describe(f *layout.File, c copyAt, counted bool) (iceberg.DataFile, error) {
	values, nulls := map[int]int64{}, map[int]int64{}
	count := func(in *copied) error {
		for _, group := range in.Metadata().RowGroups {
			for i := range group.Columns {
				id, column := in.Root().Columns()[i].ID(), &group.Columns[i].MetaData
				values[id] += column.NumValues
				nulls[id] += column.Statistics.NullCount
			}
		}
		return nil
	}
	if counted {
		if err := t.opened(f, count); err != nil {
			return nil, err
		}
	}
	b, err := iceberg.NewDataFileBuilder(whole, iceberg.EntryContentData, c.uri, iceberg.ParquetFile, nil, nil, nil, f.Rows, c.size)
	if err != nil {
		return nil, err
	}
	if t.start != 0 && f.MinStart != nil {
		micros := func(ms int64) map[int][]byte {
			return map[int][]byte{t.start: binary.LittleEndian.AppendUint64(nil, uint64(ms*1000))}
		}
		b.LowerBoundValues(micros(*f.MinStart)).UpperBoundValues(micros(*f.MaxStart))
	}
	return b.ValueCounts(values).NullValueCounts(nulls).Build(), nil
}
