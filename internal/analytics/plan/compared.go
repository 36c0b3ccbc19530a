package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/sqltext"
	"callhouse/internal/analytics/value"
	sqlfiles "callhouse/sql"
)

// compared returns the report that compares f's answers over two selections of calls, joined on the keys. In a row
// that one period lacks, its counts are 0, and so are its shares of the group's total; the rest is null. The bounds of
// all changes of an answer hold together with 95 % confidence; p.Strict sets how many to assume.
func compared(f *sqlfiles.File, now, previous string, q question.Question) *sqlfiles.File {
	out, p := *f, q.Params
	out.Columns = nil
	var on, joined, columns, judged []string
	rows := []string{"*"}
	for _, c := range f.Columns {
		x := sqltext.Ident(c.Name)
		if c.Name == "key" || slices.Contains(f.Keys, c.Name) {
			on = append(on, "n."+x+" IS NOT DISTINCT FROM p."+x)
			joined = append(joined, "coalesce(n."+x+", p."+x+") AS "+x)
			columns = append(columns, x)
			out.Columns = append(out.Columns, c)
			continue
		}
		if !p.Wants(c.Name) {
			continue // dropping it later would take longer than computing the rest
		}
		if whole := c.Whole; whole != "" {
			if ofGroup(c) {
				whole += " OVER (PARTITION BY key)"
			}
			rows = append(rows, whole+" AS "+sqltext.Ident("of_"+c.Name))
		}
		was, of, wasOf := sqltext.Ident(value.PreviousOf+c.Name), sqltext.Ident("whole_"+c.Name), sqltext.Ident("previous_whole_"+c.Name)
		n, before := wholeOf(c, "n"), wholeOf(c, "p")
		joined = append(joined, orZero(c, "n", "p", n)+" AS "+x, orZero(c, "p", "n", before)+" AS "+was,
			n+" AS "+of, before+" AS "+wasOf)
		add := func(prefix, unit, expr string) {
			columns = append(columns, expr+" AS "+sqltext.Ident(prefix+c.Name))
			out.Columns = append(out.Columns, sqlfiles.Column{Name: prefix + c.Name, Unit: unit, Of: c.Of})
		}
		bounds := func(unit, call, there string) {
			add(value.ChangeLowOf, unit, fmt.Sprintf(call, -1))
			add(value.ChangeHighOf, unit, fmt.Sprintf(call, 1))
			if len(p.Columns) == 0 || slices.Contains(p.Columns, c.Name) {
				judged = append(judged, fmt.Sprintf("if(%s IS NOT NULL AND %s IS NOT NULL AND "+there+", 1, 0)", x, was, of, wasOf))
			}
		}
		add("", c.Unit, x)
		add(value.PreviousOf, c.Unit, was)
		if p.Bounds {
			for i, expr := range own(c, x, of) {
				add([]string{value.LowOf, value.HighOf, value.WholeOf}[i], c.Unit, expr)
			}
		}
		switch {
		case c.Unit == "percent" && c.Of != "":
			add(value.ChangeOf, "points", x+" - "+was)
			if c.Whole != "" {
				bounds("points", fmt.Sprintf("share_change(%s, %s, %s, %s, z, %%d)", x, of, was, wasOf), "%s > 0 AND %s > 0")
			}
		case slices.Contains([]string{"count", "ms", "money", "number"}, c.Unit): // neither words nor bounds of a share
			add(value.ChangeOf, c.Unit, x+" - "+was)
			if c.Spread != "" {
				bounds(c.Unit, fmt.Sprintf("CAST(mean_change(%s, %s, z, %%d) AS %s)", of, wasOf, c.Type), "%s IS NOT NULL AND %s IS NOT NULL")
			}
		}
	}
	order := "group_place NULLS LAST, previous_group_place NULLS LAST, "
	if natural(q) {
		order = ""
	}
	out.SQL = fmt.Sprintf(`WITH now AS (SELECT %[1]s FROM (SELECT row_number() OVER () AS place, * FROM (%[2]s))),
previous AS (SELECT %[1]s FROM (SELECT row_number() OVER () AS place, * FROM (%[3]s))),
joined AS (
SELECT %[4]s,
n.place AS place, p.place AS previous_place,
min(n.place) OVER whole_group AS group_place, min(p.place) OVER whole_group AS previous_group_place
FROM now n FULL JOIN previous p ON %[5]s
WINDOW whole_group AS (PARTITION BY coalesce(n.key, p.key))),
strict AS (SELECT *, chance_z(%[6]d * (%[7]s)) AS z FROM joined)
SELECT %[8]s
FROM strict
%[10]sORDER BY %[9]skey NULLS LAST, place NULLS LAST, previous_place`,
		strings.Join(rows, ", "), now, previous, strings.Join(joined, ", "), strings.Join(on, " AND "),
		max(p.Strict.Answers, 1), changes(judged, p.Strict.Changes), strings.Join(columns, ", "), order, oneRow(q, f.Main, out.Columns))
	return &out
}

// changes returns how many changes are judged together.
func changes(judged []string, assumed int) string {
	switch {
	case assumed > 0:
		return strconv.Itoa(assumed)
	case len(judged) > 0:
		return "sum(" + strings.Join(judged, " + ") + ") OVER ()"
	}
	return "1"
}

// oneRow returns the clause that keeps one row a group: the one that stands for it, or that of the
// clearest change of the main figure; empty if all are wanted.
func oneRow(q question.Question, main string, columns []sqlfiles.Column) string {
	row, ok := q.OneRow()
	if !ok {
		return ""
	}
	clearest := "NULL" // above 1: the bounds exclude 0
	if slices.ContainsFunc(columns, func(c sqlfiles.Column) bool { return c.Name == value.ChangeLowOf+main }) {
		clearest = fmt.Sprintf("change_%[1]s / CAST(change_%[1]s - CASE WHEN change_%[1]s > 0 "+
			"THEN change_low_%[1]s ELSE change_high_%[1]s END AS DOUBLE)", main)
	}
	return fmt.Sprintf("QUALIFY row_number() OVER (PARTITION BY key ORDER BY %s DESC, %s DESC NULLS LAST, abs(%s) DESC NULLS LAST, "+
		"place NULLS LAST, previous_place) = 1\n", cmp.Or(row, "true"), clearest, value.ChangeOf+main)
}

// own returns the bounds of a figure itself, and the size of the sample it is a share or mean of;
// nil for a figure without bounds.
func own(c sqlfiles.Column, figure, of string) []string {
	switch {
	case c.Spread != "":
		return []string{"mean_bound(" + of + ", z, -1)", "mean_bound(" + of + ", z, 1)", of + ".n"}
	case c.Whole != "" && c.Unit == "percent":
		wilson := "wilson_at(round(" + figure + " * " + of + " / 100), " + of + ", z, %d)"
		return []string{fmt.Sprintf(wilson, -1), fmt.Sprintf(wilson, 1), of}
	}
	return nil
}

// wholeOf returns the denominator of a share, or the spread of a mean, in the rows called alias.
func wholeOf(c sqlfiles.Column, alias string) string {
	x := alias + "." + sqltext.Ident("of_"+c.Name)
	switch {
	case c.Spread != "":
		return alias + "." + c.Spread
	case c.Whole == "":
		return "NULL"
	case ofGroup(c): // also in rows that only the other period has
		return "max(" + x + ") OVER whole_group"
	}
	return x
}

// ofGroup reports whether a share's denominator is a total over all rows of its group.
func ofGroup(c sqlfiles.Column) bool { return strings.Contains(c.Whole, "(") }

// orZero returns a column of the rows called alias; 0 if only the other period has the row, and the
// column is a count or such a share.
func orZero(c sqlfiles.Column, alias, other, whole string) string {
	x := alias + "." + sqltext.Ident(c.Name)
	counts := alias + ".place IS NULL AND " + other + "." + sqltext.Ident(c.Name) + " IS NOT NULL"
	switch {
	case ofGroup(c):
		counts += " AND " + whole + " > 0"
	case c.Unit != "count":
		return x
	}
	return fmt.Sprintf("CASE WHEN %s THEN 0 ELSE %s END", counts, x)
}
