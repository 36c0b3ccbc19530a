package analytics

import (
	"sort"
	"strings"
)

// dimension is what a report can be grouped by.
type dimension struct {
	expr string // over the view calls, and over the relation tallied
	// column is the column of tallied that expr needs; document, if it is
	// documentColumn, how that is made of the stored columns.
	column, document string
	// natural: the keys have an order of their own; otherwise the largest
	// group comes first.
	natural bool
}

// dimensions is the one place that says what --by knows. Nothing that a user
// types becomes SQL but through it.
func dimensions() map[string]dimension {
	return map[string]dimension{
		"agent":                {expr: "agent_id", column: "agent_id"},
		"agent_version":        {expr: "agent_version", column: "agent_version"},
		"call_type":            {expr: "call_type", column: "call_type"},
		"status":               {expr: "status", column: "status"},
		"disconnection_reason": {expr: "disconnection_reason", column: "disconnection_reason"},
		"user_sentiment":       {expr: "user_sentiment", column: "user_sentiment"},
		"variant_label":        {expr: "variant_label", column: "variant_label"},
		"day":                  {expr: "local_date", column: byDate, natural: true},
		"week":                 {expr: "week", column: byDate, natural: true},
		"month":                {expr: "local_month", column: byDate, natural: true},
		"hour":                 {expr: "local_hour", column: byHour, natural: true},
		"weekday":              {expr: "weekday", column: byDate, natural: true},
	}
}

// documentColumn is what --by reaches for in a document, as a column.
const documentColumn = "in_document"

// documents are the JSON columns that --by reaches into, as in metadata.campaign.
func documents() []string { return []string{"metadata", "dynamic_variables"} }

// Dimensions returns the names that Params.By knows, sorted, those with a free
// key last.
func Dimensions() []string {
	var out []string
	for name := range dimensions() {
		out = append(out, name)
	}
	sort.Strings(out)
	for _, d := range documents() {
		out = append(out, d+".KEY")
	}
	return out
}

// oneGroup is the dimension of which all calls are one group.
var oneGroup = dimension{expr: "CAST(NULL AS VARCHAR)", natural: true}

// dimensionOf returns what by asks for; by is empty for one group of all.
func dimensionOf(by string) (dimension, error) {
	if by == "" {
		return oneGroup, nil
	}
	if d, ok := dimensions()[by]; ok {
		return d, nil
	}
	if doc, key, ok := strings.Cut(by, "."); ok && key != "" {
		for _, d := range documents() {
			if d == doc {
				return dimension{expr: documentColumn, column: documentColumn,
					document: "json_extract_string(" + doc + ", " + quote(pointer(key)) + ")"}, nil
			}
		}
	}
	return dimension{}, unknown("dimension", by, Dimensions())
}

// pointer returns the JSON pointer (RFC 6901) to a key of an object; unlike a
// path it can spell every key.
func pointer(key string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
