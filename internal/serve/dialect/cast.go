package dialect

import (
	"maps"
	"regexp"
	"strconv"
	"strings"

	"callhouse/internal/postgres/cell"
	"callhouse/internal/serve/pgcatalog"
)

// lookups are Postgres' types that hold an object's number and print its name, with the functions
// that convert both ways.
var lookups = map[string]string{"regclass": "relation", "regtype": "type", "regproc": "proc", "regprocedure": "proc",
	"regnamespace": "namespace", "regrole": "role"}

// instead maps types that DuckDB lacks to replacements.
var instead = map[string]string{"name": "VARCHAR", "xid": "BIGINT", "cid": "BIGINT", "tid": "VARCHAR", "xid8": "BIGINT",
	"jsonb": "JSON", "money": "DOUBLE", "citext": "VARCHAR", "aclitem": "VARCHAR", "pg_node_tree": "VARCHAR",
	"inet": "VARCHAR", "cidr": "VARCHAR", "macaddr": "VARCHAR", "xml": "VARCHAR", "int2vector": "USMALLINT[]",
	"oidvector": "UINTEGER[]", "unknown": "VARCHAR", "regconfig": "VARCHAR", "pg_lsn": "VARCHAR",
	"cardinal_number": "INTEGER", "sql_identifier": "VARCHAR", "character_data": "VARCHAR", "yes_or_no": "VARCHAR",
	"time_stamp": "TIMESTAMP WITH TIME ZONE", "char": "VARCHAR"}

// unbound returns the name, in lower case, of a type unknown to DuckDB.
func unbound(t node) string {
	if text(t["id"]) != "UNBOUND" {
		return ""
	}
	info, _ := t["type_info"].(node)
	return strings.ToLower(text(info["name"]))
}

// cast replaces the type of a cast that DuckDB lacks. If both the number and the name of an object
// are possible, it uses the number: [Asked.top] and [Asked.nestedCast] have handled names.
func (a *Asked) cast(n node) {
	t, _ := n["cast_type"].(node)
	child, _ := n["child"].(node)
	if thing := lookups[unbound(t)]; thing != "" {
		a.put(n, oidOf(thing, child))
		return
	}
	info, _ := t["type_info"].(node)
	of, _ := info["child_type"].(node)
	if names, ok := constantText(child); ok && text(t["id"]) == "LIST" && lookups[unbound(of)] != "" { // '{int4,int8}'::regtype[]
		var oids []any
		for _, name := range strings.Split(strings.Trim(names, "{} "), ",") {
			oids = append(oids, call(schemaOf, lookups[unbound(of)]+"_oid", constant(strings.Trim(name, `" `))))
		}
		a.put(n, call("", "list_value", oids...))
		return
	}
	a.types(t)
	a.toNumeric(n, t)
	a.castTime(n, t)
	a.shorten(n, t)
	if spelled := strings.TrimPrefix(strings.ToLower(a.at(n["query_location"])), "::"); strings.HasPrefix(spelled, "oid") ||
		strings.HasPrefix(spelled, "pg_catalog.oid") {
		a.oids(t) // which DuckDB's parser treats as bigint
	}
	if text(t["id"]) == "LIST" {
		a.array(child)
	}
}

// oidOf returns the tree of an object's number. Numbers of the catalog's own tables are constants,
// because the condition of an outer join cannot contain a subquery.
func oidOf(thing string, name any) node {
	if s, ok := constantText(name); ok && thing == "relation" {
		if oid, ok := pgcatalog.Classes()[strings.TrimPrefix(s, "pg_catalog.")]; ok {
			return castTo(integer(oid), "UINTEGER")
		}
	}
	return call(schemaOf, thing+"_oid", name)
}

// lengthRE matches the length in the spelling of a text type.
var lengthRE = regexp.MustCompile(`^(?i)::\s*(?:character varying|varchar|character|char|bpchar)\s*\(\s*(\d+)\s*\)`)

// shorten truncates a text to the length of its type, which DuckDB's parser drops.
func (a *Asked) shorten(n, t node) {
	if text(t["id"]) != "VARCHAR" {
		return
	}
	if m := lengthRE.FindStringSubmatch(a.at(n["query_location"])); m != nil {
		length, _ := strconv.Atoi(m[1])
		inner := maps.Clone(n)
		inner["alias"] = ""
		a.put(n, call("", "left", inner, integer(length)))
	}
}

// oids changes the bigints in a type to oids.
func (a *Asked) oids(t node) {
	info, _ := t["type_info"].(node)
	if inner, ok := info["child_type"].(node); ok {
		a.oids(inner)
	} else if text(t["id"]) == "BIGINT" {
		t["id"] = "UINTEGER"
		a.changed = true
	}
}

// types replaces the types within a type.
func (a *Asked) types(t node) {
	if by := instead[unbound(t)]; by != "" {
		clear(t)
		maps.Copy(t, typeOf(by))
		a.changed = true
		return
	}
	if unbound(t) != "" && lookups[unbound(t)] != "" { // within a list
		clear(t)
		t["id"], t["type_info"] = "VARCHAR", nil
		a.changed = true
		return
	}
	info, _ := t["type_info"].(node)
	if inner, ok := info["child_type"].(node); ok {
		a.types(inner)
	}
}

// array converts the text of an array, such as '{1,2}', to DuckDB's text of a list.
func (a *Asked) array(n node) {
	s, ok := constantText(n)
	if !ok || !strings.HasPrefix(strings.TrimSpace(s), "{") {
		return
	}
	if list, err := cell.ArrayLiteral(s); err == nil {
		n["value"].(node)["value"] = list
		a.changed = true
	}
}

// constantText returns the text of a constant.
func constantText(n any) (string, bool) {
	c, _ := n.(node)
	if text(c["type"]) != "VALUE_CONSTANT" {
		return "", false
	}
	v, _ := c["value"].(node)
	t, _ := v["type"].(node)
	s, ok := v["value"].(string)
	return s, ok && text(t["id"]) == "VARCHAR"
}

// functionColumns are columns of the catalog whose values are functions.
var functionColumns = map[string]bool{"typinput": true, "typoutput": true, "typreceive": true, "typsend": true}

// asName makes a cast to an object type return the object's name.
func (a *Asked) asName(n any) {
	c, ok := n.(node)
	if name := lastName(n); functionColumns[name] {
		inner := maps.Clone(c)
		inner["alias"] = ""
		a.put(c, call(schemaOf, "proc_name", inner))
		if text(c["alias"]) == "" {
			c["alias"] = name
		}
		return
	}
	if !ok || text(c["type"]) != "OPERATOR_CAST" {
		return
	}
	t, _ := c["cast_type"].(node)
	if thing := lookups[unbound(t)]; thing != "" {
		a.put(c, call(schemaOf, thing+"_name", c["child"]))
	}
}

// nestedCast makes an object cast to text return its name.
func (a *Asked) nestedCast(n node) {
	t, _ := n["cast_type"].(node)
	if text(t["id"]) == "VARCHAR" || unbound(t) == "name" {
		a.asName(n["child"])
	}
}

// top makes the objects in a statement's output return their names.
func (a *Asked) top(n any, inUnion bool) {
	of, _ := n.(node)
	items, _ := of["select_list"].([]any)
	for _, item := range items {
		a.asName(item)
		if c, _ := item.(node); text(c["type"]) == "VALUE_CONSTANT" && text(of["type"]) == "SELECT_NODE" && !inUnion {
			if v, _ := c["value"].(node); v["is_null"] == true { // text by default
				inner := maps.Clone(c)
				inner["alias"] = ""
				a.put(c, castTo(inner, "VARCHAR"))
			}
		}
	}
	a.eachPart(of, func(part any) { a.top(part, true) })
}

// eachPart does the same for the parts of a UNION and of WITH.
func (a *Asked) eachPart(of node, do func(any)) {
	if of == nil {
		return
	}
	for _, side := range []string{"left", "right"} {
		if _, ok := of[side].(node); ok && text(of["type"]) == "SET_OPERATION_NODE" {
			do(of[side])
		}
	}
	if kids, ok := of["children"].([]any); ok && text(of["type"]) == "SET_OPERATION_NODE" {
		for _, kid := range kids {
			do(kid)
		}
	}
}
