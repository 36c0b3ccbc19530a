package postgres

import (
	"fmt"
	"strings"
)

// Type is a Postgres type.
type Type struct {
	OID  uint32
	Name string // in pg_type
	Size int16  // bytes; -1: variable
	Mod  int32  // type modifier, such as the precision of numeric; -1: none
	Elem *Type  // of an array
}

// The types that clients see.
var (
	boolean     = Type{16, "bool", 1, -1, nil}
	bytea       = Type{17, "bytea", -1, -1, nil}
	int8Type    = Type{20, "int8", 8, -1, nil}
	int2Type    = Type{21, "int2", 2, -1, nil}
	int4Type    = Type{23, "int4", 4, -1, nil}
	TextType    = Type{25, "text", -1, -1, nil}
	oidType     = Type{26, "oid", 4, -1, nil}
	json        = Type{114, "json", -1, -1, nil}
	float4      = Type{700, "float4", 4, -1, nil}
	float8      = Type{701, "float8", 8, -1, nil}
	date        = Type{1082, "date", 4, -1, nil}
	timeType    = Type{1083, "time", 8, -1, nil}
	timestamp   = Type{1114, "timestamp", 8, -1, nil}
	timestamptz = Type{1184, "timestamptz", 8, -1, nil}
	interval    = Type{1186, "interval", 16, -1, nil}
	timetz      = Type{1266, "timetz", 12, -1, nil}
	numeric     = Type{1700, "numeric", -1, -1, nil}
	uuid        = Type{2950, "uuid", 16, -1, nil}
	int2vector  = Type{22, "int2vector", -1, -1, &int2Type}
)

// plainTypes maps DuckDB's type names. An unsigned 4-byte integer is an oid: the catalog has those, the
// warehouse has no others. A list of 2-byte ones is a vector for the same reason.
var plainTypes = map[string]Type{
	"BOOLEAN": boolean, "TINYINT": int2Type, "SMALLINT": int2Type, "INTEGER": int4Type, "BIGINT": int8Type,
	"UTINYINT": int2Type, "USMALLINT": int4Type, "UINTEGER": oidType, "UBIGINT": numeric, "HUGEINT": numeric,
	"FLOAT": float4, "DOUBLE": float8, "VARCHAR": TextType, "JSON": json, "BLOB": bytea, "UUID": uuid, "DATE": date,
	"TIME": timeType, "TIME WITH TIME ZONE": timetz, "INTERVAL": interval, "TIMESTAMP": timestamp,
	"TIMESTAMP_S": timestamp,
	"USMALLINT[]": int2vector, "TIMESTAMP_MS": timestamp, "TIMESTAMP_NS": timestamp, "TIMESTAMP WITH TIME ZONE": timestamptz,
}

// arrays maps the types of elements to those of arrays.
var arrays = map[uint32]uint32{16: 1000, 17: 1001, 20: 1016, 21: 1005, 23: 1007, 25: 1009, 26: 1028, 114: 199, 700: 1021, 701: 1022,
	1082: 1182, 1083: 1183, 1114: 1115, 1184: 1185, 1186: 1187, 1266: 1270, 1700: 1231, 2950: 2951}

// TypeOf returns the Postgres type for a DuckDB type. Structs, maps and lists of lists are json; other
// types, such as enums and bits, are text.
func TypeOf(duck string) Type {
	if t, ok := plainTypes[duck]; ok {
		return t
	}
	if strings.HasSuffix(duck, "]") {
		inner := TypeOf(duck[:strings.LastIndexByte(duck, '[')])
		if of, ok := arrays[inner.OID]; ok && inner.OID != json.OID {
			return Type{of, "_" + inner.Name, -1, inner.Mod, &inner}
		}
		return json
	}
	var width, scale int32
	if n, _ := fmt.Sscanf(duck, "DECIMAL(%d,%d)", &width, &scale); n == 2 {
		t := numeric
		if width < 38 || scale > 0 { // otherwise it is the type of a sum
			t.Mod = width<<16 | scale + 4
		}
		return t
	}
	for _, nested := range []string{"STRUCT", "MAP", "UNION"} {
		if strings.HasPrefix(duck, nested+"(") {
			return json
		}
	}
	return TextType
}

// TypeByOID returns the type with an OID, for parameters; an unknown one is text.
func TypeByOID(oid uint32) Type {
	for _, t := range plainTypes {
		if t.OID == oid {
			return t
		}
	}
	for of, array := range arrays {
		if array == oid {
			inner := TypeByOID(of)
			return Type{oid, "_" + inner.Name, -1, -1, &inner}
		}
	}
	switch oid {
	case 1015, 1014, 1003: // of varchar, bpchar, name
		return Type{1009, "_text", -1, -1, &TextType}
	}
	return TextType
}

// DuckDB returns the DuckDB type of a parameter; empty for text, which may stand for any type.
func (t Type) DuckDB() string {
	if t.Elem != nil {
		inner := t.Elem.DuckDB()
		if inner == "" {
			inner = "VARCHAR"
		}
		return inner + "[]"
	}
	switch t.OID {
	case TextType.OID:
		return ""
	case numeric.OID:
		return "DOUBLE"
	case oidType.OID:
		return "BIGINT"
	}
	for _, name := range []string{"BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "BLOB", "UUID", "DATE", "TIME",
		"INTERVAL", "TIMESTAMP", "JSON",
		"TIMESTAMP WITH TIME ZONE", "TIME WITH TIME ZONE"} {
		if plainTypes[name].OID == t.OID {
			return name
		}
	}
	return ""
}
