package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/sqltext"
)

// relations returns the WITH list of the relations that a report reads. They are not views of the connection,
// because DuckDB would plan those twice.
func (p *Planner) relations(q question.Question) string {
	f := q.Report
	var with []string
	if question.OfChanges(f) {
		with = append(with, question.SelectedChanges+" AS MATERIALIZED ("+p.changes(q.Seen)+")")
	}
	q = p.withHistory(q)
	key, chosen := keyExpr(q.Keys, question.Dimension.InCalls), ofCalls(q)
	if slices.Contains(f.Reads, "selected") || slices.ContainsFunc(f.Reads, func(r string) bool { return joins(r, q) }) {
		with = append(with, "selected AS NOT MATERIALIZED (SELECT "+key+" AS key, calls.* FROM calls WHERE "+chosen+")")
	}
	for _, r := range f.Reads {
		_, isRelated := question.Related[r]
		switch {
		case isRelated:
			with = append(with, related(r, q))
		case r == "selected_campaign_calls":
			with = append(with, fmt.Sprintf("%s AS NOT MATERIALIZED (SELECT %s AS %s, calls.* FROM calls WHERE %s)", r,
				question.Campaign.Made, question.Campaign.Expr, chosen))
		case r == "surrounding":
			with = append(with, fmt.Sprintf("surrounding AS NOT MATERIALIZED (SELECT %s AS key, coalesce(%s, false) AS "+
				"is_selected, calls.* FROM calls WHERE %s)", key, chosen, bounds(wider(narrowed(q)), "start_at")))
		case r == "produced":
			with = append(with, "produced AS MATERIALIZED ("+produced+")")
		case r == "counted_calls": // DuckDB materializes it if the report reads it twice
			with = append(with, "counted_calls AS ("+p.counted(f.Counts, q)+")")
		}
	}
	return "WITH " + strings.Join(with, ",\n")
}

// changes returns the SELECT of the changes that q selects: those that runs saw, except first listings and records that were
// only completed, and the publications since the first call, which are not shown again as new versions.
func (p *Planner) changes(q question.Params) string {
	first, _ := p.snap.Manifest.Starts()
	return fmt.Sprintf(`SELECT * FROM (
SELECT resource, key, seen_at, since_at, run_id, kind, fields, before, after, agent_id
FROM (SELECT *, CASE WHEN resource IN ('agents', 'agent_versions') THEN url_decode(split_part(key, '/', 1)) END AS agent_id,
    CASE resource WHEN 'agent_versions' THEN url_decode(split_part(key, '/', 2)) END AS version FROM changes) c
WHERE since_at IS NOT NULL AND kind <> 'completed' AND resource NOT IN ('customers', 'incidents')
    AND (kind <> 'created' OR NOT EXISTS (FROM agent_versions v
        WHERE v.agent_id = c.agent_id AND v.version = c.version AND v.created_at >= %[1]s))
UNION ALL
SELECT 'agent_versions', url_encode(agent_id) || '/' || url_encode(version), created_at, created_at, NULL, 'published',
    NULL, NULL, NULL, agent_id
FROM agent_versions WHERE created_at >= %[1]s)
WHERE %[2]s`, sqltext.Instant(time.UnixMilli(first)), bounds(q, "seen_at")+ofAgent(q))
}

// withHistory returns q with the start of the calls that a report reads, which may be some days before Since.
func (p *Planner) withHistory(q question.Question) question.Question {
	if !q.Since.IsZero() && q.Report.History > 0 {
		q.Seen = q.Params
		q.Since = question.DaysBack(q.Since.In(p.loc), q.Report.History)
	}
	return q
}
