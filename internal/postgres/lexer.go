package postgres

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	Word    Kind = iota // an unquoted name or keyword
	Quoted              // a quoted name
	String              // a text: '…', E'…', $$…$$
	Number              // digits
	Param               // $1
	Other               // an operator, a parenthesis, a comma
	Comment             // or spaces
)

// Token is a token of SQL as Postgres reads it, to separate statements and to parse those that are not
// queries (SET, BEGIN, COPY). Queries are parsed by DuckDB.
type Token struct {
	Kind       Kind
	Text       string // as written
	start, end int
}

// Is reports whether the token is a keyword.
func (t Token) Is(word string) bool { return t.Kind == Word && strings.EqualFold(t.Text, word) }

// Name returns a name without quotes, folded to lower case if it was unquoted.
func (t Token) Name() string {
	if t.Kind == Quoted {
		return strings.ReplaceAll(inner(t.Text, '"'), `""`, `"`)
	}
	return strings.ToLower(t.Text)
}

// Value returns the content of a string literal, or the token as written.
func (t Token) Value() string {
	if t.Kind != String {
		return t.Text
	}
	switch t.Text[0] {
	case '$':
		tag := strings.IndexByte(t.Text[1:], '$') + 2
		return t.Text[tag : len(t.Text)-tag]
	case '\'':
		return strings.ReplaceAll(inner(t.Text, '\''), "''", "'")
	}
	s := inner(t.Text, '\'') // E'…': tools use only \t and \\
	return strings.NewReplacer("''", "'", `\'`, "'", `\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r").Replace(s)
}

// inner returns the text between quotes. The closing quote may be missing.
func inner(text string, quote byte) string {
	s := text[strings.IndexByte(text, quote)+1:]
	return strings.TrimSuffix(s, string(quote))
}

// Statement is the text of one statement and its tokens without comments.
type Statement struct {
	Text   string
	Tokens []Token
}

// Split returns the non-empty statements of a text.
func Split(text string) []Statement {
	var out []Statement
	var tokens []Token
	from := 0
	end := func(to int) {
		if len(tokens) > 0 {
			for i := range tokens {
				tokens[i].start -= from
				tokens[i].end -= from
			}
			out = append(out, Statement{text[from:to], tokens})
		}
		tokens = nil
	}
	for t := range Tokens(text) {
		switch {
		case t.Kind == Comment:
		case t.Kind == Other && t.Text == ";":
			end(t.start)
			from = t.end
		default:
			tokens = append(tokens, t)
		}
	}
	end(len(text))
	return out
}

// Params returns the highest number of a parameter of a statement.
func Params(text string) (limit int) {
	for t := range Tokens(text) {
		if n, err := strconv.Atoi(strings.TrimPrefix(t.Text, "$")); t.Kind == Param && err == nil && n < 1<<16 {
			limit = max(limit, n)
		}
	}
	return limit
}

// Tokens returns all tokens of a text, including comments and spaces: concatenated they are the
// text.
func Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for at := 0; at < len(text); {
			t := next(text, at)
			if !yield(t) {
				return
			}
			at = t.end
		}
	}
}

// next returns the token at an offset.
func next(text string, at int) Token {
	kind, end := Other, at+1
	c := text[at]
	rest := text[at:]
	switch {
	case c == ' ' || c >= '\t' && c <= '\r':
		kind = Comment
	case strings.HasPrefix(rest, "--"):
		kind, end = Comment, at+len(rest)
		if n := strings.IndexAny(rest, "\r\n"); n >= 0 {
			end = at + n
		}
	case strings.HasPrefix(rest, "/*"):
		kind, end = Comment, at+block(rest)
	case c == '\'':
		kind, end = String, at+quoted(rest, '\'', false)
	case (c == 'e' || c == 'E') && strings.HasPrefix(rest[1:], "'"):
		kind, end = String, at+1+quoted(rest[1:], '\'', true)
	case strings.IndexByte("bBxXnN", c) >= 0 && strings.HasPrefix(rest[1:], "'"):
		kind, end = String, at+1+quoted(rest[1:], '\'', false)
	case c == '"':
		kind, end = Quoted, at+quoted(rest, '"', false)
	case c == '$':
		kind, end = dollar(rest)
		end += at
	case isLetter(c):
		kind, end = Word, at+span(rest, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '$' })
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		kind, end = Number, at+span(rest, func(c byte) bool { return isDigit(c) || c == '.' || isLetter(c) })
	}
	return Token{kind, text[at:end], at, end}
}

func isLetter(c byte) bool { return c == '_' || c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func span(s string, is func(byte) bool) int {
	n := 0
	for n < len(s) && is(s[n]) {
		n++
	}
	return n
}

// block returns the length of a block comment, which may be nested.
func block(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "/*"):
			depth++
			i++
		case strings.HasPrefix(s[i:], "*/"):
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// quoted returns the length of a quoted text, which may be unterminated.
func quoted(s string, quote byte, escapes bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return len(s)
}

// dollar reads $1, $$…$$ and $tag$…$tag$.
func dollar(s string) (Kind, int) {
	if n := span(s[1:], isDigit); n > 0 {
		return Param, 1 + n
	}
	n := 1 + span(s[1:], func(c byte) bool { return isLetter(c) || isDigit(c) })
	if n >= len(s) || s[n] != '$' {
		return Other, max(n, 1)
	}
	tag := s[:n+1]
	end := strings.Index(s[len(tag):], tag)
	if end < 0 {
		return Other, len(s)
	}
	return String, len(tag) + end + len(tag)
}

// From returns the text of a statement from a token on.
func (s Statement) From(i int) string {
	if i >= len(s.Tokens) {
		return ""
	}
	return s.Text[s.Tokens[i].start:]
}

// Between returns the text between two tokens.
func (s Statement) Between(i, j int) string { return s.Text[s.Tokens[i].start:s.Tokens[j-1].end] }

// querying are the first words of queries.
var querying = []string{"select", "with", "values", "table", "from", "explain", "describe", "desc", "summarize", "pivot", "unpivot"}

// Queries reports whether a statement begins like a query.
func (s Statement) Queries() bool {
	for _, t := range s.Tokens {
		if t.Text == "(" {
			continue
		}
		return slices.ContainsFunc(querying, t.Is)
	}
	return false
}

// Replacements for #>> and #> in the text of ForDuckDB: operators that DuckDB's parser accepts but
// DuckDB does not define.
const (
	PathText = "|->>"
	Path     = "|->"
)

// keywords are words reserved in DuckDB's grammar but not in Postgres'.
var keywords = []string{"anti", "asof", "at", "by", "generated", "glob", "lambda", "pivot", "positional", "qualify", "semi",
	"show", "summarize", "unpivot"}

// aliases returns the keywords used as names of tables, as in at.attname.
func (s Statement) aliases() map[string]bool {
	var out map[string]bool
	for i := 1; i < len(s.Tokens); i++ {
		if word := s.Tokens[i-1]; s.Tokens[i].Text == "." && word.Kind == Word && slices.Contains(keywords, word.Name()) {
			if out == nil {
				out = map[string]bool{}
			}
			out[word.Name()] = true
		}
	}
	return out
}

// neverLabels are the keywords that Postgres takes as a label only after AS.
var neverLabels = strings.Fields(`array as char character create day except fetch filter for from grant group having hour
	intersect into isnull limit minute month notnull offset on order over overlaps precision returning second to union varying
	where window with within without year`)

// listEnds are the keywords after the list of a SELECT.
var listEnds = strings.Fields("except fetch for from group having intersect into limit offset order qualify union where window")

// unfinished are the keywords after which an expression goes on.
var unfinished = strings.Fields(`all and any as at between by case collate distinct else escape exclude from glob ilike in is like not on
	or over overlaps select similar some symmetric then time to using when`)

// level is the state of labels between two parentheses.
type level struct {
	inList bool // of a SELECT
	cases  int  // open ones
	prefix bool // of DISTINCT ON or OPERATOR, after which an expression begins
}

// labels returns the positions of labels without AS in the lists of SELECT. Postgres allows most
// keywords there; DuckDB's parser allows none.
func (s Statement) labels() map[int]bool {
	out, levels, ended := map[int]bool{}, []level{{}}, false // an expression may have ended
	is := func(i int, words ...string) bool {
		return i >= 0 && i < len(s.Tokens) && slices.ContainsFunc(words, s.Tokens[i].Is)
	}
	for i, t := range s.Tokens {
		at := &levels[len(levels)-1]
		switch {
		case t.Text == "(", t.Text == "[":
			levels = append(levels, level{prefix: is(i-1, "on") && is(i-2, "distinct") || is(i-1, "operator")})
			ended = false
		case t.Text == ")", t.Text == "]":
			ended = !at.prefix
			levels = levels[:max(1, len(levels)-1)]
		case t.Kind != Word:
			ended = t.Kind != Other
		case at.inList && at.cases == 0 && ended && !slices.ContainsFunc(neverLabels, t.Is) && !(t.Is("zone") && is(i-1, "time")) &&
			!is(i-2, "interval") && // INTERVAL 7 DAYS, as DuckDB spells it
			(i+1 == len(s.Tokens) || s.Tokens[i+1].Text == "," || s.Tokens[i+1].Text == ")" || is(i+1, listEnds...)):
			out[i] = true
		case t.Is("from") && is(i-1, "distinct") && is(i-2, "is", "not"):
			ended = false
		default:
			at.inList = t.Is("select") || at.inList && !slices.ContainsFunc(listEnds, t.Is)
			if t.Is("case") {
				at.cases++
			} else if t.Is("end") {
				at.cases--
			}
			ended = !slices.ContainsFunc(unfinished, t.Is) && !(t.Is("zone") && is(i-2, "at"))
		}
	}
	return out
}

// ForDuckDB returns a statement's text without the spellings that DuckDB's parser refuses or loses:
// OPERATOR(pg_catalog.~), pg_catalog before a type that is a keyword, #>>, tables named by a keyword,
// and labels without AS.
func (s Statement) ForDuckDB() string {
	var b strings.Builder
	done := 0
	replace := func(from, to int, by string) {
		b.WriteString(s.Text[done:s.Tokens[from].start])
		b.WriteString(by)
		done = s.Tokens[to].end
	}
	is := func(i int, words ...string) bool {
		for k, w := range words {
			if i+k >= len(s.Tokens) || w != "" && !strings.EqualFold(s.Tokens[i+k].Text, w) {
				return false
			}
		}
		return true
	}
	aliases, labels := s.aliases(), s.labels()
	for i := 0; i < len(s.Tokens); i++ {
		switch {
		case is(i, "operator", "(", "pg_catalog", "."):
			end := i + 4
			operator := ""
			for ; end < len(s.Tokens) && s.Tokens[end].Kind == Other && s.Tokens[end].Text != ")"; end++ {
				operator += s.Tokens[end].Text
			}
			if is(end, ")") && operator != "" {
				replace(i, end, " "+operator+" ")
				i = end
			}
		case is(i, "#", ">", ">") && s.Tokens[i].start+2 == s.Tokens[i+2].start:
			replace(i, i+2, PathText)
			i += 2
		case is(i, "#", ">") && s.Tokens[i].end == s.Tokens[i+1].start:
			replace(i, i+1, Path)
			i++
		case is(i, "exists", "(", "select", "from"): // a SELECT without columns
			replace(i, i+3, "EXISTS (SELECT 1 FROM")
			i += 3
		case is(i, "pg_catalog", ".", "text"):
			replace(i, i+2, "text")
			i += 2
		case is(i, "collate", "pg_catalog", ".", ""): // default and C are DuckDB's order
			replace(i, i+3, "")
			i += 3
		case labels[i]:
			replace(i, i, `AS "`+s.Tokens[i].Name()+`"`)
		case s.Tokens[i].Kind == Word && aliases[s.Tokens[i].Name()] && !is(i, "at", "time") && !is(i, "at", "local"):
			replace(i, i, `"`+s.Tokens[i].Name()+`"`)
		}
	}
	return b.String() + s.Text[done:]
}
