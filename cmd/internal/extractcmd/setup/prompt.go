package setup

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/words"
)

// prompter asks questions on a terminal. The terminal itself edits the lines.
type prompter struct {
	in  *os.File
	out io.Writer
}

func interrupted() error {
	return cli.Fail(cli.ExitInterrupted, errors.New("interrupted: nothing was written"), "")
}

// read reads a line, without echo if hidden. Ctrl-C and the end of the input are interruptions,
// after which the terminal is restored.
func (p *prompter) read(ctx context.Context, hidden bool) (string, error) {
	before, err := term.GetState(int(p.in.Fd()))
	if err != nil {
		return "", err
	}
	type line struct {
		text string
		err  error
	}
	came := make(chan line, 1)
	go func() {
		if hidden {
			raw, err := term.ReadPassword(int(p.in.Fd()))
			came <- line{string(raw), err}
			return
		}
		var text []byte
		for b := make([]byte, 1); ; text = append(text, b[0]) {
			if _, err := p.in.Read(b); err != nil || b[0] == '\n' {
				came <- line{string(text), err}
				return
			}
		}
	}()
	select {
	case <-ctx.Done(): // the goroutine ends with the process
		_ = term.Restore(int(p.in.Fd()), before)
		words.Fprintln(p.out)
		return "", interrupted()
	case l := <-came:
		if hidden || l.err != nil {
			words.Fprintln(p.out)
		}
		if l.err != nil {
			return "", interrupted()
		}
		return strings.TrimSpace(l.text), nil
	}
}

// ask asks until check accepts the answer. An empty answer is usual.
func (p *prompter) ask(ctx context.Context, question, usual string, check func(string) (string, error)) (string, error) {
	for {
		shown := ""
		if usual != "" {
			shown = " [" + usual + "]"
		}
		words.Fprintf(p.out, "%s%s: ", question, shown)
		text, err := p.read(ctx, false)
		if err != nil {
			return "", err
		}
		if text == "" {
			text = usual
		}
		if text, err = check(text); err == nil {
			return text, nil
		}
		p.complain(err)
	}
}

// secret asks for a text that the terminal does not show.
func (p *prompter) secret(ctx context.Context, question string, check func(string) (string, error)) (string, error) {
	for {
		words.Fprintf(p.out, "%s: ", question)
		text, err := p.read(ctx, true)
		if err != nil {
			return "", err
		}
		if text, err = check(text); err == nil {
			return text, nil
		}
		p.complain(err)
	}
}

// agree asks a yes-or-no question.
func (p *prompter) agree(ctx context.Context, question string, usual bool) (bool, error) {
	choice := map[bool]string{true: "Y/n", false: "y/N"}[usual]
	text, err := p.ask(ctx, question, choice, func(text string) (string, error) {
		switch strings.ToLower(text) {
		case strings.ToLower(choice):
			return map[bool]string{true: "y", false: "n"}[usual], nil
		case "y", "yes":
			return "y", nil
		case "n", "no":
			return "n", nil
		}
		return "", errors.New("answer y or n")
	})
	return text == "y", err
}

// complain prints an error and its hint.
func (p *prompter) complain(err error) {
	words.Fprintf(p.out, "  %v\n", err)
	if hint := cli.Hint(err); hint != "" {
		words.Fprintf(p.out, "  %s\n", hint)
	}
}
