package sqlfiles

import (
	"path"
	"strings"
)

// Check is a data test: a SELECT that returns the faulty rows.
type Check struct {
	Name  string // of its file
	About string // the comment at its top
	Warn  bool   // findings are no failure
	SQL   string
}

// Checks returns the data tests by name. The comment lines at the top of a test describe it; a line
// "severity: warn" makes it a warning.
func Checks() (out []*Check) {
	entries, err := files.ReadDir("checks")
	if err != nil {
		panic(err) // see mustRead
	}
	for _, e := range entries {
		header, sql := split(mustRead(path.Join("checks", e.Name())))
		about, warning := strings.CutSuffix(strings.Join(strings.Fields(strings.Join(header, " ")), " "), "severity: warn")
		out = append(out, &Check{strings.TrimSuffix(e.Name(), ".sql"), strings.TrimSuffix(strings.TrimSpace(about), "."), warning, sql})
	}
	return out
}
