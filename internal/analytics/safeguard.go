package analytics

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// UnsafeError says what a statement asks for that a safe warehouse refuses.
type UnsafeError struct{ What string }

func (e *UnsafeError) Error() string { return e.What + " is refused in safe mode" }

// maxSafeText bounds the text of a statement that somebody else wrote.
const maxSafeText = 1 << 20

// ErrTooDeep says that a statement is nested deeper than it can be read.
var ErrTooDeep = errors.New("the statement is nested too deeply")

// safeTableFunctions are the functions that may stand in FROM: those that make
// rows of their arguments alone. All others read files, run text as SQL, take
// addresses of memory, or tell of or change the process.
func safeTableFunctions() map[string]bool {
	return map[string]bool{"range": true, "generate_series": true, "unnest": true, "repeat": true, "repeat_row": true,
		"json_each": true, "json_tree": true, "pg_timezone_names": true, "summary": true}
}

// unsafeFunctions are the functions in expressions that reach out of the
// statement, or that build values of raw bytes without looking at them.
func unsafeFunctions() map[string]string {
	settings, log, plan, raw := "reading the program's settings", "writing to the log", "planning text as SQL", "making values of raw bytes"
	return map[string]string{
		"getenv": "reading the environment", "current_setting": settings, "pg_conf_load_time": settings, "pg_get_viewdef": settings,
		"write_log": log, "parse_duckdb_log_message": log,
		"json_serialize_plan": plan, "json_deserialize_sql": plan, "json_execute_serialized_sql": plan, "query": plan, "query_table": plan,
		"combine": raw, "finalize": raw, "variant_bytes_to_variant": raw, "variant_normalize": raw, "create_sort_key": raw,
		"nextval": "a sequence", "currval": "a sequence", "setseed": "setting the seed",
	}
}

var plainNameRE = regexp.MustCompile(`^\w+$`)

// safety walks the tree of a statement.
type safety struct {
	names     map[string]bool // relations that may be read: ours, and those that the statement itself makes
	tables    map[string]bool
	functions map[string]string
}

// safe returns nil for statements that read the warehouse's tables and nothing
// else, or an *UnsafeError. raw are trees that json_serialize_sql made.
func safe(raw []json.RawMessage) error {
	s := &safety{names: map[string]bool{}, tables: safeTableFunctions(), functions: unsafeFunctions()}
	for _, v := range sqlfiles.Views() {
		s.names[v.Name] = true
	}
	for _, t := range schema.Tables {
		s.names["stored."+t.Name] = true
	}
	for _, r := range raw {
		var tree any
		if err := json.Unmarshal(r, &tree); err != nil {
			return ErrTooDeep // DuckDB wrote it, so it is JSON
		}
		s.made(tree)
		if err := s.check(tree); err != nil {
			return err
		}
	}
	return nil
}

// made notes the names of WITH.
func (s *safety) made(node any) {
	switch n := node.(type) {
	case []any:
		for _, kid := range n {
			s.made(kid)
		}
	case map[string]any:
		if with, ok := n["cte_map"].(map[string]any); ok {
			entries, _ := with["map"].([]any)
			for _, e := range entries {
				if entry, ok := e.(map[string]any); ok {
					s.names[strings.ToLower(text(entry["key"]))] = true
				}
			}
		}
		for _, kid := range n {
			s.made(kid)
		}
	}
}

func (s *safety) check(node any) error {
	switch n := node.(type) {
	case []any:
		for _, kid := range n {
			if err := s.check(kid); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := s.node(n); err != nil {
			return err
		}
		for _, kid := range n {
			if err := s.check(kid); err != nil {
				return err
			}
		}
	}
	return nil
}

// node judges one node by itself.
func (s *safety) node(n map[string]any) error {
	switch text(n["type"]) {
	case "BASE_TABLE":
		return s.relation(text(n["catalog_name"]), text(n["schema_name"]), text(n["table_name"]))
	case "TABLE_FUNCTION":
		call, _ := n["function"].(map[string]any)
		if name := strings.ToLower(text(call["function_name"])); !s.tables[name] {
			return &UnsafeError{"the table function " + shown(name)}
		}
	case "SHOW_REF":
		if name := strings.Trim(text(n["table_name"]), `"`); text(n["show_type"]) == "SHOW_UNQUALIFIED" && name != "tables" {
			return &UnsafeError{"SHOW of anything but TABLES"}
		}
	}
	if name := strings.ToLower(text(n["function_name"])); name != "" {
		if what, ok := s.functions[name]; ok {
			return &UnsafeError{fmt.Sprintf("%s (the function %s)", what, name)}
		}
		if strings.HasPrefix(name, "__internal_") || strings.HasPrefix(name, "icu_collate_") {
			return &UnsafeError{"the internal function " + shown(name)}
		}
	}
	return nil
}

// relation judges a name in FROM. One that is not known passes if it can be
// nothing but a table's, so that DuckDB says which table was meant.
func (s *safety) relation(catalog, schemaName, table string) error {
	schemaName, table = strings.ToLower(schemaName), strings.ToLower(table)
	switch {
	case catalog != "" && !strings.EqualFold(catalog, "memory"):
		return &UnsafeError{"another database (" + shown(catalog) + ")"}
	case schemaName == "" && s.names[table], schemaName == "main" && s.names[table], s.names[schemaName+"."+table]:
		return nil
	case schemaName != "" && schemaName != "main" && schemaName != "stored":
		return &UnsafeError{"the schema " + shown(schemaName)}
	case !plainNameRE.MatchString(table):
		return &UnsafeError{"reading " + shown(table) + ", which is no table of the warehouse,"}
	}
	for _, prefix := range []string{"duckdb_", "pragma_", "sqlite_", "pg_"} {
		if strings.HasPrefix(table, prefix) {
			return &UnsafeError{"the system table " + table}
		}
	}
	return nil
}

// shown is a name as an error quotes it, in one short line.
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
