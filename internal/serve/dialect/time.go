package dialect

import (
	"regexp"
	"slices"
	"strings"

	"callhouse/internal/postgres"
)

// days maps words to days relative to today.
var days = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// asInstant rewrites a constant time for DuckDB.
func (a *Statement) asInstant(of any) {
	n := asNode(of)
	s, ok := constantText(n)
	if !ok {
		return
	}
	word := strings.ToLower(strings.TrimSpace(s))
	if by, ok := days[word]; ok {
		a.put(n, plus(castTo(call("", "now"), "DATE"), by))
		return
	}
	if word == "now" {
		a.put(n, call("", "now"))
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
	if !slices.ContainsFunc(of, func(e any) bool { return a.kindOf(e) == instant || a.kindOf(e) == date }) {
		return
	}
	for _, e := range of {
		a.asInstant(e)
	}
}

// castTime casts texts to times where DuckDB's own cast fails.
func (a *Statement) castTime(n, t node) {
	switch id := word(t, "id"); id {
	case "TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "DATE":
		a.asInstant(n["child"])
	case "TIME":
		if a.kindOf(n["child"]) == instant {
			n["child"] = castTo(childOf(n, "child"), "TIMESTAMP")
			a.changed = true
		}
	}
}

// dateTrunc truncates in a zone. DuckDB's centuries begin a year before Postgres'.
func (a *Statement) dateTrunc(n node, args []any) {
	inner := bare(n)
	field, _ := constantText(args[0])
	switch field = strings.ToLower(field); {
	case len(args) == 3: // of an instant in a zone
		inner["children"] = []any{args[0], call("", "timezone", args[2], args[1])}
		a.put(n, call("", "timezone", args[2], inner))
	case field == "century", field == "millennium":
		a.refuse("date_trunc to a "+field, "truncate to a decade or a year")
	}
}

// part is a part of a to_char format: its strftime equivalent, and how to change the result.
type part struct{ by, change string }

// parts are the parts of to_char formats, longer ones first. Names are padded to nine characters,
// unless FM precedes them.
var parts = []struct {
	name string
	part
}{
	{"SSSS", part{}}, {"IDDD", part{}}, {"TZH", part{}}, {"TZM", part{}}, // these are refused, rather than read as shorter ones
	{"YYYY", part{"%Y", ""}}, {"yyyy", part{"%Y", ""}}, {"IYYY", part{"%G", ""}}, {"YY", part{"%y", ""}}, {"yy", part{"%y", ""}},
	{"MONTH", part{"%B", "upper,pad"}}, {"Month", part{"%B", "pad"}}, {"month", part{"%B", "lower,pad"}}, {"MON", part{"%b", "upper"}},
	{"Mon", part{"%b", ""}}, {"mon", part{"%b", "lower"}},
	{"HH24", part{"%H", ""}}, {"hh24", part{"%H", ""}}, {"HH12", part{"%I", ""}}, {"hh12", part{"%I", ""}}, {"HH", part{"%I", ""}},
	{"hh", part{"%I", ""}},
	{"MI", part{"%M", ""}}, {"mi", part{"%M", ""}}, {"SS", part{"%S", ""}}, {"ss", part{"%S", ""}}, {"MS", part{"%g", ""}},
	{"US", part{"%f", ""}},
	{"DAY", part{"%A", "upper,pad"}}, {"Day", part{"%A", "pad"}}, {"day", part{"%A", "lower,pad"}}, {"DY", part{"%a", "upper"}},
	{"Dy", part{"%a", ""}}, {"dy", part{"%a", "lower"}},
	{"DDD", part{"%j", ""}}, {"DD", part{"%d", ""}}, {"dd", part{"%d", ""}}, {"MM", part{"%m", ""}}, {"mm", part{"%m", ""}},
	{"ID", part{"%u", ""}}, {"IW", part{"%V", ""}}, {"AM", part{"%p", ""}}, {"PM", part{"%p", ""}}, {"am", part{"%p", "lower"}},
	{"pm", part{"%p", "lower"}},
	{"TZ", part{"%Z", ""}}, {"OF", part{"%z", ""}}, {"D", part{"%w", "next"}}, {"Q", part{"", "quarter"}},
}

// unknownParts are parts of to_char formats without an equivalent.
var unknownParts = []string{"WW", "J", "RM", "rm", "TH", "th", "SP", "CC", "BC", "bc", "AD", "ad", "W", "Y", "y"}

// numberRE matches numeric formats of to_char.
var numberRE = regexp.MustCompile(`^(?:FM)?[90,GD.S-]*[90][90,GD.S-]*%?$`)

// toChar concatenates the parts of to_char with a constant format.
func (a *Statement) toChar(n node, args []any) {
	if len(args) != 2 {
		return
	}
	format, ok := constantText(args[1])
	if !ok {
		a.refuse("to_char without a constant format", "write the format as a constant")
		return
	}
	k := a.kindOf(args[0])
	isSpan := k == interval || castTarget(args[0]) == "TIME"
	if k != unknown && k <= float8 || k == unknown && numberRE.MatchString(format) {
		a.refuse("to_char of a number", "write round(x, 2)::text, or format numbers in the client")
		return
	}
	var out []any
	for i, piece := range strings.Split(format, `"`) {
		if i%2 == 1 { // quoted text is literal
			out = append(out, constant(piece))
			continue
		}
		for piece != "" {
			e, length := a.charPart(piece, args[0], isSpan)
			if a.refused != nil {
				return
			}
			out = append(out, e)
			piece = piece[length:]
		}
	}
	concat := call("", "concat", append(out, constant(""))...)
	a.put(n, call(schemaOf, "unless_null", args[0], concat))
}

// charPart returns the tree of the first part of a format, and its length. A span is an interval.
func (a *Statement) charPart(format string, of any, isSpan bool) (node, int) {
	rest := strings.TrimPrefix(strings.TrimPrefix(format, "FM"), "fm")
	isShort, skipped := rest != format, len(format)-len(rest)
	for _, p := range parts {
		switch {
		case !strings.HasPrefix(rest, p.name):
			continue
		case p.part == part{}, isSpan && (p.change != "" || !strings.Contains("%Y%m%d%H%I%M%S%g%f", p.by)):
			a.refuse("the format "+p.name+" of to_char", "")
		}
		return changed(p.part, isShort, isSpan, of), skipped + len(p.name)
	}
	for _, name := range unknownParts {
		if strings.HasPrefix(rest, name) {
			a.refuse("the format "+name+" of to_char", "")
		}
	}
	if rest == "" {
		return constant(""), skipped
	}
	return constant(rest[:1]), skipped + 1
}

// changed returns a part of a time as text.
func changed(p part, isShort, isSpan bool, of any) node {
	e := call("", "strftime", of, constant(p.by))
	if isSpan {
		e = call(schemaOf, "span_part", of, constant(p.by))
	}
	for _, change := range strings.Split(p.change, ",") {
		switch change {
		case "upper", "lower":
			e = call("", change, e)
		case "pad":
			if !isShort {
				e = call(schemaOf, "padded", e)
			}
			isShort = false
		case "next": // days count from 0
			e = castTo(plus(castTo(e, "INTEGER"), 1), "VARCHAR")
		case "quarter":
			e = castTo(call("", "quarter", of), "VARCHAR")
		}
	}
	if isShort {
		e = call(schemaOf, "unpadded", e)
	}
	return e
}
