package question

import (
	"time"

	sqlfiles "callhouse/sql"
)

// Beside is what was seen of the organisation in the time that is asked for. A report of
// it has calls beside it: those of that time, and of some weeks before and days after.
type Beside struct {
	Name      string // of the relation
	Rows      string // its SELECT
	Since, At string // between these two it came to be
	OfAgents  bool   // the column agent_id is whose it is
	are       string // what --since and --until choose, in words
}

// besides are all of these.
var besides = []Beside{
	// What was there when its list was first read is not new, nor is what was only looked at more closely.
	{Name: "selected_changes", are: "changes seen",
		Rows: `SELECT *, CASE WHEN resource IN ('agents', 'agent_versions') THEN url_decode(split_part(key, '/', 1)) END AS agent_id
FROM changes
WHERE since_at IS NOT NULL AND kind <> 'completed' AND resource NOT IN ('customers', 'incidents')`,
		Since: "since_at", At: "seen_at", OfAgents: true},
	{Name: "selected_incidents", are: "incidents raised", Rows: "SELECT * FROM incidents", Since: "created_at", At: "created_at"},
}

// BesideOf returns what a report reads of that kind.
func BesideOf(f *sqlfiles.File) (Beside, bool) {
	for _, name := range f.Reads {
		for _, b := range besides {
			if b.Name == name {
				return b, true
			}
		}
	}
	return Beside{}, false
}

// Chosen describes what the bounds of a report's time choose, and whose agent it asks for.
func Chosen(f *sqlfiles.File) (inTime, ofAgent string) {
	b, ok := BesideOf(f)
	switch {
	case !ok:
		return "calls that start", "calls"
	case b.OfAgents:
		return b.are, "changes"
	}
	return b.are, "calls"
}

// Around returns q about the calls beside what was seen from the first to the last instant, in
// ms; 0: nothing was seen, which has no calls beside it.
func (q Question) Around(first, last int64) Question {
	q.Seen = q.Params
	q.Since, q.Until = time.UnixMilli(first), time.UnixMilli(last)
	if last > 0 {
		q.Since, q.Until = q.Since.AddDate(0, 0, -12), q.Until.AddDate(0, 0, 9)
	}
	return q
}
