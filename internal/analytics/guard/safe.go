package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"callhouse/internal/resource"
	sqlfiles "callhouse/sql"
)

// UnsafeError describes the part of a statement that safe mode refuses.
type UnsafeError struct{ What string }

func (e *UnsafeError) Error() string { return e.What + " is not allowed in safe mode" }

// MaxText is the maximum size of an untrusted statement.
const MaxText = 1 << 20

// ErrTooDeep means that a statement is nested too deeply to decode.
var ErrTooDeep = errors.New("the statement is nested too deeply")

// safeTableFunctions are the functions allowed in FROM: they make rows only from their arguments.
// Others read files, run text as SQL, take memory addresses, or inspect or change the process.
func safeTableFunctions() map[string]bool {
	return map[string]bool{"range": true, "generate_series": true, "unnest": true, "repeat": true, "repeat_row": true,
		"json_each": true, "json_tree": true, "pg_timezone_names": true, "summary": true}
}

// unsafeFunctions are scalar functions that reach outside the statement, or build values of raw bytes without validation.
func unsafeFunctions() map[string]string {
	settings, log := "reading the program's settings", "writing to the log"
	plan, raw := "planning text as SQL", "building values from raw bytes"
	system := "reading a system table"
	return map[string]string{
		"getenv": "reading the environment", "current_setting": settings, "pg_conf_load_time": settings,
		"pg_get_viewdef": system, "pg_get_constraintdef": system, "format_type": system, "get_block_size": system,
		"write_log": log, "parse_duckdb_log_message": log,
		"json_serialize_plan": plan, "json_deserialize_sql": plan, "json_execute_serialized_sql": plan, "query": plan, "query_table": plan,
		"combine": raw, "finalize": raw, "variant_bytes_to_variant": raw, "variant_normalize": raw, "create_sort_key": raw,
		"stats": "reading file statistics", "nextval": "a sequence", "currval": "a sequence", "setseed": "setting the seed",
	}
}

// fragile are functions that recurse as deep as a value, without a limit. GLOB is ~~~.
var fragile = map[string]bool{"json_structure": true, "json_group_structure": true, "json_contains": true, "~~~": true}

var plainNameRE = regexp.MustCompile(`^\w+$`)

// relationName is the name of a relation in a statement, in lower case.
type relationName struct{ catalog, schema, table string }

// relations returns all readable names: the views and the stored tables.
func relations() map[relationName]bool {
	out := map[relationName]bool{}
	for _, v := range sqlfiles.Views() {
		for _, n := range []relationName{{"", "", v.Name}, {"", "main", v.Name}, {"", "memory", v.Name}, {"memory", "main", v.Name}} {
			out[n] = true
		}
	}
	for _, t := range resource.Tables {
		out[relationName{"", "stored", t.Name}] = true
		out[relationName{"memory", "stored", t.Name}] = true
	}
	return out
}

// scope holds the WITH names visible at a place, innermost first. A name means its WITH only without a schema, after its
// definition and inside the WITH's query, as in DuckDB; elsewhere it is a relation.
type scope struct {
	name  string
	outer *scope
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return true
		}
	}
	return false
}

// safety walks the tree of a statement.
type safety struct {
	relations map[relationName]bool
	tables    map[string]bool
	functions map[string]string
	also      *Also
	may       func(table string) error
	shared    bool
	unknown   string // a name in FROM that is neither our relation nor a WITH
}

// safe returns an *UnsafeError for statements, trees of json_serialize_sql, that read anything but the warehouse's tables.
// unknown is a plain name in FROM that is none of them.
func safe(raw []json.RawMessage, k Check) (unknown string, err error) {
	s := &safety{relations: relations(), tables: safeTableFunctions(), functions: unsafeFunctions(), also: k.Also, may: k.May,
		shared: k.Shared}
	for _, r := range raw {
		var tree any
		if err := json.Unmarshal(r, &tree); err != nil {
			return "", ErrTooDeep // DuckDB wrote valid JSON
		}
		if err := s.check(tree, nil); err != nil {
			return "", err
		}
	}
	return s.unknown, nil
}

// check checks a part of the tree, where the names of with are visible.
func (s *safety) check(node any, with *scope) error {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			if err := s.check(child, with); err != nil {
				return err
			}
		}
	case map[string]any:
		with, err := s.with(n, with)
		if err != nil {
			return err
		}
		if err := s.node(n, with); err != nil {
			return err
		}
		for key, child := range n {
			inner := with
			switch {
			case key == "cte_map":
				continue // checked by with
			case key == "right" && text(n["type"]) == "RECURSIVE_CTE_NODE": // the recursive part
				inner = &scope{lower(text(n["cte_name"])), with}
			}
			if err := s.check(child, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// with checks the queries of a node's WITH, each of which sees the names before it, and returns the scope of the node.
func (s *safety) with(n map[string]any, with *scope) (*scope, error) {
	ctes, _ := n["cte_map"].(map[string]any)
	entries, _ := ctes["map"].([]any)
	for _, e := range entries {
		if err := s.check(e, with); err != nil {
			return nil, err
		}
		entry, _ := e.(map[string]any)
		with = &scope{lower(text(entry["key"])), with}
	}
	return with, nil
}

// node checks one node alone.
func (s *safety) node(n map[string]any, with *scope) error {
	switch text(n["type"]) {
	case "BASE_TABLE":
		return s.relation(relationName{lower(text(n["catalog_name"])), lower(text(n["schema_name"])), lower(text(n["table_name"]))}, with)
	case "TABLE_FUNCTION":
		call, _ := n["function"].(map[string]any)
		if name := lower(text(call["function_name"])); !s.tables[name] && !s.ours(call) {
			return &UnsafeError{"the table function " + shown(name)}
		}
	case "SHOW_REF": // DESCRIBE and SUMMARIZE contain a query, which is checked like any other
		if n["query"] == nil && (text(n["show_type"]) != "SHOW_UNQUALIFIED" || strings.Trim(text(n["table_name"]), `"`) != "tables") {
			return &UnsafeError{"SHOW of anything except TABLES"}
		}
	}
	if name := lower(text(n["function_name"])); name != "" && !s.ours(n) {
		if what, ok := s.functions[name]; ok {
			return &UnsafeError{fmt.Sprintf("%s (the function %s)", what, name)}
		}
		if s.shared && fragile[name] {
			return &UnsafeError{"the function " + name + ", which can crash a shared process,"}
		}
		if strings.HasPrefix(name, "__internal_") || strings.HasPrefix(name, "icu_collate_") {
			return &UnsafeError{"the internal function " + shown(name)}
		}
	}
	return nil
}

// ours reports whether a call is of a function in the program's own schema.
func (s *safety) ours(call map[string]any) bool {
	return s.also != nil && text(call["catalog"]) == "" && lower(text(call["schema"])) == s.also.Schema &&
		s.also.Functions[lower(text(call["function_name"]))]
}

// relation checks a name in FROM.
func (s *safety) relation(name relationName, with *scope) error {
	switch {
	case name.catalog == "" && name.schema == "" && with.has(name.table):
		return nil
	case s.relations[name] && s.may != nil:
		return s.may(name.table)
	case s.relations[name]:
		return nil
	case s.also != nil && name.catalog == "" && name.schema == s.also.Schema && s.also.Relations[name.table]:
		return nil
	case name.catalog != "" && name.catalog != "memory":
		return &UnsafeError{"another database (" + shown(name.catalog) + ")"}
	case name.schema != "" && name.schema != "main" && name.schema != "stored":
		return &UnsafeError{"the schema " + shown(name.schema)}
	case !plainNameRE.MatchString(name.table):
		return noTable(name.table)
	}
	s.unknown = name.table
	return nil
}

func noTable(name string) error {
	return &UnsafeError{"reading " + shown(name) + ", which is not a table of the warehouse,"}
}

// lower folds the 26 letters that DuckDB folds. Go's own function folds more, so it would treat two distinct names as one.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// shown quotes a name for an error, short and on one line.
func shown(name string) string {
	if len(name) > 60 {
		name = strings.ToValidUTF8(name[:60], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
