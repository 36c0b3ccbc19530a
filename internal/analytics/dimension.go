package analytics

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/analytics/stored"
	"callhouse/internal/analytics/value"
	"callhouse/internal/resource"
)

// dimension is what a report can be grouped and narrowed by.
type dimension struct {
	expr string // over the view calls, and over the relation tallied
	// columns are those of tallied that expr needs. Where made is not empty, expr is the
	// one column, and made says how it is made of the stored columns of calls.
	columns []string
	made    string
	// of is the resource that tells the key; nil: calls tell it themselves.
	of *resource.Resource
	// natural: the keys have an order of their own; otherwise the largest
	// group comes first.
	natural bool
	// known are all values that there are; nil: others may turn up.
	known []string
	// valid says whether a text can be a value; nil: every text can.
	valid func(text string) bool
	// like is a value, for who gave none that can be.
	like string
	// once says that a value is of one period of time alone.
	once bool
	// onDay is the value that all calls of a day have, over day; empty: they may have any.
	onDay string
}

// agentType is the type of a call's agent. What a name means inside, where agents have an
// agent_id as well, must not depend on it.
const agentType = "(SELECT any_value(kinds.kind) FROM (SELECT agent_id AS of_agent, type AS kind FROM stored.agents) " +
	"kinds WHERE kinds.of_agent = agent_id)"

// ownNumber is the column of the organisation's own number in a call: the one that was
// called where the call came in, else the one that was shown, or that it was placed from.
const ownNumber = "own_number"

// Files of earlier versions do not hold it: there, equal texts are one number.
var madeOfNumbers = fmt.Sprintf(
	"coalesce(own_number, CASE WHEN direction_of(direction, call_type) = 'inbound' THEN %s ELSE coalesce(%s, %s) END)",
	ifOwn("to_number"), ifOwn("presentation_number"), ifOwn("from_number"))

// ifOwn returns a number where it is one of the organisation's, and null else.
func ifOwn(number string) string {
	return fmt.Sprintf("CASE WHEN %s IN (SELECT number FROM stored.telephone_numbers) THEN %s END", number, number)
}

// ofCampaign is the column of the campaign that placed a call: as the call itself tells it,
// or else as the lists of campaigns' calls do.
const ofCampaign = "of_campaign"

const madeOfCampaigns = "coalesce(extra ->> '$.campaign_id', (SELECT any_value(placed.campaign) FROM " +
	"(SELECT call_id AS of_call, campaign_id AS campaign FROM stored.campaign_calls) placed WHERE placed.of_call = call_id))"

// dimensions is the one place that says what --by and --where know. Nothing that
// a user types becomes SQL but through it.
func dimensions() map[string]dimension {
	word := func(column string) dimension { return dimension{expr: column, columns: []string{column}} }
	date := func(text string) bool { _, err := time.Parse(time.DateOnly, text); return err == nil }
	month := func(text string) bool { _, err := time.Parse("2006-01", text); return err == nil }
	hour := func(text string) bool {
		n, err := strconv.Atoi(text)
		return err == nil && n >= 0 && n < 24 && strconv.Itoa(n) == text
	}
	return map[string]dimension{
		"agent":                word("agent_id"),
		"agent_type":           {expr: agentType, columns: []string{"agent_id"}, of: resource.Agents},
		"agent_version":        word("agent_version"),
		"call_type":            word("call_type"),
		"direction":            {expr: "direction", columns: []string{"direction"}, known: []string{"inbound", "outbound", "unknown"}},
		"campaign":             {expr: ofCampaign, columns: []string{ofCampaign}, made: madeOfCampaigns, of: resource.CampaignCalls},
		"number":               {expr: ownNumber, columns: []string{ownNumber}, made: madeOfNumbers, of: resource.Numbers},
		"status":               word("status"),
		"disconnection_reason": word("disconnection_reason"),
		"user_sentiment":       word("user_sentiment"),
		"variant_label":        word("variant_label"),
		"outcome":              {expr: "outcome", columns: strings.Fields(ofOutcome), known: outcomes()},
		"outcome_kind":         {expr: "outcome_kind", columns: strings.Fields(ofOutcome)},
		"day": {expr: "local_date", columns: []string{byDate}, natural: true, once: true, valid: date,
			like: "2026-11-20", onDay: "day"},
		"week": {expr: "week", columns: []string{byDate}, natural: true, once: true, valid: date, like: "2026-11-16 (its Monday)",
			onDay: "week_of(day)"},
		"month": {expr: "local_month", columns: []string{byDate}, natural: true, once: true, valid: month, like: "2026-11",
			onDay: "month_of(day)"},
		"hour":    {expr: "local_hour", columns: []string{byHour}, natural: true, valid: hour, like: "9 (0 to 23)"},
		"weekday": {expr: "weekday", columns: []string{byDate}, natural: true, known: value.Weekdays[:], onDay: "weekday_of(day)"},
	}
}

// outcomes are those of calls, as macros.sql defines them.
func outcomes() []string {
	return []string{"not_connected", "voicemail", "failed", "abandoned", "transferred", "completed", "unknown"}
}

// shortNames are other spellings that are understood.
func shortNames() map[string]string {
	return map[string]string{"version": "agent_version", "variant": "variant_label"}
}

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

// dimensionOf returns what a name asks for. n numbers the dimensions of a
// question, so that two of documents have two columns.
func dimensionOf(name string, n int) (dimension, error) {
	if long, ok := shortNames()[name]; ok {
		name = long
	}
	if d, ok := dimensions()[name]; ok {
		return d, nil
	}
	if doc, key, ok := strings.Cut(name, "."); ok && key != "" && slices.Contains(documents(), doc) {
		column := fmt.Sprint("in_document_", n)
		return dimension{expr: column, columns: []string{column},
			made: "document_value(" + doc + ", " + stored.Quote(pointer(key)) + ")"}, nil
	}
	return dimension{}, unknown("dimension", name, Dimensions())
}

// inCalls returns how the view calls has the dimension.
func (d dimension) inCalls() string {
	if d.made != "" {
		return d.made
	}
	return d.expr
}

// GroupError says that a question cannot be grouped or narrowed so.
type GroupError struct{ What, Hint string }

func (e *GroupError) Error() string { return e.What }

// ByNames returns the one or two dimensions of Params.By. A comma inside the key
// of a document belongs to it, unless a dimension's name follows.
func ByNames(by string) []string {
	if by == "" {
		return nil
	}
	var out []string
	for part := range strings.SplitSeq(by, ",") {
		_, err := dimensionOf(part, 0)
		if last := len(out) - 1; last >= 0 && err != nil && strings.Contains(out[last], ".") {
			out[last] += "," + part
			continue
		}
		out = append(out, part)
	}
	return out
}

// keysOf returns the dimensions that by names: none for one group of all.
func keysOf(by string) (keys []dimension, err error) {
	names := ByNames(by)
	if len(names) > 2 {
		return nil, &GroupError{"at most two groups are possible, got " + strconv.Itoa(len(names)),
			"select by the other dimensions with --where NAME=VALUE"}
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, &GroupError{"the group " + name + " is repeated", "use two different dimensions"}
		}
		d, err := dimensionOf(name, i)
		if err != nil {
			return nil, err
		}
		keys = append(keys, d)
	}
	return keys, nil
}

// keyExpr returns the key of a group, each dimension as of says.
func keyExpr(keys []dimension, of func(dimension) string) string {
	switch len(keys) {
	case 0:
		return "CAST(NULL AS VARCHAR)"
	case 1:
		return of(keys[0])
	}
	return fmt.Sprintf("struct_pack(first := %s, second := %s)", of(keys[0]), of(keys[1]))
}

// couldHave returns the statement that makes the macro could_have of the groups.
func couldHave(keys []dimension) string {
	condition := "true"
	for i, d := range keys {
		key := "key"
		if len(keys) == 2 {
			key = []string{"key.first", "key.second"}[i]
		}
		if d.onDay != "" {
			condition += " AND " + key + " = " + d.onDay
		}
	}
	return "CREATE OR REPLACE TEMP MACRO could_have(key, day) AS " + condition + ";\n"
}

// filter narrows the calls to those that have one of the values.
type filter struct {
	dimension
	name   string
	values []string
}

// filtersOf reads conditions, as in call_type=outbound. Several of one dimension
// are alternatives.
func filtersOf(where []string) (out []filter, err error) {
	for _, text := range where {
		name, v, ok := strings.Cut(text, "=")
		if !ok {
			return nil, &GroupError{fmt.Sprintf("the condition %q has no value", text),
				"write NAME=VALUE, e.g. call_type=outbound; an empty VALUE selects calls without a value"}
		}
		d, err := dimensionOf(name, 2+len(out))
		if err != nil {
			return nil, err
		}
		if d.known != nil && v != "" && !slices.Contains(d.known, v) {
			return nil, unknown(name, v, d.known)
		}
		if d.valid != nil && v != "" && !d.valid(v) {
			return nil, &GroupError{fmt.Sprintf("invalid %s %q", name, v), "for example " + d.like}
		}
		at := slices.IndexFunc(out, func(f filter) bool { return f.name == name })
		if at < 0 {
			out, at = append(out, filter{dimension: d, name: name}), len(out)
		}
		out[at].values = append(out[at].values, v)
	}
	return out, nil
}

// Only returns p with a condition on a dimension in the place of those that it has on it. An
// empty value stands for none.
func (p Params) Only(name, v string) Params {
	p.Where = slices.DeleteFunc(slices.Clone(p.Where), func(c string) bool {
		of, _, _ := strings.Cut(c, "=")
		return of == name || shortNames()[of] == name
	})
	p.Where = append(p.Where, name+"="+v)
	return p
}

// where returns the condition, of the dimension as expr has it. An empty value
// stands for none.
func (f filter) where(expr string) string {
	text := expr
	if f.natural {
		text = "CAST(" + expr + " AS VARCHAR)"
	}
	var terms []string
	for _, v := range f.values {
		if v == "" {
			terms = append(terms, expr+" IS NULL")
			if f.natural {
				continue
			}
		}
		terms = append(terms, text+" = "+stored.Quote(v))
	}
	return "(" + strings.Join(terms, " OR ") + ")"
}

// pointer returns the JSON pointer (RFC 6901) to a key of an object; unlike a
// path it can spell every key.
func pointer(key string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
