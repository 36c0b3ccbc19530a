package shell

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Candidate is what a word may become.
type Candidate struct {
	Text  string
	Says  string // what it is, in a few words; may be empty
	Group string // tables, columns, functions ..
	// Before stands before Text where it is put in: with no word to complete, the
	// character before the cursor.
	Before string
}

// Column is a column of a table.
type Column struct{ Name, Says string }

// Table is a table that statements can read.
type Table struct {
	Name, Says string
	Columns    []Column
}

// Command is a word that begins a line, and what may follow it.
type Command struct {
	Name, Says string
	// Words are what may follow anywhere; Flags map those that take a value to
	// their values.
	Words []Candidate
	Flags map[string][]Candidate
	Files bool // a file's name follows
}

// Vocabulary is what completion knows.
type Vocabulary struct {
	Tables    []Table
	Functions []string
	Keywords  []string // in upper case
	Starts    []string // the keywords that begin a statement
	Commands  []Command
	// OtherNames are names of commands that are not offered, and whose they are.
	OtherNames map[string]string
	IsCommand  func(word string) bool
	// Glob returns the files whose names begin so; folders end with a slash.
	Glob func(start string) []string
}

// Complete returns what the word before the cursor may become, which is a place
// in the runes of text, and that word. What fits best comes first.
func (v *Vocabulary) Complete(text []rune, cursor int) (word string, out []Candidate) {
	before := string(text[:cursor])
	open := lastOpen(before, v.IsCommand)
	if open != "" && (open[0] == '.' || open[0] == '\\' || v.takesWords(open)) {
		word, out = v.command(open)
	} else {
		word, out = v.statement(open, string(text[cursor:]))
	}
	out = beginning(out, word)
	if word != "" {
		return word, out
	}
	return leading(before, out)
}

// lastOpen returns the end of text that belongs to no whole input: what the
// cursor stands in.
func lastOpen(text string, isCommand func(string) bool) string {
	for s := range spans(text, isCommand) {
		if s.open {
			return text[s.from:]
		}
	}
	return ""
}

// takesWords reports whether line begins with a command and a space. A word
// alone may become anything.
func (v *Vocabulary) takesWords(line string) bool {
	end := wordEnd(line, 0)
	return end < len(line) && v.IsCommand(line[:end])
}

// leading makes candidates for no word at all: the editor wants a beginning, so
// it is given the character before the cursor.
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

// beginning keeps those that begin with word, whatever the case. Of several of
// one name the first is kept.
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

// command completes the line of a command.
func (v *Vocabulary) command(line string) (word string, out []Candidate) {
	words := Words(line)
	if strings.HasSuffix(line, " ") {
		words = append(words, "")
	}
	word = words[len(words)-1]
	if len(words) == 1 {
		for _, c := range v.Commands {
			out = append(out, Candidate{Text: c.Name, Says: c.Says, Group: "commands"})
		}
		return word, out
	}
	name := cmp.Or(v.OtherNames[words[0]], words[0])
	if name == ".report" && len(words) > 2 {
		name, words = words[1], words[1:]
	}
	at := slices.IndexFunc(v.Commands, func(c Command) bool { return c.Name == name })
	if at < 0 {
		return word, nil
	}
	c := v.Commands[at]
	if values, ok := c.Flags[words[len(words)-2]]; ok {
		return word, values
	}
	if c.Files {
		for _, f := range v.Glob(word) {
			out = append(out, Candidate{Text: f, Group: "files"})
		}
		return word, out
	}
	if len(c.Flags) == 0 && len(words) > 2 {
		return word, nil // what takes one word has got it
	}
	return word, c.Words
}

// statement completes SQL. open is the statement so far, after is what stands
// behind the cursor.
func (v *Vocabulary) statement(open, after string) (word string, out []Candidate) {
	tokens := Tokens(open)
	var last Token
	if n := len(tokens); n > 0 {
		last = tokens[n-1]
	}
	if last.Open { // inside of a text or a comment
		return "", nil
	}
	if n := len(tokens); n > 0 && last.Kind == Word && last.To == len(open) {
		word = open[last.From:]
		tokens = tokens[:n-1]
	}
	if len(tokens) == 0 {
		return word, append(cased(v.Starts, word, "statements"), v.commands()...)
	}
	named := v.named(open + " " + after)
	previous := tokens[len(tokens)-1]
	if n := len(tokens); open[previous.From:previous.To] == "." && n > 1 {
		return word, v.members(open[tokens[n-2].From:tokens[n-2].To], named, Tokens(open+" "+after), open+" "+after)
	}
	if previous.Kind == Word && readsTable(open[previous.From:previous.To]) {
		return word, append(v.tables(), Candidate{Text: "stored.", Says: "exactly the columns that the files hold", Group: "tables"})
	}
	tables := named
	if len(tables) == 0 {
		tables = v.Tables
	}
	for _, t := range tables {
		out = append(out, columns(t)...)
	}
	out = append(out, v.tables()...)
	if word != "" { // there are hundreds
		for _, f := range v.Functions {
			out = append(out, Candidate{Text: f + "(", Group: "functions"})
		}
		out = append(out, cased(v.Keywords, word, "keywords")...)
	}
	return word, out
}

func (v *Vocabulary) commands() (out []Candidate) {
	for _, c := range v.Commands {
		group := "reports"
		if strings.HasPrefix(c.Name, ".") {
			group = "commands"
		}
		out = append(out, Candidate{Text: c.Name, Says: c.Says, Group: group})
	}
	return out
}

func (v *Vocabulary) tables() (out []Candidate) {
	for _, t := range v.Tables {
		out = append(out, Candidate{Text: t.Name, Says: t.Says, Group: "tables"})
	}
	return out
}

func columns(t Table) (out []Candidate) {
	for _, c := range t.Columns {
		out = append(out, Candidate{Text: c.Name, Says: c.Says, Group: "columns of " + t.Name})
	}
	return out
}

// named returns the tables that the statement names, in the order of their names.
func (v *Vocabulary) named(text string) (out []Table) {
	words := map[string]bool{}
	for _, t := range Tokens(text) {
		if t.Kind == Word {
			words[strings.ToLower(text[t.From:t.To])] = true
		}
	}
	for _, t := range v.Tables {
		if words[t.Name] {
			out = append(out, t)
		}
	}
	return out
}

// members returns what may follow owner and a dot: the columns of the table of
// that name or alias, and the tables of stored.
func (v *Vocabulary) members(owner string, named []Table, tokens []Token, text string) []Candidate {
	owner = strings.ToLower(owner)
	if owner == "stored" {
		return v.tables()
	}
	for _, t := range named {
		if t.Name == owner {
			return columns(t)
		}
	}
	for i, t := range tokens {
		if !strings.EqualFold(text[t.From:t.To], owner) {
			continue
		}
		j := i - 1
		if j > 0 && strings.EqualFold(text[tokens[j].From:tokens[j].To], "as") {
			j--
		}
		for _, table := range named {
			if j >= 0 && strings.EqualFold(text[tokens[j].From:tokens[j].To], table.Name) {
				return columns(table)
			}
		}
	}
	return nil
}

// readsTable reports whether a table follows the word.
func readsTable(word string) bool {
	switch strings.ToLower(word) {
	case "from", "join", "describe", "desc", "summarize", "table", "pivot", "unpivot":
		return true
	}
	return false
}

// cased writes keywords as the user writes: select for sel, SELECT for SEL.
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
