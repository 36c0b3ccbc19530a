package columnar

import (
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"

	"callhouse/internal/schema"
)

// ParquetSchema returns the Parquet schema of a table: its columns in declared
// order, so that the index of a leaf is its position in t.Columns, each with
// its field id, logical type and encoding.
//
//	Type       physical    logical                     encoding
//	Text       BYTE_ARRAY  STRING                      DELTA_LENGTH_BYTE_ARRAY
//	Word       BYTE_ARRAY  STRING                      RLE_DICTIONARY
//	JSON       BYTE_ARRAY  JSON                        DELTA_LENGTH_BYTE_ARRAY
//	Int32      INT32       INT(32, signed)             DELTA_BINARY_PACKED
//	Int64      INT64       INT(64, signed)             DELTA_BINARY_PACKED
//	Bool       BOOLEAN     none                        PLAIN
//	Timestamp  INT64       TIMESTAMP(MICROS, UTC)      DELTA_BINARY_PACKED
//	Exact      FIXED(16)   DECIMAL(38,18)              PLAIN
//	Percent    INT64       DECIMAL(18,4)               DELTA_BINARY_PACKED
//
// call_id repeats over a call's turns and items, so it uses a dictionary there. In calls, where it
// is unique, it does not.
func ParquetSchema(t *schema.Table) *parquet.Schema {
	fields := make([]parquet.Field, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		node := leafOf(c)
		if unbounded(c) {
			node = parquet.Encoded(parquet.Leaf(unboundedType{node.Type()}), node.Encoding())
		}
		if c.Name == "call_id" && t != &schema.Calls {
			node = parquet.Encoded(node, &parquet.RLEDictionary)
		}
		if !c.Required {
			node = parquet.Optional(node)
		}
		fields[i] = Field(c.Name, parquet.FieldID(node, c.ID))
	}
	return parquet.NewSchema(t.Name, Ordered(fields))
}

// decimalDigits is the precision of columns of type Exact.
const decimalDigits = 38

func leafOf(c *schema.Column) parquet.Node {
	switch c.Type {
	case schema.Word:
		return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case schema.JSON:
		return parquet.Encoded(parquet.JSON(), &parquet.DeltaLengthByteArray)
	case schema.Int32:
		return parquet.Encoded(parquet.Leaf(parquet.Int32Type), &parquet.DeltaBinaryPacked)
	case schema.Int64:
		return parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked)
	case schema.Bool:
		return parquet.Leaf(parquet.BooleanType)
	case schema.Timestamp:
		return parquet.Encoded(parquet.TimestampAdjusted(parquet.Microsecond, true), &parquet.DeltaBinaryPacked)
	case schema.Exact:
		return parquet.Decimal(schema.ExactPlaces, decimalDigits, parquet.FixedLenByteArrayType(schema.ExactBytes))
	case schema.Percent:
		return parquet.Encoded(parquet.Decimal(4, 18, parquet.Int64Type), &parquet.DeltaBinaryPacked)
	}
	return parquet.Encoded(parquet.String(), &parquet.DeltaLengthByteArray)
}

// Ordered returns a group that keeps the order of its fields. parquet.Group is a map and sorts them
// by name.
func Ordered(fields []parquet.Field) parquet.Node { return orderedGroup(fields) }

type orderedGroup []parquet.Field

func (orderedGroup) ID() int                     { return 0 }
func (g orderedGroup) String() string            { return g.sorted().String() }
func (g orderedGroup) Type() parquet.Type        { return g.sorted().Type() }
func (orderedGroup) Optional() bool              { return false }
func (orderedGroup) Repeated() bool              { return false }
func (orderedGroup) Required() bool              { return true }
func (orderedGroup) Leaf() bool                  { return false }
func (g orderedGroup) Fields() []parquet.Field   { return g }
func (orderedGroup) Encoding() encoding.Encoding { return nil }
func (orderedGroup) Compression() compress.Codec { return nil }
func (g orderedGroup) GoType() reflect.Type      { return g.sorted().GoType() }

func (g orderedGroup) sorted() parquet.Group {
	m := make(parquet.Group, len(g))
	for _, f := range g {
		m[f.Name()] = f
	}
	return m
}

// Field returns a field of such a group.
func Field(name string, node parquet.Node) parquet.Field { return &field{node, name} }

type field struct {
	parquet.Node
	name string
}

func (f *field) Name() string { return f.name }

// Value serves the library's reflection over Go structs and maps, which is not used.
func (f *field) Value(base reflect.Value) reflect.Value {
	if base.Kind() == reflect.Map {
		return base.MapIndex(reflect.ValueOf(f.name))
	}
	return reflect.Value{}
}
