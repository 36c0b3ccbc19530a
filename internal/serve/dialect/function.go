package dialect

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"callhouse/internal/postgres"
)

// renamed maps Postgres' functions to DuckDB's names.
var renamed = map[string]string{"json_build_object": "json_object", "jsonb_build_object": "json_object", "json_build_array": "json_array",
	"to_jsonb": "to_json", "every": "bool_and", "jsonb_each": "json_each",
	"char_length": "length", "character_length": "length",
	"json_extract_path_text": "json_extract_string",
	"string_to_array":        "string_split"}

// instead has functions of Postgres that DuckDB lacks, and what to write instead.
var instead = map[string]string{"date_bin": "write time_bucket(stride, x, origin)",
	"width_bucket": "write floor((x - low) * n / (high - low)) + 1", "overlay": "write left(x, n) || y || substring(x, m)",
	"justify_days": "compute with extract(epoch FROM x)", "justify_hours": "compute with extract(epoch FROM x)",
	"justify_interval": "compute with extract(epoch FROM x)", "regexp_match": "write substring(x FROM 'pattern')",
	"json_each_text": "write json_each(x)", "jsonb_each_text": "write json_each(x)"}

// function maps calls to our functions and rewrites those that differ in DuckDB.
func (a *Statement) function(n node) {
	name, schema := callee(n), small(n, "schema")
	args := argsOf(n)
	if schema == "pg_catalog" || schema == "information_schema" || schema == "public" {
		n["schema"], schema = "", ""
		a.changed = true
	}
	if schema != "" && schema != "main" {
		return
	}
	if isOperator(n) {
		a.operator(n, name, args)
		return
	}
	if hint := instead[name]; hint != "" {
		a.refuse(name, hint)
	}
	if rewrite := rewrites[name]; rewrite != nil && len(args) > 0 {
		if rewrite(a, n, args); n["function_name"] != name { // otherwise unchanged
			return
		}
	}
	switch {
	case (name == "current_user" || name == "session_user" || name == "user" || name == "current_role") && len(args) == 0:
		a.put(n, constant(a.User))
	case renamed[name] != "":
		n["function_name"] = renamed[name]
		a.changed = true
	case Functions()[name]:
		n["schema"], n["catalog"] = schemaOf, ""
		a.changed = true
	}
}

// rewrites are the functions whose calls are rewritten depending on their arguments.
var rewrites map[string]func(a *Statement, n node, args []any)

func init() {
	unnested := func(a *Statement, n node, args []any) { a.unnested(n, callee(n), args) }
	patterned := func(a *Statement, _ node, args []any) { a.patternOf(args) }
	aggregated := func(a *Statement, n node, _ []any) { a.aggregated(n) }
	rows := func(list string) func(*Statement, node, []any) {
		return func(a *Statement, n node, args []any) { a.put(n, call("", "unnest", call("", list, args...))) }
	}
	type rw = Statement // short for the table
	rewrites = map[string]func(a *rw, n node, args []any){
		"regexp_full_match": (*rw).fullMatch, "unnest": func(a *rw, _ node, args []any) { a.list(args[0]) },
		"generate_series": (*rw).series, "regexp_split_to_table": rows("regexp_split_to_array"), "string_to_table": rows("string_split"),
		"current_setting": (*rw).currentSetting, "format": (*rw).format,
		"substring": (*rw).substring, "substr": (*rw).substr, "generate_subscripts": (*rw).subscripts, "date_part": (*rw).datePart,
		"set_config": func(a *rw, _ node, _ []any) {
			a.refuse("set_config in an expression", "call it as a column of SELECT, or use SET")
		},
		"sum": func(a *rw, n node, _ []any) { a.sum(n) }, "avg": func(a *rw, n node, _ []any) { a.average(n) }, "round": (*rw).round,
		"to_char": (*rw).toChar, "to_date": (*rw).toDate, "to_timestamp": (*rw).toTimestamp, "date_trunc": (*rw).dateTrunc,
		"regexp_replace": patterned, "regexp_matches": patterned,
		"json_agg": aggregated, "jsonb_agg": aggregated,
		"jsonb_array_elements": unnested, "json_array_elements": unnested, "jsonb_array_elements_text": unnested,
		"json_array_elements_text": unnested,
		"jsonb_object_keys":        unnested, "json_object_keys": unnested,
	}
}

func (a *Statement) patternOf(args []any) {
	if len(args) > 1 {
		a.pattern(args[1])
	}
}

// fullMatch handles the function to which DuckDB's parser maps ~ and SIMILAR TO.
func (a *Statement) fullMatch(n node, args []any) {
	switch {
	case len(args) != 2 || a.spelled(n, "regexp_full_match"):
	case a.isMatch(n) && !strings.Contains(strings.ToLower(a.between(args[0], args[1])), "similar"):
		a.pattern(args[1])
		a.put(n, call(schemaOf, "matches", args...))
	default:
		a.refuse("SIMILAR TO", "use LIKE, or ~ with a regular expression")
	}
}

// between returns the text between the locations of two expressions.
func (a *Statement) between(one, other any) string {
	from, to := a.at(asNode(one)["query_location"]), a.at(asNode(other)["query_location"])
	if to == "" || len(from) < len(to) {
		return ""
	}
	return from[:len(from)-len(to)]
}

// setConfig makes the calls of set_config among the columns a value of the type [Sets].
func (a *Statement) setConfig(n any) {
	for _, item := range selectOf(n) {
		if e := asNode(item); callee(e) == "set_config" && len(argsOf(e)) == 3 {
			call := call("", "struct_pack")
			for i, part := range [][2]string{{"setting_name", "VARCHAR"}, {"setting_value", "VARCHAR"}, {"setting_local", "BOOLEAN"}} {
				of := castTo(asNode(argsOf(e)[i]), part[1])
				of["alias"] = part[0]
				call["children"] = append(call["children"].([]any), of)
			}
			a.put(e, call)
			a.Changes = true
		}
	}
}

func (a *Statement) currentSetting(n node, args []any) {
	of, ok := constantText(args[0])
	if !ok {
		return // psql lists the defaults
	}
	v, known := a.Settings.Setting(of)
	if a.Reads = true; !known && len(args) == 1 {
		a.refused = &UnsupportedError{Message: fmt.Sprintf("unrecognized configuration parameter %q", of), Code: "42704"}
	}
	by := constant(v)
	childOf(by, "value")["is_null"] = !known
	a.put(n, castTo(by, "VARCHAR"))
}

func (a *Statement) format(n node, args []any) {
	if format, ok := constantText(args[0]); ok && verbRE.MatchString(format) { // otherwise DuckDB's own function is used
		a.put(n, call("", "concat", formatted(format, args[1:])...))
	}
}

func (a *Statement) substring(n node, args []any) {
	pattern, ok := "", false
	if len(args) == 2 {
		pattern, ok = constantText(args[1])
	}
	if !ok {
		a.substr(n, args)
		return
	}
	by := "substring_match"
	if groupRE.MatchString(pattern) {
		by = "substring_group"
	}
	a.pattern(args[1])
	a.put(n, call(schemaOf, by, args...))
}

// subscripts counts the elements of the catalog's vectors from 0.
func (a *Statement) subscripts(n node, args []any) {
	if isVector(args[0]) && len(args) == 2 {
		a.put(n, call("", "unnest", call(schemaOf, "vector_subscripts", args...)))
	}
}

func (a *Statement) datePart(n node, args []any) {
	if len(args) == 2 {
		a.extract(n, args)
	}
}

// round rounds doubles half to even.
func (a *Statement) round(n node, args []any) {
	of := args[0]
	if children := argsOf(of); len(children) == 1 && word(of, "function_name") == "-" {
		of = children[0]
	}
	if len(args) == 1 && a.kindOf(of) == float8 && classOf(of) == "CAST" { // averages are numerics in Postgres
		a.put(n, call("", "round_even", args[0], integer(0)))
	}
	if len(args) == 2 {
		a.roundTo(n, args)
	}
}

func (a *Statement) toDate(n node, args []any) { a.parsed(n, args, "DATE") }

func (a *Statement) toTimestamp(n node, args []any) { a.parsed(n, args, "TIMESTAMP WITH TIME ZONE") }

// parsed parses a time from a text.
func (a *Statement) parsed(n node, args []any, as string) {
	if len(args) == 2 {
		if format, ok := constantText(args[1]); ok {
			a.put(n, castTo(call("", "strptime", args[0], constant(dateFormat(format))), as))
		}
	}
}

// aggregate changes sums and averages.
func (a *Statement) aggregate(n node) {
	switch callee(n) {
	case "sum":
		a.sum(n)
	case "avg":
		a.average(n)
	}
}

// groupRE matches a group in a pattern.
var groupRE = regexp.MustCompile(`(^|[^\\])\((\?P|[^?])`)

// verbRE matches the placeholders of format.
var verbRE = regexp.MustCompile(`%(?:(\d+)\$)?(?:-?\d+)?([sIL%])`)

// formatted returns the parts of format's result for a format and its arguments.
func formatted(format string, args []any) (parts []any) {
	next, done := 0, 0
	for _, m := range verbRE.FindAllStringSubmatchIndex(format, -1) {
		parts = append(parts, constant(format[done:m[0]]))
		done = m[1]
		verb := format[m[4]:m[5]]
		if verb == "%" {
			parts = append(parts, constant("%"))
			continue
		}
		if m[2] >= 0 {
			next, _ = strconv.Atoi(format[m[2]:m[3]])
			next--
		}
		if next < 0 || next >= len(args) {
			continue
		}
		switch arg := args[next]; verb {
		case "I":
			parts = append(parts, call(schemaOf, "quote_ident", arg))
		case "L":
			parts = append(parts, call(schemaOf, "quote_nullable", arg))
		default:
			parts = append(parts, arg)
		}
		next++
	}
	return append(parts, constant(format[done:]))
}

// path returns the JSON path given as a list of texts.
func (a *Statement) path(of any) node {
	if n, ok := of.(node); ok {
		if _, isText := constantText(n); isText {
			a.array(n)
			of = castTo(maps.Clone(n), "VARCHAR[]")
		}
	}
	return call(schemaOf, "json_path", of)
}

// isMatch reports whether a full match comes from the operators ~ and !~, which search. !~ has no
// location.
func (a *Statement) isMatch(n node) bool {
	return a.at(n["query_location"]) == "" || a.spelled(n, "~")
}

// list converts the operand of ANY to a list if it is an untyped parameter or the text of an array.
func (a *Statement) list(of any) {
	n := asNode(of)
	if s, ok := constantText(n); ok && strings.HasPrefix(s, "{") {
		a.array(n)
		a.put(n, castTo(maps.Clone(n), "VARCHAR[]"))
	}
	if number, ok := a.parameterOf(n); ok && a.typeOf(number) == 0 {
		a.put(n, castTo(maps.Clone(n), "VARCHAR[]"))
	}
}

// likes maps LIKE, ILIKE and their negations to functions with an escape character.
var likes = map[string]string{"~~": "like_escape", "!~~": "not_like_escape", "~~*": "ilike_escape", "!~~*": "not_ilike_escape"}

// operator replaces the operators of regular expressions by functions. DuckDB has only one of them.
func (a *Statement) operator(n node, name string, args []any) {
	if len(args) != 2 {
		return
	}
	not := func(n node) node {
		return node{"class": "OPERATOR", "type": "OPERATOR_NOT", "alias": "", "query_location": nowhere, "children": []any{n}}
	}
	if strings.HasSuffix(strings.TrimSuffix(name, "*"), "~") {
		a.pattern(args[1])
	}
	switch name {
	case "~~", "!~~", "~~*", "!~~*": // in Postgres, a backslash escapes % and _
		if pattern, ok := constantText(args[1]); !ok || strings.Contains(pattern, `\`) {
			a.put(n, call("", likes[name], args[0], args[1], constant(`\`)))
		}
	case postgres.PathText:
		a.put(n, call("", "json_extract_string", args[0], a.path(args[1])))
	case postgres.Path:
		a.put(n, call("", "json_extract", args[0], a.path(args[1])))
	case "~*":
		a.put(n, call(schemaOf, "matches_any_case", args...))
	case "!~*":
		a.put(n, not(call(schemaOf, "matches_any_case", args...)))
	}
}

// dateFormat converts a format of to_char to one of strftime. Text in double quotes is literal.
func dateFormat(format string) string {
	var patterns []string
	for _, p := range parts {
		patterns = append(patterns, "FM"+p.name, p.by, p.name, p.by)
	}
	replace := strings.NewReplacer(patterns...)
	var b strings.Builder
	for i, part := range strings.Split(format, `"`) {
		if i%2 == 1 {
			b.WriteString(strings.ReplaceAll(part, "%", "%%"))
		} else {
			b.WriteString(replace.Replace(strings.ReplaceAll(part, "%", "%%")))
		}
	}
	return b.String()
}
