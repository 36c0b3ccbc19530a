package format

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

// flavour is a kind of CSV: its beginning, line ends, separator, headings and cells.
type flavour struct {
	begin, end string
	separator  byte
	heading    func(c value.Column, loc *time.Location) string
	appendText func(v *value.Value, dst []byte, loc *time.Location) []byte
}

// exact is for programs: values are unchanged.
var exact = flavour{"", "\n", ',', func(c value.Column, _ *time.Location) string { return c.Name }, (*value.Value).AppendText}

// shown returns the flavour for the output's destination: a terminal would interpret control characters.
func shown(as flavour, o Options) flavour {
	if exactly := as.appendText; o.Width > 0 {
		as.appendText = func(v *value.Value, dst []byte, loc *time.Location) []byte {
			return append(dst, words.Lines(string(exactly(v, nil, loc)))...)
		}
	}
	return as
}

// writeCSV writes RFC 4180. Null is empty, an empty string is "".
func writeCSV(ctx context.Context, w *bufio.Writer, src Source, o Options, as flavour) (Result, error) {
	line := []byte(as.begin)
	for i, c := range src.Columns() {
		if i > 0 {
			line = append(line, as.separator)
		}
		name := value.Of(as.heading(c, o.Location))
		line = quote(as.appendText(&name, line, o.Location), len(line), as.separator)
	}
	if _, err := w.Write(append(line, as.end...)); err != nil {
		return Result{}, err
	}
	return each(ctx, src, func(row []value.Value) error {
		line = line[:0]
		for i := range row {
			if i > 0 {
				line = append(line, as.separator)
			}
			if row[i].Kind != value.Null {
				line = quote(as.appendText(&row[i], line, o.Location), len(line), as.separator)
			}
		}
		_, err := w.Write(append(line, as.end...))
		return err
	})
}

// quotes are the characters of a field that must be in quotes, as must the separator.
var quotes = [256]bool{'"': true, '\n': true, '\r': true}

// quote quotes the last field of a line if necessary.
func quote(line []byte, from int, separator byte) []byte {
	field := line[from:]
	n := len(field)
	special := func(c byte) bool { return quotes[c] || c == separator }
	if n > 0 && !blank(field[0]) && !blank(field[n-1]) && !slices.ContainsFunc(field, special) {
		return line
	}
	text := bytes.ReplaceAll(field, []byte(`"`), []byte(`""`))
	return append(append(append(line[:from], '"'), text...), '"')
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// writeJSON writes an object for every row, with members in column order.
func writeJSON(ctx context.Context, w *bufio.Writer, src Source, o Options, open, between, end, empty string) (Result, error) {
	var names [][]byte
	for _, n := range uniqueNames(src.Columns()) {
		names = append(names, append(value.AppendString(nil, n), ':'))
	}
	first := true
	var line []byte
	r, err := each(ctx, src, func(row []value.Value) error {
		line = append(line[:0], between...)
		if first {
			line = append(line[:0], open...)
			first = false
		}
		line = append(line, '{')
		for i := range row {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(line, names[i]...)
			line = row[i].AppendJSON(line, o.Location)
		}
		if line = append(line, '}'); o.Width > 0 { // JSON allows some characters that a terminal interprets
			line = append(line[:0], words.Lines(string(line))...)
		}
		_, err := w.Write(line)
		return err
	})
	if err != nil {
		return r, err
	}
	if first {
		end = empty
	}
	_, err = w.WriteString(end)
	return r, err
}

// uniqueNames renames columns of the same name, since members of an object must differ: a, a_2, a_3.
func uniqueNames(columns []value.Column) []string {
	taken := map[string]bool{}
	for _, c := range columns {
		taken[c.Name] = true
	}
	seen := map[string]bool{}
	out := make([]string, len(columns))
	for i, c := range columns {
		name := c.Name
		for n := 2; seen[name] || name != c.Name && taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", c.Name, n)
		}
		seen[name] = true
		out[i] = name
	}
	return out
}

// writeMarkdown writes a GitHub Markdown table with cells for people.
func writeMarkdown(ctx context.Context, w *bufio.Writer, src Source, o Options) (Result, error) {
	columns := src.Columns()
	head, rule := "|", "|"
	for _, c := range columns {
		head += " " + escapeMarkdown(words.Line(heading(c))) + " |"
		if c.Kind.Numeric() {
			rule += " ---: |"
		} else {
			rule += " --- |"
		}
	}
	if _, err := w.WriteString(head + "\n" + rule + "\n"); err != nil {
		return Result{}, err
	}
	return each(ctx, src, func(row []value.Value) error {
		_, _ = w.WriteString("|")
		for i, v := range row {
			_, _ = w.WriteString(" " + escapeMarkdown(value.Cell(v, columns[i], o.Location)) + " |")
		}
		return w.WriteByte('\n')
	})
}

// markdownRE matches words, whose inner underscores are only themselves, and what Markdown reads as
// markup in a line: emphasis, code, links, HTML, character references, and addresses, which GitHub
// links. blockRE matches the beginning of a list, heading or quotation.
var (
	markdownRE = regexp.MustCompile("(?i:www)\\.|[\\pL\\pM\\pN]+(?:_[\\pL\\pM\\pN]+)*|[\\\\`*_\\[|~]|<[0-9]?|&#?\\w+;|://")
	blockRE    = regexp.MustCompile(`^(?:([0-9]+)([.)])|([#>+-]))`)
)

// escapeMarkdown returns a line as Markdown that shows it.
func escapeMarkdown(s string) string {
	return markdownRE.ReplaceAllStringFunc(s, func(m string) string {
		switch {
		case m == "<":
			return "&lt;"
		case m == "~": // not every program knows \~
			return "&#126;"
		case m == "://": // in a link, a backslash would be shown
			return "&#58;//"
		case m[0] == '&':
			return "&amp;" + m[1:]
		case m[len(m)-1] == '.':
			return m[:len(m)-1] + "&#46;"
		case strings.Contains("\\`*_[|", m):
			return `\` + m
		}
		return m
	})
}
