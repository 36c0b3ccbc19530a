package publish

import (
	"encoding/binary"
	"time"

	"github.com/apache/iceberg-go"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Iceberg ids that we choose and never change.
const (
	monthField = 1_001 // of the partition
	wholeSpec  = 0     // partitioning of files without a start, or with several months
	monthSpec  = 1
)

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

// spec returns a partitioning of the table's files.
func (t *table) spec(id int) iceberg.PartitionSpec {
	if id == wholeSpec {
		return iceberg.NewPartitionSpecID(id)
	}
	return iceberg.NewPartitionSpecID(id, iceberg.PartitionField{SourceIDs: []int{t.start}, FieldID: monthField,
		Name: starts[t.of.Name] + "_month", Transform: iceberg.MonthTransform{}})
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
	spec, partition := wholeSpec, map[int]any{}
	if f.MinStart != nil && values[t.start] > 0 && nulls[t.start] == 0 && monthOf(*f.MinStart) == monthOf(*f.MaxStart) {
		spec, partition[monthField] = monthSpec, monthOf(*f.MinStart)
	}
	b, err := iceberg.NewDataFileBuilder(t.spec(spec), iceberg.EntryContentData, c.uri, iceberg.ParquetFile, partition, nil, nil,
		f.Rows, c.size)
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

// monthOf returns the month of a time, counted from January 1970.
func monthOf(ms int64) int32 {
	at := time.UnixMilli(ms).UTC()
	return int32((at.Year()-1970)*12 + int(at.Month()) - 1)
}
