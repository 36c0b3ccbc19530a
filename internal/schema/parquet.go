package schema

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
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
func ParquetSchema(t *Table) *parquet.Schema {
	fields := make([]parquet.Field, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		node := leafOf(c)
		if c.Unbounded() {
			node = parquet.Encoded(parquet.Leaf(unboundedType{node.Type()}), node.Encoding())
		}
		if c.Name == "call_id" && t != &Calls {
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

func leafOf(c *Column) parquet.Node {
	switch c.Type {
	case Word:
		return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case JSON:
		return parquet.Encoded(parquet.JSON(), &parquet.DeltaLengthByteArray)
	case Int32:
		return parquet.Encoded(parquet.Leaf(parquet.Int32Type), &parquet.DeltaBinaryPacked)
	case Int64:
		return parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked)
	case Bool:
		return parquet.Leaf(parquet.BooleanType)
	case Timestamp:
		return parquet.Encoded(parquet.TimestampAdjusted(parquet.Microsecond, true), &parquet.DeltaBinaryPacked)
	case Exact:
		return parquet.Decimal(ExactPlaces, decimalDigits, parquet.FixedLenByteArrayType(ExactBytes))
	case Percent:
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

// SameColumns returns an error unless a file has exactly the columns of a table: their names, field
// ids and types, in their order.
func SameColumns(file *parquet.Schema, t *Table) error {
	has, want := file.Fields(), ParquetSchema(t).Fields()
	for i, f := range want {
		switch {
		case i == len(has):
			return fmt.Errorf("it lacks the column %s of %s", f.Name(), t.Name)
		case !sameColumn(has[i], f):
			return fmt.Errorf("its column %d is %v, not the column %v of %s", i+1, has[i], f, t.Name)
		}
	}
	if len(has) > len(want) {
		return fmt.Errorf("its column %s is not in %s", has[len(want)].Name(), t.Name)
	}
	return nil
}

func sameColumn(a, b parquet.Field) bool {
	return a.Name() == b.Name() && a.ID() == b.ID() && a.Leaf() && a.Optional() == b.Optional() &&
		a.Repeated() == b.Repeated() && typeName(a.Type()) == typeName(b.Type())
}

// typeName returns the same name for a type whether it was declared or read from a file, where
// plain integers have an explicit logical type.
func typeName(t parquet.Type) string {
	switch s := t.String(); s {
	case "INT32":
		return "INT(32,true)"
	case "INT64":
		return "INT(64,true)"
	default:
		return s
	}
}

// Unbounded reports whether a column's row groups and pages have no minimum and maximum: long texts,
// and decimals, of which the library takes negative ones for large ones.
func (c *Column) Unbounded() bool {
	return c.Type == JSON || c.Type == Exact ||
		slices.Contains([]string{"summary", "recording_url", "content", "tool_call_id", "result"}, c.Name) && c.Type == Text
}

// unboundedType is the type of such a column. Without bounds the library's page index would give
// empty ones, for which readers skip pages; this one gives bounds that hold for every value.
type unboundedType struct{ parquet.Type }

func (t unboundedType) NewColumnIndexer(sizeLimit int) parquet.ColumnIndexer {
	i := unboundedIndexer{ColumnIndexer: parquet.ByteArrayType.NewColumnIndexer(sizeLimit), low: parquet.ByteArrayValue(nil),
		high: parquet.ByteArrayValue([]byte(strings.Repeat("\U0010FFFF", sizeLimit/4)))}
	if t.Kind() == parquet.FixedLenByteArray {
		nines := new(big.Int).Exp(big.NewInt(10), big.NewInt(decimalDigits), nil)
		nines.Sub(nines, big.NewInt(1))
		i.high = parquet.ByteArrayValue(ExactValue(nines).ByteArray())
		i.low = parquet.ByteArrayValue(ExactValue(nines.Neg(nines)).ByteArray())
	}
	return i
}

type unboundedIndexer struct {
	parquet.ColumnIndexer
	low, high parquet.Value
}

func (i unboundedIndexer) IndexPage(numValues, numNulls int64, _, _ parquet.Value) {
	if numNulls == numValues {
		i.ColumnIndexer.IndexPage(numValues, numNulls, parquet.Value{}, parquet.Value{})
		return
	}
	i.ColumnIndexer.IndexPage(numValues, numNulls, i.low, i.high)
}
