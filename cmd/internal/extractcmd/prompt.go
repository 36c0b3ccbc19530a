package extractcmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/words"
)

// prompter asks questions on a terminal.
type prompter struct {
	ctx   context.Context
	in    *os.File
	lines *bufio.Reader
	out   io.Writer
}

func newPrompter(ctx context.Context, in *os.File, out io.Writer) *prompter {
	return &prompter{ctx, in, bufio.NewReader(in), out}
}

func interrupted() error {
	return cli.Fail(cli.ExitInterrupted, errors.New("interrupted: nothing was written"), "")
}

// read reads a line, without echo if hidden. Ctrl-C and the end of the input are interruptions.
func (p *prompter) read(question string, hidden bool) (string, error) {
	before, err := term.GetState(int(p.in.Fd()))
	if err != nil {
		return "", err
	}
	words.Fprintf(p.out, "%s: ", question)
	answer := make(chan string, 1)
	go func() { // it cannot be interrupted, and ends with the program
		defer close(answer)
		if hidden {
			if text, err := term.ReadPassword(int(p.in.Fd())); err == nil {
				words.Fprintln(p.out)
				answer <- string(text)
			}
		} else if text, err := p.lines.ReadString('\n'); err == nil {
			answer <- text
		}
	}()
	select {
	case <-p.ctx.Done():
		_ = term.Restore(int(p.in.Fd()), before)
	case text, ok := <-answer:
		if ok {
			return strings.TrimSpace(text), nil
		}
	}
	words.Fprintln(p.out)
	return "", interrupted()
}

// ask asks until check accepts the answer. An empty answer is usual.
func (p *prompter) ask(question, usual string, check func(string) (string, error)) (string, error) {
	if usual != "" {
		question += " [" + usual + "]"
	}
	return p.until(question, false, func(text string) (string, error) { return check(cmp.Or(text, usual)) })
}

func (p *prompter) until(question string, hidden bool, check func(string) (string, error)) (string, error) {
	for {
		text, err := p.read(question, hidden)
		if err != nil {
			return "", err
		}
		if text, err = check(text); err == nil {
			return text, nil
		}
		p.printError(err)
	}
}

// agree asks a yes-or-no question; Enter means yes.
func (p *prompter) agree(question string) (bool, error) {
	answer, err := p.until(question+" [Y/n]", false, func(text string) (string, error) {
		if text = strings.ToLower(text); !slices.Contains([]string{"", "y", "yes", "n", "no"}, text) {
			return "", errors.New("answer y or n")
		}
		return text, nil
	})
	return !strings.HasPrefix(answer, "n"), err
}

// printError prints an error and its hint.
func (p *prompter) printError(err error) {
	words.Fprintf(p.out, "  %v\n", err)
	if hint := cli.Hint(err); hint != "" {
		words.Fprintf(p.out, "  %s\n", hint)
	}
}
