package format

import (
	"context"
	"errors"
	"io"
	"math/big"
	"slices"
	"strings"

	"callhouse/internal/analytics/value"
)

// comparison is a source whose rows people see as lines, one for each figure: what
// it was, is, and how it changed. As columns all that is too wide for any terminal.
type comparison struct {
	Source
	o       Options
	keys    []int
	figures []figure
	row     []any
	left    []figure // of row
}

// figure is where a figure and what belongs to it stand; -1: nowhere.
type figure struct{ now, previous, change, low, high int }

// compared returns src as people see it where it compares: where a column X is
// followed by previous_X, and perhaps by change_X, change_low_X and change_high_X.
func compared(src Source, o Options) Source {
	c := &comparison{Source: src, o: o}
	columns := src.Columns()
	find := func(name string) int {
		return slices.IndexFunc(columns, func(c value.Column) bool { return c.Name == name })
	}
	for i, col := range columns {
		f := figure{i, find("previous_" + col.Name), find("change_" + col.Name), find("change_low_" + col.Name), find("change_high_" + col.Name)}
		switch {
		case f.previous >= 0 && f.change < 0 && col.Kind.Numeric(): // a bound: the change has its own
		case f.previous >= 0:
			c.figures = append(c.figures, f)
		case !strings.HasPrefix(col.Name, "previous_") && !strings.HasPrefix(col.Name, "change_"):
			c.keys = append(c.keys, i)
		}
	}
	if len(c.figures) == 0 {
		return src
	}
	return c
}

// Columns are the keys, and what is told of each figure.
func (c *comparison) Columns() []value.Column {
	var out []value.Column
	for _, k := range c.keys {
		col := c.Source.Columns()[k]
		col.Key = true
		out = append(out, col)
	}
	out = append(out, value.Column{Name: "figure", Kind: value.Text, Wrap: true})
	for _, name := range []string{"before", "now", "change"} {
		out = append(out, value.Column{Name: name, Kind: value.Float}) // texts, written as numbers are
	}
	return append(out, value.Column{Name: "verdict", Kind: value.Text}, value.Column{Name: "95 % bounds", Kind: value.Float})
}

// Next returns the line of the next figure.
func (c *comparison) Next(ctx context.Context) ([]any, error) {
	for len(c.left) == 0 {
		row, err := c.Source.Next(ctx)
		if err != nil {
			return nil, err
		}
		c.row = append(c.row[:0], row...)
		for _, f := range c.figures {
			if row[f.now] != nil || row[f.previous] != nil {
				c.left = append(c.left, f)
			}
		}
	}
	columns := c.Source.Columns()
	f := c.left[0]
	c.left = c.left[1:]
	var out []any
	for _, k := range c.keys {
		out = append(out, c.row[k])
	}
	out = append(out, heading(columns[f.now]), c.cell(f.previous), c.cell(f.now), "", "", "")
	if f.change >= 0 {
		out[len(out)-3] = c.signed(f.change)
	}
	if f.low >= 0 && c.row[f.low] != nil {
		out[len(out)-2] = verdict(c.row[f.low], c.row[f.high])
		out[len(out)-1] = c.signed(f.low) + " to " + c.signed(f.high)
	}
	return out, nil
}

// Skip drops the lines of a row, or what is left of them.
func (c *comparison) Skip(ctx context.Context) (int, error) {
	if _, err := c.Next(ctx); errors.Is(err, io.EOF) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	n := 1 + len(c.left)
	c.left = nil
	return n, nil
}

func (c *comparison) cell(i int) string { return cell(c.row[i], c.Source.Columns()[i], c.o.Location) }

// signed is the cell of a difference, with the sign of a plus.
func (c *comparison) signed(i int) string {
	text := c.cell(i)
	if sign(c.row[i]) > 0 && c.Source.Columns()[i].Unit != value.Points {
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
		return big.NewFloat(v).Sign()
	}
	return 0
}

// verdict says what the bounds of a change leave: that it is one, or perhaps none.
func verdict(low, high any) string {
	switch {
	case sign(low) > 0:
		return "more"
	case sign(high) < 0:
		return "less"
	}
	return "unclear"
}
