package shell

import (
	"iter"
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
	line, counted := 1, 0
	for s := range spans(text, isCommand) {
		line += strings.Count(text[counted:s.from], "\n")
		counted = s.from
		in := Input{Text: text[s.from:s.to], Command: s.command, Line: line}
		switch {
		case s.command:
			in.Text = strings.TrimSpace(in.Text)
		case s.open:
			in.Text = strings.TrimRightFunc(in.Text, unicode.IsSpace)
			return inputs, in
		}
		inputs = append(inputs, in)
	}
	return inputs, Input{}
}

// span is where an input stands, without what ends it.
type span struct {
	from, to int
	command  bool
	open     bool // the text ends before it does
}

// spans are the inputs in text, one after the other.
func spans(text string, isCommand func(word string) bool) iter.Seq[span] {
	return func(yield func(span) bool) {
		for at := skipEmpty(text, 0); at < len(text); at = skipEmpty(text, at) {
			s := span{from: at, command: beginsCommand(text[at:], isCommand)}
			if s.command {
				s.to = commandEnd(text, at)
			} else {
				s.to = statementEnd(text, at)
			}
			s.open = s.to == len(text)
			if !yield(s) || s.open {
				return
			}
			at = s.to + 1
		}
	}
}

// beginsCommand reports whether text, which begins with no space, begins with a
// command.
func beginsCommand(text string, isCommand func(word string) bool) bool {
	word := text[:wordEnd(text, 0)]
	return text[0] == '.' || text[0] == '\\' || word != "" && isCommand(word)
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
// begins at from, or the text's end.
func statementEnd(text string, from int) int {
	for t := range tokens(text, from) {
		if t.Kind == Sign && text[t.From] == ';' {
			return t.From
		}
	}
	return len(text)
}

// commandEnd returns the place of the semicolon or line break that ends the
// command which begins at from, or the text's end.
func commandEnd(text string, from int) int {
	var quote byte
	for i := from; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return i
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ';':
			return i
		}
	}
	return len(text)
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
