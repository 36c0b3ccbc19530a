package dialect

import (
	"regexp"
	"strconv"
	"strings"
)

// bounds maps the spellings of word boundaries in patterns.
var bounds = strings.NewReplacer(`\\`, `\\`, `\m`, `\b`, `\M`, `\b`, `\y`, `\b`)

// pattern converts a pattern to DuckDB's syntax.
func (a *Asked) pattern(of any) {
	if s, ok := constantText(of); ok && bounds.Replace(s) != s {
		asNode(of)["value"].(node)["value"] = bounds.Replace(s)
		a.changed = true
	}
}

// likePattern converts a pattern of SIMILAR TO to a regular expression.
func likePattern(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteString(regexp.QuoteMeta(s[i : i+1]))
		case c == '%':
			b.WriteString(".*")
		case c == '_':
			b.WriteByte('.')
		case strings.IndexByte("^$.", c) >= 0:
			b.WriteString(regexp.QuoteMeta(string(c)))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// similar handles SIMILAR TO, whose patterns DuckDB treats as regular expressions.
func (a *Asked) similar(n node, args []any) {
	s, ok := constantText(args[1])
	if !ok {
		a.refused = &UnsupportedError{Message: "SIMILAR TO requires a constant pattern",
			Hint: "write the pattern as a constant, or use ~ with a regular expression"}
		return
	}
	a.put(n, call("", "regexp_full_match", args[0], constant(likePattern(s)), constant("s")))
}

// regexpMatch returns the groups of a match, or the whole match.
func (a *Asked) regexpMatch(n node, args []any) {
	s, ok := constantText(args[1])
	if !ok {
		return
	}
	a.pattern(args[1])
	groups := 0
	if re, err := regexp.Compile(bounds.Replace(s)); err == nil {
		groups = re.NumSubexp()
	}
	options := args[2:]
	var found []any
	for i := range groups {
		found = append(found, call("", "regexp_extract", append([]any{args[0], args[1], integer(i + 1)}, options...)...))
	}
	if groups == 0 {
		found = []any{call("", "regexp_extract", append([]any{args[0], args[1], integer(0)}, options...)...)}
	}
	a.put(n, call(schemaOf, "if_found", call("", "regexp_matches", args...), call("", "list_value", found...)))
}

// substr counts characters as Postgres does, even before the beginning of the text.
func (a *Asked) substr(n node, args []any) {
	if len(args) < 2 || isPositive(args[1]) {
		return
	}
	if k := a.kindOf(args[1]); k == int4 || k == int8 {
		a.put(n, call(schemaOf, "substr_from", args...))
	}
}

func isPositive(n any) bool {
	return number(kidOf(n, "value")["value"]) > 0
}

// numberRE matches numeric formats of to_char.
var numberRE = regexp.MustCompile(`^(?:FM)?[90,GD.S-]*[90][90,GD.S-]*%?$`)

// numberToChar handles to_char of a number.
func (a *Asked) numberToChar(n node, of any, format string) {
	short, isShort := strings.CutPrefix(format, "FM")
	if !numberRE.MatchString(format) || strings.ContainsAny(short, "S-") {
		a.refused = &UnsupportedError{Message: "the format " + strconv.Quote(format) + " of to_char is not supported",
			Hint: "number formats can contain 9, 0, G, D, a comma, a point, FM, and a percent sign at the end"}
		return
	}
	short, isPercent := strings.CutSuffix(short, "%")
	whole, places, hasPoint := strings.Cut(strings.NewReplacer("G", ",", "D", ".").Replace(short), ".")
	digits := strings.ReplaceAll(whole, ",", "")
	zeros := 0
	if first := strings.IndexByte(digits, '0'); first >= 0 {
		zeros = len(digits) - first
	}
	least, width := len(places), len(short)+1 // including room for the sign
	if isShort {
		least, width = strings.LastIndexByte(places, '0')+1, 0
	}
	e := call(schemaOf, "number_to_char", of, integer(len(digits)), integer(zeros), boolean(strings.Contains(whole, ",")),
		integer(len(places)), integer(least), boolean(hasPoint), integer(width))
	if isPercent {
		e = call(schemaOf, "unless_null", of, call("", "concat", e, constant("%")))
	}
	a.put(n, e)
}

// aggregated converts the list collected by an aggregate to JSON.
func (a *Asked) aggregated(n node) {
	inner := bare(n)
	inner["function_name"], inner["schema"], inner["catalog"] = "list", "", ""
	a.put(n, call("", "to_json", inner))
}

// unnested turns JSON elements into rows.
func (a *Asked) unnested(n node, name string, args []any) {
	var list node
	switch strings.TrimPrefix(strings.TrimPrefix(name, "jsonb_"), "json_") {
	case "array_elements":
		list = call("", "json_extract", args[0], constant("$[*]"))
	case "array_elements_text":
		list = call("", "json_extract_string", args[0], constant("$[*]"))
	default:
		list = call("", "json_keys", args[0])
	}
	a.put(n, call("", "unnest", list))
}
