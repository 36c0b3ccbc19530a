package sqlfiles

import (
	"errors"
	"path"
	"strings"
)

// Check is a data test: a SELECT that returns the faulty rows.
type Check struct {
	Name  string // of its file
	About string // the comment at its top
	Warn  bool   // findings are no failure
	// SQL is the whole text of the file, so that error lines match the file's.
	SQL string
}

// Checks returns the built-in data tests by name.
func Checks() []*Check {
	entries, err := files.ReadDir("checks")
	if err != nil {
		panic(err) // see mustRead
	}
	var out []*Check
	for _, e := range entries {
		c, err := ParseCheck(strings.TrimSuffix(e.Name(), ".sql"), mustRead(path.Join("checks", e.Name())))
		if err != nil {
			panic(e.Name() + ": " + err.Error())
		}
		out = append(out, c)
	}
	return out
}

// ParseCheck parses a data test. The comment lines at its top describe it; a line "severity: warn"
// makes it a warning ("severity: error" is the default).
func ParseCheck(name, text string) (*Check, error) {
	header, sql := split(strings.TrimPrefix(text, "\ufeff"))
	if sql == "" {
		return nil, errors.New("there is no SELECT in it")
	}
	c := &Check{Name: name, SQL: text}
	var about []string
	for _, line := range header {
		line = strings.TrimSpace(line)
		word, ok := strings.CutPrefix(strings.ToLower(line), "severity:")
		if !ok {
			about = append(about, line)
			continue
		}
		switch strings.TrimSpace(word) {
		case "warn", "warning":
			c.Warn = true
		case "error":
		default:
			return nil, errors.New("severity is warn or error, not " + strings.TrimSpace(word))
		}
	}
	c.About = strings.TrimSuffix(strings.Join(strings.Fields(strings.Join(about, " ")), " "), ".")
	return c, nil
}
