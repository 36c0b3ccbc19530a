package dialect

import "strings"

// contains refuses containment of JSON: DuckDB's own function recurses as deep as the value, which
// can end its process.
func (a *Asked) contains(args []any) {
	s, isText := constantText(args[1])
	isObject := isText && strings.HasPrefix(strings.TrimSpace(s), "{\"")
	if isObject || columnIs(args[0], "JSON") || aliasOf(kidOf(args[0], "cast_type", "type_info")) == "JSON" {
		a.refused = &UnsupportedError{Message: "@> of JSON is not supported", Hint: "compare fields, e.g. x ->> 'a' = '1'"}
	}
}
