package format

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"callhouse/internal/analytics/value"
)

// drawn is a source drawn as a heat map on a terminal.
type drawn struct {
	Source
	columns []string
}

// Drawn returns src such that a terminal shows a heat map. The columns are the hour, the weekday, the
// figure in the cells, the number of calls, for rows without an hour, and those to the right of the map:
// means of the weekdays or, of whole numbers, maxima. Other formats are not affected.
func Drawn(src Source, columns []string) Source { return &drawn{src, columns} }

// shades are the steps of a cell, from few to many.
var shades = []string{"·", "░", "▒", "▓", "█"}

// heat is the map of one group.
type heat struct {
	title    string
	heads    []string
	fields   map[[2]string]float64
	days     map[string]bool
	sides    [24][]float64 // sums of the columns to the right, by hour
	unplaced int64         // calls without a place on the map
}

// writeHeat draws a map for each group, holding one group at a time.
func writeHeat(ctx context.Context, w *bufio.Writer, src *drawn, o Options) (Result, error) {
	columns := src.Columns()
	var at []int
	for _, name := range src.columns {
		at = append(at, slices.IndexFunc(columns, func(c value.Column) bool { return c.Name == name }))
	}
	heads := []string{"calls"}
	for _, i := range at[4:] {
		first, _, _ := strings.Cut(heading(columns[i]), " ")
		heads = append(heads, first[:min(len(first), 5)])
	}
	var h *heat
	r, err := each(ctx, src, func(row []value.Value) error {
		title := ""
		if columns[0].Key {
			title = heading(columns[0]) + ": " + value.Cell(row[0], columns[0], o.Location)
		}
		if h != nil && h.title != title {
			h.draw(w, o.Width)
			_ = w.WriteByte('\n')
			h = nil
		}
		if h == nil {
			h = &heat{title: title, heads: slices.Clone(heads), fields: map[[2]string]float64{}, days: map[string]bool{}}
		}
		h.add(row, at)
		return nil
	})
	if h != nil {
		h.draw(w, o.Width)
		writeLine(w, "calls, minutes of talk and transferred calls: per day; peak: simultaneous calls")
	}
	return r, err
}

func (h *heat) add(row []value.Value, at []int) {
	hour, day := row[at[0]], row[at[1]].String()
	if hour.Kind == value.Null {
		h.unplaced += row[at[3]].Int()
		return
	}
	h.fields[[2]string{hour.String(), day}], h.days[day] = row[at[2]].Float(), true
	side := &h.sides[hour.Int()]
	if *side == nil {
		*side = make([]float64, len(h.heads))
	}
	(*side)[0] += row[at[2]].Float()
	for i, at := range at[4:] {
		if v := row[at]; v.Kind == value.Integer {
			(*side)[i+1] = max((*side)[i+1], float64(v.Int()))
		} else {
			(*side)[i+1] += v.Float()
		}
	}
}

// Hours and weekdays are always shown completely, so that an hour without calls is visible.
func (h *heat) draw(w *bufio.Writer, width int) {
	most, wide := 0.0, 3
	for _, f := range h.fields {
		most, wide = max(most, f), max(wide, widthOf(short(f)))
	}
	var right [24][]string
	room := width - len("00:00 ")
	for i, head := range h.heads {
		widest := len(head)
		for hour, side := range h.sides {
			text := "·"
			if side != nil && i < len(h.heads)-1 {
				text = short(side[i] / float64(len(h.days)))
			} else if side != nil {
				text = short(side[i])
			}
			right[hour], widest = append(right[hour], text), max(widest, widthOf(text))
		}
		h.heads[i] = fmt.Sprintf("%*s", widest, head)
		room -= widest + gap
	}
	cells := min(max(room/len(value.Weekdays)-wide-1-gap, 1), 3) // a field is a number, a space, a bar and a gap
	if h.title != "" {
		writeLine(w, h.title)
	}
	line := "      "
	for _, d := range value.Weekdays {
		line += fmt.Sprintf("%*s%*s", wide, d[:3], 1+cells+gap, "")
	}
	writeLine(w, line+strings.Join(h.heads, "  "))
	for hour, side := range right {
		line := fmt.Sprintf("%02d:00 ", hour)
		for _, d := range value.Weekdays {
			f := h.fields[[2]string{strconv.Itoa(hour), d}]
			line += fmt.Sprintf("%*s %s%*s", wide, short(f), strings.Repeat(shade(f, most), cells), gap, "")
		}
		for i, text := range side {
			line += fmt.Sprintf("%s%s  ", strings.Repeat(" ", len(h.heads[i])-widthOf(text)), text)
		}
		writeLine(w, line)
	}
	if h.unplaced > 0 {
		writeLine(w, value.Thousands(fmt.Sprint(h.unplaced))+" without a start")
	}
}

// short writes a number in at most four characters.
func short(f float64) string {
	switch {
	case f == 0:
		return "·"
	case f < 0.05:
		return "<.1"
	case f < 9.95:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0")
	case f < 999.5:
		return fmt.Sprintf("%.0f", f)
	case f < 9_950:
		return fmt.Sprintf("%.1fk", f/1e3)
	case f < 999_500:
		return fmt.Sprintf("%.0fk", f/1e3)
	case f < 9_950_000:
		return fmt.Sprintf("%.1fM", f/1e6)
	}
	return fmt.Sprintf("%.0fM", f/1e6)
}

// shade returns the shade of f relative to the maximum.
func shade(f, most float64) string {
	if f == 0 {
		return " "
	}
	return shades[min(int(f*float64(len(shades))/most), len(shades)-1)]
}
