package extractcmd

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
	var text []byte
	came := make(chan error, 1)
	go func() {
		var err error
		if hidden {
			text, err = term.ReadPassword(int(p.in.Fd()))
		}
		for b := make([]byte, 1); !hidden; text = append(text, b[0]) {
			if _, err = p.in.Read(b); err != nil || b[0] == '\n' {
				break
			}
		}
		came <- err
	}()
	select {
	case <-ctx.Done(): // the goroutine ends with the process
		_ = term.Restore(int(p.in.Fd()), before)
		words.Fprintln(p.out)
		return "", interrupted()
	case err := <-came:
		if hidden || err != nil {
			words.Fprintln(p.out)
		}
		if err != nil {
			return "", interrupted()
		}
		return strings.TrimSpace(string(text)), nil
	}
}

// ask asks until check accepts the answer. An empty answer is usual.
func (p *prompter) ask(ctx context.Context, question, usual string, check func(string) (string, error)) (string, error) {
	if usual != "" {
		question += " [" + usual + "]"
	}
	return p.until(ctx, question, false, func(text string) (string, error) {
		if text == "" {
			text = usual
		}
		return check(text)
	})
}

// secret asks for a text that the terminal does not show.
func (p *prompter) secret(ctx context.Context, question string, check func(string) (string, error)) (string, error) {
	return p.until(ctx, question, true, check)
}

func (p *prompter) until(ctx context.Context, question string, hidden bool, check func(string) (string, error)) (string, error) {
	for {
		words.Fprintf(p.out, "%s: ", question)
		text, err := p.read(ctx, hidden)
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
func (p *prompter) agree(ctx context.Context, question string, usual bool) (yes bool, err error) {
	choice := map[bool]string{true: "Y/n", false: "y/N"}[usual]
	_, err = p.ask(ctx, question, choice, func(text string) (string, error) {
		switch strings.ToLower(text) {
		case "y", "yes":
			yes = true
		case "n", "no":
			yes = false
		case strings.ToLower(choice):
			yes = usual
		default:
			return "", errors.New("answer y or n")
		}
		return text, nil
	})
	return yes, err
}

// complain prints an error and its hint.
func (p *prompter) complain(err error) {
	words.Fprintf(p.out, "  %v\n", err)
	if hint := cli.Hint(err); hint != "" {
		words.Fprintf(p.out, "  %s\n", hint)
	}
}
