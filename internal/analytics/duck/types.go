package duck

import (
	"fmt"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"callhouse/internal/analytics/value"
)

// typ is a DuckDB type with what decoding needs.
type typ struct {
	id       bindings.Type
	internal bindings.Type // of DECIMAL and ENUM: how a value is stored
	name     string        // as in SQL
	kind     value.Kind
	json     bool
	scale    uint8
	size     int      // of an ARRAY
	words    []string // of an ENUM
	names    []string // of a STRUCT's fields, of a UNION's members
	kids     []*typ
}

type plainType struct {
	name string
	kind value.Kind
}

func plain(id bindings.Type) (plainType, bool) {
	switch id {
	case bindings.TypeBoolean:
		return plainType{"BOOLEAN", value.Bool}, true
	case bindings.TypeTinyInt:
		return plainType{"TINYINT", value.Integer}, true
	case bindings.TypeSmallInt:
		return plainType{"SMALLINT", value.Integer}, true
	case bindings.TypeInteger:
		return plainType{"INTEGER", value.Integer}, true
	case bindings.TypeBigInt:
		return plainType{"BIGINT", value.Integer}, true
	case bindings.TypeUTinyInt:
		return plainType{"UTINYINT", value.Integer}, true
	case bindings.TypeUSmallInt:
		return plainType{"USMALLINT", value.Integer}, true
	case bindings.TypeUInteger:
		return plainType{"UINTEGER", value.Integer}, true
	case bindings.TypeUBigInt:
		return plainType{"UBIGINT", value.Integer}, true
	case bindings.TypeHugeInt:
		return plainType{"HUGEINT", value.Integer}, true
	case bindings.TypeUHugeInt:
		return plainType{"UHUGEINT", value.Integer}, true
	case bindings.TypeBigNum:
		return plainType{"BIGNUM", value.Integer}, true
	case bindings.TypeFloat:
		return plainType{"FLOAT", value.Float}, true
	case bindings.TypeDouble:
		return plainType{"DOUBLE", value.Float}, true
	case bindings.TypeVarchar:
		return plainType{"VARCHAR", value.Text}, true
	case bindings.TypeBlob:
		return plainType{"BLOB", value.Bytes}, true
	case bindings.TypeGeometry:
		return plainType{"GEOMETRY", value.Bytes}, true
	case bindings.TypeBit:
		return plainType{"BIT", value.Text}, true
	case bindings.TypeUUID:
		return plainType{"UUID", value.Text}, true
	case bindings.TypeDate:
		return plainType{"DATE", value.Day}, true
	case bindings.TypeTime:
		return plainType{"TIME", value.Other}, true
	case bindings.TypeTimeNS:
		return plainType{"TIME_NS", value.Other}, true
	case bindings.TypeTimeTZ:
		return plainType{"TIME WITH TIME ZONE", value.Other}, true
	case bindings.TypeTimestamp:
		return plainType{"TIMESTAMP", value.Local}, true
	case bindings.TypeTimestampS:
		return plainType{"TIMESTAMP_S", value.Local}, true
	case bindings.TypeTimestampMS:
		return plainType{"TIMESTAMP_MS", value.Local}, true
	case bindings.TypeTimestampNS:
		return plainType{"TIMESTAMP_NS", value.Local}, true
	case bindings.TypeTimestampTZ:
		return plainType{"TIMESTAMP WITH TIME ZONE", value.Instant}, true
	case bindings.TypeInterval:
		return plainType{"INTERVAL", value.Other}, true
	case bindings.TypeSQLNull:
		return plainType{"NULL", value.Other}, true
	}
	return plainType{}, false
}

// typeOf describes a logical type. The error names a type that cannot be read.
func typeOf(lt bindings.LogicalType) (*typ, error) {
	t := &typ{id: bindings.GetTypeId(lt)}
	if p, ok := plain(t.id); ok {
		t.name, t.kind = p.name, p.kind
		if t.id == bindings.TypeVarchar && strings.EqualFold(bindings.LogicalTypeGetAlias(lt), "JSON") {
			t.json, t.name, t.kind = true, "JSON", value.Document
		}
		return t, nil
	}
	t.kind = value.Nested
	switch t.id {
	case bindings.TypeDecimal:
		t.internal, t.scale = bindings.DecimalInternalType(lt), bindings.DecimalScale(lt)
		t.kind, t.name = value.Exact, fmt.Sprintf("DECIMAL(%d,%d)", bindings.DecimalWidth(lt), t.scale)
		return t, nil
	case bindings.TypeEnum:
		t.internal, t.kind, t.name = bindings.EnumInternalType(lt), value.Text, "ENUM"
		for i := range bindings.EnumDictionarySize(lt) {
			t.words = append(t.words, bindings.EnumDictionaryValue(lt, bindings.IdxT(i)))
		}
		return t, nil
	case bindings.TypeList:
		err := t.add(bindings.ListTypeChildType(lt))
		if err == nil {
			t.name = t.kids[0].name + "[]"
		}
		return t, err
	case bindings.TypeArray:
		t.size = int(bindings.ArrayTypeArraySize(lt))
		err := t.add(bindings.ArrayTypeChildType(lt))
		if err == nil {
			t.name = fmt.Sprintf("%s[%d]", t.kids[0].name, t.size)
		}
		return t, err
	case bindings.TypeMap:
		return t, t.mapOf(lt)
	case bindings.TypeStruct:
		for i := range bindings.StructTypeChildCount(lt) {
			t.names = append(t.names, bindings.StructTypeChildName(lt, i))
			if err := t.add(bindings.StructTypeChildType(lt, i)); err != nil {
				return nil, err
			}
		}
		t.name = "STRUCT" + t.fields(t.kids)
		return t, nil
	case bindings.TypeUnion:
		// A union is stored as a struct of the tag, then the members.
		t.kids = []*typ{{id: bindings.TypeUTinyInt}}
		for i := range bindings.UnionTypeMemberCount(lt) {
			t.names = append(t.names, bindings.UnionTypeMemberName(lt, i))
			if err := t.add(bindings.UnionTypeMemberType(lt, i)); err != nil {
				return nil, err
			}
		}
		t.name = "UNION" + t.fields(t.kids[1:])
		return t, nil
	case bindings.TypeVariant:
		return nil, fmt.Errorf("a VARIANT cannot be printed; cast it, e.g. CAST(x AS JSON)")
	}
	return nil, fmt.Errorf("its type cannot be printed; cast it, e.g. CAST(x AS VARCHAR)")
}

// add appends a child type and frees its handle.
func (t *typ) add(lt bindings.LogicalType) error {
	defer bindings.DestroyLogicalType(&lt)
	kid, err := typeOf(lt)
	if err == nil {
		t.kids = append(t.kids, kid)
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
	t.kids = []*typ{entry}
	t.name = fmt.Sprintf("MAP(%s, %s)", entry.kids[0].name, entry.kids[1].name)
	return nil
}

func (t *typ) fields(kids []*typ) string {
	parts := make([]string, len(kids))
	for i, k := range kids {
		parts[i] = `"` + strings.ReplaceAll(t.names[i], `"`, `""`) + `" ` + k.name
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
