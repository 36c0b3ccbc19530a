package analytics

import (
	"context"
	"fmt"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/question"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/words"
)

// Unmatched is a value of a condition that matches no call in the warehouse.
type Unmatched struct {
	Dimension, Value string
	Nearest          string // the most similar value of any call; may be empty
}

func (u Unmatched) String() string {
	text := fmt.Sprintf("no call has %s %q", u.Dimension, u.Value)
	if u.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", u.Nearest)
	}
	return text
}

// maxValues is the maximum number of values compared to find the most similar.
const maxValues = 10_000

// unmatched returns the values of conditions that match no call in any period, most likely because they are misspelt, except
// of dimensions whose values or names are checked elsewhere.
func unmatched(ctx context.Context, conn *duck.Conn, filters []question.Filter) (out []Unmatched, err error) {
	for _, f := range filters {
		if !f.Open() {
			continue
		}
		for _, v := range f.Values {
			only := question.Filter{Dimension: f.Dimension, Values: []string{v}}
			found, err := conn.Column(ctx, "SELECT '' FROM calls WHERE "+only.Where(f.InCalls())+" LIMIT 1")
			if err != nil {
				return nil, fmt.Errorf("search for %s: %w", f.Name, err)
			}
			if len(found) > 0 || v == "" {
				continue
			}
			known, err := conn.Column(ctx, fmt.Sprintf("SELECT DISTINCT %s AS v FROM calls WHERE v IS NOT NULL ORDER BY v LIMIT %d",
				f.InCalls(), maxValues))
			if err != nil {
				return nil, fmt.Errorf("search for values of %s: %w", f.Name, err)
			}
			out = append(out, Unmatched{f.Name, v, words.Nearest(v, known)})
		}
	}
	return out, nil
}

// maxOffered is the maximum number of completions.
const maxOffered = 200

// Values returns the values of a dimension that begin with a text, most frequent first: names of
// agents and campaigns, or ids if they have no name.
func (w *Warehouse) Values(ctx context.Context, dimension, begin string) ([]string, error) {
	filters, err := question.Filters([]string{dimension + "="})
	if err != nil {
		return nil, err
	}
	conn, err := w.Conn(ctx, schema.Calls.Name, resource.Agents.Name, resource.Campaigns.Name, resource.CampaignCalls.Name)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	value := "CAST(" + filters[0].InCalls() + " AS VARCHAR)"
	if of := named[dimension]; of != nil && len(w.Snapshot().Manifest.FilesOf(of.Name)) > 0 {
		value = fmt.Sprintf("coalesce((SELECT any_value(n.name) FROM (SELECT CAST(%s AS VARCHAR) AS id, name FROM stored.%s) n "+
			"WHERE n.id = %s), %s)", of.Key[0], of.Name, value, value)
	}
	return conn.Column(ctx, fmt.Sprintf("SELECT v FROM (SELECT %s AS v FROM calls) WHERE starts_with(v, ?) "+
		"GROUP BY v ORDER BY count(*) DESC, v LIMIT %d", value, maxOffered), begin)
}

// named maps the dimensions whose values have names to their resources.
var named = map[string]*resource.Resource{"agent": resource.Agents, "campaign": resource.Campaigns}
