package format

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

const (
	// TableRows is the number of rows that determine the column widths, and the default maximum of rows on a terminal.
	TableRows = 1000

	gap       = 2  // between columns
	minText   = 12 // minimum width of a text column
	minWrap   = 36 // of a wrapped one, if columns to its right can be dropped
	minID     = 9  // of a column of UUIDs: 8 digits, and …
	idLength  = 36 // of a UUID
	minRecord = 24 // of a value in a record
	maxLines  = 4  // of a text that is wrapped because others would be cut to the same
)

// column is a laid-out column of a table.
type column struct {
	value.Column
	index int    // into the row's values
	head  string // one line, or words to wrap
	width int
	min   int  // minimum width when cut
	whole bool // never cut: later values may be wider
	idle  bool // without values, or a unit that is the same in all rows
}

// writeTable lays out the first rows. A terminal shows only these; elsewhere the rest follows in the same widths.
func writeTable(ctx context.Context, w *bufio.Writer, src Source, o Options) (Result, error) {
	columns := src.Columns()
	if n := len(columns); n > 0 && columns[n-1].Kind == value.Drawing {
		return writeDrawings(ctx, w, src)
	}
	var cells [][]string
	n, eof, err := some(ctx, src, TableRows, func(row []value.Value) error {
		cells = append(cells, humanRow(row, columns, o))
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	r := Result{Rows: n}
	t, asRecords := layout(columns, cells, o.Width)
	if asRecords {
		writeRecords(w, columns, cells, o.Width)
	} else {
		if left := hidden(columns, t); len(left) > 0 {
			what := strings.TrimSuffix("columns", map[int]string{1: "s"}[len(left)])
			r.Notes = append(r.Notes, fmt.Sprintf("… %d more %s (%s): widen the terminal, or use the format csv",
				len(left), what, strings.Join(left, ", ")))
		}
		writeHead(w, t, o)
		for i := range cells {
			alike := 0
			if i > 0 {
				alike = repeated(columns, cells[i-1], cells[i], o)
			}
			writeRow(w, t, cells[i], alike)
		}
	}
	if eof {
		return r, nil
	}
	if o.Width == 0 {
		rest, err := each(ctx, src, func(row []value.Value) error {
			writeRow(w, t, humanRow(row, columns, o), 0)
			_, err := w.Write(nil) // the reader may have closed the pipe
			return err
		})
		r.Rows += rest.Rows
		return r, err
	}
	if _, err := src.Values(ctx); errors.Is(err, io.EOF) {
		return r, nil
	} else if err != nil {
		return r, err
	}
	r.Notes = append(r.Notes, "… only the first 1,000 rows: use the format csv for all")
	return r, nil
}

// writeDrawings writes the last column of every row unchanged.
func writeDrawings(ctx context.Context, w *bufio.Writer, src Source) (Result, error) {
	return each(ctx, src, func(row []value.Value) error {
		for line := range strings.Lines(row[len(row)-1].Text) {
			writeLine(w, words.Line(strings.TrimSuffix(line, "\n")))
		}
		return nil
	})
}

func humanRow(row []value.Value, columns []value.Column, o Options) []string {
	out := make([]string, len(row))
	for i, v := range row {
		out[i] = value.Cell(v, columns[i], o.Location)
	}
	return out
}

// repeated returns how many leading keys a row shares with the row above; a terminal shows them once.
func repeated(columns []value.Column, above, cells []string, o Options) (n int) {
	for o.Width > 0 && n < len(columns) && columns[n].Key && cells[n] == above[n] {
		n++
	}
	return n
}

// hidden returns the headings of the columns that are not in t.
func hidden(columns []value.Column, t []column) (out []string) {
	for i, c := range columns {
		if !slices.ContainsFunc(t, func(c column) bool { return c.index == i }) {
			out = append(out, heading(c))
		}
	}
	return out
}

// writeHead writes the headings and, on a terminal, a rule.
func writeHead(w *bufio.Writer, t []column, o Options) {
	var lines [][]string
	height := 1
	for _, c := range t {
		l := wrap(c.head, c.width)
		if o.Width == 0 {
			l = []string{c.head}
		}
		lines = append(lines, l)
		height = max(height, len(l))
	}
	for n := range height {
		var b strings.Builder
		for i, c := range t {
			s := ""
			if at := n - (height - len(lines[i])); at >= 0 {
				s = lines[i][at]
			}
			pad(&b, s, c)
		}
		writeLine(w, b.String())
	}
	if o.Width > 0 {
		writeLine(w, strings.Repeat("─", max(total(t), 0)))
	}
}

func writeRow(w *bufio.Writer, t []column, cells []string, alike int) {
	for line, more := 0, true; more; line++ {
		more = false
		var b strings.Builder
		for i, c := range t {
			s := ""
			switch {
			case i < alike:
			case c.Wrap:
				lines := wrap(cells[c.index], c.width)
				if line < len(lines) {
					s = lines[line]
				}
				more = more || line+1 < len(lines)
			case line > 0:
			default:
				s = cells[c.index]
			}
			pad(&b, s, c)
		}
		writeLine(w, b.String())
	}
}

// pad pads s to the column's width: numbers right-aligned, the rest left-aligned.
func pad(b *strings.Builder, s string, c column) {
	if !c.whole {
		s = cut(s, c.width)
	}
	space := strings.Repeat(" ", max(c.width-widthOf(s), 0))
	if c.Kind.Numeric() {
		s = space + s
	} else {
		s += space
	}
	b.WriteString(s + strings.Repeat(" ", gap))
}

func writeLine(w *bufio.Writer, s string) {
	_, _ = w.WriteString(strings.TrimRight(s, " ") + "\n") // Flush returns the error
}
