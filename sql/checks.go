package sqlfiles

import (
	"errors"
	"path"
	"strings"
)

// Check is a data test: a SELECT whose rows are what is wrong.
type Check struct {
	Name  string // that of its file
	About string // what it finds, from the comment at its top
	Warn  bool   // what it finds is worth a look, and no failure
	// SQL is the whole text of the file, so that the lines of errors are the file's.
	SQL string
}

// Checks returns the data tests that come with the program, by name.
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

// ParseCheck reads a data test. The comment lines at its top say what it finds;
// one that says "severity: warn" makes it a warning ("severity: error" is what
// it is without).
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
