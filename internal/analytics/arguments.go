package analytics

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/holiday"
	"callhouse/internal/analytics/stored"
	"callhouse/internal/analytics/value"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// setArguments gives the connection what reports with arguments ask for.
func setArguments(ctx context.Context, conn *duck.Conn, p Params) error {
	words := make([]string, len(p.Words))
	for i, w := range p.Words {
		words[i] = stored.Quote(w)
	}
	text := "SET VARIABLE call_id = " + stored.Quote(p.Call) + ";\nSET VARIABLE words = CAST([" + strings.Join(words, ", ") +
		"] AS VARCHAR[]);\n" +
		"SET VARIABLE longest_word = " + stored.Quote(anyCase(p.Words))
	if err := conn.Exec(ctx, text); err != nil {
		return fmt.Errorf("set the arguments: %w", err)
	}
	return nil
}

// flagVariables returns the statements that tell the flags which only some reports
// have: the field that means a success, the step of time, and which of the rows.
func flagVariables(p Params) (string, error) {
	name, v := "NULL", "NULL"
	if p.Field != "" {
		before, after, ok := strings.Cut(p.Field, "=")
		if !ok || before == "" {
			return "", &GroupError{fmt.Sprintf("the field %q has no value", p.Field), "write NAME=VALUE, e.g. resolved=true"}
		}
		name, v = stored.Quote(before), stored.Quote(after)
	}
	every := cmp.Or(p.Every, "day")
	if !slices.Contains([]string{"day", "hour", "minute"}, every) {
		return "", &GroupError{fmt.Sprintf("unknown step %q", every), "use --every day, hour or minute"}
	}
	most := "NULL"
	if p.Most > 0 {
		most = strconv.FormatInt(p.Most, 10)
	}
	return fmt.Sprintf("SET VARIABLE field_name = CAST(%s AS VARCHAR);\nSET VARIABLE field_value = CAST(%s AS "+
		"VARCHAR);\nSET VARIABLE every = %s;\n"+
		"SET VARIABLE most = CAST(%s AS BIGINT);\nSET VARIABLE skip = %d;\n", name, v, stored.Quote(every), most, p.Skip), nil
}

// hasField returns an *UnknownError where no call has the field that p names.
func hasField(ctx context.Context, conn *duck.Conn, p Params) error {
	name, _, _ := strings.Cut(p.Field, "=")
	found, err := conn.Column(ctx, "SELECT name FROM analysis_items WHERE name = ? LIMIT 1", name)
	if err != nil {
		return fmt.Errorf("find the field: %w", err)
	}
	if len(found) > 0 {
		return nil
	}
	known, err := conn.Column(ctx, `SELECT name FROM analysis_items WHERE name IS NOT NULL
		GROUP BY name ORDER BY count(*) DESC, name LIMIT 50`)
	if err != nil {
		return fmt.Errorf("find the field: %w", err)
	}
	return unknown("extracted field", name, known)
}

// anyCase returns a pattern that the longest of the words matches in any case.
// Patterns and lower() agree on which letters are alike, but for the dotted
// capital I of Turkish, whose small letter is i.
func anyCase(words []string) string {
	var longest string
	for _, w := range words {
		if len(w) > len(longest) {
			longest = w
		}
	}
	var b strings.Builder
	for _, r := range longest {
		switch r {
		case 'i', 'I', 'İ':
			b.WriteString("[iİ]")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// FindCall returns the id of the one call whose id is prefix or begins with it,
// an *UnknownError, or an *AmbiguousError.
func (w *Warehouse) FindCall(ctx context.Context, prefix string) (string, error) {
	if err := w.Rights().May(schema.Calls.Name); err != nil {
		return "", err
	}
	conn, err := w.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	// The whole id first: the files can tell where it is without being read.
	for _, text := range []string{
		"SELECT call_id FROM calls WHERE call_id = ?",
		"SELECT call_id FROM calls WHERE starts_with(call_id, ?) ORDER BY call_id LIMIT 6",
	} {
		ids, err := conn.Column(ctx, text, prefix)
		switch {
		case err != nil:
			return "", fmt.Errorf("find the call: %w", err)
		case prefix == "":
		case len(ids) == 1:
			return ids[0], nil
		case len(ids) > 1:
			return "", &AmbiguousError{What: "call", Text: prefix, Fits: FitsID, IDs: ids}
		}
	}
	return "", &UnknownError{What: "call", Name: prefix}
}

// wholeDays returns, as literals of SQL, the first local day of which p leaves
// out no call, and the day after the last that is listed whole; NULL: no bound.
func (w *Warehouse) wholeDays(p Params) (from, until string) {
	from, until = "CAST(NULL AS DATE)", "CAST(NULL AS DATE)"
	day := func(t time.Time, after bool) string {
		t = t.In(w.Location())
		y, m, d := t.Date()
		if midnight := time.Date(y, m, d, 0, 0, 0, 0, w.Location()); after && t.After(midnight) {
			d++
		}
		return "DATE " + stored.Quote(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	if !p.Since.IsZero() {
		from = day(p.Since, true)
	}
	end := p.Until
	if to := w.Snapshot().Manifest.ListedTo(); !to.IsZero() && (end.IsZero() || to.Before(end)) {
		end = to
	}
	// Beyond what a date can say nothing is cut off.
	if y := end.Year(); !end.IsZero() && y > 0 && y < 10_000 {
		until = day(end, false)
	}
	return from, until
}

// listedUntil returns, in ms, up to where all calls are known that have started:
// where the list was read to or, if it never was, the last call.
func (w *Warehouse) listedUntil() int64 {
	if to := w.Snapshot().Manifest.ListedTo(); !to.IsZero() {
		return to.UnixMilli()
	}
	_, last := w.Snapshot().Manifest.Starts()
	return last
}

// Card tells what the call is: names and values, for people.
func (w *Warehouse) Card(ctx context.Context, id string) (*Rows, error) {
	rows, err := w.SQL(ctx, `SELECT call_id AS call, agent_id AS agent, agent_version AS version, variant_label AS variant,
		start_at AS started, duration_ms AS duration, call_type AS type, status, disconnection_reason AS ended_for,
		from_number AS "from", to_number AS "to", user_sentiment AS sentiment, total_cost AS cost, summary,
		CASE WHEN transcript_state <> 'present' THEN transcript_state END AS transcript
		FROM calls WHERE call_id = ?`, id)
	if err != nil {
		return nil, fmt.Errorf("describe the call: %w", err)
	}
	for i, c := range rows.columns {
		switch c.Name {
		case "duration":
			rows.columns[i].Unit = value.Millis
		case "cost":
			rows.columns[i].Unit = value.Money
		}
	}
	w.nameCurrency(rows.columns)
	return rows, nil
}

// holidaysOf returns, as a literal of SQL, the public holidays of the country that is set, if a
// report judges days.
func (w *Warehouse) holidaysOf(f *sqlfiles.File) string {
	if w.country == "" || history(f) == 0 {
		return "CAST([] AS DATE[])"
	}
	first, last := w.Snapshot().Manifest.Starts()
	var days []string
	for _, day := range holiday.In(w.country, max(time.UnixMilli(first).Year()-1, 1970), min(time.UnixMilli(last).Year()+1, 2200)) {
		days = append(days, "DATE "+stored.Quote(day.Format(time.DateOnly)))
	}
	return "CAST([" + strings.Join(days, ", ") + "] AS DATE[])"
}
