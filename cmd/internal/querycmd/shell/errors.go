package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/words"
)

func isOver(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted)
}

// hintOf returns the hint of an error, without hints about flags.
func hintOf(err error) string {
	return strings.Replace(cli.Hint(err), "set it with", "query sql sets it with", 1)
}

// located adds the position in the script to an error.
func located(err error, in Input) error {
	if isOver(err) {
		return err
	}
	line, told := in.Line, answer.ExplainSQL(err)
	code, hint := cli.Code(told), hintOf(told)
	var d *duck.Error
	if errors.As(err, &d) && d.Line > 0 { // relative to the script, not the statement
		line, told = line+d.Line-1, errors.New(d.Text())
	}
	return cli.Fail(code, fmt.Errorf("line %d: %w", line, told), hint)
}

// showError prints the error of an interactive input, with the line and a mark if DuckDB knows the
// position.
func (s *Session) showError(err error, in Input) {
	if isOver(err) {
		s.say("\ncancelled") // the terminal has shown ^C
		return
	}
	width := max(cmp.Or(answer.TerminalWidth(s.a.Stderr), 80), 40)
	err = s.a.Explain(err)
	text := err.Error()
	hint := strings.NewReplacer("run: query ", "type: ", "query describe", ".schema").Replace(hintOf(err))
	mark := ""
	var d *duck.Error
	if errors.As(err, &d) && d.Line > 0 {
		text = d.Text()
		mark = excerpt(in.Text, d.Line, d.Column, width)
	}
	s.wrapped("error: ", text, width)
	if mark != "" {
		if len(mark)-strings.LastIndexByte(mark, '\n')+len(hint) < width {
			mark, hint = mark+hint, ""
		}
		_, _ = io.WriteString(s.a.Stderr, strings.TrimRight(mark, " ")+"\n") // mark has only visible characters
	}
	s.wrapped("  ", hint, width)
}

// wrapped prints a text, wrapped and indented after the first line.
func (s *Session) wrapped(head, text string, width int) {
	if text != "" {
		text = answer.Wrap(strings.Fields(words.Line(text)), width-len(head)-1)
		_, _ = io.WriteString(s.a.Stderr, head+strings.ReplaceAll(text, "\n", "\n  ")+"\n") // already made visible by words
	}
}

// excerpt returns a line of a text and a mark below a column; nothing if that does not fit. Lines
// and columns count from 1.
func excerpt(text string, line, column, width int) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", " "), "\n")
	if line > len(lines) {
		return ""
	}
	at := []rune(strings.TrimRight(lines[line-1], "\r"))
	before := words.Line(string(at[:min(column-1, len(at))]))
	cells := &runewidth.Condition{StrictEmojiNeutral: true} // regardless of the environment
	whole := words.Line(string(at))
	if cells.StringWidth(whole) > width-4 {
		return ""
	}
	return "  " + whole + "\n  " + strings.Repeat(" ", cells.StringWidth(before)) + "^ "
}
