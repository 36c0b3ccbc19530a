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
	down, across, number string
}

// Drawn returns src such that a terminal shows a heat map: the first column down, the second
// across, and the third, a count, in the cells. Other formats are not affected, nor are sources
// unless columns has three names and src these columns.
func Drawn(src Source, columns []string) Source {
	for _, name := range columns {
		if !slices.ContainsFunc(src.Columns(), func(c value.Column) bool { return c.Name == name }) {
			return src
		}
	}
	if len(columns) != 3 {
		return src
	}
	return &drawn{src, columns[0], columns[1], columns[2]}
}

// shades are the steps of a cell, from few to many.
var shades = []string{"·", "░", "▒", "▓", "█"}

// heat is the map of one group.
type heat struct {
	title    string
	fields   map[[2]string]int64
	unplaced int64 // rows without a place on the map
}

// writeHeat draws a map for each group, holding one group at a time.
func writeHeat(ctx context.Context, w *bufio.Writer, src *drawn, o Options) (Result, error) {
	columns := src.Columns()
	find := func(name string) int {
		return slices.IndexFunc(columns, func(c value.Column) bool { return c.Name == name })
	}
	down, across, number := find(src.down), find(src.across), find(src.number)
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
			h = &heat{title: title, fields: map[[2]string]int64{}}
		}
		n := row[number].Int()
		if row[down].Kind == value.Null || row[across].Kind == value.Null {
			h.unplaced += n
			return nil
		}
		h.fields[[2]string{row[down].String(), row[across].String()}] += n
		return nil
	})
	if h != nil {
		h.draw(w, o.Width)
	}
	return r, err
}

// Hours and weekdays are always shown completely, so that an hour without calls is visible.
func (h *heat) draw(w *bufio.Writer, width int) {
	var most, longest int64 = 1, 0
	var sums [24]int64
	for at, n := range h.fields {
		most = max(most, n)
		if hour, err := strconv.Atoi(at[0]); err == nil && hour < len(sums) {
			sums[hour] += n
			longest = max(longest, sums[hour])
		}
	}
	write := func(n int64) string { return value.Thousands(fmt.Sprint(n)) }
	// A cell is a number, a space, a bar and a gap.
	bar := func() int { return (width-6-len(write(longest)))/len(value.Weekdays) - len(write(most)) - 1 - gap }
	if bar() < 1 {
		write = short
	}
	cells := min(max(bar(), 1), 3)
	wide, wideAll := max(len(write(most)), 3), max(len(write(longest)), 3)
	if width > 0 && len(write(most)) < len(write(9_900)) && most > 9_900 { // 9.9k is wider than 12k
		wide, wideAll = max(wide, 4), max(wideAll, 4)
	}
	if h.title != "" {
		writeLine(w, h.title)
	}
	head := "      "
	for _, d := range value.Weekdays {
		head += fmt.Sprintf("%*s%s", wide, d[:3], strings.Repeat(" ", 1+cells+gap))
	}
	writeLine(w, head+fmt.Sprintf("%*s", wideAll, "all"))
	for hour, sum := range sums {
		line := fmt.Sprintf("%02d:00 ", hour)
		for _, d := range value.Weekdays {
			n := h.fields[[2]string{fmt.Sprint(hour), d}]
			number := "·"
			if n > 0 {
				number = write(n)
			}
			line += fmt.Sprintf("%*s %s%*s", wide, number, strings.Repeat(shade(n, most), cells), gap, "")
		}
		writeLine(w, line+fmt.Sprintf("%*s", wideAll, write(sum)))
	}
	if h.unplaced > 0 {
		writeLine(w, value.Thousands(fmt.Sprint(h.unplaced))+" without a start")
	}
}

// short writes a number of calls in at most four characters.
func short(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 9_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n < 9_950_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.0fM", float64(n)/1e6)
}

// shade returns the shade of n relative to the maximum.
func shade(n, most int64) string {
	if n == 0 {
		return " "
	}
	return shades[min(int(n*int64(len(shades))/most), len(shades)-1)]
}
