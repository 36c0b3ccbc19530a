package answer

import (
	"strings"

	sqlfiles "callhouse/sql"
)

// Names are the names of definitions.
func Names(files []*sqlfiles.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Name)
	}
	return out
}

// Wrap joins words to lines that are no longer than width.
func Wrap(words []string, width int) string {
	var b strings.Builder
	at := 0
	for i, w := range words {
		n := len([]rune(w))
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(w)
		at += n
	}
	return b.String()
}
