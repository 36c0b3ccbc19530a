package shell

import (
	"slices"
	"strings"
	"unicode"

	"callhouse/internal/postgres/lexer"
)

// Input is a statement or command.
type Input struct {
	// Text is a statement without its semicolon, or the line of a command.
	Text string
	// Command: it begins with a dot, or with a word that begins no statement.
	Command bool
	Open    bool // it may continue
	Line    int  // its first line, from 1
}

// Split splits text into statements, which end with a semicolon, and commands, which end with a
// semicolon or their line. Only the last may be open. isCommand reports whether a line that begins
// with word is a command.
func Split(text string, isCommand func(word string) bool) (inputs []Input) {
	line, counted := 1, 0
	for at := skipEmpty(text, 0); at < len(text); {
		line += strings.Count(text[counted:at], "\n")
		counted = at
		word := firstWord(text[at:])
		in := Input{Line: line, Command: text[at] == '.' || text[at] == '\\' || word != "" && isCommand(word)}
		end := at
		if in.Command {
			_, n := Words(text[at:])
			end += n
		} else {
			for t := range lexer.Tokens(text[at:]) {
				if isEnd(t) {
					break
				}
				end += len(t.Text)
			}
		}
		in.Text, in.Open = text[at:end], end == len(text)
		inputs = append(inputs, in)
		at = skipEmpty(text, min(end+1, len(text)))
	}
	return inputs
}

func isEnd(t lexer.Token) bool { return t.Kind == lexer.Other && t.Text == ";" }

// whole reports whether the input is complete: commands, and statements with semicolons.
func whole(text string) bool {
	inputs := Split(text, isCommand)
	last := len(inputs) - 1
	return last < 0 || !inputs[last].Open || inputs[last].Command
}

// skipEmpty skips space, semicolons and complete comments.
func skipEmpty(text string, at int) int {
	for {
		rest := strings.TrimLeftFunc(text[at:], func(r rune) bool { return r == ';' || unicode.IsSpace(r) })
		at = len(text) - len(rest)
		if !strings.HasPrefix(rest, "--") && !strings.HasPrefix(rest, "/*") {
			return at
		}
		comment := lexer.First(rest).Text
		if rest[0] == '/' && len(comment) == len(rest) && isInside(rest) {
			return at
		}
		at += len(comment)
	}
}

// isInside reports whether text ends inside a comment, string or quoted name. A semicolon there
// does not end the statement.
func isInside(text string) bool {
	tokens := slices.Collect(lexer.Tokens(text + ";"))
	return !isEnd(tokens[len(tokens)-1])
}

// firstWord returns the letters and digits at the beginning of text.
func firstWord(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		return text
	}
	return text[:end]
}

// Words splits a command at spaces. It ends at to: before a semicolon, or at the end of its line.
// Single or double quotes hold words together; an open one ends with the line.
func Words(text string) (words []string, to int) {
	var b strings.Builder
	var quote rune
	in := false
	end := func() {
		if in {
			words = append(words, b.String())
		}
		b.Reset()
		in = false
	}
	defer end()
	for i, r := range text {
		switch {
		case r == '\n' || r == ';' && quote == 0:
			return words, i
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case quote == 0 && unicode.IsSpace(r):
			end()
		default:
			b.WriteRune(r)
			in = true
		}
	}
	return words, len(text)
}

// isCommand reports whether a line that begins with word is not SQL.
func isCommand(word string) bool {
	word = strings.ToUpper(word)
	return !slices.Contains(reading(), word) && !slices.Contains(refused, word)
}

// reading returns the words completed at the beginning.
func reading() []string {
	return []string{"SELECT", "FROM", "WITH", "VALUES", "DESCRIBE", "SHOW", "SUMMARIZE", "EXPLAIN", "PIVOT"}
}

// refused are the other words that begin DuckDB statements, most of which are refused.
var refused = strings.Fields(`DESC UNPIVOT TABLE
	ABORT ALTER ANALYZE ANALYSE ATTACH BEGIN CHECKPOINT COMMENT COMMIT COPY CREATE DEALLOCATE DELETE DETACH DROP EXECUTE EXPORT FORCE GRANT
	IMPORT INSERT INSTALL LOAD MERGE PRAGMA PREPARE REINDEX RESET REVOKE ROLLBACK SET START TRUNCATE UPDATE USE VACUUM`)
