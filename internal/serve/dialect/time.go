package dialect

import (
	"slices"
	"strings"

	"callhouse/internal/postgres"
)

// asInstant rewrites a constant time for DuckDB.
func (a *Statement) asInstant(of any) {
	n := asNode(of)
	s, ok := constantText(n)
	if !ok {
		return
	}
	if by := postgres.Instant(s); by != s {
		n["value"].(node)["value"] = by
		a.changed = true
	}
}

// compared rewrites constant times in comparisons with times.
func (a *Statement) compared(n node) {
	var of []any
	switch classOf(n) {
	case "COMPARISON":
		of = []any{n["left"], n["right"]}
	case "BETWEEN":
		of = []any{n["input"], n["lower"], n["upper"]}
	case "OPERATOR":
		if kind := word(n, "type"); kind == "COMPARE_IN" || kind == "COMPARE_NOT_IN" {
			of = argsOf(n)
		}
	}
	if !slices.ContainsFunc(of, func(e any) bool { return a.kindOf(e) == instant }) {
		return
	}
	for _, e := range of {
		a.asInstant(e)
	}
}

// formats are the parts of the formats of to_char, to_date and to_timestamp with DuckDB's spelling, longer
// ones first. Those without one are refused.
var formats = []struct{ part, by string }{
	{"YYYY", "%Y"}, {"yyyy", "%Y"}, {"IYYY", "%G"}, {"YY", "%y"}, {"yy", "%y"}, {"FMMonth", "%B"}, {"Mon", "%b"}, {"HH24", "%H"},
	{"hh24", "%H"}, {"HH12", "%I"}, {"hh12", "%I"}, {"HH", "%I"}, {"hh", "%I"}, {"MI", "%M"}, {"mi", "%M"}, {"SSSS", ""}, {"SS", "%S"},
	{"ss", "%S"}, {"MS", "%g"}, {"US", "%f"}, {"FMDay", "%A"}, {"FMDD", "%-d"}, {"FMMM", "%-m"}, {"FMHH24", "%-H"}, {"FMHH12", "%-I"},
	{"Dy", "%a"}, {"DDD", "%j"}, {"IDDD", ""}, {"DD", "%d"}, {"dd", "%d"}, {"MM", "%m"}, {"mm", "%m"}, {"ID", "%u"}, {"IW", "%V"},
	{"AM", "%p"}, {"PM", "%p"}, {"TZH", ""}, {"TZM", ""}, {"TZ", "%Z"}, {"OF", "%z"}, {"TH", ""}, {"T", "T"},
}

// timeFormat converts a constant format for strftime. Text in double quotes is literal.
func (a *Statement) timeFormat(of any) (string, bool) {
	format, ok := constantText(of)
	if !ok {
		a.refuse("to_char without a constant format", "write the format as a constant")
		return "", false
	}
	var b strings.Builder
	for i, piece := range strings.Split(strings.ReplaceAll(format, "%", "%%"), `"`) {
		for isQuoted := i%2 == 1; piece != ""; {
			part, by := piece[:1], piece[:1]
			if isLetter := part[0]|0x20 >= 'a' && part[0]|0x20 <= 'z'; isLetter && !isQuoted {
				by = ""
				for _, f := range formats {
					if strings.HasPrefix(piece, f.part) {
						part, by = f.part, f.by
						break
					}
				}
			}
			if by == "" {
				a.refuse("the format "+piece+" of to_char", "use YYYY-MM-DD HH24:MI:SS and their kind, or DuckDB's strftime(x, '%d %B')")
				return "", false
			}
			b.WriteString(by)
			piece = piece[len(part):]
		}
	}
	return b.String(), true
}

// toChar writes a time as text.
func (a *Statement) toChar(n node, args []any) {
	if len(args) != 2 {
		return
	}
	if k := a.kindOf(args[0]); k != unknown && k <= float8 {
		a.refuse("to_char of a number", "write round(x, 2)::text, or format numbers in the client")
	} else if format, ok := a.timeFormat(args[1]); ok {
		a.put(n, call("", "strftime", args[0], constant(format)))
	}
}
