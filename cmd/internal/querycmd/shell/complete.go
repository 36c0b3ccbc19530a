package shell

import (
	"slices"
	"strings"
	"unicode/utf8"

	"callhouse/internal/postgres/lexer"
)

// Candidate is a completion.
type Candidate struct {
	Text  string
	Says  string // a short description; may be empty
	Group string // tables, columns, functions …
	// Before is inserted before Text. If there is no word to complete, it is the character before
	// the cursor.
	Before string
}

// Table is a readable table and its columns.
type Table struct {
	Candidate
	Columns []Candidate
}

// Vocabulary is the input of completion.
type Vocabulary struct {
	Tables    []Table
	Functions []string
	Keywords  []string // in upper case
	Starts    []string // keywords that begin a statement
	Commands  []Candidate
	// Follow returns the completions of the last word of a command.
	Follow    func(words []string) []Candidate
	IsCommand func(word string) bool
}

// Complete returns the completions of the word before the cursor, a position in the runes of text,
// best first, and that word.
func (v *Vocabulary) Complete(text []rune, cursor int) (word string, out []Candidate) {
	before := string(text[:cursor])
	var in Input
	if inputs := Split(before, v.IsCommand); len(inputs) > 0 && inputs[len(inputs)-1].Open {
		in = inputs[len(inputs)-1]
	}
	words, _ := Words(in.Text)
	if strings.HasSuffix(in.Text, " ") {
		words = append(words, "")
	}
	switch {
	case in.Command && len(words) > 1:
		word, out = words[len(words)-1], v.Follow(words)
	case in.Command && firstWord(in.Text) == "":
		word, out = words[0], v.Commands
	default: // anything may complete a lone word
		word, out = v.statement(in.Text, string(text[cursor:]))
	}
	out = beginning(out, word)
	if word != "" {
		return word, out
	}
	return leading(before, out)
}

// leading prepares candidates for an empty word: the editor requires a prefix, so it gets the
// character before the cursor.
func leading(before string, out []Candidate) (string, []Candidate) {
	if before == "" || len(out) == 0 {
		return "", out
	}
	last := before[len(before)-1:]
	if last[0] >= utf8.RuneSelf {
		return "", nil
	}
	for i := range out {
		out[i].Before = last
	}
	return last, out
}

// beginning returns the candidates that begin with word, ignoring case. Of duplicates, it keeps the
// first.
func beginning(all []Candidate, word string) []Candidate {
	var out []Candidate
	seen := map[string]bool{}
	for _, c := range all {
		if len(c.Text) >= len(word) && strings.EqualFold(c.Text[:len(word)], word) && !seen[c.Text] {
			seen[c.Text] = true
			out = append(out, c)
		}
	}
	return out
}

// statement completes SQL. open is the text of the statement before the cursor, after the text
// behind it.
func (v *Vocabulary) statement(open, after string) (word string, out []Candidate) {
	if isInside(open) {
		return "", nil
	}
	tokens := slices.Collect(lexer.Tokens(open))
	if n := len(tokens); n > 0 && tokens[n-1].Kind == lexer.Word {
		word = tokens[n-1].Text
		tokens = tokens[:n-1]
	}
	if tokens = meaning(tokens); len(tokens) == 0 {
		return word, append(cased(v.Starts, word, "statements"), v.Commands...)
	}
	all := meaning(slices.Collect(lexer.Tokens(open + " " + after)))
	var named []Table
	for _, t := range v.Tables {
		if slices.ContainsFunc(all, func(token lexer.Token) bool { return token.Is(t.Text) }) {
			named = append(named, t)
		}
	}
	previous := tokens[len(tokens)-1]
	if n := len(tokens); previous.Text == "." && n > 1 {
		return word, v.members(tokens[n-2].Name(), named, all)
	}
	if slices.ContainsFunc(beforeTables, previous.Is) {
		return word, append(v.tables(), Candidate{Text: "stored.", Says: "exactly the columns that the files hold", Group: "tables"})
	}
	columnsOf := named
	if len(named) == 0 {
		columnsOf = v.Tables
	}
	for _, t := range columnsOf {
		out = append(out, t.Columns...)
	}
	out = append(out, v.tables()...)
	if word != "" { // without a word there are hundreds
		for _, f := range v.Functions {
			out = append(out, Candidate{Text: f + "(", Group: "functions"})
		}
		out = append(out, cased(v.Keywords, word, "keywords")...)
	}
	return word, out
}

// beforeTables are the words that precede a table.
var beforeTables = []string{"from", "join", "describe", "desc", "summarize", "table", "pivot", "unpivot"}

func meaning(tokens []lexer.Token) []lexer.Token {
	return slices.DeleteFunc(tokens, func(t lexer.Token) bool { return t.Kind == lexer.Comment })
}

func (v *Vocabulary) tables() (out []Candidate) {
	for _, t := range v.Tables {
		out = append(out, t.Candidate)
	}
	return out
}

// members returns the completions after owner and a dot: columns of the table with that name or
// alias, and the tables of stored.
func (v *Vocabulary) members(owner string, named []Table, tokens []lexer.Token) []Candidate {
	if owner == "stored" {
		return v.tables()
	}
	for _, t := range named {
		if t.Text == owner {
			return t.Columns
		}
	}
	for i, t := range tokens {
		if i > 1 && t.Name() == owner {
			table := tokens[i-1]
			if table.Is("as") {
				table = tokens[i-2]
			}
			for _, t := range named {
				if table.Is(t.Text) {
					return t.Columns
				}
			}
		}
	}
	return nil
}

// cased returns keywords in the user's case: select for sel, SELECT for SEL.
func cased(words []string, like, group string) (out []Candidate) {
	lower := like != "" && like == strings.ToLower(like)
	for _, w := range words {
		if lower {
			w = strings.ToLower(w)
		}
		out = append(out, Candidate{Text: w, Group: group})
	}
	return out
}
