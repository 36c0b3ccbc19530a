package format

import (
	"context"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
)

// Compared returns a comparison for people: one line for each figure or, if there is a single one, for each row: before, now,
// change; no verdict if the period before is sparse. A figure is a column X of src with previous_X and possibly change_X,
// change_low_X and change_high_X. main is the heading of a single figure.
func Compared(src Source, sparse bool, loc *time.Location) (of Source, main string) {
	l := &lines{Source: src, sparse: sparse, loc: loc}
	columns := src.Columns()
	find := func(name string) int {
		return slices.IndexFunc(columns, func(c value.Column) bool { return c.Name == name })
	}
	for i, col := range columns {
		f := figure{i, find(value.PreviousOf + col.Name), find(value.ChangeOf + col.Name), find(value.ChangeLowOf + col.Name),
			find(value.ChangeHighOf + col.Name)}
		switch {
		case f.previous >= 0 && f.change < 0 && col.Kind.Numeric(): // a bound of a figure; the change has its own bounds
		case f.previous >= 0:
			l.figures = append(l.figures, f)
		case !strings.HasPrefix(col.Name, value.PreviousOf) && !strings.HasPrefix(col.Name, value.ChangeOf):
			l.keys = append(l.keys, i)
		}
	}
	if len(l.figures) == 1 {
		main = heading(columns[l.figures[0].now])
	}
	return l, main
}

// lines turns each row of a comparison into lines for people.
type lines struct {
	Source
	sparse  bool
	loc     *time.Location
	keys    []int
	figures []figure
	row     []value.Value
	left    []figure // of row
}

// figure holds the column indexes of a figure; -1: none.
type figure struct{ now, previous, change, low, high int }

// Columns returns the keys and the columns of a figure.
func (l *lines) Columns() []value.Column {
	var out []value.Column
	for _, k := range l.keys {
		col := l.Source.Columns()[k]
		col.Key = true
		out = append(out, col)
	}
	if len(l.figures) != 1 {
		out = append(out, value.Column{Name: "figure", Kind: value.Text, Wrap: true})
	}
	for _, name := range []string{"before", "now", "change"} {
		out = append(out, value.Column{Name: name, Kind: value.Float}) // strings, aligned like numbers
	}
	return append(out, value.Column{Name: "verdict", Kind: value.Text}, value.Column{Name: "95 % bounds", Kind: value.Float})
}

// Values returns the line of the next figure.
func (l *lines) Values(ctx context.Context) ([]value.Value, error) {
	for len(l.left) == 0 {
		row, err := l.Source.Values(ctx)
		if err != nil {
			return nil, err
		}
		l.row = value.KeepAll(row)
		for _, f := range l.figures {
			if len(l.figures) == 1 || row[f.now].Kind != value.Null || row[f.previous].Kind != value.Null {
				l.left = append(l.left, f)
			}
		}
	}
	columns := l.Source.Columns()
	f := l.left[0]
	l.left = l.left[1:]
	var out []value.Value
	for _, k := range l.keys {
		out = append(out, l.row[k])
	}
	var change, judged, bounds string
	if f.change >= 0 {
		change = l.signed(f.change)
	}
	if f.low >= 0 && l.row[f.low].Kind != value.Null && !l.sparse {
		judged, bounds = verdict(l.row[f.low], l.row[f.high]), l.signed(f.low)+" to "+l.signed(f.high)
	}
	texts := []string{heading(columns[f.now]), l.cell(f.previous), l.cell(f.now), change, judged, bounds}
	if len(l.figures) == 1 {
		texts = texts[1:] // the heading has its name
	}
	for _, text := range texts {
		out = append(out, value.Of(text))
	}
	return out, nil
}

func (l *lines) cell(i int) string { return value.Cell(l.row[i], l.Source.Columns()[i], l.loc) }

// signed formats a difference with its sign.
func (l *lines) signed(i int) string {
	text := l.cell(i)
	if l.row[i].Sign() > 0 && l.Source.Columns()[i].Unit != value.Points {
		return "+" + text
	}
	return text
}

// verdict reports whether the bounds of a change exclude 0.
func verdict(low, high value.Value) string {
	switch {
	case low.Sign() > 0:
		return "more"
	case high.Sign() < 0:
		return "less"
	}
	return "unclear"
}
