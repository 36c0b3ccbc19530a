package mcp

import (
	"maps"
	"slices"

	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/question"
	sqlfiles "callhouse/sql"
)

// schema is a JSON Schema.
type schema = map[string]any

// arguments are the arguments of all tools.
type arguments struct {
	answer.Question
	Words     []string          `json:"words"`
	Call      string            `json:"call_id"`
	Name      string            `json:"name"`
	Statement string            `json:"statement"`
	Params    map[string]string `json:"params"`
	TZ        string            `json:"tz"`
}

func text(about string) schema { return schema{"type": "string", "description": about} }

func choice(about string, of ...string) schema {
	return schema{"type": "string", "enum": of, "description": about}
}

func texts(about string, least, most int) schema {
	list := schema{"type": "array", "items": schema{"type": "string"}, "description": about}
	if least > 0 {
		list["minItems"] = least
	}
	if most > 0 {
		list["maxItems"] = most
	}
	return list
}

func number(about string, least, most int64) schema {
	n := schema{"type": "integer", "minimum": least, "description": about}
	if most > 0 {
		n["maximum"] = most
	}
	return n
}

// object returns the schema of an object with exactly these members.
func object(properties schema, required ...string) schema {
	o := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		o["required"] = required
	}
	return o
}

// zone is the argument shared by all tools that return rows of calls.
func (s *Server) zone() schema {
	return text("time zone of days and times, such as Asia/Seoul; default: " + s.Settings.TZ)
}

// ofReport returns the arguments of a report, which correspond to the flags of its command.
func (s *Server) ofReport(f *sqlfiles.File) schema {
	p, required := schema{"tz": s.zone()}, []string(nil)
	inTime, ofAgent := question.Chosen(f)
	if f.Selects() {
		p["since"] = text("only " + inTime + " at or after: 2026-11-01, today, monday, last-month, RFC 3339, or an age such as 7d")
		p["until"] = text("only " + inTime + " before; a date means its 00:00")
		p["agent"] = text("only " + ofAgent + " of one agent: its id or name, or a part")
		p["where"] = texts("only calls with NAME=VALUE, such as call_type=outbound; AND between names, OR within one; names as for by", 0, 0)
	}
	if f.Grouped() {
		p["by"] = texts("group the rows by one or two of: agent, day, week, campaign, metadata.KEY and others", 0, 2)
	}
	if f.Comparable() {
		p["compare"] = choice("show each figure beside that of the period before, and the change; requires since", answer.Previous)
	}
	for _, flag := range f.Flags {
		switch flag {
		case "field":
			p[flag] = text("count calls with NAME=VALUE of an extracted field as successful, such as resolved=true")
		case "every":
			p[flag] = choice("the step of a row; default: day", "day", "hour", "minute")
		case "most":
			of, _ := f.Pages()
			p[flag] = number("maximum number of "+of, 1, s.Rows)
			p["skip"] = number("skip this many "+of, 0, 0)
		}
	}
	switch f.Arguments {
	case "CALL_ID":
		p["call_id"], required = text("id of the call, or its beginning"), []string{"call_id"}
		return object(p, required...)
	case "WORD...":
		p["words"], required = texts("words or phrases that one turn contains, all of them", 1, 0), []string{"words"}
	}
	p["sort"] = text("COLUMN, COLUMN:asc or COLUMN:desc")
	p["top"] = s.top()
	return object(p, required...)
}

func (s *Server) top() schema {
	return number("only the first rows; the others are counted", 1, s.Rows)
}

// names returns the names of a schema's members.
func names(s schema) []string {
	return slices.Sorted(maps.Keys(s["properties"].(schema)))
}

// output is the schema of every answer. It is short, because clients may read it once per tool.
var output = func() schema {
	list := func(of string) schema { return schema{"type": "array", "items": schema{"type": of}} }
	table := schema{"columns": list("object"), "rows": list("object")}
	whole := maps.Clone(table)
	whole["facts"] = schema{"type": "object", "properties": table}
	for name, as := range map[string]schema{"answers": {"type": "string"}, "untrusted": {"type": "string"}, "notes": list("string"),
		"left_out": list("string"), "snapshot": {"type": "object"}} {
		whole[name] = as
	}
	always := []string{"answers", "columns", "rows", "left_out", "snapshot", "untrusted"}
	return schema{"type": "object", "properties": whole, "required": always}
}()
