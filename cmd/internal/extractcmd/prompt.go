package extractcmd

import (
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/words"
)

// prompter asks questions on a terminal.
type prompter struct {
	fd   int
	line *term.Terminal
	out  io.Writer
}

func newPrompter(in *os.File, out io.Writer) *prompter {
	return &prompter{int(in.Fd()), term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, cli.File(out)}, ""), out}
}

func interrupted() error {
	return cli.Fail(cli.ExitInterrupted, errors.New("interrupted: nothing was written"), "")
}

// read reads a line, without echo if hidden. Ctrl-C, Ctrl-D and the end of the input are
// interruptions.
func (p *prompter) read(question string, hidden bool) (text string, err error) {
	before, err := term.MakeRaw(p.fd)
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(p.fd, before) }()
	if width, height, err := term.GetSize(p.fd); err == nil && width > 0 {
		_ = p.line.SetSize(width, height) // cannot fail without a line
	}
	question = words.Line(question) + ": "
	if hidden {
		text, err = p.line.ReadPassword(question)
	} else {
		p.line.SetPrompt(question)
		text, err = p.line.ReadLine()
	}
	if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
		_, _ = io.WriteString(p.line, "\n")
		return "", interrupted()
	}
	return strings.TrimSpace(text), nil
}

// ask asks until check accepts the answer. An empty answer is usual.
func (p *prompter) ask(question, usual string, check func(string) (string, error)) (string, error) {
	if usual != "" {
		question += " [" + usual + "]"
	}
	return p.until(question, false, func(text string) (string, error) {
		if text == "" {
			text = usual
		}
		return check(text)
	})
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

// agree asks a yes-or-no question.
func (p *prompter) agree(question string, usual bool) (yes bool, err error) {
	choice := map[bool]string{true: "Y/n", false: "y/N"}[usual]
	_, err = p.until(question+" ["+choice+"]", false, func(text string) (string, error) {
		switch strings.ToLower(text) {
		case "y", "yes":
			yes = true
		case "n", "no":
			yes = false
		case "":
			yes = usual
		default:
			return "", errors.New("answer y or n")
		}
		return text, nil
	})
	return yes, err
}

// printError prints an error and its hint.
func (p *prompter) printError(err error) {
	words.Fprintf(p.out, "  %v\n", err)
	if hint := cli.Hint(err); hint != "" {
		words.Fprintf(p.out, "  %s\n", hint)
	}
}
