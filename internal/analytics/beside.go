package analytics

import (
	"context"
	"fmt"
	"strings"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/stored"
	sqlfiles "callhouse/sql"
)

// beside is what was seen of the organisation in the time that is asked for. A report of
// it has calls beside it: those of that time, and of some weeks before and days after.
type beside struct {
	are       string // in words, what --since and --until choose
	rows      string // its SELECT
	since, at string // between these two it came to be
	ofAgents  bool   // a column agent_id says whose it is
}

// besides are the relations of reports that are such.
var besides = map[string]beside{
	// What was there when its list was first read is not new, nor is what was only looked at more closely.
	"selected_changes": {
		are: "changes seen",
		rows: `SELECT *, CASE WHEN resource IN ('agents', 'agent_versions') THEN url_decode(split_part(key, '/', 1)) END AS agent_id
FROM changes
WHERE since_at IS NOT NULL AND kind <> 'completed' AND resource NOT IN ('customers', 'incidents')`,
		since: "since_at", at: "seen_at", ofAgents: true},
	"selected_incidents": {are: "incidents raised", rows: "SELECT * FROM incidents", since: "created_at", at: "created_at"},
}

// besideOf returns the relation of what was seen that a report reads.
func besideOf(f *sqlfiles.File) (name string, of beside, ok bool) {
	for _, name := range f.Reads {
		if of, ok := besides[name]; ok {
			return name, of, true
		}
	}
	return "", beside{}, false
}

// Chosen says in words what the bounds of a report's time choose, and what its agent does.
func Chosen(f *sqlfiles.File) (inTime, ofAgent string) {
	_, b, ok := besideOf(f)
	switch {
	case !ok:
		return "calls that start", "calls"
	case b.ofAgents:
		return b.are, "changes"
	}
	return b.are, "calls"
}

// query returns the SELECT of what was seen in a selection's time.
func (b beside) query(s selection) string {
	where := strings.Join(bounds(s.Params, b.at), " AND ")
	if b.ofAgents && s.agent != "" {
		where += " AND agent_id = " + stored.Quote(s.agent)
	}
	return fmt.Sprintf("SELECT * FROM (%s) WHERE %s", b.rows, where)
}

// around returns s with the time of the calls that a report needs: of most reports it is
// the time that s has.
func (w *Warehouse) around(ctx context.Context, conn *duck.Conn, f *sqlfiles.File, s selection) (selection, error) {
	_, b, ok := besideOf(f)
	if !ok {
		return s, nil
	}
	var first, last int64
	err := one(ctx, conn, fmt.Sprintf("SELECT coalesce(min(epoch_ms(%s)), 0), coalesce(max(epoch_ms(%s)), 0) FROM (%s)", b.since,
		b.at, b.query(s)), &first, &last)
	s.Since, s.Until = time.UnixMilli(first), time.UnixMilli(last)
	if last > 0 { // else there is nothing that has calls beside it
		s.Since, s.Until = s.Since.AddDate(0, 0, -12), s.Until.AddDate(0, 0, 9)
	}
	return s, err
}
