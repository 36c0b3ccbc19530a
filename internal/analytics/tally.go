package analytics

import (
	"fmt"
	"slices"
	"strings"

	sqlfiles "callhouse/sql"
)

// Grains of local time in tallied: a date is enough for days, weeks and months.
const (
	byDate = "local_date"
	byHour = "local_hour"
)

// hoursAgo is longer ago than any call, in hours before 1970.
const hoursAgo = 1_000_000_000

// tallied returns the SELECT of the relation tallied: the selected calls as rows
// of calls that are alike, with numbers of them.
//
// A report's questions are answered from few values of few columns. To group by
// the columns as they are stored first, and to ask of each group what is
// connected, which day it was and so on, takes a third of the time of asking it
// of every call. f names the columns; those that the group d needs are added.
func (w *Warehouse) tallied(f *sqlfiles.File, d dimension, where string) string {
	columns := slices.Clone(f.Tallies)
	if d.column != "" && !slices.Contains(columns, d.column) {
		columns = append(columns, d.column)
	}
	if slices.Contains(columns, byHour) { // tells the date as well
		columns = slices.DeleteFunc(columns, func(c string) bool { return c == byDate })
	}
	inner := make([]string, len(columns))
	for i, c := range columns {
		inner[i] = w.tallyColumn(c, d)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "SELECT %s AS key, *\nFROM (SELECT *%s\nFROM (SELECT *%s\nFROM (SELECT %s\nFROM stored.calls\nWHERE %s\nGROUP BY ALL\nHAVING count(*) > 0)))",
		d.expr, tallyFacts(columns), tallyStart(columns), strings.Join(append(inner, tallyNumbers), ", "), where)
	return b.String()
}

// tallyNumbers are what tallied knows of the calls that a row stands for. What a
// report does not ask for is not computed.
const tallyNumbers = `count(*) AS calls,
	count(duration_ms) AS timed_calls, sum(duration_ms) AS total_ms,
	count(total_cost) AS costed_calls, sum(total_cost) AS total_cost,
	sum(total_cost) FILTER (duration_ms IS NOT NULL) AS timed_cost, sum(duration_ms) FILTER (total_cost IS NOT NULL) AS costed_ms`

// tallyColumn returns how a column of tallied is made of the stored ones.
func (w *Warehouse) tallyColumn(name string, d dimension) string {
	switch name {
	case "is_started":
		return "start_at IS NOT NULL AS is_started"
	case byDate:
		return "CAST(make_timestamp(" + w.localMicros + ") AS DATE) AS local_date"
	case byHour:
		// From a multiple of an hour so long ago that no time is negative.
		return fmt.Sprintf("(%s + %d) // 3600000000 AS local_hours", w.localMicros, int64(hoursAgo)*3_600_000_000)
	case documentColumn:
		return d.document + " AS " + documentColumn
	}
	return ident(name)
}

// tallyStart returns the local time of a row, which the view calls has for a call.
func tallyStart(columns []string) string {
	switch {
	case slices.Contains(columns, byHour):
		return fmt.Sprintf(", make_timestamp((local_hours - %d) * 3600000000) AS local_start", hoursAgo)
	case slices.Contains(columns, byDate):
		return ", CAST(local_date AS TIMESTAMP) AS local_start"
	}
	return ""
}

// tallyFacts returns what follows from the columns, as in the view calls.
func tallyFacts(columns []string) string {
	var b strings.Builder
	for _, f := range []struct{ name, expr, from string }{
		{"is_over", "call_over(settlement)", "settlement"},
		{"is_connected", "call_connected(is_started, status, disconnection_reason)", "is_started status disconnection_reason"},
		{"is_voicemail", "call_voicemail(disconnection_reason)", "disconnection_reason"},
		{"is_transferred", "call_transferred(disconnection_reason)", "disconnection_reason"},
		{"is_contained", "is_connected AND is_over AND NOT is_transferred AND NOT is_voicemail", "is_started status disconnection_reason settlement"},
		{"local_hour", "hour(local_start)", byHour},
		{"local_date", "CAST(local_start AS DATE)", byHour},
		{"weekday", "weekday_of(local_start)", "local_start"},
		{"week", "week_of(local_start)", "local_start"},
		{"local_month", "month_of(local_start)", "local_start"},
	} {
		known := true
		for _, c := range strings.Fields(f.from) {
			known = known && (slices.Contains(columns, c) || c == "local_start" && tallyStart(columns) != "")
		}
		if known {
			fmt.Fprintf(&b, ", %s AS %s", f.expr, f.name)
		}
	}
	return b.String()
}
