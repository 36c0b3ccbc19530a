package shell

import (
	"strings"
	"unicode"
)

// Input is one thing to do.
type Input struct {
	// Text is a statement without its semicolon, or the line of a command.
	Text string
	// Command: it begins with a dot, or with a word that no statement begins with.
	Command bool
	Line    int // where it begins, counted from 1
}

// Split takes the whole inputs off text: statements, which end with a semicolon,
// and commands, which end with a semicolon or their line. rest is the statement
// that has no end yet, "" for none; line is where it begins. isCommand says
// whether a line that begins with word (of letters, as it is written) is a
// command.
func Split(text string, isCommand func(word string) bool) (inputs []Input, rest Input) {
	at, line, counted := 0, 1, 0
	for {
		at = skipEmpty(text, at)
		if at == len(text) {
			return inputs, Input{}
		}
		line += strings.Count(text[counted:at], "\n")
		counted = at
		in := Input{Line: line}
		if word := text[at:wordEnd(text, at)]; text[at] == '.' || text[at] == '\\' || word != "" && isCommand(word) {
			end, next := commandEnd(text, at)
			in.Text, in.Command = strings.TrimSpace(text[at:end]), true
			inputs = append(inputs, in)
			at = next
			continue
		}
		end := statementEnd(text, at)
		if end < 0 {
			in.Text = strings.TrimRightFunc(text[at:], unicode.IsSpace)
			return inputs, in
		}
		in.Text = text[at:end]
		inputs = append(inputs, in)
		at = end + 1
	}
}

// skipEmpty skips what no input begins with: space, semicolons, whole comments.
func skipEmpty(text string, at int) int {
	for t := range tokens(text, at) {
		if t.Kind == Comment && (!t.Open || strings.HasPrefix(text[t.From:], "--")) || text[t.From] == ';' {
			continue
		}
		return t.From
	}
	return len(text)
}

// statementEnd returns the place of the semicolon that ends the statement which
// begins at from, or -1.
func statementEnd(text string, from int) int {
	for t := range tokens(text, from) {
		if t.Kind == Sign && text[t.From] == ';' {
			return t.From
		}
	}
	return -1
}

// commandEnd returns where a command ends, and where what follows begins.
func commandEnd(text string, at int) (end, next int) {
	var quote byte
	for i := at; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return i, i + 1
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ';':
			return i, i + 1
		}
	}
	return len(text), len(text)
}

// Words cuts the line of a command at its spaces. Quotes, single or double, hold
// words together; an open one ends with the line.
func Words(line string) []string {
	var words []string
	var b strings.Builder
	var quote rune
	in := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '"' || r == '\'':
			quote, in = r, true
		case unicode.IsSpace(r):
			if in {
				words = append(words, b.String())
			}
			b.Reset()
			in = false
		default:
			b.WriteRune(r)
			in = true
		}
	}
	if in {
		words = append(words, b.String())
	}
	return words
}

// Params returns the names of the parameters in a statement, as in $agent.
func Params(text string) map[string]bool {
	out := map[string]bool{}
	for _, t := range Tokens(text) {
		if t.Kind == Param && t.To > t.From+1 {
			out[text[t.From+1:t.To]] = true
		}
	}
	return out
}
