// Package shell holds what an interactive SQL shell needs besides answers: the
// cutting of text into statements and commands, completion, history and the line
// editor. It runs no statement, prints nothing but what the editor draws, and
// knows neither DuckDB nor warehouses.
package shell

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what a token is.
type Kind uint8

// The kinds of tokens.
const (
	Word    Kind = iota // select, calls, count: not quoted
	Quoted              // "a name"
	Text                // 'a text', E'..', $$..$$
	Number              // 1, 2.5e3
	Param               // $name, ?
	Comment             // -- to the end of the line, /* .. */
	Sign                // one character of anything else
)

// Token is a piece of SQL: bytes From to To of the text.
type Token struct {
	Kind     Kind
	From, To int
	Open     bool // it has no end: the text ends inside of it
}

// Tokens cuts SQL as DuckDB reads it. Space is between tokens; nothing else is
// left out.
func Tokens(text string) []Token { return slices.Collect(tokens(text, 0)) }

// tokens are those of text from a place on, which is in none.
func tokens(text string, at int) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for at := at; at < len(text); {
			r, size := utf8.DecodeRuneInString(text[at:])
			if unicode.IsSpace(r) {
				at += size
				continue
			}
			t := token(text, at, r, size)
			if !yield(t) {
				return
			}
			at = t.To
		}
	}
}

func token(text string, at int, r rune, size int) Token {
	rest := text[at:]
	t := Token{From: at}
	switch {
	case strings.HasPrefix(rest, "--"):
		t.Kind, t.To = Comment, until(text, at+2, "\n")
		t.Open = t.To == len(text) && !strings.HasSuffix(text, "\n")
	case strings.HasPrefix(rest, "/*"):
		t.Kind = Comment
		t.To, t.Open = blockComment(text, at)
	case r == '"':
		t.Kind = Quoted
		t.To, t.Open = quoted(text, at+1, '"', false)
	case r == '\'':
		t.Kind = Text
		t.To, t.Open = quoted(text, at+1, '\'', false)
	case (r == 'e' || r == 'E') && strings.HasPrefix(rest[1:], "'"):
		t.Kind = Text
		t.To, t.Open = quoted(text, at+2, '\'', true)
	case r == '$' && dollarTag(rest) != "":
		tag := dollarTag(rest)
		t.Kind, t.To = Text, until(text, at+len(tag), tag)
		t.Open = !strings.HasSuffix(text[at+len(tag):t.To], tag)
	case r == '$':
		t.Kind, t.To = Param, wordEnd(text, at+1)
	case r == '?':
		t.Kind, t.To = Param, at+1
	case unicode.IsDigit(r):
		t.Kind, t.To = Number, numberEnd(text, at)
	case isWord(r):
		t.Kind, t.To = Word, wordEnd(text, at)
	default:
		t.Kind, t.To = Sign, at+size
	}
	return t
}

// until returns the place behind the next end, or the text's end.
func until(text string, from int, end string) int {
	if i := strings.Index(text[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(text)
}

// blockComment finds the end of a comment, which may hold others.
func blockComment(text string, at int) (to int, open bool) {
	depth := 0
	for i := at; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(text[i:], "*/"):
			depth--
			i += 2
		default:
			i++
		}
		if depth == 0 {
			return i, false
		}
	}
	return len(text), true
}

// quoted finds the end of what begins before from; a doubled quote is part of it.
func quoted(text string, from int, quote byte, escapes bool) (to int, open bool) {
	for i := from; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] != quote:
		case i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1, false
		}
	}
	return len(text), true
}

// dollarTag returns the $tag$ that rest begins with, or "".
func dollarTag(rest string) string {
	end := wordEnd(rest, 1)
	if end < len(rest) && rest[end] == '$' && (end == 1 || !unicode.IsDigit(rune(rest[1]))) {
		return rest[:end+1]
	}
	return ""
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func wordEnd(text string, from int) int {
	for i, r := range text[from:] {
		if !isWord(r) {
			return from + i
		}
	}
	return len(text)
}

// numberEnd takes 1.5e3 as one, and 1. as a number and a sign.
func numberEnd(text string, from int) int {
	at := wordEnd(text, from)
	if at+1 < len(text) && text[at] == '.' && unicode.IsDigit(rune(text[at+1])) {
		at = wordEnd(text, at+1)
	}
	return at
}
