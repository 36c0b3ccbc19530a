package question

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"callhouse/internal/analytics/sqltext"
	"callhouse/internal/analytics/value"
	"callhouse/internal/resource"
)

// Dimension is an attribute by which a report can be grouped and narrowed.
type Dimension struct {
	Name string // as typed, in lower case
	Expr string // SQL over the view calls, and over the relation counted_calls
	// Columns are the columns of counted_calls that Expr needs. If Made is set, Expr is the only one, and
	// Made computes it from the stored columns of calls.
	Columns []string
	Made    string
	// Resource holds the key; nil: calls hold it.
	Resource *resource.Resource
	// Natural means that the keys have an order of their own; otherwise the largest group comes first.
	Natural bool
	// OnDay computes from day the value that all calls of a day share; empty: they may differ.
	OnDay string
	known []string                   // all possible values; nil: not known in advance
	valid func(text string) bool     // whether a text can be a value; nil: every text can
	like  string                     // an example of a value, for the hint
	keyOf func(day time.Time) string // the value of a local day, if each is one period
	// inOne returns the first local day of the only period that has a value, and the day after it.
	inOne func(value string) (from, until time.Time)
}

// Grains of local time in counted_calls: a date is enough for days, weeks and months.
const (
	LocalDate = "local_date"
	LocalHour = "local_hour"
)

// The columns of counted_calls from which outcomes are computed.
const (
	OfSpeech  = "transcript_state caller_spoke"
	OfOutcome = "settlement is_started status disconnection_reason short_step " + OfSpeech
)

// agentType is the type of a call's agent. The inner query renames its columns, because agents also have an agent_id.
const agentType = "(SELECT any_value(kinds.kind) FROM (SELECT agent_id AS of_agent, type AS kind FROM stored.agents) " +
	"kinds WHERE kinds.of_agent = agent_id)"

// Campaign is the campaign that placed a call, according to the call itself or, failing that, to
// the lists of campaigns' calls.
var Campaign = madeOf("of_campaign", resource.CampaignCalls,
	"coalesce(extra ->> '$.campaign_id', (SELECT any_value(placed.campaign) FROM "+
		"(SELECT call_id AS of_call, campaign_id AS campaign FROM stored.campaign_calls) placed WHERE placed.of_call = call_id))")

// madeOf returns a dimension over one column that is computed from stored columns.
func madeOf(column string, of *resource.Resource, made string) Dimension {
	return Dimension{Expr: column, Columns: []string{column}, Resource: of, Made: made}
}

// dimensions returns everything that --by and --where accept. User input becomes SQL only through it.
func dimensions() map[string]Dimension {
	word := func(column string) Dimension { return Dimension{Expr: column, Columns: []string{column}} }
	date := func(text string) bool { _, err := time.Parse(time.DateOnly, text); return err == nil }
	month := func(text string) bool { _, err := time.Parse("2006-01", text); return err == nil }
	var hours []string
	for n := range 24 {
		hours = append(hours, strconv.Itoa(n))
	}
	byDate := []string{LocalDate}
	period := func(expr, onDay string, valid func(string) bool, like, layout string, months, days int) Dimension {
		return Dimension{Expr: expr, Columns: byDate, Natural: true, OnDay: onDay, valid: valid, like: like,
			keyOf: func(day time.Time) string {
				if days == 7 {
					day = day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
				}
				return day.Format(layout)
			},
			inOne: func(value string) (from, until time.Time) {
				from, _ = time.Parse(layout, value) // it is valid
				return from, from.AddDate(0, months, days)
			}}
	}
	return map[string]Dimension{
		"agent":                word("agent_id"),
		"agent_type":           {Expr: agentType, Columns: []string{"agent_id"}, Resource: resource.Agents},
		"agent_version":        word("agent_version"),
		"call_type":            word("call_type"),
		"direction":            {Expr: "direction", Columns: []string{"direction"}, known: []string{"inbound", "outbound", "unknown"}},
		"campaign":             Campaign,
		"number":               {Expr: "own_number", Columns: []string{"own_number"}, Resource: resource.Numbers},
		"status":               word("status"),
		"disconnection_reason": word("disconnection_reason"),
		"user_sentiment":       word("user_sentiment"),
		"variant_label":        word("variant_label"),
		"outcome":              {Expr: "outcome", Columns: strings.Fields(OfOutcome), known: outcomes},
		"outcome_kind":         {Expr: "outcome_kind", Columns: strings.Fields(OfOutcome)},
		"day":                  period(LocalDate, "day", date, "2026-11-20", time.DateOnly, 0, 1),
		"week":                 period("week", "week_of(day)", date, "2026-11-16 (its Monday)", time.DateOnly, 0, 7),
		"month":                period("local_month", "month_of(day)", month, "2026-11", "2006-01", 1, 0),
		"hour": {Expr: "local_hour", Columns: []string{LocalHour}, Natural: true, known: hours,
			like: "use 0 to 23, or a range such as 9..11 or 22..2"},
		"weekday": {Expr: "weekday", Columns: byDate, Natural: true, known: value.Weekdays[:], OnDay: "weekday_of(day)",
			like: "use Monday to Sunday, also short (mon), or a range such as mon..fri"},
	}
}

// outcomes are the outcomes of calls, as macros.sql defines them.
var outcomes = []string{"not_connected", "voicemail", "failed", "abandoned", "transferred", "completed", "unknown"}

// shortNames are accepted abbreviations.
var shortNames = map[string]string{"version": "agent_version", "variant": "variant_label"}

// documents are the JSON columns whose keys --by accepts, as in metadata.campaign.
var documents = []string{"metadata", "dynamic_variables"}

// Dimensions returns the names that Params.By accepts, sorted, those with a free key last.
func Dimensions() []string {
	out := slices.Sorted(maps.Keys(dimensions()))
	for _, d := range documents {
		out = append(out, d+".KEY")
	}
	return out
}

// dimensionOf returns the dimension called name. n numbers the dimensions of a question, so that
// two keys of documents get different columns.
func dimensionOf(name string, n int) (Dimension, error) {
	name = canonical(name)
	long := name
	if other, ok := shortNames[name]; ok {
		long = other
	}
	d, ok := dimensions()[long]
	if doc, key, of := strings.Cut(name, "."); !ok && of && key != "" && slices.Contains(documents, doc) {
		made := "document_value(" + doc + ", " + sqltext.Quote(pointer(key)) + ")"
		if apart := norm.NFD.String(key); apart != key { // calls may spell the key either way
			made = "coalesce(" + made + ", document_value(" + doc + ", " + sqltext.Quote(pointer(apart)) + "))"
		}
		d, ok = madeOf(fmt.Sprint("in_document_", n), nil, made), true
	}
	if !ok {
		return d, Unknown("dimension", long, Dimensions())
	}
	d.Name = name
	return d, nil
}

// canonical returns the name of a dimension in lower case, except for the key of a document, and in NFC.
func canonical(name string) string {
	doc, key, of := strings.Cut(norm.NFC.String(name), ".")
	if doc = strings.ToLower(doc); of {
		return doc + "." + key
	}
	return doc
}

// InCalls returns the dimension as SQL over the view calls.
func (d Dimension) InCalls() string { return cmp.Or(d.Made, d.Expr) }

// OfTime reports whether the dimension only depends on the start of a call.
func (d Dimension) OfTime() bool {
	return d.Made == "" && !slices.ContainsFunc(d.Columns, func(c string) bool { return c != LocalDate && c != LocalHour })
}

// ByNames returns the one or two dimensions of Params.By. A comma after the key of a document is
// part of the key, unless a dimension's name follows.
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
		out = append(out, canonical(part))
	}
	return out
}

// keysOf returns the dimensions that by names; none: all calls are one group.
func keysOf(by string) (keys []Dimension, err error) {
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

// pointer returns the JSON pointer (RFC 6901) to a key of an object. Unlike a path, it can express any key.
func pointer(key string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// Filter selects the calls that have one of the values.
type Filter struct {
	Dimension
	Values []string
}

// Named reports whether the values are agents or campaigns, which may be given by name.
func (f Filter) Named() bool { return f.Name == "agent" || f.Name == "campaign" }

// Open reports whether the values may be any text.
func (f Filter) Open() bool { return !f.Natural && f.known == nil && !f.Named() }

// Filters parses conditions, such as call_type=outbound. Conditions on the same dimension are alternatives.
func Filters(where []string) (out []Filter, err error) {
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
		values := []string{norm.NFC.String(v)}
		if d.known != nil && v != "" {
			values = d.named(v)
			switch {
			case values == nil && d.like != "":
				return nil, &GroupError{fmt.Sprintf("unknown %s %q", d.Name, v), d.like}
			case values == nil:
				return nil, Unknown(d.Name, v, d.known)
			}
		}
		if d.valid != nil && v != "" && !d.valid(v) {
			return nil, &GroupError{fmt.Sprintf("invalid %s %q", d.Name, v), "for example " + d.like + "; for a period, use --since and --until"}
		}
		at := slices.IndexFunc(out, func(f Filter) bool { return f.Name == d.Name })
		if at < 0 {
			out, at = append(out, Filter{Dimension: d}), len(out)
		}
		out[at].Values = append(out[at].Values, values...)
	}
	return out, nil
}

// named returns the known values that a text names, in any case: one or, of hours and weekdays, those
// of a range. A range may pass the end of the day or week, as in 22..2 and sat..mon. nil: unknown.
func (d Dimension) named(text string) (out []string) {
	from, to, ok := strings.Cut(text, "..")
	if !ok || !d.Natural {
		from, to = text, text
	}
	first, last := d.find(from), d.find(to)
	if first < 0 || last < 0 {
		return nil
	}
	if last < first {
		last += len(d.known)
	}
	for ; first <= last; first++ {
		out = append(out, d.known[first%len(d.known)])
	}
	return out
}

// find returns the index of a known value. Weekdays may be shortened to two letters, and hours may have two digits.
func (d Dimension) find(text string) int {
	return slices.IndexFunc(d.known, func(known string) bool {
		short := d.Natural && len(text) > 1 && len(text) < len(known) && strings.EqualFold(known[:len(text)], text)
		return short || strings.EqualFold(known, text) || d.Natural && text == "0"+known
	})
}

// Within returns bounds for the starts of the calls that the condition may select, in any time zone;
// false if there are none. Reports use them to skip files.
func (f Filter) Within() (p Params, ok bool) {
	if f.inOne == nil || slices.Contains(f.Values, "") {
		return p, false
	}
	const zones = 24 * time.Hour // no zone is further from UTC
	for i, v := range f.Values {
		from, until := f.inOne(v)
		if from = from.Add(-zones); i == 0 || from.Before(p.Since) {
			p.Since = from
		}
		if until = until.Add(zones); until.After(p.Until) {
			p.Until = until
		}
	}
	return p, true
}

// Where returns the condition as SQL, with the dimension as expr. An empty value matches null. Case and
// the composition of letters do not matter, except for the case of values in documents.
func (f Filter) Where(expr string) string {
	text, null, anyCase := expr, "", f.Open() && f.Made == ""
	if f.Natural {
		text = "CAST(" + expr + " AS VARCHAR)"
	} else if anyCase {
		text = "lower(nfc_normalize(" + expr + "))"
	}
	var values []string
	for _, v := range f.Values {
		if v == "" {
			null = " OR " + expr + " IS NULL"
		}
		if anyCase {
			v = strings.ToLower(v)
		}
		values = append(values, sqltext.Quote(v))
	}
	return "(" + text + " IN (" + strings.Join(values, ", ") + ")" + null + ")"
}
