package plan

import (
	"time"

	"callhouse/internal/analytics/question"
	"callhouse/internal/schema"
)

// listed is the number of calls in a part of a list. Sorting all calls at once would take memory for
// each of them.
const listed = 1 << 18

// Parts returns the periods, newest first, whose lists make up the list of all calls that a question
// asks for; nil: it is answered at once.
func (p *Planner) Parts(q question.Question) (out []question.Params) {
	if of, _ := q.Report.Pages(); of == "" || q.Most > 0 || q.Skip > 0 || q.Sort != "" || q.Top > 0 {
		return nil
	}
	calls, rest, all := int64(0), q.Params, narrowed(q)
	for _, f := range p.snap.Manifest.NewestFirst(schema.Calls.Name) {
		if f.MinStart == nil || misses(all, f) {
			continue
		}
		steps := max(f.Rows/listed, 1) // of equal time
		for i := steps - 1; i >= 0; i-- {
			calls += f.Rows / steps
			since := time.UnixMilli(*f.MinStart + i*((*f.MaxStart-*f.MinStart)/steps))
			if calls >= listed && since.After(all.Since) && (rest.Until.IsZero() || since.Before(rest.Until)) {
				part := rest
				part.Since = since
				out, rest.Until, calls = append(out, part), since, 0
			}
		}
	}
	if out == nil {
		return nil
	}
	out = append(out, rest)
	if !all.Bounded() {
		rest.Until, rest.Undated = time.Time{}, true
		out = append(out, rest)
	}
	return out
}
