package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/stored"
	sqlfiles "callhouse/sql"
)

// inOrder returns a report's statement with its rows in the order of Params.Sort, the rows of
// one value in the report's own, and only the first Params.Top of them.
func inOrder(f *sqlfiles.File, text string, q question.Question) (string, error) {
	if q.Sort == "" && q.Top == 0 {
		return text, nil
	}
	order := "place"
	if q.Sort != "" {
		by, err := sortKey(f, q)
		if err != nil {
			return "", err
		}
		order = by + " NULLS LAST, place"
	}
	text = fmt.Sprintf("SELECT * EXCLUDE (place) FROM (SELECT *, row_number() OVER () AS place FROM (%s)) ORDER BY %s", text, order)
	if q.Top > 0 {
		text += fmt.Sprintf(" LIMIT %d", q.Top)
	}
	return text, nil
}

// sortKey returns the column of Params.Sort, and its direction: numbers and times begin with
// the largest, and texts and days with the first, unless :asc or :desc follows the name.
func sortKey(f *sqlfiles.File, q question.Question) (string, error) {
	name, direction, _ := strings.Cut(q.Sort, ":")
	if direction != "" && direction != "asc" && direction != "desc" {
		return "", &question.GroupError{What: fmt.Sprintf("unknown sort order %q", direction), Hint: "use COLUMN:asc or COLUMN:desc"}
	}
	keys := map[string]string{}
	for i, d := range q.Keys {
		keys[question.KeyName(d.Name, f)] = keyColumn(q.Keys, i)
	}
	var known []string
	for _, c := range f.Columns {
		if (c.Name != "key" || !f.Grouped()) && (len(q.Columns) == 0 || slices.Contains(q.Columns, c.Name)) {
			known = append(known, c.Name)
		}
	}
	c, isColumn := f.Column(name)
	key, isKey := keys[name]
	switch {
	case name == "agent" || isKey && name == "campaign" || isColumn && question.IsAgent(name):
		return "", &question.GroupError{What: fmt.Sprintf("cannot sort by %s: names change, and ids have no order", name),
			Hint: "sort by one of: " + strings.Join(known, ", ")}
	case isKey:
		return key + " " + cmp.Or(direction, "asc"), nil
	case !isColumn || !slices.Contains(known, name):
		for group := range keys {
			known = append(known, group)
		}
		return "", question.Unknown("column", name, known)
	}
	if direction == "" {
		direction = "desc"
		if c.Unit == "" && (c.Type == "VARCHAR" || c.Type == "DATE" || c.Type == "BOOLEAN") {
			direction = "asc"
		}
	}
	return stored.Ident(name) + " " + direction, nil
}
