package duck

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Error is a parsed error of DuckDB.
type Error struct {
	Kind    string // Parser, Binder, Catalog, Conversion …
	Message string // one line, without the kind
	// Nearest are the names that DuckDB suggests instead of an unknown one.
	Nearest []string
	// Line and Column are the position in the statement, from 1; 0: unknown.
	Line, Column int
}

// Text returns the error without its position.
func (e *Error) Text() string {
	if e.Kind == "" {
		return e.Message
	}
	return strings.ToLower(e.Kind) + " error: " + e.Message
}

func (e *Error) Error() string {
	s := e.Text()
	if e.Line > 0 {
		s += " (line " + strconv.Itoa(e.Line) + ", column " + strconv.Itoa(e.Column) + ")"
	}
	return s
}

// Wrong reports whether the statement itself is at fault: a syntax error or an unknown name.
func (e *Error) Wrong() bool {
	switch e.Kind {
	case "Parser", "Binder", "Catalog", "Type", "Syntax":
		return true
	}
	return false
}

var (
	kindRE   = regexp.MustCompile(`^([A-Z][A-Za-z ]*?) Error: `)
	placeRE  = regexp.MustCompile(`(?m)^LINE (\d+): (.*)\n( *)\^`)
	quotedRE = regexp.MustCompile(`"((?:[^"]|"")+)"`)
)

// parseError parses one of DuckDB's messages:
//
//	Binder Error: Referenced column "x" not found in FROM clause!
//	Candidate bindings: "a", "b"
//
//	LINE 1: SELECT x FROM t
//	               ^
func parseError(msg string) *Error {
	e := new(Error)
	if strings.TrimSpace(msg) == "" { // as if DuckDB had not enough for its text
		return &Error{Kind: "Out of Memory", Message: "failed to allocate the text of the error"}
	}
	if m := kindRE.FindStringSubmatch(msg); m != nil {
		e.Kind = m[1]
		msg = msg[len(m[0]):]
	}
	e.place(msg)
	head, _, _ := strings.Cut(msg, "\nLINE ")
	lines := strings.Split(head, "\n")
	e.Message = strings.TrimSpace(lines[0])
	for _, line := range lines[1:] {
		if strings.HasPrefix(line, "Candidate") || strings.HasPrefix(line, "Did you mean") {
			for _, m := range quotedRE.FindAllStringSubmatch(line, -1) {
				e.Nearest = append(e.Nearest, m[1])
			}
		}
	}
	return e
}

// place finds the caret under the quoted line, unless DuckDB has shortened the line at its start.
func (e *Error) place(msg string) {
	m := placeRE.FindStringSubmatch(msg)
	if m == nil || strings.HasPrefix(m[2], "...") {
		return
	}
	if column, ok := columnAt(m[2], len(m[3])-len("LINE : ")-len(m[1])); ok {
		e.Line, _ = strconv.Atoi(m[1])
		e.Column = column
	}
}

// columnAt returns the character, from 1, after a number of terminal cells, which is DuckDB's unit.
func columnAt(line string, cells int) (column int, ok bool) {
	column = 1
	width := &runewidth.Condition{} // regardless of the environment
	for _, r := range line {
		if cells <= 0 {
			break
		}
		cells -= width.RuneWidth(r)
		column++
	}
	return column, cells == 0
}

var (
	tableRE  = regexp.MustCompile(`^Table with name (.*?) does not exist`)
	columnRE = regexp.MustCompile(`^(?:Referenced column|(?:Values list|Table) "([^"]*)" does not have a column named) "([^"]*)"(?: not found|$)`)
)

// MissingColumn returns the name of an unknown column, and of its table if the statement names one.
func (e *Error) MissingColumn() (table, column string, ok bool) {
	m := columnRE.FindStringSubmatch(e.Message)
	if e.Kind != "Binder" || m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// MissingTable returns the name of an unknown table; ok is false for any other error.
func (e *Error) MissingTable() (string, bool) {
	m := tableRE.FindStringSubmatch(e.Message)
	if e.Kind != "Catalog" || m == nil {
		return "", false
	}
	return m[1], true
}
