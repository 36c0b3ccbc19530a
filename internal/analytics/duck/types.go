package duck

import (
	"fmt"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"callhouse/internal/analytics/value"
)

// typ is a DuckDB type with the data needed to decode its values.
type typ struct {
	id       bindings.Type
	name     string // as in SQL
	kind     value.Kind
	stored   bindings.Type // the type with the same layout in memory; 0: a layout of its own
	scale    uint8         // of its values
	size     int           // of an ARRAY
	words    []string      // of an ENUM
	names    []string      // of a STRUCT's fields
	children []*typ
}

var plain = map[bindings.Type]typ{
	bindings.TypeBoolean:     {name: "BOOLEAN", kind: value.Bool, stored: bindings.TypeUTinyInt},
	bindings.TypeTinyInt:     {name: "TINYINT", kind: value.Integer, stored: bindings.TypeTinyInt},
	bindings.TypeSmallInt:    {name: "SMALLINT", kind: value.Integer, stored: bindings.TypeSmallInt},
	bindings.TypeInteger:     {name: "INTEGER", kind: value.Integer, stored: bindings.TypeInteger},
	bindings.TypeBigInt:      {name: "BIGINT", kind: value.Integer, stored: bindings.TypeBigInt},
	bindings.TypeUTinyInt:    {name: "UTINYINT", kind: value.Integer, stored: bindings.TypeUTinyInt},
	bindings.TypeUSmallInt:   {name: "USMALLINT", kind: value.Integer, stored: bindings.TypeUSmallInt},
	bindings.TypeUInteger:    {name: "UINTEGER", kind: value.Integer, stored: bindings.TypeUInteger},
	bindings.TypeUBigInt:     {name: "UBIGINT", kind: value.Integer, stored: bindings.TypeUBigInt, scale: value.Unsigned},
	bindings.TypeHugeInt:     {name: "HUGEINT", kind: value.Integer, stored: bindings.TypeHugeInt, scale: value.Huge},
	bindings.TypeFloat:       {name: "FLOAT", kind: value.Float, stored: bindings.TypeFloat, scale: 32},
	bindings.TypeDouble:      {name: "DOUBLE", kind: value.Float, stored: bindings.TypeDouble, scale: 64},
	bindings.TypeVarchar:     {name: "VARCHAR", kind: value.Text, stored: bindings.TypeVarchar},
	bindings.TypeBlob:        {name: "BLOB", kind: value.Bytes, stored: bindings.TypeVarchar},
	bindings.TypeUUID:        {name: "UUID", kind: value.UUID},
	bindings.TypeDate:        {name: "DATE", kind: value.Day, stored: bindings.TypeInteger},
	bindings.TypeTime:        {name: "TIME", kind: value.Clock, stored: bindings.TypeBigInt, scale: 6},
	bindings.TypeTimeTZ:      {name: "TIME WITH TIME ZONE", kind: value.Zoned, scale: 6},
	bindings.TypeTimestamp:   {name: "TIMESTAMP", kind: value.Local, stored: bindings.TypeBigInt, scale: 6},
	bindings.TypeTimestampS:  {name: "TIMESTAMP_S", kind: value.Local, stored: bindings.TypeBigInt},
	bindings.TypeTimestampMS: {name: "TIMESTAMP_MS", kind: value.Local, stored: bindings.TypeBigInt, scale: 3},
	bindings.TypeTimestampNS: {name: "TIMESTAMP_NS", kind: value.Local, stored: bindings.TypeBigInt, scale: 9},
	bindings.TypeTimestampTZ: {name: "TIMESTAMP WITH TIME ZONE", kind: value.Instant, stored: bindings.TypeBigInt, scale: 6},
	bindings.TypeInterval:    {name: "INTERVAL", kind: value.Span},
	bindings.TypeSQLNull:     {name: "NULL"},
}

// typeOf describes a logical type. The error names a type that cannot be read.
func typeOf(lt bindings.LogicalType) (*typ, error) {
	id := bindings.GetTypeId(lt)
	p := plain[id]
	t := &p
	if t.id = id; t.name != "" {
		if id == bindings.TypeVarchar && strings.EqualFold(bindings.LogicalTypeGetAlias(lt), "JSON") {
			t.name, t.kind = "JSON", value.Document
		}
		return t, nil
	}
	switch t.id {
	case bindings.TypeDecimal:
		t.stored, t.scale = bindings.DecimalInternalType(lt), bindings.DecimalScale(lt)
		t.kind, t.name = value.Exact, fmt.Sprintf("DECIMAL(%d,%d)", bindings.DecimalWidth(lt), t.scale)
		return t, nil
	case bindings.TypeEnum:
		t.stored, t.kind, t.name = bindings.EnumInternalType(lt), value.Text, "ENUM"
		for i := range bindings.EnumDictionarySize(lt) {
			t.words = append(t.words, bindings.EnumDictionaryValue(lt, bindings.IdxT(i)))
		}
		return t, nil
	case bindings.TypeList:
		t.kind = value.List
		err := t.add(bindings.ListTypeChildType(lt))
		if err == nil {
			t.name = t.children[0].name + "[]"
		}
		return t, err
	case bindings.TypeArray:
		t.kind = value.List
		t.size = int(bindings.ArrayTypeArraySize(lt))
		err := t.add(bindings.ArrayTypeChildType(lt))
		if err == nil {
			t.name = fmt.Sprintf("%s[%d]", t.children[0].name, t.size)
		}
		return t, err
	case bindings.TypeMap:
		t.kind = value.Map
		return t, t.mapOf(lt)
	case bindings.TypeStruct:
		t.kind = value.Struct
		for i := range bindings.StructTypeChildCount(lt) {
			t.names = append(t.names, bindings.StructTypeChildName(lt, i))
			if err := t.add(bindings.StructTypeChildType(lt, i)); err != nil {
				return nil, err
			}
		}
		t.name = "STRUCT" + t.fields()
		return t, nil
	case bindings.TypeVariant:
		return nil, fmt.Errorf("a VARIANT cannot be printed; cast it, e.g. CAST(x AS JSON)")
	}
	return nil, fmt.Errorf("its type cannot be printed; cast it, e.g. CAST(x AS VARCHAR)")
}

// add appends a child type and frees its handle.
func (t *typ) add(lt bindings.LogicalType) error {
	defer bindings.DestroyLogicalType(&lt)
	child, err := typeOf(lt)
	if err == nil {
		t.children = append(t.children, child)
	}
	return err
}

// mapOf describes a MAP, stored as a list of structs of key and value.
func (t *typ) mapOf(lt bindings.LogicalType) error {
	entry := &typ{id: bindings.TypeStruct, names: []string{"key", "value"}}
	if err := entry.add(bindings.MapTypeKeyType(lt)); err != nil {
		return err
	}
	if err := entry.add(bindings.MapTypeValueType(lt)); err != nil {
		return err
	}
	t.children = []*typ{entry}
	t.name = fmt.Sprintf("MAP(%s, %s)", entry.children[0].name, entry.children[1].name)
	return nil
}

func (t *typ) fields() string {
	parts := make([]string, len(t.children))
	for i, k := range t.children {
		parts[i] = `"` + strings.ReplaceAll(t.names[i], `"`, `""`) + `" ` + k.name
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
