package dialect

import (
	"maps"
	"regexp"
	"strconv"
	"strings"

	"callhouse/internal/postgres"
)

// lookups are Postgres' types that hold an object's number and print its name, with the functions
// that convert both ways.
var lookups = map[string]string{"regclass": "relation", "regtype": "type", "regproc": "proc", "regprocedure": "proc",
	"regnamespace": "namespace", "regrole": "role"}

// substitutes are the replacements of types that DuckDB lacks.
var substitutes = map[string]string{"name": "VARCHAR", "xid": "BIGINT", "cid": "BIGINT", "tid": "VARCHAR", "xid8": "BIGINT",
	"jsonb": "JSON", "money": "DOUBLE", "citext": "VARCHAR", "aclitem": "VARCHAR", "pg_node_tree": "VARCHAR",
	"inet": "VARCHAR", "cidr": "VARCHAR", "macaddr": "VARCHAR", "xml": "VARCHAR", "int2vector": "USMALLINT[]",
	"oidvector": "UINTEGER[]", "unknown": "VARCHAR", "regconfig": "VARCHAR", "pg_lsn": "VARCHAR",
	"cardinal_number": "INTEGER", "sql_identifier": "VARCHAR", "character_data": "VARCHAR", "yes_or_no": "VARCHAR",
	"time_stamp": "TIMESTAMP WITH TIME ZONE", "char": "VARCHAR"}

// cast replaces a cast to a type that DuckDB lacks. Where an object's number or name may be meant,
// the number is used: [Statement.top] and [Statement.nestedCast] have already handled the names.
func (a *Statement) cast(n node) {
	t := childOf(n, "cast_type")
	child := childOf(n, "child")
	if thing := lookups[unbound(t)]; thing != "" {
		a.put(n, oidOf(thing, child))
		return
	}
	of := childOf(t, "type_info", "child_type")
	if names, ok := constantText(child); ok && word(t, "id") == "LIST" && lookups[unbound(of)] != "" { // '{int4,int8}'::regtype[]
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
	if a.spelled(n, "::oid", "oid", "::pg_catalog.oid", "pg_catalog.oid") {
		a.oids(t) // DuckDB's parser turns these into bigint
	}
	if word(t, "id") == "LIST" {
		a.array(child)
	}
}

// oidOf returns the tree of an object's number. Numbers of the catalog's own tables are constants,
// because the condition of an outer join cannot contain a subquery.
func oidOf(thing string, name any) node {
	if s, ok := constantText(name); ok && thing == "relation" {
		if oid, ok := classes()[strings.TrimPrefix(s, "pg_catalog.")]; ok {
			return castTo(integer(oid), "UINTEGER")
		}
	}
	return call(schemaOf, thing+"_oid", name)
}

// lengthRE matches the length in the spelling of a text type.
var lengthRE = regexp.MustCompile(`^(?i)(?:::|AS)\s*(?:character varying|varchar|character|char|bpchar)\s*\(\s*(\d+)\s*\)`)

// shorten truncates a text to the length of its type, which DuckDB's parser drops.
func (a *Statement) shorten(n, t node) {
	if word(t, "id") != "VARCHAR" {
		return
	}
	spelled := a.at(n["query_location"])
	if a.spelled(n, "cast") {
		spelled = castType(spelled)
	}
	if m := lengthRE.FindStringSubmatch(spelled); m != nil {
		length, _ := strconv.Atoi(m[1])
		a.put(n, call("", "left", bare(n), integer(length)))
	}
}

// castType returns the text of CAST(x AS type) from its AS on.
func castType(text string) string {
	s, depth, as := postgres.Split(text)[0], 0, 0
	for i, t := range s.Tokens {
		switch {
		case t.Text == "(":
			depth++
		case t.Text == ")" && depth == 1:
			return s.From(as)
		case t.Text == ")":
			depth--
		case depth == 1 && t.Is("as"):
			as = i
		}
	}
	return ""
}

// oids changes the bigints in a type to oids.
func (a *Statement) oids(t node) {
	if inner := childOf(t, "type_info", "child_type"); inner != nil {
		a.oids(inner)
	} else if word(t, "id") == "BIGINT" {
		t["id"] = "UINTEGER"
		a.changed = true
	}
}

// types replaces the types within a type.
func (a *Statement) types(t node) {
	if by := substitutes[unbound(t)]; by != "" {
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
	if inner := childOf(t, "type_info", "child_type"); inner != nil {
		a.types(inner)
	}
}

// array converts the text of an array, such as '{1,2}', to DuckDB's text of a list.
func (a *Statement) array(n node) {
	s, ok := constantText(n)
	if !ok || !strings.HasPrefix(strings.TrimSpace(s), "{") {
		return
	}
	if list, err := postgres.ArrayLiteral(s); err == nil {
		n["value"].(node)["value"] = list
		a.changed = true
	}
}

// functionColumns are columns of the catalog whose values are functions.
var functionColumns = map[string]bool{"typinput": true, "typoutput": true, "typreceive": true, "typsend": true}

// asName makes a cast to an object type return the object's name.
func (a *Statement) asName(n any) {
	c, ok := n.(node)
	if name := lastName(n); functionColumns[name] {
		a.put(c, call(schemaOf, "proc_name", bare(c)))
		if aliasOf(c) == "" {
			c["alias"] = name
		}
		return
	}
	if !ok || word(c, "type") != "OPERATOR_CAST" {
		return
	}
	if thing := lookups[unbound(childOf(c, "cast_type"))]; thing != "" {
		a.put(c, call(schemaOf, thing+"_name", c["child"]))
	}
}

// nestedCast makes an object cast to text return its name.
func (a *Statement) nestedCast(n node) {
	t := childOf(n, "cast_type")
	if word(t, "id") == "VARCHAR" || unbound(t) == "name" {
		a.asName(n["child"])
	}
}

// top makes the objects in a statement's output return their names.
func (a *Statement) top(n any, inUnion bool) {
	of := asNode(n)
	for _, item := range selectOf(of) {
		a.asName(item)
		if c := asNode(item); word(c, "type") == "VALUE_CONSTANT" && word(of, "type") == "SELECT_NODE" && !inUnion {
			if isNull(c) { // text by default
				a.put(c, castTo(bare(c), "VARCHAR"))
			}
		}
	}
	a.eachPart(of, func(part any) { a.top(part, true) })
}

// eachPart applies do to the parts of a UNION and of WITH.
func (a *Statement) eachPart(of node, do func(any)) {
	if word(of, "type") != "SET_OPERATION_NODE" {
		return
	}
	for _, side := range []string{"left", "right"} {
		if child := childOf(of, side); child != nil {
			do(child)
		}
	}
	for _, child := range argsOf(of) {
		do(child)
	}
}
