package format

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

// layout decides which columns are shown and how wide. On a narrow terminal columns that say nothing go first, then texts are
// narrowed and columns dropped from the right. If most columns would be dropped, rows are better shown as records.
func layout(columns []value.Column, cells [][]string, width int) (t []column, asRecords bool) {
	var wrapped []column
	for i, c := range columns {
		col := measured(c, i, cells)
		col.whole = width == 0
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
	if width == 0 || total(t) <= width {
		return t, false
	}
	t = wrapped
	for i := len(t) - 1; i >= 0 && total(t) > width; i-- {
		if t[i].idle && len(t) > 1 {
			t = slices.Delete(t, i, i+1)
		}
	}
	told := len(t)
	for len(t) > 1 && total(t)-spare(t) > width {
		last := len(t) - 1
		if last > 1 && t[last].Name == "verdict" { // which the others lead to
			last--
		}
		t = slices.Delete(t, last, last+1)
	}
	if left := told - len(t); left > 0 && (len(cells) == 1 || len(t) < left) {
		return nil, true
	}
	narrow(t, width)
	for i, c := range t {
		t[i].Wrap = c.Wrap || c.min == minText && cuttable(c.Kind) && (c.Key || alike(cells, c))
	}
	return t, false
}

// measured returns the column of the cells with an index, without its heading's width.
func measured(c value.Column, i int, cells [][]string) column {
	col, ids := column{Column: c, index: i, head: words.Line(heading(c)), idle: len(cells) > 1, min: minText}, true
	for _, row := range cells {
		col.width = max(col.width, widthOf(row[i]))
		ids = ids && (len(row[i]) == idLength || row[i] == c.Null)
		col.idle = col.idle && (row[i] == c.Null || c.Name == "unit" && row[i] == cells[0][i])
	}
	if ids {
		col.min = minID
	}
	return col
}

func total(t []column) int {
	n := -gap
	for _, c := range t {
		n += c.width + gap
	}
	return n
}

// spare returns by how much narrow can shorten the texts.
func spare(t []column) (n int) {
	for _, c := range t {
		if cuttable(c.Kind) {
			n += max(c.width-c.min, 0)
		}
	}
	return n
}

// alike reports whether different texts of a column would be cut to the same one, and are short enough to wrap.
func alike(cells [][]string, c column) (same bool) {
	texts := map[string]string{}
	for _, row := range cells {
		text := row[c.index]
		if widthOf(text) > maxLines*c.width {
			return false
		}
		short := cut(text, c.width)
		other, ok := texts[short]
		same = same || ok && other != text
		texts[short] = text
	}
	return same
}

// narrow shortens ids, then the widest text, until everything fits or no text can be shortened.
func narrow(t []column, width int) {
	for over := total(t) - width; over > 0; over-- {
		at, most := -1, 0
		for i, c := range t {
			wide := c.width
			if c.min == minID {
				wide += width
			}
			if cuttable(c.Kind) && c.width > c.min && wide > most {
				at, most = i, wide
			}
		}
		if at < 0 {
			return
		}
		t[at].width--
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

// writeRecords writes every row as lines of name and value; the value of a single row is wrapped.
func writeRecords(w *bufio.Writer, columns []value.Column, cells [][]string, width int) {
	names := 0
	for _, c := range columns {
		names = max(names, widthOf(words.Line(heading(c))))
	}
	available := max(width-names-gap, minRecord)
	for i, row := range cells {
		if len(cells) > 1 {
			title := fmt.Sprintf("── row %d ", i+1)
			writeLine(w, title+strings.Repeat("─", max(width-widthOf(title), 0)))
		}
		for j, c := range columns {
			name := words.Line(heading(c))
			name += strings.Repeat(" ", names-widthOf(name)+gap)
			lines := []string{row[j]}
			if len(cells) > 1 {
				lines[0] = cut(row[j], available)
			} else if width > 0 {
				lines = wrap(row[j], available)
			}
			for _, line := range lines {
				writeLine(w, name+line)
				name = strings.Repeat(" ", names+gap)
			}
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

func heading(c value.Column) string { return cmp.Or(c.Label, c.Name) }
