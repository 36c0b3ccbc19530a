package format

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/human"
	"callhouse/internal/analytics/value"
)

// comparison is a source with the columns of a comparison.
type comparison struct{ Source }

// Compared returns src so that tables show a line for each figure (before, now, change), since its
// columns are too wide for any terminal. A figure is a column X with previous_X, and possibly
// change_X, change_low_X and change_high_X. Other formats are not affected.
func Compared(src Source) Source { return comparison{src} }

// lines is a comparison as lines for people.
type lines struct {
	Source
	loc     *time.Location
	keys    []int
	figures []figure
	row     []any
	left    []figure // of row
}

// figure holds the column indexes of a figure; -1: none.
type figure struct{ now, previous, change, low, high int }

func (c comparison) lines(loc *time.Location) Source {
	l := &lines{Source: c.Source, loc: loc}
	columns := c.Columns()
	find := func(name string) int {
		return slices.IndexFunc(columns, func(c value.Column) bool { return c.Name == name })
	}
	for i, col := range columns {
		f := figure{i, find(value.PreviousOf + col.Name), find(value.ChangeOf + col.Name), find(value.ChangeLowOf + col.Name),
			find(value.ChangeHighOf + col.Name)}
		switch {
		case f.previous >= 0 && f.change < 0 && col.Kind.Numeric(): // a bound; the change has its own
		case f.previous >= 0:
			l.figures = append(l.figures, f)
		case !strings.HasPrefix(col.Name, value.PreviousOf) && !strings.HasPrefix(col.Name, value.ChangeOf):
			l.keys = append(l.keys, i)
		}
	}
	return l
}

// Columns returns the keys and the columns of a figure.
func (l *lines) Columns() []value.Column {
	var out []value.Column
	for _, k := range l.keys {
		col := l.Source.Columns()[k]
		col.Key = true
		out = append(out, col)
	}
	out = append(out, value.Column{Name: "figure", Kind: value.Text, Wrap: true})
	for _, name := range []string{"before", "now", "change"} {
		out = append(out, value.Column{Name: name, Kind: value.Float}) // strings, aligned like numbers
	}
	return append(out, value.Column{Name: "verdict", Kind: value.Text}, value.Column{Name: "95 % bounds", Kind: value.Float})
}

// Next returns the line of the next figure.
func (l *lines) Next(ctx context.Context) ([]any, error) {
	for len(l.left) == 0 {
		row, err := l.Source.Next(ctx)
		if err != nil {
			return nil, err
		}
		l.row = append(l.row[:0], row...)
		for _, f := range l.figures {
			if row[f.now] != nil || row[f.previous] != nil {
				l.left = append(l.left, f)
			}
		}
	}
	columns := l.Source.Columns()
	f := l.left[0]
	l.left = l.left[1:]
	var out []any
	for _, k := range l.keys {
		out = append(out, l.row[k])
	}
	out = append(out, heading(columns[f.now]), l.cell(f.previous), l.cell(f.now), "", "", "")
	if f.change >= 0 {
		out[len(out)-3] = l.signed(f.change)
	}
	if f.low >= 0 && l.row[f.low] != nil {
		out[len(out)-2] = verdict(l.row[f.low], l.row[f.high])
		out[len(out)-1] = l.signed(f.low) + " to " + l.signed(f.high)
	}
	return out, nil
}

// Skip drops the remaining lines of a row.
func (l *lines) Skip(ctx context.Context) (int, error) {
	if _, err := l.Next(ctx); errors.Is(err, io.EOF) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	n := 1 + len(l.left)
	l.left = nil
	return n, nil
}

func (l *lines) cell(i int) string { return human.Cell(l.row[i], l.Source.Columns()[i], l.loc) }

// signed formats a difference with its sign.
func (l *lines) signed(i int) string {
	text := l.cell(i)
	if sign(l.row[i]) > 0 && l.Source.Columns()[i].Unit != value.Points {
		return "+" + text
	}
	return text
}

func sign(v any) int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v).Sign()
	case *big.Int:
		return v.Sign()
	case value.Decimal:
		return v.Units.Sign()
	case float64:
		return cmp.Compare(v, 0)
	}
	return 0
}

// verdict reports whether the bounds of a change exclude 0.
func verdict(low, high any) string {
	switch {
	case sign(low) > 0:
		return "more"
	case sign(high) < 0:
		return "less"
	}
	return "unclear"
}
