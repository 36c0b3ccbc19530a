package plan

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"callhouse/internal/analytics/question"
)

var readsSelected = regexp.MustCompile(`\b(FROM|JOIN) selected\b`)

// relations returns the WITH list of the relations that a report reads:
//
//   - selected: the calls that q selects, with their group as key
//   - selected_campaign_calls: the same, with the campaign that placed each call
//   - surrounding: all calls from around the time of the selected ones
//   - what belongs to them; counted_calls; what else was seen in that time
//
// They are not views of the connection because DuckDB would plan those twice.
func (p *Planner) relations(q question.Question) string {
	f := q.Report
	var with []string
	if b, ok := question.BesideOf(f); ok {
		with = append(with, b.As+" AS MATERIALIZED ("+seen(b, q.Seen)+")")
	}
	q.Since = p.historyOf(q)
	key, chosen := keyExpr(q.Keys, question.Dimension.InCalls), ofCalls(q)
	calls := "SELECT " + key + " AS key, calls.* FROM calls WHERE " + chosen
	for _, r := range f.Reads {
		_, isRelated := question.Related[r]
		switch {
		case isRelated:
			with = append(with, p.related(r, q))
		case r == "selected_campaign_calls":
			with = append(with, fmt.Sprintf("%s AS NOT MATERIALIZED (SELECT %s AS %s, calls.* FROM calls WHERE %s)", r,
				question.Campaign.Made, question.Campaign.Expr, chosen))
		case r == "surrounding":
			with = append(with, fmt.Sprintf("surrounding AS NOT MATERIALIZED (SELECT %s AS key, coalesce(%s, false) AS "+
				"is_selected, calls.* FROM calls WHERE %s)", key, chosen, bounds(wider(narrowed(q)), "start_at")))
		case r == "counted_calls":
			kept := "NOT MATERIALIZED" // materialized, it would compute unused columns
			if strings.Count(f.SQL, "FROM counted_calls") > 1 {
				kept = "MATERIALIZED"
			}
			with = append(with, "counted_calls AS "+kept+" ("+p.counted(f.Counts, q)+")")
		}
	}
	list := strings.Join(with, ",\n")
	if !readsSelected.MatchString(f.SQL + "\n" + list) {
		return list
	}
	return strings.Join(append([]string{"selected AS NOT MATERIALIZED (" + calls + ")"}, with...), ",\n")
}

// seen returns the SELECT of other observations in a period: see [question.Beside].
func seen(b question.Beside, p question.Params) string {
	text := "SELECT * FROM (" + b.Rows + ") WHERE " + bounds(p, b.At)
	if b.OfAgents {
		text += ofAgent(p)
	}
	return text
}

// historyOf returns the start of the calls that a report reads, which may be before Since; zero if
// Since is.
func (p *Planner) historyOf(q question.Question) time.Time {
	if q.Since.IsZero() || q.Report.History == 0 {
		return q.Since
	}
	return question.DaysBack(q.Since.In(p.loc), q.Report.History)
}
