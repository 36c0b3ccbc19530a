package session

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/shell"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/words"
)

// showError prints what is wrong with an input that was typed; if DuckDB knows the
// place, with the line and a mark below it.
func (s *Session) showError(err error, in shell.Input) {
	if ctxEnded(err) {
		words.Fprintf(s.a.Stderr, "\ncancelled\n") // the terminal has shown ^C
		return
	}
	width := max(cmp.Or(answer.TerminalWidth(s.a.Stderr), 80), 40)
	var d *duck.Error
	known := errors.As(err, &d) && d.Line > 0 && d.Line <= 1+strings.Count(in.Text, "\n")
	err = answer.ExplainSQL(s.a.Explain(err))
	hint := strings.NewReplacer("run: query ", "type: ", "query describe", ".schema").Replace(cli.Hint(err))
	if !known {
		s.lines("error: ", err.Error(), width)
		s.lines("  ", hint, width)
		return
	}
	s.lines("error: ", d.Text(), width)
	line, space := excerpt(strings.Split(in.Text, "\n")[d.Line-1], d.Column, width-4)
	mark := "  " + space + "^ "
	if cells().StringWidth(mark+hint) > width {
		mark, hint = mark+"\n", "  "+wrapIndented(hint, width)
	}
	_, _ = io.WriteString(s.a.Stderr, "  "+line+"\n"+strings.TrimRight(mark+hint, " ")+"\n") // of visible parts
}

// lines prints a text that may need several lines.
func (s *Session) lines(head, text string, width int) {
	if text != "" {
		_, _ = io.WriteString(s.a.Stderr, head+wrapIndented(text, width-len(head)+2)+"\n") // made visible there
	}
}

// wrapIndented breaks a text into lines for a terminal, and indents all but the
// first by two.
func wrapIndented(text string, width int) string {
	return strings.ReplaceAll(answer.Wrap(strings.Fields(words.Line(text)), width-3), "\n", "\n  ")
}

// excerpt returns the part of a line around a column, counted from 1, that fits
// into width, and the spaces that lead to that column in the line below.
func excerpt(line string, column, width int) (part, space string) {
	runes := []rune(strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", " "))
	at := min(column-1, len(runes))
	before := []rune(words.Line(string(runes[:at])))
	runes, at = append(before, []rune(words.Line(string(runes[at:])))...), len(before)
	from := 0
	for from < at && cells().StringWidth(string(runes[from:at])) > width*2/3 {
		from++
	}
	part = string(runes[from:])
	if from > 0 {
		part = "…" + string(runes[from+1:])
	}
	return cells().Truncate(part, width, "…"), strings.Repeat(" ", cells().StringWidth(string(runes[from:at])))
}

// cells measures the width of text on a terminal, whatever the environment says.
func cells() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }
