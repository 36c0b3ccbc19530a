package duck

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is an error of DuckDB's, taken apart.
type Error struct {
	Kind    string // Parser, Binder, Catalog, Conversion …
	Message string // one line, without the kind
	// Nearest are the names that DuckDB offers for one that it does not know.
	Nearest []string
	// Line and Column are the place in the statement, counted from 1; 0: unknown.
	Line, Column int
}

func (e *Error) Error() string {
	s := e.Message
	if e.Kind != "" {
		s = strings.ToLower(e.Kind) + " error: " + s
	}
	if e.Line > 0 {
		s += " (line " + strconv.Itoa(e.Line) + ", column " + strconv.Itoa(e.Column) + ")"
	}
	return s
}

// Wrong reports whether the statement itself is at fault: it does not parse, or
// names what is not there.
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

// parseError takes one of DuckDB's messages apart:
//
//	Binder Error: Referenced column "x" not found in FROM clause!
//	Candidate bindings: "a", "b"
//
//	LINE 1: SELECT x FROM t
//	               ^
func parseError(msg string) *Error {
	e := new(Error)
	if m := kindRE.FindStringSubmatch(msg); m != nil {
		e.Kind = m[1]
		msg = msg[len(m[0]):]
	}
	e.Line, e.Column = place(msg)
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

// place finds the caret under the quoted line. DuckDB shortens a long line at
// its start, with "..."; the column is then unknown, and so is not told.
func place(msg string) (line, column int) {
	m := placeRE.FindStringSubmatch(msg)
	if m == nil || strings.HasPrefix(m[2], "...") {
		return 0, 0
	}
	line, _ = strconv.Atoi(m[1])
	column = len(m[3]) - len("LINE : ") - len(m[1]) + 1
	if column < 1 || column > utf8.RuneCountInString(m[2])+1 {
		return 0, 0
	}
	return line, column
}

var tableRE = regexp.MustCompile(`^Table with name (.*?) does not exist`)

// MissingTable returns the name of the table that is not there, if that is the
// error.
func (e *Error) MissingTable() (string, bool) {
	m := tableRE.FindStringSubmatch(e.Message)
	if e.Kind != "Catalog" || m == nil {
		return "", false
	}
	return m[1], true
}
