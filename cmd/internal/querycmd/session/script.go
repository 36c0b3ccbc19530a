package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/shell"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/duck"
)

// script runs what r holds, statement by statement as it comes, up to the first
// error. name is the file's, "" for stdin.
func (s *Session) script(ctx context.Context, r io.Reader, name string) error {
	limited := &io.LimitedReader{R: r}
	in := bufio.NewReader(limited)
	text, line := "", 1
	for eof := false; !eof && !s.over; {
		limited.N = int64(analytics.MaxText + 1 - len(text))
		more, err := in.ReadString('\n')
		if eof = errors.Is(err, io.EOF); err != nil && !eof {
			return fmt.Errorf("read the statements: %w", err)
		}
		text += more
		if len(text) > analytics.MaxText {
			return located(cli.Usage("", "%v", answer.ErrLongText), shell.Input{Line: line}, name)
		}
		if !eof && strings.TrimSpace(text) != strings.TrimSpace(more) && !strings.Contains(more, ";") {
			continue // it ends no statement, nor begins one
		}
		inputs, rest := shell.Split(text, isCommand)
		if eof && rest.Text != "" { // as other shells do, which forgive the last semicolon
			inputs = append(inputs, rest)
		}
		for _, one := range inputs {
			one.Line += line - 1
			if err := s.run(ctx, one); err != nil {
				return located(err, one, name)
			}
			if s.over {
				return nil
			}
		}
		if rest.Text == "" {
			line += strings.Count(text, "\n")
			text = ""
			continue
		}
		cut := strings.LastIndex(text, rest.Text)
		line += strings.Count(text[:cut], "\n")
		text = text[cut:]
	}
	return nil
}

// located says where in a script the error is.
func located(err error, in shell.Input, name string) error {
	if ctxEnded(err) {
		return err
	}
	if name == "" {
		name = "line"
	} else {
		name += ", line"
	}
	line, told := in.Line, answer.ExplainSQL(err)
	code, hint := cli.Code(told), cli.Hint(told)
	var d *duck.Error
	if errors.As(err, &d) && d.Line > 0 { // where the script has it, not the statement
		line, told = line+d.Line-1, errors.New(d.Text())
	}
	return cli.Fail(code, fmt.Errorf("%s %d: %w", name, line, told), hint)
}

func ctxEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted)
}
