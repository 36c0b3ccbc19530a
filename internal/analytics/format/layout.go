package format

import (
	"bufio"
	"fmt"
	"math"
	"strings"

	"github.com/mattn/go-runewidth"

	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

// layout decides which columns are shown and how wide. On a narrow terminal it narrows texts, then
// drops columns from the right. If most columns would be dropped, rows are better shown as records.
func layout(columns []value.Column, cells [][]string, width int) (t []column, asRecords bool) {
	var wrapped []column
	for i, c := range columns {
		col := column{Column: c, index: i, head: words.Line(heading(c))}
		ids := true
		for _, row := range cells {
			col.width = max(col.width, widthOf(row[i]))
			ids = ids && (len(row[i]) == idLength || row[i] == c.Null)
		}
		if col.min = minText; ids {
			col.min = minID
		}
		if c.Wrap && i < len(columns)-1 {
			col.min = minWrap
		}
		narrowest := col
		for _, word := range strings.Fields(col.head) {
			narrowest.width = max(narrowest.width, widthOf(word))
		}
		wrapped = append(wrapped, narrowest)
		col.width = max(col.width, widthOf(col.head))
		t = append(t, col)
	}
	if width == 0 {
		return t, false
	}
	if total(t) <= width {
		return bars(t, width), false
	}
	t = wrapped
	for i, c := range t { // two groups must stay distinguishable
		t[i].Wrap = c.Wrap || c.Key && c.min == minText && cuttable(c.Kind)
	}
	narrow(t, width)
	shown := len(t)
	for shown > 1 && total(t[:shown]) > width {
		shown--
	}
	left := len(t) - shown
	if left > 0 && (len(cells) == 1 || shown < left) {
		return nil, true
	}
	return bars(t[:shown], width), false
}

func total(t []column) int {
	n := -gap
	for _, c := range t {
		n += c.width + gap
	}
	return n
}

// narrow shortens the widest text until everything fits or no text can be shortened.
func narrow(t []column, width int) {
	for over := total(t) - width; over > 0; over = total(t) - width {
		widest, next := -1, 0
		for i, c := range t {
			if !cuttable(c.Kind) || c.width <= c.min {
				continue
			}
			switch {
			case widest < 0 || c.width > t[widest].width:
				if widest >= 0 {
					next = max(next, t[widest].width)
				}
				widest = i
			default:
				next = max(next, c.width)
			}
		}
		if widest < 0 {
			return
		}
		// Down to the width of the next widest at once, or by one among equals.
		give := max(min(over, t[widest].width-max(next, t[widest].min)), 1)
		t[widest].width -= give
	}
}

// cuttable reports whether the beginning of a value is still useful.
func cuttable(k value.Kind) bool {
	switch k {
	case value.Bool, value.Day, value.Local, value.Instant, value.Drawing:
		return false
	}
	return !k.Numeric()
}

// bars adds a bar next to the first share if there is room.
func bars(t []column, width int) []column {
	for i, c := range t {
		if c.Unit != value.Percent {
			continue
		}
		b := column{index: c.index, width: barCells, bar: true}
		if total(t)+b.width+gap > width {
			return t
		}
		out := append([]column(nil), t[:i+1]...)
		return append(append(out, b), t[i+1:]...)
	}
	return t
}

// writeRecords writes every row as lines of name and value.
func writeRecords(w *bufio.Writer, columns []value.Column, cells [][]string, width int) {
	names := 0
	for _, c := range columns {
		names = max(names, widthOf(words.Line(heading(c))))
	}
	available := max(width-names-gap, minRecord)
	if width == 0 {
		available = math.MaxInt
	}
	for i, row := range cells {
		if len(cells) > 1 {
			title := fmt.Sprintf("── row %d ", i+1)
			writeLine(w, title+strings.Repeat("─", max(width-widthOf(title), 0)))
		}
		for j, c := range columns {
			name := words.Line(heading(c))
			writeLine(w, name+strings.Repeat(" ", names-widthOf(name)+gap)+cut(row[j], available))
		}
	}
}

// widthOf returns the terminal cells of s: a Korean letter takes two.
func widthOf(s string) int { return measure().StringWidth(s) }

// measure ignores the environment, unlike the library's default: output must not depend on the machine.
func measure() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// cut shortens s to a width with an ellipsis.
func cut(s string, width int) string { return measure().Truncate(s, width, "…") }

// wrap breaks a text at spaces, and within words longer than a line.
func wrap(s string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		for width > 1 && widthOf(word) > width {
			head := measure().Truncate(word, width, "")
			lines = append(lines, head)
			word = word[len(head):]
		}
		if n := len(lines) - 1; n >= 0 && widthOf(lines[n])+1+widthOf(word) <= width {
			lines[n] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	if lines == nil {
		return []string{""}
	}
	return lines
}

func heading(c value.Column) string {
	if c.Label != "" {
		return c.Label
	}
	return c.Name
}

// bar draws a share, 0 to 100, to an eighth of a cell.
func bar(f float64, cells int) string {
	eighths := int(f/100*float64(cells)*8 + .5)
	if eighths == 0 && f > 0 {
		eighths = 1
	}
	eighths = min(max(eighths, 0), cells*8)
	s := strings.Repeat("█", eighths/8)
	if part := eighths % 8; part > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[part])
	}
	return s
}
